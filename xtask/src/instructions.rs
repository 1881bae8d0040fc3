//! Instructions of hot paths, counted by Callgrind and compared with committed baselines.
//!
//! A program of counted work is a benchmark target with its own `main`. `PROGRAM NAME COUNT` does the work NAME about
//! COUNT times and prints the exact number; without arguments it prints the names. Callgrind counts it twice with
//! different counts, and the difference gives the cost of one time, without start and warm-up. Such a number is the
//! same in every run of one build. It depends on the compiler, which `rust-toolchain.toml` pins, and hardly on the
//! machine.

use crate::run::{COUNTED, capture, cargo, in_parallel, root, target};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The programs: package, benchmark, and the two counts.
const PROGRAMS: &[Program] = &[
    Program { package: "pathweave-benches", bench: "instructions", counts: [20_000, 60_000] },
    Program { package: "pathweave-benches", bench: "hostile", counts: [500, 1_500] },
];

/// Most instructions of a hostile segment, in multiples of a clean one of its kind.
const HOSTILE: f64 = 5.0;

/// Relative rise over the baseline that counts as a regression.
const ALLOWED_RISE: f64 = 0.10;

struct Program {
    package: &'static str,
    bench: &'static str,
    counts: [u64; 2],
}

/// Instructions of each work of each program, as `package work`.
type Counts = BTreeMap<String, f64>;

fn baseline_file() -> PathBuf {
    root().join("benches/instructions.txt")
}

/// Counts and compares.
///
/// # Errors
/// If a count has risen too much, is new or is missing, or if counting does not work.
pub(crate) fn check() -> Result<(), String> {
    let baseline = std::fs::read_to_string(baseline_file()).map_err(|e| format!("benches/instructions.txt: {e}"))?;
    let counts = count()?;
    let (table, mut wrong) = compare(&parse(&baseline)?, &counts);
    print!("{table}");
    wrong.extend(too_hostile(&counts));
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{}\nif the change is intended: cargo xtask instructions --bless", wrong.join("\n"))),
    }
}

/// Counts, and updates the baselines.
///
/// # Errors
/// If counting does not work.
pub(crate) fn bless() -> Result<(), String> {
    let counts = count()?;
    let mut text = String::from("# Instructions that each work takes once; see xtask/src/instructions.rs.\n");
    for (name, count) in counts {
        let _ = writeln!(text, "{name} {count:.0}");
    }
    print!("{text}");
    std::fs::write(baseline_file(), text).map_err(|e| format!("benches/instructions.txt: {e}"))
}

fn parse(text: &str) -> Result<Counts, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let entry = line.rsplit_once(' ').and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?)));
            entry.ok_or_else(|| format!("benches/instructions.txt: cannot read the line {line:?}"))
        })
        .collect()
}

/// A table for people, and the list of faults.
fn compare(baseline: &Counts, counts: &Counts) -> (String, Vec<String>) {
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for (name, &now) in counts {
        let Some(&before) = baseline.get(name) else {
            wrong.push(format!("{name}: {now:.0} instructions, and no baseline"));
            continue;
        };
        let rise = now / before - 1.0;
        let _ = writeln!(table, "{name:<60} {now:>9.0}  {:>+6.1} %", rise * 100.0);
        if rise > ALLOWED_RISE {
            wrong.push(format!("{name}: {before:.0} instructions have become {now:.0}"));
        }
    }
    let gone = baseline.keys().filter(|name| !counts.contains_key(*name));
    wrong.extend(gone.map(|name| format!("{name}: there is a baseline, and no such work")));
    (table, wrong)
}

/// Each `PACKAGE hostile-KIND-HOW` that takes more than [`HOSTILE`] times `PACKAGE clean-KIND`.
fn too_hostile(counts: &Counts) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, hostile) in counts {
        let Some((package, of)) = name.split_once(" hostile-") else { continue };
        let kind = of.split('-').next().unwrap_or(of);
        match counts.get(&format!("{package} clean-{kind}")) {
            None => wrong.push(format!("{name}: there is no clean-{kind}")),
            Some(clean) if *hostile > clean * HOSTILE => {
                wrong.push(format!("{name}: {:.1} times the instructions of clean-{kind}", hostile / clean));
            }
            Some(_) => {}
        }
    }
    wrong
}

fn count() -> Result<Counts, String> {
    let mut counts = Counts::new();
    for program in PROGRAMS {
        let names = String::from_utf8_lossy(&capture(&mut bench(program, None))?).into_owned();
        let works: Vec<&str> = names.lines().collect();
        let twice = in_parallel(&works, |work| program.counts.map(|count| callgrind(program, work, count)));
        for (work, [few, many]) in works.into_iter().zip(twice) {
            let ((few_times, few), (many_times, many)) = (few?, many?);
            if many_times <= few_times {
                return Err(format!("{work}: {many_times} times is not more than {few_times}"));
            }
            let each = (many as f64 - few as f64) / (many_times - few_times) as f64;
            counts.insert(format!("{} {work}", program.package), each);
        }
    }
    Ok(counts)
}

/// The benchmark's command, with the program under a runner, given as words in quotes with commas between them.
fn bench(program: &Program, runner: Option<&str>) -> std::process::Command {
    let runner = runner.map_or(String::new(), |r| format!("--config\ntarget.'cfg(all())'.runner=[{r}]\n"));
    let mut command = cargo("");
    let arguments = format!("{runner}bench\n--quiet\n{}\n--bench\n{}", COUNTED.replace(' ', "\n"), program.bench);
    command.args(arguments.lines());
    command
}

/// The number of times that the work was done, and the instructions of the whole program.
fn callgrind(program: &Program, work: &str, count: u64) -> Result<(u64, u64), String> {
    let log = target().join(format!("callgrind-{work}.log"));
    let _ = std::fs::remove_file(&log);
    let words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(String::from);
    let words = words.into_iter().chain([format!("--log-file={}", log.display())]);
    let runner = words.map(|word| format!("'{word}'")).collect::<Vec<_>>().join(",");
    let mut command = bench(program, Some(&runner));
    let printed = capture(command.args(["--", work, &count.to_string()]))?;
    let text = std::fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    let times = String::from_utf8_lossy(&printed).trim().parse().ok();
    times.zip(collected).ok_or_else(|| format!("{work} {count}: neither a number of times nor a count:\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_of_more_than_a_tenth_is_wrong_and_so_is_what_has_no_counterpart() {
        let baseline = parse("# comment\na x 1000\na y 1000\na z 5\n").expect("it is well-formed");
        let counts = parse("a x 1099\na y 1101\na new 7\n").expect("it is well-formed");
        let (_, wrong) = compare(&baseline, &counts);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(wrong[0].starts_with("a new") && wrong[1].starts_with("a y") && wrong[2].starts_with("a z"));
    }

    #[test]
    fn five_times_a_clean_segment_is_too_much() {
        let counts =
            parse("a clean-x 100\na hostile-x-y 499\na hostile-x-z 501\na hostile-w 1\n").expect("it is well-formed");
        let wrong = too_hostile(&counts);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].contains("no clean-w") && wrong[1].contains("hostile-x-z: 5.0 times"), "{wrong:?}");
    }

    #[test]
    fn a_line_without_a_number_is_an_error() {
        assert!(parse("a x many").is_err());
    }
}
