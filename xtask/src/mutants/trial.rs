//! Runs the tests with one change.
//!
//! A change may make the engine run for ever or take all memory, so each run has limits for its time, its processor time and its memory.
//! `setpriv` ends it together with the thread that started it.

use super::build::{Built, folder, package};
use super::rewrite::VARIABLE;
use crate::run::program;
use crate::steps::now;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Address space of one run.
const MEMORY: u64 = 4 << 30;

/// Number of tests to run first, because they noticed changes nearby.
const NEIGHBOURS: usize = 25;

/// Exit status of a program with a failed test.
const FAILED: i32 = 101;

/// Signal with which Rust ends if memory or the stack is exhausted.
const ABORTED: i32 = 6;

/// Signals that the system sends to a program that has used up its processor time, first and second.
const OUT_OF_TIME: [i32; 2] = [24, 9];

/// The outcome of the tests with a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Noticed: how, and by which test.
    Noticed(&'static str, String),
    NotNoticed,
}

/// The end of one program, and its tests that did not pass.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Passed,
    Noticed(&'static str, Vec<String>),
}

/// Runs the tests, and remembers which test noticed which change.
pub(super) struct Trials<'a> {
    built: &'a Built,
    /// Time of each program without a change.
    times: BTreeMap<&'a str, Duration>,
    /// Tests that noticed a change, with the place of the change, the latest at the end.
    noticed: Mutex<Vec<(String, String)>>,
}

impl<'a> Trials<'a> {
    /// Runs the tests without a change.
    ///
    /// # Errors
    /// If they do not pass.
    pub(super) fn new(built: &'a Built) -> Result<Self, String> {
        let mut trials = Trials { built, times: BTreeMap::new(), noticed: Mutex::default() };
        for (name, file) in &built.programs {
            let start = now();
            match trials.run(name, file, 0, &[], Duration::from_secs(600))? {
                End::Passed => {}
                end => return Err(format!("the tests do not pass without a change: {end:?}")),
            }
            println!("{name}: {:.1} s without a change", start.elapsed().as_secs_f64());
            trials.times.insert(name, start.elapsed());
        }
        Ok(trials)
    }

    /// Records that a test noticed a change at a place (file and function). It is tried first on changes near it.
    pub(super) fn remember(&self, place: &str, test: &str) {
        let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        noticed.push((place.into(), test.into()));
    }

    /// Runs the tests with one change until one notices it. Tests that noticed a neighbour come first.
    ///
    /// # Errors
    /// If a program cannot be run, or ends in an unknown way.
    pub(super) fn outcome(&self, number: u32, place: &str) -> Result<Outcome, String> {
        let neighbours = self.neighbours(place);
        for only_neighbours in [true, false] {
            for (name, file) in &self.built.programs {
                let prefix = format!("{name} ");
                let tests: Vec<&str> = neighbours.iter().filter_map(|test| test.strip_prefix(&prefix)).collect();
                if only_neighbours && tests.is_empty() {
                    continue;
                }
                let unchanged = self.times.get(name.as_str()).copied().unwrap_or_default();
                let limit = unchanged * 3 + Duration::from_secs(5);
                match self.run(name, file, number, if only_neighbours { &tests } else { &[] }, limit)? {
                    End::Passed => {}
                    End::Noticed(how, tests) => {
                        for test in &tests {
                            self.remember(place, &format!("{name} {test}"));
                        }
                        let first = tests.first().map_or("?", String::as_str);
                        return Ok(Outcome::Noticed(how, format!("{name} {first}")));
                    }
                }
            }
        }
        Ok(Outcome::NotNoticed)
    }

    /// The tests that noticed changes of the same function, then of the same file, the latest first.
    fn neighbours(&self, place: &str) -> Vec<String> {
        let noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        let file = |place: &str| place.split(' ').next().map(String::from);
        let same = noticed.iter().rev().filter(|(other, _)| other == place);
        let near = noticed.iter().rev().filter(|(other, _)| other != place && file(other) == file(place));
        let mut tests: Vec<String> = Vec::new();
        for (_, test) in same.chain(near) {
            if tests.len() < NEIGHBOURS && !tests.contains(test) {
                tests.push(test.clone());
            }
        }
        tests
    }

