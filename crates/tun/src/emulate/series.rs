//! Traffic over time, in steps of equal length.

use pathweave_units::{Duration, Instant};

/// Initial length of a step.
const FIRST_STEP: Duration = Duration::from_millis(50);
/// Most steps, an even number. When a series has this many, each two steps are merged into one.
const MOST_STEPS: usize = 600;

/// Traffic of one direction of a path during a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Packets delivered at the path's end.
    pub packets: u64,
    /// Bytes of the delivered packets.
    pub bytes: u64,
    /// Packets dropped by queues or lost.
    pub dropped: u64,
    /// Bytes in the direction's queues at the end of the step. Merged steps have the maximum.
    pub queue_bytes: u64,
    /// Sum of the packets' delays from device to device.
    pub delays: Duration,
    /// Longest delay of a packet.
    pub longest_delay: Duration,
}

impl Sample {
    fn join(&mut self, next: &Sample) {
        self.packets += next.packets;
        self.bytes += next.bytes;
        self.dropped += next.dropped;
        self.queue_bytes = self.queue_bytes.max(next.queue_bytes);
        self.delays += next.delays;
        self.longest_delay = self.longest_delay.max(next.longest_delay);
    }

    /// Mean delay of a packet; `None` if no packet was delivered.
    pub fn mean_delay(&self) -> Option<Duration> {
        (self.packets > 0).then(|| self.delays.div(self.packets))
    }
}

/// Traffic of both directions of all paths over time. All steps have one length, which grows with the time, so that
/// there are at most 600.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    step: Duration,
    /// End of the step that is being filled.
    end: Instant,
    /// Steps of each path: from the client, and from the server. The last step is still being filled.
    paths: Vec<[Vec<Sample>; 2]>,
}

impl Series {
    pub(super) fn new(paths: usize) -> Self {
        let paths = vec![[vec![Sample::default()], vec![Sample::default()]]; paths];
        Series { step: FIRST_STEP, end: Instant::ZERO + FIRST_STEP, paths }
    }

    /// Length of a step.
    pub fn step(&self) -> Duration {
        self.step
    }

    /// The complete steps of each path: from the client, and from the server.
    pub fn paths(&self) -> impl Iterator<Item = [&[Sample]; 2]> {
        self.paths.iter().map(|[up, down]| [&up[..up.len() - 1], &down[..down.len() - 1]])
    }

    /// The step that is being filled, of a path and a direction (0 from the client, 1 from the server).
    pub(super) fn now(&mut self, path: usize, way: usize) -> &mut Sample {
        let samples = &mut self.paths[path][way];
        samples.last_mut().expect("there is always a step that is filled")
    }

    /// Ends the steps that are over. `queue` returns the bytes that wait on a path and direction.
    pub(super) fn go_on(&mut self, now: Instant, queue: impl Fn(usize, usize) -> u64) {
        while now >= self.end {
            let mut is_full = false;
            for (path, ways) in self.paths.iter_mut().enumerate() {
                for (way, samples) in ways.iter_mut().enumerate() {
                    samples.last_mut().into_iter().for_each(|last| last.queue_bytes = queue(path, way));
                    is_full = samples.len() == MOST_STEPS;
                    if is_full {
                        *samples = samples.chunks(2).map(joined).collect();
                    }
                    samples.push(Sample::default());
                }
            }
            if is_full {
                self.step += self.step;
            }
            self.end += self.step;
        }
    }
}

fn joined(pair: &[Sample]) -> Sample {
    let mut sum = Sample::default();
    pair.iter().for_each(|sample| sum.join(sample));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_become_longer_and_nothing_of_them_is_lost() {
        let mut series = Series::new(2);
        let steps = 3 * MOST_STEPS as u64;
        for i in 0..steps {
            let now = Instant::ZERO + FIRST_STEP.saturating_mul(i);
            series.go_on(now, |path, way| 10 * path as u64 + way as u64);
            let sample = series.now(1, 0);
            sample.packets += 2;
            sample.bytes += 100;
            sample.delays += Duration::from_millis(2 + 2 * (i % 2));
            sample.longest_delay = sample.longest_delay.max(Duration::from_millis(i % 7));
        }
        series.go_on(Instant::ZERO + FIRST_STEP.saturating_mul(steps), |_, _| 11);
        assert_eq!(series.step(), FIRST_STEP.saturating_mul(4));
        let paths: Vec<_> = series.paths().collect();
        assert_eq!(paths.len(), 2);
        assert_eq!(paths[1][0].len() as u64, steps / 4);
        for sample in paths[1][0] {
            assert_eq!((sample.packets, sample.bytes), (8, 400));
            assert_eq!(sample.mean_delay(), Some(Duration::from_micros(1500)));
        }
        assert_eq!(paths[1][0][0].longest_delay, Duration::from_millis(3));
        assert_eq!((paths[1][0][0].queue_bytes, paths[1][0].last().map(|s| s.queue_bytes)), (10, Some(11)));
        assert_eq!(paths[0][0][0], Sample::default());
        assert_eq!(paths[0][0][0].mean_delay(), None);
    }

    #[test]
    fn a_pause_leaves_empty_steps() {
        let mut series = Series::new(1);
        series.now(0, 1).packets = 1;
        series.go_on(Instant::ZERO + FIRST_STEP.saturating_mul(4), |_, _| 0);
        let [up, down] = series.paths().next().expect("there is a path");
        assert_eq!(down.iter().map(|s| s.packets).collect::<Vec<_>>(), [1, 0, 0, 0]);
        assert_eq!(up.len(), 4);
    }
}
