//! The engine with real packets against the kernel's Multipath TCP, in a network namespace of its own.
//!
//! The namespace has no name: it is gone with the last process in it, whatever ends that. Inside, each row of a covering array
//! is one connection that carries data both ways at once; its hashes must be equal, it must be closed cleanly, nothing may fall
//! back to plain TCP, and the kernel may have counted nothing wrong.

mod covering;
mod kernel;
mod rows;

use crate::emulation;
use crate::results;
use crate::run::{program, target, works};
use crate::steps::Counts;
use kernel::Kernel;
use std::process::{Child, Command, Stdio};

/// Says that this process is inside of the namespace.
const INSIDE: &str = "interop-inside";

/// Runs the rows in a new namespace; where that is not possible, says so and does nothing.
///
/// # Errors
/// What did not hold.
pub(crate) fn check(quick: bool, counts: &mut Counts) -> Result<(), String> {
    if let Some(reason) = missing() {
        println!("SKIPPED: {reason}");
        return Ok(());
    }
    results::build()?;
    // A test run may have built this program anew: what is there now has the same name.
    let this = target().join("debug/xtask");
    let mut command = program("unshare", "--net --pid --fork --kill-child --mount-proc --");
    command.arg(this).arg(INSIDE).args(quick.then_some("--quick"));
    println!("$ unshare --net ... xtask {INSIDE}");
    let status = command.status().map_err(|e| format!("unshare: {e}"))?;
    if !status.success() {
        return Err("some rows failed; they are listed above".into());
    }
    counts.passed += 1;
    emulation::check()?;
    counts.passed += 1;
    Ok(())
}

/// Why nothing can be done here.
fn missing() -> Option<String> {
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

/// All rows, inside of the namespace.
///
/// # Errors
/// How many rows failed; why is printed.
pub(crate) fn inside(quick: bool) -> Result<(), String> {
    let kernel = Kernel::set_up()?;
    let rows = rows::all(quick)?;
    let server = Running::start(results::pathweave().args(["perf", "--server", "--kernel"]))?;
    let mut failed = 0;
    for (i, row) in rows.iter().enumerate() {
        let before = kernel.counters();
        let result = row.run(&kernel).and_then(|seen| {
            kernel.nothing_wrong_since(&before)?;
            row.has_all_subflows(&seen)
        });
        match result {
            Ok(()) => println!("{:>4} of {}  ok      {row}", i + 1, rows.len()),
            Err(error) => {
                failed += 1;
                println!("{:>4} of {}  FAILED  {row}: {error}", i + 1, rows.len());
            }
        }
    }
    drop(server);
    println!("{} rows, {failed} failed", rows.len());
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} rows failed", rows.len())) }
}

/// A program that is ended with this.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        child.map(Running).map_err(|e| format!("{command:?}: {e}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
