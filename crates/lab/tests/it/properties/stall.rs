//! Distinguishes a stall from a wait for a timer.

use pathweave_units::{Duration, Instant};

/// Time between two looks at a run.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Measures how long something has not moved although it could have, and decides whether that is too long.
///
/// Whatever waits, waits for a timer. After the timer, the data arrives within a round trip or is lost. A probe of
/// failure detection comes after a second. A retransmission comes after the timeout in force when its timer was set,
/// even if a sample has ended the doubling since.
///
/// Timeouts double if a path is dark. All of them together take less than twice the last, which is the longest in
/// force, and the connection's own timer of failure detection `linux` takes as long again.
///
/// If a try is lost (the packet or its acknowledgement), the timer doubles too (RFC 6298 §5.5; for a window, RFC 9293
/// §3.8.6.1). The next try then comes after as long as all tries took until then, and once more. Losses are read from
/// the packets, so no number of losses in a row has to be assumed likely.
#[derive(Debug)]
pub(super) struct Clock {
    moved: Instant,
    lost: Instant,
    /// The longest timeout in force since then.
    timeout: Duration,
    /// Time at which the last of the timers that ran then expires.
    due: Instant,
}

impl Clock {
    pub(super) const NEW: Clock =
        Clock { moved: Instant::ZERO, lost: Instant::ZERO, timeout: Duration::ZERO, due: Instant::ZERO };

    pub(super) fn restart(&mut self, now: Instant, timeout: Duration) {
        *self = Clock { moved: now, lost: now, timeout, due: self.due.max(now + timeout) };
    }

    fn limit(&self) -> Duration {
        let tries = self.lost.since(self.moved);
        let timers = Duration::from_secs(1).max(self.timeout.saturating_mul(3)).max(self.due.since(self.moved));
        // No round trip is longer than a timeout.
        timers + self.timeout + tries + tries + LOOK + LOOK
    }

    /// Takes note of the present state. Reports a stall once.
    pub(super) fn look(&mut self, now: Instant, lost: bool, timeout: Duration, what: &str) -> Option<String> {
        if lost {
            self.lost = now;
        }
        self.timeout = self.timeout.max(timeout);
        let (since, limit) = (self.moved, self.limit());
        (now.since(since) > limit).then(|| {
            self.restart(now, timeout);
            format!("at {now}: {what} since {since}, the limit is {limit}")
        })
    }
}

#[test]
fn a_stall_is_told_once_and_what_is_lost_gives_as_much_time_again() {
    let (ms, timeout) = (Instant::from_millis, Duration::from_millis(400));
    let told = |clock: &mut Clock, at, lost| clock.look(ms(at), lost, timeout, "nothing").is_some();
    let mut clock = Clock::NEW;
    clock.restart(ms(1000), timeout);
    // Three timeouts, a round trip, two looks: 1800 ms.
    assert_eq!([2000, 2800, 2900, 3000].map(|at| told(&mut clock, at, false)), [false, false, true, false]);
    clock.restart(ms(10_000), timeout);
    // The last attempt was lost after 1500 ms.
    assert!(!told(&mut clock, 11_500, true));
    assert_eq!([14_800, 14_900].map(|at| told(&mut clock, at, false)), [false, true]);
    // The timer was set while the timeout was longer.
    clock.restart(ms(20_000), Duration::from_secs(5));
    clock.restart(ms(20_100), timeout);
    assert_eq!([25_600, 25_700].map(|at| told(&mut clock, at, false)), [false, true]);
}
