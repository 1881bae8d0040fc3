//! How to be awake in time: the kernel wakes a thread some time after its timer, mostly because the processor slept too.

use pathweave_units::{Duration, Instant};

/// At most so long before a departure this thread stays awake for it.
const LONGEST: Duration = Duration::from_micros(200);
/// Of all time it stays awake for this part at most, so that frequent departures do not take a processor for themselves ...
const PART: u64 = 4;
/// ... and after a quiet time so long at once.
const MOST_SAVED: Duration = Duration::from_millis(2);
/// Sleeps that are shorter than expected are believed slowly: by one of so many parts of the difference.
const FORGETTING: u64 = 16;

/// Ends sleeps so much too early that they are in time, and says when to stay awake for the rest.
#[derive(Debug, Default)]
pub(super) struct Nap {
    /// By how much sleeps are too long.
    excess: Duration,
    /// How much longer this thread may stay awake.
    saved: Duration,
    last: Instant,
    is_awake: bool,
}

impl Nap {
    /// How long to sleep until it is `time`; `None`: not at all, look at the clock again.
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

    /// A sleep ended by its timer, so much too late.
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

    /// Waits for `time` with a kernel whose sleeps are too long by `excess`; gives when it is awake, and how long it stayed awake for it.
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
