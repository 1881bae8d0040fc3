//! Runs other programs and returns their output.

use crate::steps::Counts;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

/// The programs that Callgrind counts, always selected together: if each were selected alone, Cargo would build what
/// they share again, and it optimises each over all crates on one processor.
const COUNTED: &str =
    "--package pathweave-benches --package pathweave-algorithms --bench instructions --bench hostile --bench decisions";

/// Builds the programs that Callgrind counts and returns the path of this one.
///
/// # Errors
/// If one does not build.
pub(crate) fn benchmark(name: &str) -> Result<PathBuf, String> {
    let messages = capture(&mut cargo(&build_counted("--message-format=json")))?;
    let messages = String::from_utf8_lossy(&messages);
    let mut found = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let ours = message["target"]["name"] == name;
        message["executable"].as_str().filter(|_| ours).map(PathBuf::from)
    });
    found.next().ok_or_else(|| format!("Cargo did not build the benchmark {name}"))
}

/// Builds those programs in time that no other process wants.
///
/// # Errors
/// If one does not build.
pub(crate) fn build_counted_when_idle() -> Result<(), String> {
    let mut idle = program("chrt", "--idle 0");
    let cargo = cargo(&build_counted(""));
    run(idle.arg(cargo.get_program()).args(cargo.get_args()))
}

/// Cargo's arguments for building the counted programs.
fn build_counted(more: &str) -> String {
    format!("bench --quiet {COUNTED} --no-run {more}")
}

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Cargo's target folder. This program is in its folder `debug`.
pub(crate) fn target() -> PathBuf {
    let program = std::env::current_exe().ok();
    let target = program.as_deref().and_then(Path::parent).and_then(Path::parent);
    target.map_or_else(|| root().join("target"), Path::to_path_buf)
}

/// A program in the repository's folder, without input.
pub(crate) fn program(name: &str, arguments: &str) -> Command {
    let mut command = Command::new(name);
    command.args(arguments.split_whitespace()).current_dir(root()).stdin(Stdio::null());
    command
}

/// Cargo, as it runs this program.
pub(crate) fn cargo(arguments: &str) -> Command {
    program(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()), arguments)
}

fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end and shows its output.
///
/// # Errors
/// If it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let text = shown(command);
    println!("$ {text}");
    let status = command.stdin(Stdio::null()).status().map_err(|e| format!("{text}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{text}: {status}")) }
}

/// Runs a command to its end and returns its standard output. Its standard error is shown only if it fails.
///
/// # Errors
/// If it cannot be started or fails.
pub(crate) fn capture(command: &mut Command) -> Result<Vec<u8>, String> {
    let text = shown(command);
    println!("$ {text}");
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{text}: {e}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{text}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end()))
}

/// The median; NaN if there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The number of processors and the kernel of this machine, and its load averages of 1, 5 and 15 minutes.
pub(crate) fn machine_and_load() -> (String, String) {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let processors = available_parallelism().map_or(1, usize::from);
    let machine = format!("{processors} processors, Linux {}", read("/proc/sys/kernel/osrelease").trim());
    (machine, read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(", "))
}

/// Calls `work` for each item on as many threads as there are processors, and returns the answers in the order of the
/// items.
pub(crate) fn in_parallel<T: Sync, A: Send>(items: &[T], work: impl Fn(&T) -> A + Sync) -> Vec<A> {
    in_parallel_on(available_parallelism().map_or(1, usize::from), items, work)
}

/// Like [`in_parallel`], on this many threads.
pub(crate) fn in_parallel_on<T: Sync, A: Send>(threads: usize, items: &[T], work: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let answer = work(item);
                    answers.lock().unwrap_or_else(PoisonError::into_inner).push((index, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// Whether a program is installed and works. Shows none of its output.
pub(crate) fn works(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// Runs `cargo test`, shows its output and adds up its `test result` lines.
///
/// # Errors
/// If it cannot be started or fails, or ran no test.
pub(crate) fn count_tests(command: &mut Command, counts: &mut Counts) -> Result<(), String> {
    let text = shown(command);
    println!("$ {text}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| format!("{text}: {e}"))?;
    let mut here = Counts::default();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).split(b'\n') {
            let line = line.map_err(|e| format!("{text}: {e}"))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            if let Some(more) = test_result(&line) {
                here.passed += more.passed;
                here.failed += more.failed;
            }
        }
    }
    counts.passed += here.passed;
    counts.failed += here.failed;
    let status = child.wait().map_err(|e| format!("{text}: {e}"))?;
    match here {
        _ if !status.success() => Err(format!("{text}: {status}, {} tests failed", here.failed)),
        Counts { passed: 0, failed: 0 } => Err(format!("{text}: there are no tests")),
        _ => Ok(()),
    }
}

/// The numbers of a line `test result: ok. 3 passed; 0 failed; ...`.
fn test_result(line: &str) -> Option<Counts> {
    let (_, numbers) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number = |word: &str| {
        let part = numbers.split("; ").find(|part| part.ends_with(word))?;
        part.strip_suffix(word)?.trim().parse().ok()
    };
    Some(Counts { passed: number(" passed")?, failed: number(" failed")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..50).collect();
        assert_eq!(in_parallel(&items, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
    }

    #[test]
    fn lines_of_the_test_runner() {
        let line = "test result: ok. 24 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.11s";
        assert_eq!(test_result(line), Some(Counts { passed: 24, failed: 0 }));
        let line = "test result: FAILED. 2 passed; 13 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.00s";
        assert_eq!(test_result(line), Some(Counts { passed: 2, failed: 13 }));
        assert_eq!(test_result("test run::tests::lines_of_the_test_runner ... ok"), None);
    }
}
