//! Runs checks one after the other, with a headline, a time and a summary.
//!
//! There are two times: wall-clock time, and processor time of this program and its children. The second hardly depends
//! on other work on the machine.

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Numbers of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Passed tests.
    pub(crate) passed: u64,
    /// Failed tests.
    pub(crate) failed: u64,
}

/// A check of [`Steps::side_by_side`], with its name.
pub(crate) type Check = (&'static str, fn(&mut Counts) -> Result<(), String>);

/// The completed checks.
#[derive(Debug)]
pub(crate) struct Steps {
    start: Instant,
    done: Vec<Done>,
    counts: Counts,
}

impl Default for Steps {
    fn default() -> Self {
        Self { start: now(), done: Vec::new(), counts: Counts::default() }
    }
}

#[derive(Debug)]
struct Done {
    name: String,
    wall: Duration,
    /// Processor time; `None` if the system does not report it, or another check ran at the same time.
    processors: Option<Duration>,
    result: Result<(), String>,
}

impl Done {
    /// Seconds of wall-clock and processor time, in columns.
    fn times(&self) -> String {
        times(self.wall, self.processors)
    }

    /// Prints whether the check passed, and its times.
    fn print(&self) {
        let cpu =
            self.processors.map_or(String::new(), |time| format!(", {:.1} s of processor time", time.as_secs_f64()));
        let (name, seconds) = (&self.name, self.wall.as_secs_f64());
        match &self.result {
            Ok(()) => println!("=== {name}: passed in {seconds:.1} s{cpu}"),
            Err(error) => println!("=== {name}: FAILED after {seconds:.1} s{cpu}: {error}"),
        }
    }
}

/// Runs a check under a headline.
fn timed(name: &str, check: impl FnOnce() -> Result<(), String>) -> Done {
    println!("\n=== {name}");
    let start = now();
    let result = check();
    Done { name: name.into(), wall: start.elapsed(), processors: None, result }
}

fn times(wall: Duration, processors: Option<Duration>) -> String {
    let processors = processors.map_or("-".into(), |time| format!("{:.1}", time.as_secs_f64()));
    format!("{:>8.1} {processors:>8}", wall.as_secs_f64())
}

impl Steps {
    /// Runs one check and returns whether it passed.
    pub(crate) fn step(&mut self, name: &str, check: impl FnOnce(&mut Counts) -> Result<(), String>) -> bool {
        let before = processor_time();
        let mut done = timed(name, || check(&mut self.counts));
        done.processors = processor_time().zip(before).map(|(after, before)| after.saturating_sub(before));
        done.print();
        let passed = done.result.is_ok();
        self.done.push(done);
        passed
    }

    /// Runs two lists of checks at the same time, each list in its order. Most of them keep one processor busy. What they
    /// print is mixed.
    pub(crate) fn side_by_side(&mut self, lists: [&[Check]; 2]) {
        let run = |list: &[Check]| {
            let mut counts = Counts::default();
            let done: Vec<Done> = list
                .iter()
                .map(|(name, check)| {
                    let done = timed(name, || check(&mut counts));
                    done.print();
                    done
                })
                .collect();
            (done, counts)
        };
        let (first, second) = std::thread::scope(|scope| {
            let second = scope.spawn(|| run(lists[1]));
            (run(lists[0]), second.join().expect("a check returns its failure as an error"))
        });
        for (done, counts) in [first, second] {
            self.done.extend(done);
            self.counts.passed += counts.passed;
            self.counts.failed += counts.failed;
        }
    }

    /// Prints which checks passed and failed, the slowest first.
    pub(crate) fn finish(self) -> ExitCode {
        println!("\n=== summary, by time\n       {:>8} {:>8}", "wall, s", "CPU, s");
        let mut by_time: Vec<&Done> = self.done.iter().collect();
        by_time.sort_by_key(|done| std::cmp::Reverse(done.processors.unwrap_or(done.wall)));
        for done in by_time {
            let word = if done.result.is_ok() { "passed" } else { "FAILED" };
            println!("{word} {}  {}", done.times(), done.name);
        }
        println!("       {}  in all", times(self.start.elapsed(), processor_time()));
        for Done { name, result, .. } in &self.done {
            if let Err(error) = result {
                println!("\n{name}: {error}");
            }
        }
        if self.counts != Counts::default() {
            println!("\n{} passed, {} failed", self.counts.passed, self.counts.failed);
        }
        match self.done.iter().all(|done| done.result.is_ok()) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}

/// The current time. Unlike the libraries, chores may read the clock.
#[expect(clippy::disallowed_methods, reason = "how long a check takes is shown to people and affects no result")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Processor time of this program and its children that have ended, from `/proc/self/stat`.
pub(crate) fn processor_time() -> Option<Duration> {
    processor_time_in(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// The sum of utime, stime, cutime and cstime, in hundredths of a second.
fn processor_time_in(stat: &str) -> Option<Duration> {
    // The program's name, in parentheses, may contain blanks. The field after it is the third.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: Vec<u64> = fields.split(' ').skip(11).take(4).map_while(|field| field.parse().ok()).collect();
    (ticks.len() == 4).then(|| Duration::from_millis(10 * ticks.iter().sum::<u64>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_the_programs_name() {
        let stat = "7 (a b) c) R 1 2 3 0 -1 4194304 100 200 0 0 11 22 333 4444 20 0 1 0 5 6 7\n";
        assert_eq!(processor_time_in(stat), Some(Duration::from_millis(48_100)));
        assert_eq!(processor_time_in("7 (a) R 1 2"), None);
    }
}
