//! Timing of sleeps. The kernel wakes a thread some time after its timer expires, mostly because the processor slept
//! too, so a thread that must be in time sleeps less and waits awake for the rest.

use pathweave_units::{Duration, Instant};

/// Longest time for which the thread waits awake before a departure.
const LONGEST: Duration = Duration::from_micros(200);
/// The thread waits awake for at most 1/`PART` of all time, so that frequent departures do not occupy a processor.
const PART: u64 = 4;
/// Most waiting time that a quiet period saves up for later.
const MOST_SAVED: Duration = Duration::from_millis(2);
/// Smoothing factor for sleeps shorter than expected: the estimate falls by 1/`FORGETTING` of the difference.
const FORGETTING: u64 = 16;

/// Shortens sleeps by their expected delay, and decides when to wait awake for the rest.
#[derive(Debug, Default)]
pub(super) struct Nap {
    /// Time by which sleeps are expected to last too long.
    excess: Duration,
    /// Time for which the thread may still wait awake.
    saved: Duration,
    last: Instant,
    is_awake: bool,
}

impl Nap {
    /// Length of the sleep before `time`. `None` if the thread should not sleep but look at the clock again.
    pub(super) fn until(&mut self, now: Instant, time: Instant) -> Option<Duration> {
        let passed = now.since(self.last);
        self.last = now;
        let used = if self.is_awake { passed } else { Duration::ZERO };
        self.saved = (self.saved.saturating_sub(used) + passed.div(PART)).min(MOST_SAVED);
        let wait = time.since(now);
        self.is_awake = wait <= self.excess && wait <= self.saved;
        match self.is_awake {
            true => None,
            false if self.excess <= self.saved => Some(wait.saturating_sub(self.excess)),
            false => Some(wait),
        }
    }

    /// Takes note of a sleep that ended `late` after its timer.
    pub(super) fn learn(&mut self, late: Duration) {
        let late = late.min(LONGEST);
        self.excess = match late > self.excess {
            true => (self.excess + late).div(2),
            false => self.excess.saturating_sub((self.excess - late).div(FORGETTING)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    /// Waits for `time` on a kernel whose sleeps last `excess` too long. Returns the time at which the thread is ready,
    /// and how long it waited awake.
    fn wait(nap: &mut Nap, mut now: Instant, time: Instant, excess: Duration) -> (Instant, Duration) {
        let mut awake = Duration::ZERO;
        while now < time {
            match nap.until(now, time) {
                Some(sleep) => {
                    now += sleep + excess;
                    nap.learn(excess);
                }
                None => {
                    now += MICROSECOND;
                    awake += MICROSECOND;
                }
            }
        }
        (now, awake)
    }

    #[test]
    fn sleeps_end_in_time_once_it_is_known_how_long_they_are() {
        let mut nap = Nap::default();
        let excess = Duration::from_micros(90);
        let mut late = Vec::new();
        for i in 1..=50 {
            let time = Instant::from_millis(10 * i);
            late.push(wait(&mut nap, Instant::from_millis(10 * i - 10), time, excess).0.since(time));
        }
        assert_eq!(late[0], excess, "nothing is known yet");
        assert!(late[10..].iter().all(|late| *late <= MICROSECOND), "{late:?}");
    }

    #[test]
    fn frequent_departures_do_not_take_the_processor() {
        let mut nap = Nap::default();
        let (mut now, mut awake) = (Instant::ZERO, Duration::ZERO);
        let end = Instant::from_millis(1000);
        for excess in [10, 100].into_iter().cycle() {
            let (then, stayed) = wait(&mut nap, now, now + Duration::from_micros(120), Duration::from_micros(excess));
            (now, awake) = (then, awake + stayed);
            if now > end {
                break;
            }
        }
        let least = Duration::from_millis(100);
        assert!(awake > least && awake <= Duration::from_millis(1000).div(PART) + MOST_SAVED, "{awake}");
    }

    #[test]
    fn a_machine_that_oversleeps_by_far_is_not_waited_for_longer_than_the_limit() {
        let mut nap = Nap::default();
        (0..100).for_each(|_| nap.learn(Duration::from_millis(5)));
        let now = Instant::from_millis(1000);
        let sleep = nap.until(now, now + Duration::from_millis(1)).expect("there is time to sleep");
        assert!(sleep >= Duration::from_millis(1) - LONGEST && sleep < Duration::from_micros(801), "{sleep}");
    }
}
