//! Failures that end the work early: wrong input, output that cannot be written, and panics inside a run. The message
//! of a panic has its place in the code, and says whether a scheduler or Pathweave is at fault.

use pathweave_lab::scenario::{ScenarioError, did_you_mean};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::{fmt, fs, io};

/// The reason why the work ends early.
#[derive(Debug)]
pub enum Failure {
    /// A mistake in a scenario, in an override, or in the name of a scheduler.
    Scenario(Box<ScenarioError>),
    /// Other wrong input.
    Input(String),
    /// Output could not be written.
    Output(String),
    /// The reader of the output has closed it.
    Closed,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Scenario(error) => error.fmt(f),
            Failure::Input(text) | Failure::Output(text) => f.write_str(text),
            Failure::Closed => f.write_str("the reader is gone"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Failure::Scenario(Box::new(error))
    }
}

impl Failure {
    /// The failure to read the file at `path`, which is to be `wanted`: "a plan". If there is no such file, the text names
    /// the nearest one of its folder.
    pub(crate) fn reading(path: &Path, wanted: &str) -> impl FnOnce(io::Error) -> Failure {
        move |error| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let file = path.display();
            Failure::Input(match error.kind() {
                io::ErrorKind::NotFound if !folder.is_dir() => {
                    format!("{file}: there is no folder {}; this has to be {wanted}", folder.display())
                }
                io::ErrorKind::NotFound => {
                    let files = fs::read_dir(folder).into_iter().flatten().flatten();
                    let names: Vec<String> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    let wanted = format!("this has to be {wanted}");
                    let hint = did_you_mean(&name, names.iter().map(String::as_str), &wanted);
                    format!("{file}: there is no such file; {hint}")
                }
                io::ErrorKind::IsADirectory => format!("{file}: this is a folder, and has to be {wanted}"),
                _ => format!("{file}: {error}; this has to be {wanted}"),
            })
        }
    }

    /// Turns an error while writing to `what` into a failure.
    pub fn writing(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Failure {
        move |error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Output(format!("{what}: {error}")),
        }
    }
}

thread_local! {
    /// File and line of this thread's last panic.
    static PLACE: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

/// Parts of the paths of Pathweave's own sources.
const OURS: [&str; 12] = [
    "crates/units/src/",
    "crates/wire/src/",
    "crates/scheduler/src/",
    "crates/proto/src/",
    "crates/algorithms/src/",
    "crates/driver/src/",
    "crates/netsim/src/",
    "crates/lab/src/",
    "crates/report/src/",
    "crates/experiments/src/",
    "crates/runner/src/",
    "crates/cli/src/",
];

/// The payload of a panic with which a scheduler in another language fails. [`caught`] reports its text without a place
/// in the code.
#[derive(Debug)]
pub struct SchedulerFault(pub String);

/// Makes panics store their place in the code for [`caught`], instead of writing a message to standard error.
pub fn remember_places() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| (l.file().replace('\\', "/"), l.line()));
        PLACE.with(|p| *p.borrow_mut() = place);
    }));
}

/// Calls `work` and returns its value. `scheduler` is the name of the scheduler that runs.
///
/// # Errors
/// If `work` panics; the error is a message for people.
pub fn caught<R>(scheduler: &str, work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        if let Some(SchedulerFault(message)) = panic.downcast_ref() {
            return format!("the scheduler {scheduler} failed: {message}");
        }
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("an unknown panic");
        match PLACE.with(|p| p.borrow_mut().take()) {
            Some((file, line)) if is_a_schedulers(&file) => {
                format!("the scheduler {scheduler} panicked at {file}:{line}: {text}")
            }
            Some((file, line)) => format!("a fault in Pathweave at {file}:{line}: {text}"),
            None => format!("a fault in Pathweave: {text}"),
        }
    })
}

/// Whether a source file belongs to a scheduler: a built-in one, or one outside of Pathweave and its libraries.
fn is_a_schedulers(file: &str) -> bool {
    let library = file.contains("/registry/src/") || file.starts_with("/rustc/") || file.contains("/library/");
    file.contains("crates/algorithms/src/schedulers/") || !(library || OURS.iter().any(|part| file.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_a_panic_is() {
        for (file, schedulers) in [
            ("crates/algorithms/src/schedulers/blest.rs", true),
            ("src/scheduler.rs", true),
            ("/home/ada/my-rule/src/scheduler.rs", true),
            ("crates/proto/src/connection/schedule.rs", false),
            ("crates/scheduler/src/send_map.rs", false),
            ("crates/driver/src/driver.rs", false),
            ("/home/ada/.cargo/git/checkouts/pathweave-1/2/crates/lab/src/sim/mod.rs", false),
            ("/home/ada/.cargo/registry/src/index/bytes-1.0/src/bytes.rs", false),
            ("/rustc/5980/library/core/src/option.rs", false),
        ] {
            assert_eq!(is_a_schedulers(file), schedulers, "{file}");
        }
    }
}
