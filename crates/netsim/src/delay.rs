//! Propagation: delay jitter, explicit reordering, and the packets in flight.

use crate::random::standard_normal;
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant, Probability};
use std::collections::VecDeque;

/// Random variation of the propagation delay, drawn independently for each packet. The resulting delay is at least
/// zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// No variation.
    #[default]
    None,
    /// A uniform distribution from `delay - amplitude` to `delay + amplitude` (Linux's netem: `delay TIME AMPLITUDE`).
    Uniform {
        /// Largest deviation.
        amplitude: Duration,
    },
    /// A normal distribution around the delay.
    Normal {
        /// Standard deviation.
        deviation: Duration,
    },
}

impl Jitter {
    /// Draws a packet's propagation delay around `delay`.
    pub(crate) fn sample(self, delay: Duration, random: &mut Random) -> Duration {
        match self {
            Jitter::None => delay,
            Jitter::Uniform { amplitude } => {
                let range = amplitude.saturating_mul(2).saturating_add(Duration::from_nanos(1));
                delay + Duration::from_nanos(random.below(range.as_nanos())) - amplitude
            }
            Jitter::Normal { deviation } => {
                let offset = standard_normal(random);
                if offset < 0.0 { delay - deviation.mul_f64(-offset) } else { delay + deviation.mul_f64(offset) }
            }
        }
    }

    /// The smallest delay that [`Jitter::sample`] can give.
    pub(crate) fn least(self, delay: Duration) -> Duration {
        match self {
            Jitter::None => delay,
            Jitter::Uniform { amplitude } => delay - amplitude,
            Jitter::Normal { .. } => Duration::ZERO,
        }
    }
}

/// Explicit reordering: some packets take longer, so that later packets overtake them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub probability: Probability,
    /// Additional delay of a packet that is held back.
    pub extra: Duration,
}

/// A packet that has been sent and has not arrived yet.
#[derive(Clone, Debug)]
pub(crate) struct InFlight<P> {
    pub(crate) arrival: Instant,
    pub(crate) entered: Instant,
    pub(crate) sequence: u64,
    pub(crate) packet: P,
    pub(crate) corrupted: bool,
    pub(crate) duplicated: bool,
}

/// The packets in flight, in order of arrival. Packets that arrive at the same time are in order of departure.
#[derive(Clone, Debug)]
pub(crate) struct Wire<P> {
    packets: VecDeque<InFlight<P>>,
}

impl<P> Wire<P> {
    pub(crate) fn new() -> Self {
        Wire { packets: VecDeque::new() }
    }
    pub(crate) fn insert(&mut self, packet: InFlight<P>) {
        match self.packets.back() {
            // Jitter and reordering move a packet past only a few others, so the shift is short.
            Some(last) if last.arrival > packet.arrival => {
                let at = self.packets.partition_point(|other| other.arrival <= packet.arrival);
                self.packets.insert(at, packet);
            }
            _ => self.packets.push_back(packet),
        }
    }
    pub(crate) fn next_arrival(&self) -> Instant {
        self.packets.front().map_or(Instant::FAR_FUTURE, |first| first.arrival)
    }
    pub(crate) fn pop(&mut self) -> Option<InFlight<P>> {
        self.packets.pop_front()
    }
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(10);

    fn samples(jitter: Jitter) -> Vec<Duration> {
        let mut random = Random::substream(5, "jitter");
        (0..20_000).map(|_| jitter.sample(DELAY, &mut random)).collect()
    }

    fn mean_millis(samples: &[Duration]) -> f64 {
        samples.iter().map(|d| d.as_secs_f64() * 1e3).sum::<f64>() / samples.len() as f64
    }

    #[test]
    fn uniform_jitter_spreads_evenly_around_the_delay() {
        let jitter = Jitter::Uniform { amplitude: Duration::from_millis(4) };
        let samples = samples(jitter);
        assert!(samples.iter().all(|&d| d >= jitter.least(DELAY) && d <= Duration::from_millis(14)));
        assert!((mean_millis(&samples) - 10.0).abs() < 0.08);
        assert!(samples.iter().any(|&d| d < Duration::from_micros(6_100)));
        assert!(samples.iter().any(|&d| d > Duration::from_micros(13_900)));
    }

    #[test]
    fn normal_jitter_has_its_deviation() {
        let samples = samples(Jitter::Normal { deviation: Duration::from_millis(2) });
        assert!((mean_millis(&samples) - 10.0).abs() < 0.06);
        let within = samples.iter().filter(|d| (d.as_secs_f64() * 1e3 - 10.0).abs() < 2.0).count();
        assert!((within as f64 / samples.len() as f64 - 0.6827).abs() < 0.014);
    }

    #[test]
    fn jitter_beyond_the_delay_stops_at_zero() {
        let samples = samples(Jitter::Uniform { amplitude: Duration::from_millis(20) });
        assert!(samples.contains(&Duration::ZERO));
    }

    #[test]
    fn the_wire_sorts_by_arrival_and_keeps_the_order_of_equals() {
        let mut wire = Wire::new();
        for (sequence, arrival) in [(0, 5), (1, 9), (2, 5), (3, 7), (4, 1)] {
            wire.insert(InFlight {
                arrival: Instant::from_millis(arrival),
                entered: Instant::ZERO,
                sequence,
                packet: (),
                corrupted: false,
                duplicated: false,
            });
        }
        let order: Vec<u64> = core::iter::from_fn(|| wire.pop()).map(|p| p.sequence).collect();
        assert_eq!(order, [4, 0, 2, 3, 1]);
    }
}
