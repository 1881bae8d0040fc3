//! The engine with real packets against the kernel's Multipath TCP, in a network namespace of its own.
//!
//! The namespace has no name, so it is gone with the last process in it, however that ends. Inside, each row of a
//! covering array is one connection that carries data both ways at once. Its hashes must be equal, it must be closed
//! cleanly, it must not fall back to plain TCP, and the kernel must have counted no error.

mod captures;
mod covering;
mod crowd;
mod deadline;
mod ends;
mod events;
mod failing;
mod kernel;
mod lossy;
mod programs;
mod rows;
mod trial;

use crate::emulation;
use crate::run::{cargo, in_parallel_on, program, run, target, works};
use crate::steps::{Counts, now};
use crate::{results, setup};
use kernel::Kernel;
use std::fmt::Display;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use trial::Trial;

/// Argument that tells this process that it is inside of the namespace.
const INSIDE: &str = "interop-inside";

/// Rows over emulated links that run at the same time. Their links are slow, so the processors have time for all of
/// them.
const AT_A_TIME: usize = 8;

/// Status of `timeout` if it had to end the command.
const TIMED_OUT: i32 = 124;
/// Seconds after which a run has hung and is ended. The quick rows take two minutes; all rows, or the deadlines of one
/// sender, a quarter of an hour.
const QUICK_LIMIT: u32 = 600;
const LIMIT: u32 = 3600;
/// Longest time that a server may take to end after its client.
const SERVER_END: Duration = Duration::from_secs(30);

/// Runs the rows in a new namespace. If that is not possible, says so and does nothing. The command must have been
/// built.
///
/// # Errors
/// Each check that failed.
pub(crate) fn check(quick: bool, counts: &mut Counts) -> Result<(), String> {
    if let Some(reason) = missing() {
        println!("SKIPPED: {reason}");
        return Ok(());
    }
    setup::install(&setup::INTEROP)?;
    // As the tests are built, so that the proxy is there after them.
    run(&mut cargo("build --workspace --all-features --example proxy"))?;
    in_namespace(if quick { &["--quick"] } else { &[] })?;
    counts.passed += 1;
    emulation::check()?;
    counts.passed += 1;
    Ok(())
}

/// The reason why nothing can be done here, if there is one.
pub(crate) fn missing() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("the kernel's Multipath TCP and TUN devices are Linux's".into());
    }
    if !works(&mut program("unshare", "--net true")) {
        return Some("network namespaces need root (and unshare, of util-linux)".into());
    }
    if !works(&mut program("unshare", "--net ip tuntap add dev pw0 mode tun")) {
        return Some("no TUN device can be made here (ip, of iproute2, and /dev/net/tun)".into());
    }
    let enabled = std::fs::read_to_string("/proc/sys/net/mptcp/enabled").unwrap_or_default();
    (enabled.trim().is_empty()).then(|| "this kernel has no Multipath TCP".into())
}

/// Checks that two paths carry the sum of their rates, for one sender: a scheduler's name, or `kernel`. For a quiet
/// machine.
///
/// # Errors
/// If they carry less.
pub(crate) fn deadline(sender: &str) -> Result<(), String> {
    if let Some(reason) = missing() {
        println!("SKIPPED: {reason}");
        return Ok(());
    }
    setup::install(&setup::INTEROP)?;
    results::build()?;
    in_namespace(&["--deadline", sender])
}

/// Runs this program again in a network namespace of its own.
fn in_namespace(arguments: &[&str]) -> Result<(), String> {
    // A test run may have built this program anew: what is there now has the same name.
    let this = target().join("debug/xtask");
    let limit = if arguments.contains(&"--quick") { QUICK_LIMIT } else { LIMIT };
    // With `unshare` all that runs in the namespace ends.
    let mut command = program("timeout", &format!("{limit} unshare --net --pid --fork --kill-child --mount-proc --"));
    command.arg(this).arg(INSIDE).args(arguments);
    println!("$ unshare --net ... xtask {INSIDE} {}", arguments.join(" "));
    let status = command.status().map_err(|e| format!("timeout: {e}"))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(TIMED_OUT) => Err(format!("it was not done after {limit} s")),
        _ => Err("something failed; it is listed above".into()),
    }
}

/// Mounts `/sys` with the devices of this network namespace, as `ip netns exec` does. The mount is visible in the
/// namespace alone.
///
/// # Errors
/// If it cannot be mounted.
pub(crate) fn show_devices() -> Result<(), String> {
    run(&mut program("mount", "-t sysfs sysfs /sys"))
}

