//! The loop of one host with real packets.

use crate::{Capture, Clock, Tunnels};
use pathweave_driver::{Applications, Driver, Observed};
use pathweave_proto::Secrets;
use pathweave_units::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// The device of a host: its TUN devices, and a capture if one is wanted.
pub type Io = Observed<Tunnels, Option<Capture>>;

/// The one endpoint of the driver.
const HOST: usize = 0;
/// The longest sleep: that often `go_on` is asked.
const LONGEST_SLEEP_NS: u64 = 50_000_000;

/// Runs the host until `go_on` answers false. It is asked after each turn, and at least every 50 ms.
///
/// A turn is a batch of packets, all that is due, and the applications, until all are idle or as many packets were written as were read
/// at most. Where packets were read or wait to be written, the next turn follows at once.
///
/// # Errors
/// Where a device fails.
pub fn run<A: Applications>(
    driver: &mut Driver<Io, A>,
    clock: &Clock,
    go_on: impl FnMut(&mut Driver<Io, A>, Instant) -> bool,
) -> io::Result<()> {
    run_beside(driver, clock, |_, _| {}, go_on)
}

/// As [`run`], with applications that wait for descriptors of their own too: they are served when one of those that `wait_for` adds
/// is ready.
///
/// # Errors
/// Where a device fails.
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

/// Secrets of the operating system's randomness.
///
/// # Errors
/// Where there is none.
pub fn secrets() -> io::Result<Secrets> {
    let mut seed = [0; 32];
    let mut filled = 0;
    while filled < seed.len() {
        filled += getrandom(&mut seed[filled..], GetRandomFlags::empty())?;
    }
    Ok(Secrets::new(seed))
}
