//! The committed results: each built-in scenario's table, and the first command's output in documents.

use crate::lesson;
use crate::page;
use crate::run::{capture, cargo, root, run, target};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Every built-in scenario.
pub(crate) const SCENARIOS: [&str; 7] =
    ["wifi-lte", "wlan-3g", "wlan-wlan", "cp-asymmetric", "cp-symmetric", "ethernet-wifi", "rems-wifi-lte"];
/// Receive buffers of CP Figs. 5 to 8, KB.
const BUFFERS: [u32; 10] = [40, 60, 80, 100, 150, 200, 300, 400, 600, 1000];
const BUFFER_SCHEDULERS: &str = "minrtt,linux,blest";
/// Size of the README's picture.
const PICTURE: (u32, u32) = (1100, 775);

/// The command, as [`first_command`] has built it.
pub(crate) fn pathweave() -> Command {
    Command::new(target().join("release/pathweave"))
}

/// The output of a command, without blanks at the ends of lines.
///
/// # Errors
/// If it fails.
pub(crate) fn text(command: &mut Command) -> Result<String, String> {
    let bytes = capture(command)?;
    let text = String::from_utf8(bytes).map_err(|e| e.to_string())?;
    Ok(text.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

/// Builds every program that the checks run in release: the command, the digests, the gates, the faults and the counted
/// simulator. They are built together, because Cargo would otherwise build shared crates again for each. The Python
/// package has no program, but its features must be those of this build, so that its wheel is built from the same
/// libraries. No example is among them: for an example Cargo builds all crates with the features that their tests need.
///
/// # Errors
/// If one does not build.
pub(crate) fn build() -> Result<(), String> {
    let packages = ["", "-digests", "-gates", "-faults", "-simulator", "-python"]
        .map(|name| format!("--package pathweave{name} "));
    run(&mut cargo(&format!("build --release {} --bins --features pathweave/tun", packages.concat())))
}

/// The output of `pathweave compare`, and the page that it writes.
///
/// # Errors
/// If it fails.
pub(crate) fn first_command() -> Result<(String, PathBuf), String> {
    build()?;
    let folder = target().join("compare");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let page = folder.join("pathweave-report.html");
    let _ = fs::remove_file(&page);
    let text = text(pathweave().arg("compare").current_dir(&folder))?;
    print!("{text}");
    Ok((text, page))
}

/// Makes the page of a scheduler's decisions, with waits and a full send window on it.
///
/// # Errors
/// If it fails.
pub(crate) fn explain_page() -> Result<PathBuf, String> {
    let page = target().join("compare").join("pathweave-explain.html");
    let _ = fs::remove_file(&page);
    let arguments =
        "explain wlan-3g --scheduler blest --from 200ms --to 1200ms --set connection.bulk.receive_buffer=60KB --report";
    run(pathweave().args(arguments.split(' ')).arg(&page))?;
    Ok(page)
}

/// The part of a command's output that a document shows.
type Part = fn(&str) -> String;
/// The documents with the first command's output, and the part that each shows.
const SHOWN: [(&str, Part); 2] = [("README.md", answer), ("docs/first-steps.md", str::to_owned)];
/// The beginning of that output in them.
const START: &str = "```console\n$ cargo run --release -- compare\n";
const END: &str = "```\n";

/// The first command's output up to the answer in sentences.
fn answer(output: &str) -> String {
    let name_and_answer: Vec<&str> = output.split("\n\n").take(2).collect();
    format!("{}\n...\n", name_and_answer.join("\n\n"))
}

/// The text before, inside and after that place.
fn split<'a>(name: &str, document: &'a str) -> Result<(&'a str, &'a str, &'a str), String> {
    let missing = || format!("{name} has no block that begins with {START:?}");
    let start = document.find(START).ok_or_else(missing)? + START.len();
    let length = document[start..].find(END).ok_or_else(missing)?;
    Ok((&document[..start], &document[start..start + length], &document[start + length..]))
}

/// A file of the project.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn document(name: &str) -> Result<String, String> {
    fs::read_to_string(root().join(name)).map_err(|e| format!("{name}: {e}"))
}

/// Checks that the documents show the first command's output, and the first hour those of its commands.
///
/// # Errors
/// If one shows something else.
pub(crate) fn check_documents(output: &str) -> Result<(), String> {
    check_first_answer(output)?;
    lesson::check()
}

/// Checks that the documents show the first command's output. Runs nothing, so `output` may be another build's.
///
/// # Errors
/// If one shows something else.
pub(crate) fn check_first_answer(output: &str) -> Result<(), String> {
    for (name, part) in SHOWN {
        if split(name, &document(name)?)?.1 != part(output) {
            return Err(format!(
                "{name} does not show what `pathweave compare` prints now. If the change is intended, run `cargo xtask results` \
                 and look through what it changes"
            ));
        }
    }
    Ok(())
}