/// The part of the command that runs inside of the namespace.
///
/// # Errors
/// The number of failed rows; the reasons are printed.
pub(crate) fn inside(arguments: &[&str]) -> Result<(), String> {
    let quick = arguments.contains(&"--quick");
    let part = match arguments {
        ["--deadline", sender] => return deadline::check(sender),
        [.., "--part", part] => Some(*part),
        _ => None,
    };
    show_devices()?;
    let _ = fs::remove_dir_all(trial::folder());
    let mut failed = if part.is_none_or(|part| part == "rows") { direct(quick)? } else { 0 };
    let mut trials = trials(quick)?;
    trials.retain(|(of, _, _)| part.is_none_or(|part| part == *of));
    failed += over_links(&trials);
    if failed == 0 { captures::check(quick) } else { Err(format!("{failed} rows failed")) }
}

/// A trial, with the name of its part and its number there.
type Numbered = (&'static str, usize, Box<dyn OverLinks>);

/// All trials over emulated links, the longest first.
fn trials(quick: bool) -> Result<Vec<Numbered>, String> {
    fn numbered(part: &'static str, all: impl IntoIterator<Item = impl OverLinks + 'static>) -> Vec<Numbered> {
        let boxed = |(i, one)| (part, i + 1, Box::new(one) as Box<dyn OverLinks>);
        all.into_iter().enumerate().map(boxed).collect()
    }
    let mut all = numbered("ends", ends::all(quick));
    all.extend(numbered("failing", failing::all(quick)));
    all.extend(numbered("events", events::all()));
    all.extend(numbered("links", lossy::all(quick)?));
    all.extend(numbered("programs", programs::all()));
    all.extend(numbered("crowd", [crowd::Crowd]));
    Ok(all)
}

/// Runs rows between the engine and this namespace's kernel, one after the other. Returns the number of failures.
fn direct(quick: bool) -> Result<usize, String> {
    let kernel = Kernel::set_up()?;
    let rows = rows::all(quick)?;
    let server = Running::start(results::pathweave().args(["perf", "--server", "--kernel"]))?;
    let mut tally = Tally::new("rows without links", rows.len());
    for (i, row) in rows.iter().enumerate() {
        let folder = trial::folder().join(format!("row-{}", i + 1));
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        tally.take(&format!("row {}", i + 1), row, row.run(&kernel, &folder.join(trial::CAPTURE)));
    }
    drop(server);
    Ok(tally.failed())
}

/// A trial over emulated links.
trait OverLinks: Display + Sync {
    /// The programs of both sides. `name` is the name of the trial's folder.
    fn trial(&self, name: String) -> Trial;
    /// Runs the trial and returns what is wrong.
    fn run(&self, trial: &Trial) -> Result<(), String>;
}

/// Runs all of these, several at a time. Returns the number of failures.
fn over_links(all: &[Numbered]) -> usize {
    let tally = Mutex::new(Tally::new("trials over links", all.len()));
    in_parallel_on(AT_A_TIME, all, |(part, i, one)| {
        let result = one.run(&one.trial(format!("{part}-{i}")));
        tally.lock().unwrap_or_else(PoisonError::into_inner).take(&format!("{part} {i}"), one, result);
    });
    tally.into_inner().unwrap_or_else(PoisonError::into_inner).failed()
}

/// Prints each row, and counts failures.
struct Tally {
    what: &'static str,
    rows: usize,
    failed: usize,
    start: Instant,
}

impl Tally {
    fn new(what: &'static str, rows: usize) -> Self {
        Tally { what, rows, failed: 0, start: now() }
    }

    fn take(&mut self, name: &str, row: &dyn Display, result: Result<(), String>) {
        match result {
            Ok(()) => println!("{name:>12}  ok      {row}"),
            Err(error) => {
                self.failed += 1;
                println!("{name:>12}  FAILED  {row}: {error}");
            }
        }
    }

    fn failed(self) -> usize {
        println!("{} {}, {} failed, {:.0} s", self.rows, self.what, self.failed, self.start.elapsed().as_secs_f64());
        self.failed
    }
}

/// A program that ends when this is dropped.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        child.map(Running).map_err(|e| format!("{command:?}: {e}"))
    }
}

impl Running {
    /// Waits until it has ended by itself.
    fn wait(&mut self) -> Result<(), String> {
        let start = now();
        loop {
            match self.0.try_wait().map_err(|e| e.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the server's end: {status}")),
                None if start.elapsed() > SERVER_END => return Err("the server has not ended".into()),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
