//! The committed results: each built-in scenario's table, and the README's.

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
const PICTURE: (u32, u32) = (1100, 1010);

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
/// simulator. They are built together, because Cargo would otherwise build shared crates again for each. No example is
/// among them: for an example Cargo builds all crates with the features that their tests need.
///
/// # Errors
/// If one does not build.
pub(crate) fn build() -> Result<(), String> {
    let packages =
        ["", "-digests", "-gates", "-faults", "-simulator", "-tun"].map(|name| format!("--package pathweave{name} "));
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

/// The beginning of the first command's output in the README.
const README_START: &str = "```console\n$ cargo run --release -- compare\n";
const README_END: &str = "```\n";

/// The text before, inside and after that place.
fn split_readme(readme: &str) -> Result<(&str, &str, &str), String> {
    let missing = || format!("README.md has no block that begins with {README_START:?}");
    let start = readme.find(README_START).ok_or_else(missing)? + README_START.len();
    let length = readme[start..].find(README_END).ok_or_else(missing)?;
    Ok((&readme[..start], &readme[start..start + length], &readme[start + length..]))
}

fn readme() -> Result<String, String> {
    fs::read_to_string(root().join("README.md")).map_err(|e| format!("README.md: {e}"))
}

/// Checks that the README shows the first command's output.
///
/// # Errors
/// If it shows something else.
pub(crate) fn check_readme(text: &str) -> Result<(), String> {
    if split_readme(&readme()?)?.1 == text {
        return Ok(());
    }
    Err("README.md does not show what `pathweave compare` prints now. If the change is intended, run `cargo xtask results` \
         and look through what it changes"
        .into())
}

/// Updates all committed results.
///
/// # Errors
/// If a run or a file fails.
pub(crate) fn write() -> Result<(), String> {
    let (first, html) = first_command()?;
    let picture = page::picture(&html, "top", PICTURE.0, PICTURE.1)?;
    put("docs/report.png", &fs::read(&picture).map_err(|e| format!("{}: {e}", picture.display()))?)?;
    let old = readme()?;
    let (before, _, after) = split_readme(&old)?;
    put("README.md", format!("{before}{first}{after}").as_bytes())?;
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
    fn the_readme_has_its_place() {
        let readme = readme().expect("it is there");
        let (before, table, after) = split_readme(&readme).expect("it has the block");
        assert_eq!(format!("{before}{table}{after}"), readme);
        assert!(table.contains("tcp-path0"), "{table}");
    }

    #[test]
    fn means_over_seeds() {
        let line = |name: &str, x: f64| format!(r#"{{"scheduler":"{name}","metrics":{{"goodput_mbps":{x}}}}}"#);
        let lines = [line("b", 1.0), line("b", 2.0), line("a", 4.0)].join("\n");
        assert_eq!(mean_goodput(&lines), Ok(vec![("b".into(), 1.5), ("a".into(), 4.0)]));
    }
}