/// Updates all committed results.
///
/// # Errors
/// If a run or a file fails.
pub(crate) fn write() -> Result<(), String> {
    let (first, html) = first_command()?;
    let picture = page::picture(&html, "top", PICTURE.0, PICTURE.1)?;
    put("docs/report.png", &fs::read(&picture).map_err(|e| format!("{}: {e}", picture.display()))?)?;
    for (name, part) in SHOWN {
        let old = document(name)?;
        let (before, _, after) = split(name, &old)?;
        put(name, format!("{before}{}{after}", part(&first)).as_bytes())?;
    }
    lesson::write()?;
    for name in SCENARIOS {
        let arguments = format!("compare {name} --schedulers all --seeds 20");
        let numbers = target().join("compare").join(format!("{name}.csv"));
        let table = text(pathweave().args(arguments.split(' ')).arg("--csv").arg(&numbers))?;
        put(&format!("docs/results/{name}.txt"), format!("$ pathweave {arguments}\n{table}").as_bytes())?;
        // What docs/schedulers/ is made from: schedulers that share a row have a line each.
        let numbers = fs::read(&numbers).map_err(|e| format!("{}: {e}", numbers.display()))?;
        put(&format!("docs/results/{name}.csv"), &numbers)?;
    }
    for name in ["cp-asymmetric", "cp-symmetric"] {
        put(&format!("docs/results/{name}-buffers.txt"), buffers(name)?.as_bytes())?;
    }
    Ok(())
}

/// Writes a file of the project.
///
/// # Errors
/// If that fails.
pub(crate) fn put(name: &str, bytes: &[u8]) -> Result<(), String> {
    let path = root().join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("wrote {name}");
    Ok(())
}

/// Goodput by receive buffer: a line for each buffer, a column for each scheduler and for plain TCP on each path.
fn buffers(scenario: &str) -> Result<String, String> {
    let command = |buffer: &str| {
        format!(
            "compare {scenario} --schedulers {BUFFER_SCHEDULERS} --seeds 5 --set connection.receive_buffer={buffer} --jsonl -"
        )
    };
    let mut out = format!("$ pathweave {}\nMean goodput, Mbit/s, by BUFFER\n\n", command("BUFFER"));
    for (i, size) in BUFFERS.into_iter().enumerate() {
        let buffer = format!("{size}KB");
        let lines = text(pathweave().args(command(&buffer).split(' ')))?;
        let columns = mean_goodput(&lines)?;
        if i == 0 {
            let _ = writeln!(out, "{:>8}{}", "", columns.iter().map(|(n, _)| format!("{n:>11}")).collect::<String>());
        }
        let _ = writeln!(out, "{buffer:>8}{}", columns.iter().map(|(_, x)| format!("{x:>11.3}")).collect::<String>());
    }
    Ok(out)
}

/// The mean goodput of each scheduler, in the order of the lines.
fn mean_goodput(lines: &str) -> Result<Vec<(String, f64)>, String> {
    let mut sums: Vec<(String, f64, u32)> = Vec::new();
    for line in lines.lines() {
        let run: serde_json::Value = serde_json::from_str(line).map_err(|e| format!("{e}: {line}"))?;
        let (name, goodput) = (run["scheduler"].as_str(), run["metrics"]["goodput_mbps"].as_f64());
        let (Some(name), Some(goodput)) = (name, goodput) else { return Err(format!("no goodput: {line}")) };
        match sums.iter_mut().find(|(n, ..)| n == name) {
            Some((_, sum, count)) => (*sum, *count) = (*sum + goodput, *count + 1),
            None => sums.push((name.to_owned(), goodput, 1)),
        }
    }
    Ok(sums.into_iter().map(|(name, sum, count)| (name, sum / f64::from(count))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_the_answer_of_the_output_in_first_steps() {
        let [readme, first_steps] = SHOWN.map(|(name, _)| document(name).expect("it is there"));
        let (_, shown, _) = split("README.md", &readme).expect("it has the block");
        let (_, whole, _) = split("docs/first-steps.md", &first_steps).expect("it has the block");
        assert_eq!(shown, answer(whole));
        assert!(whole.contains("tcp-path0"), "{whole}");
        assert!(shown.contains("best of the 10") && !shown.contains("tcp-path0"), "{shown}");
    }

    #[test]
    fn means_over_seeds() {
        let line = |name: &str, x: f64| format!(r#"{{"scheduler":"{name}","metrics":{{"goodput_mbps":{x}}}}}"#);
        let lines = [line("b", 1.0), line("b", 2.0), line("a", 4.0)].join("\n");
        assert_eq!(mean_goodput(&lines), Ok(vec![("b".into(), 1.5), ("a".into(), 4.0)]));
    }
}