    /// Runs one program, with all of its tests if `tests` is empty.
    fn run(&self, name: &str, file: &Path, number: u32, tests: &[&str], limit: Duration) -> Result<End, String> {
        let output = folder().join(format!("output-{number}"));
        let error = |e| format!("{name} with change {number}: {e}");
        let mut command = program("setpriv", "--pdeathsig KILL prlimit");
        command.arg(format!("--cpu={}", limit.as_secs())).arg(format!("--as={MEMORY}")).arg(file);
        // On one thread, so that as many programs run as there are processors, and the last test that started is the one that hangs.
        command.arg("--test-threads=1").args(if tests.is_empty() { None } else { Some("--exact") }).args(tests);
        command.current_dir(package()).env(VARIABLE, number.to_string());
        command.env("PROPTEST_RNG_SEED", "1").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true");
        command.stdout(fs::File::create(&output).map_err(error)?).stderr(std::process::Stdio::null());
        let start = now();
        let mut child = command.spawn().map_err(error)?;
        let ended = loop {
            if let Some(status) = child.try_wait().map_err(error)? {
                break Some(status);
            }
            // The first failed test says enough. Others may need the processors too.
            let text = fs::read_to_string(&output).map_err(error)?;
            let failed = failed(&text);
            if !failed.is_empty() || start.elapsed() > limit * 4 {
                child.kill().map_err(error)?;
                child.wait().map_err(error)?;
                if !failed.is_empty() {
                    fs::remove_file(&output).map_err(error)?;
                    return Ok(End::Noticed("failed", failed));
                }
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = fs::read_to_string(&output).map_err(error)?;
        fs::remove_file(&output).map_err(error)?;
        end(ended, &text).map_err(|e| format!("{name} with change {number}: {e}\n{text}"))
    }
}

/// The result from the end of a program (`None` if its time was over) and its output.
fn end(status: Option<ExitStatus>, text: &str) -> Result<End, String> {
    let unfinished =
        || text.lines().rev().find_map(|line| line.strip_prefix("test ")?.split_once(" ... ")).map(|(n, _)| n);
    let last = || unfinished().map(String::from).into_iter().collect();
    let Some(status) = status else { return Ok(End::Noticed("took too long", last())) };
    match (status.code(), status.signal()) {
        (Some(0), _) if text.contains("test result: ok. 0 passed") => Err("no test ran".into()),
        (Some(0), _) => Ok(End::Passed),
        (Some(FAILED), _) => {
            let failed = failed(text);
            if failed.is_empty() {
                Err("it failed without a failed test".into())
            } else {
                Ok(End::Noticed("failed", failed))
            }
        }
        (None, Some(ABORTED)) => Ok(End::Noticed("aborted", last())),
        (None, Some(signal)) if OUT_OF_TIME.contains(&signal) => Ok(End::Noticed("took too long", last())),
        _ => Err(status.to_string()),
    }
}

/// The tests that the output calls failed.
fn failed(text: &str) -> Vec<String> {
    let lines = text.lines();
    lines.filter_map(|line| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exit status of a shell that ran `script`.
    fn status(script: &str) -> Option<ExitStatus> {
        program("sh", "-c").arg(script).status().ok()
    }

    #[test]
    fn only_failed_tests_and_limits_count_as_noticed() {
        let text = "test a::b ... ok\ntest a::c ... FAILED\ntest a::d ... ";
        assert_eq!(end(status("exit 0"), text), Ok(End::Passed));
        assert_eq!(end(status("exit 101"), text), Ok(End::Noticed("failed", vec!["a::c".into()])));
        assert_eq!(end(status("kill -ABRT $$"), text), Ok(End::Noticed("aborted", vec!["a::d".into()])));
        assert_eq!(end(status("kill -XCPU $$"), text), Ok(End::Noticed("took too long", vec!["a::d".into()])));
        assert_eq!(end(None, text), Ok(End::Noticed("took too long", vec!["a::d".into()])));
        assert!(end(status("exit 101"), "test a::b ... ok\n").is_err());
        assert!(end(status("exit 127"), text).is_err());
        assert!(end(status("kill -SEGV $$"), text).is_err());
        assert!(end(status("exit 0"), "test result: ok. 0 passed; 0 failed").is_err());
    }
}
