//! Measurements while data arrives: deliveries to the readers of measured connections, and values that hold until the
//! next one.

use crate::results::{Delays, Intervals, OutOfOrder};
use pathweave_units::{Duration, Instant};

/// Period of which each maximum of out-of-order data is a sample (BLEST §III).
pub(super) const SAMPLE: Duration = Duration::from_millis(10);
/// Time between two looks at the out-of-order data (DPSAF §IV).
const LOOK: Duration = Duration::from_millis(100);
/// Deliveries to the readers of measured connections.
pub(super) struct Readings {
    /// Deliveries and messages count from this time on.
    pub(super) measure_from: Instant,
    /// Length of a step of the series.
    pub(super) step: Duration,
    /// Bytes in each step.
    pub(super) delivered_steps: Vec<u64>,
    /// Delays of messages.
    pub(super) messages: Vec<Duration>,
    pub(super) deliveries: Deliveries,
}

impl Readings {
    pub(super) fn new(measure_from: Instant, step: Duration) -> Self {
        Readings {
            measure_from,
            step,
            delivered_steps: Vec::new(),
            messages: Vec::new(),
            deliveries: Deliveries::new(measure_from),
        }
    }

    pub(super) fn add(steps: &mut Vec<u64>, now: Instant, step: Duration, bytes: u64) {
        let i = (now.as_nanos() / step.as_nanos()) as usize;
        if steps.len() <= i {
            steps.resize(i + 1, 0);
        }
        steps[i] += bytes;
    }

    /// Counts data that a measured connection's reader got, and for which it had waited since a time.
    pub(super) fn delivered(&mut self, now: Instant, bytes: u64, waited_since: Option<Instant>) {
        Self::add(&mut self.delivered_steps, now, self.step, bytes);
        if now >= self.measure_from {
            waited_since.into_iter().for_each(|since| self.deliveries.wait(now, since));
            self.deliveries.add(now);
        }
    }

    /// Notes that a measured connection's reader has the last byte of a message or object, awaited since `since`.
    pub(super) fn message(&mut self, since: Instant, now: Instant) {
        if since >= self.measure_from {
            self.messages.push(now.since(since));
        }
    }
}

/// The largest value in each step of time. A value holds until the next one.
#[derive(Debug)]
pub(super) struct MaxSteps {
    step: u64,
    maxima: Vec<u64>,
    current: u64,
}

impl MaxSteps {
    pub(super) fn new(step: Duration) -> Self {
        MaxSteps { step: step.as_nanos().max(1), maxima: Vec::new(), current: 0 }
    }
    pub(super) fn set(&mut self, now: Instant, value: u64) {
        if value == self.current && !self.maxima.is_empty() {
            return;
        }
        let i = (now.as_nanos() / self.step) as usize;
        while self.maxima.len() <= i {
            self.maxima.push(self.current);
        }
        self.maxima[i] = self.maxima[i].max(value);
        self.current = value;
    }
    /// All steps that have begun before `end`.
    pub(super) fn finish(mut self, end: Instant) -> Vec<u64> {
        let steps = end.as_nanos().div_ceil(self.step) as usize;
        while self.maxima.len() < steps {
            self.maxima.push(self.current);
        }
        self.maxima.truncate(steps);
        self.maxima
    }
}

/// The mean of a value at each multiple of [`LOOK`], from some time on. A value holds until the next one.
#[derive(Debug)]
pub(super) struct Looks {
    from: Instant,
    next: Instant,
    current: u64,
    sum: u64,
    count: u64,
}

impl Looks {
    pub(super) fn new(from: Instant) -> Self {
        Looks { from, next: Instant::ZERO, current: 0, sum: 0, count: 0 }
    }
    pub(super) fn set(&mut self, now: Instant, value: u64) {
        while self.next < now {
            if self.next >= self.from {
                self.sum += self.current;
                self.count += 1;
            }
            self.next += LOOK;
        }
        self.current = value;
    }
    pub(super) fn mean(&mut self, end: Instant) -> f64 {
        self.set(end, self.current);
        if self.count > 0 { self.sum as f64 / self.count as f64 } else { 0.0 }
    }
}

/// The times at which in-order data was delivered.
#[derive(Debug)]
pub(super) struct Deliveries {
    from: Instant,
    last: Option<Instant>,
    /// Number of intervals, and their sum.
    count: u64,
    sum: Duration,
    /// Longest time without a delivery in which a reader waited for data.
    longest: Duration,
}

impl Deliveries {
    fn new(from: Instant) -> Self {
        Deliveries { from, last: None, count: 0, sum: Duration::ZERO, longest: Duration::ZERO }
    }

    /// Notes that a reader has waited from `since` until now.
    pub(super) fn wait(&mut self, now: Instant, since: Instant) {
        let from = self.last.unwrap_or(self.from).max(since);
        if from < now {
            self.longest = self.longest.max(now.since(from));
        }
    }

    fn add(&mut self, now: Instant) {
        let interval = match self.last.replace(now) {
            Some(last) if last < now => now.since(last),
            // There is no interval before the first delivery, or between deliveries at the same time.
            _ => return,
        };
        self.count += 1;
        self.sum += interval;
    }

    pub(super) fn intervals_ms(&self) -> Intervals {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Intervals { mean: if self.count > 0 { ms(self.sum) / self.count as f64 } else { 0.0 }, max: ms(self.longest) }
    }
}

/// The distribution of some times; `None` if there are none.
pub(super) fn delays(mut all: Vec<Duration>) -> Option<Delays> {
    all.sort_unstable();
    let max = *all.last()?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let rank = |percent: usize| ms(all[(all.len() * percent).div_ceil(100).max(1) - 1]);
    let sum: f64 = all.iter().map(|time| ms(*time)).sum();
    let mean = sum / all.len() as f64;
    Some(Delays { count: all.len() as u64, mean, p50: rank(50), p95: rank(95), p99: rank(99), max: ms(max) })
}

pub(super) fn distribution(samples: &[u64]) -> OutOfOrder {
    if samples.is_empty() {
        return OutOfOrder::default();
    }
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * 95).div_ceil(100).max(1) - 1;
    let sum: u128 = sorted.iter().map(|s| u128::from(*s)).sum();
    OutOfOrder {
        mean: sum as f64 / sorted.len() as f64,
        p95: sorted[rank],
        max: sorted[sorted.len() - 1],
        looked_at: 0.0,
    }
}
