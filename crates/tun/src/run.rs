//! The loop of one host with real packets.

use crate::{Capture, Clock, Tunnels};
use pathweave_driver::{Applications, Driver, Observed};
use pathweave_proto::Secrets;
use pathweave_units::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// A host's TUN devices, with a capture if one is wanted.
pub type Io = Observed<Tunnels, Option<Capture>>;

/// Index of the driver's only endpoint.
const HOST: usize = 0;
/// Longest sleep, and so the longest time between two calls of `go_on`, nanoseconds.
const LONGEST_SLEEP_NS: u64 = 50_000_000;

/// Runs the host until `go_on` returns false. `go_on` is called after each turn, and at least every 50 ms.
///
/// A turn handles a batch of packets, all expired timers, and the applications. It ends when all are idle, or when as
/// many packets have been written since the last read as one read returns at most (64). If packets were read or wait to
/// be written, the next turn follows at once.
///
/// # Errors
/// If a device fails.
pub fn run<A: Applications>(
    driver: &mut Driver<Io, A>,
    clock: &Clock,
    go_on: impl FnMut(&mut Driver<Io, A>, Instant) -> bool,
) -> io::Result<()> {
    run_beside(driver, clock, |_, _| {}, go_on)
}

/// Like [`run`], for applications that also wait for descriptors of their own. `wait_for` adds these descriptors; the
/// applications are called when one of them is ready.
///
/// # Errors
/// If a device fails.
pub fn run_beside<A: Applications>(
    driver: &mut Driver<Io, A>,
    clock: &Clock,
    wait_for: impl for<'a> Fn(&'a A, &mut Vec<PollFd<'a>>),
    mut go_on: impl FnMut(&mut Driver<Io, A>, Instant) -> bool,
) -> io::Result<()> {
    let _away = driver.io.device.stay_away();
    loop {
        let now = clock.now();
        let mut next = driver.settle(now)?;
        if driver.io.device.holds_back() {
            // Others were read meanwhile.
            driver.drain(now, HOST)?;
            next = driver.poll_timeout();
        }
        if !go_on(driver, now) {
            return Ok(());
        }
        if driver.io.device.may_have_more() || driver.io.device.holds_back() {
            continue;
        }
        let wait = next.map_or(LONGEST_SLEEP_NS, |next| next.since(clock.now()).as_nanos()).min(LONGEST_SLEEP_NS);
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait as _ };
        let mut descriptors: Vec<PollFd<'_>> = Vec::new();
        descriptors.extend(driver.io.device.descriptors().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let devices = descriptors.len();
        wait_for(&driver.applications, &mut descriptors);
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if descriptors[devices..].iter().any(|descriptor| !descriptor.revents().is_empty()) {
            driver.drain(clock.now(), HOST)?;
        }
    }
}

/// Secrets from the operating system's random numbers.
///
/// # Errors
/// If the system has no random numbers.
pub fn secrets() -> io::Result<Secrets> {
    let mut seed = [0; 32];
    let mut filled = 0;
    while filled < seed.len() {
        filled += getrandom(&mut seed[filled..], GetRandomFlags::empty())?;
    }
    Ok(Secrets::new(seed))
}
