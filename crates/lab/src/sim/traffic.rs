//! Sources of UDP packets, and distributions of times that other sources use too. On the links, a packet is only a
//! length, and it gets no answer.

use crate::results::TrafficResult;
use crate::scenario::{self, TrafficPattern};
use core::net::SocketAddr;
use pathweave_netsim::{RouteId, Tagged};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Payload, Segment};

/// Bytes of an IPv4 and a UDP header.
const HEADERS_BYTES: u32 = 28;
/// Bit that marks packets of traffic in the network. The other bits are the source's index.
const IS_TRAFFIC: u32 = 1 << 31;

/// One source.
struct Source {
    name: String,
    route: RouteId,
    pattern: TrafficPattern,
    random: Random,
    /// Time of the next packet.
    next: Instant,
    /// End of the present on-period.
    on_until: Instant,
    stop: Instant,
    sent: u64,
    delivered: u64,
    /// The segment that represents each of its packets.
    packet: Segment,
}

/// All sources of a run.
#[derive(Default)]
pub(super) struct Sources {
    list: Vec<Source>,
    next: Option<Instant>,
}

impl Sources {
    /// Adds a source whose packets take `route` from `from` to `to`.
    pub(super) fn add(
        &mut self,
        traffic: &scenario::Traffic,
        seed: u64,
        route: RouteId,
        from: SocketAddr,
        to: SocketAddr,
    ) {
        let (TrafficPattern::Constant { packet, .. }
        | TrafficPattern::Poisson { packet, .. }
        | TrafficPattern::OnOff { packet, .. }) = traffic.pattern;
        let payload = Payload::Virtual { start: 0, len: u32::from(packet) };
        let start = Instant::ZERO + traffic.start;
        let stop = if traffic.stop.is_zero() { Instant::FAR_FUTURE } else { Instant::ZERO + traffic.stop };
        let mut source = Source {
            name: traffic.name.clone(),
            route,
            pattern: traffic.pattern,
            random: Random::substream(seed, &format!("traffic {}", traffic.name)),
            next: start,
            on_until: start,
            stop,
            sent: 0,
            delivered: 0,
            packet: Segment { src: from, dst: to, payload, ..Segment::default() },
        };
        source.begin();
        let first = Some(source.next).filter(|next| *next < Instant::FAR_FUTURE);
        self.next = self.next.into_iter().chain(first).min();
        self.list.push(source);
    }

    /// Time of the next packet.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// The next due packet, and its route.
    pub(super) fn poll(&mut self, now: Instant) -> Option<(RouteId, Tagged<u32>)> {
        self.next.filter(|next| *next <= now)?;
        let (index, source) = self.list.iter_mut().enumerate().min_by_key(|(_, s)| s.next)?;
        source.sent += 1;
        source.go_on();
        let packet = (source.route, source.handle(index as u32));
        self.find_next();
        Some(packet)
    }

    /// The segment to capture for a packet; `None` if it is not traffic.
    #[inline]
    pub(super) fn packet(&self, tag: u32) -> Option<&Segment> {
        (tag & IS_TRAFFIC != 0).then(|| &self.list[(tag & !IS_TRAFFIC) as usize].packet)
    }

    /// Counts the arrival of a packet of traffic.
    pub(super) fn delivered(&mut self, tag: u32) {
        self.list[(tag & !IS_TRAFFIC) as usize].delivered += 1;
    }

    fn find_next(&mut self) {
        self.next = self.list.iter().map(|s| s.next).min().filter(|t| *t < Instant::FAR_FUTURE);
    }

    /// Counts of sent and arrived packets until `end`.
    pub(super) fn results(&self, end: Instant) -> Vec<TrafficResult> {
        let seconds = end.since(Instant::ZERO).as_secs_f64();
        let result = |s: &Source| {
            let bits = s.delivered as f64 * f64::from(s.packet.payload.len()) * 8.0;
            TrafficResult {
                name: s.name.clone(),
                sent_packets: s.sent,
                delivered_packets: s.delivered,
                goodput_mbps: if seconds > 0.0 { bits / seconds / 1e6 } else { 0.0 },
            }
        };
        self.list.iter().map(result).collect()
    }
}

impl Source {
    fn handle(&self, index: u32) -> Tagged<u32> {
        let len_bytes = self.packet.payload.len() + HEADERS_BYTES;
        Tagged { tag: IS_TRAFFIC | index, len_bytes, ecn: Ecn::default(), corrupted: false }
    }

    /// Draws the time to the next packet in an on-period.
    fn gap(&mut self) -> Duration {
        let bytes = u64::from(self.packet.payload.len());
        let gap = match self.pattern {
            TrafficPattern::Constant { rate, .. } => rate.time_to_send(bytes),
            TrafficPattern::Poisson { rate, .. } => exponential(&mut self.random, rate.time_to_send(bytes)),
            // All packets are sent in on-periods.
            TrafficPattern::OnOff { rate, on, off, .. } => {
                rate.time_to_send(bytes).mul_f64(on.as_secs_f64() / (on.as_secs_f64() + off.as_secs_f64()))
            }
        };
        gap.max(Duration::from_nanos(1))
    }

    /// Sets the time of the first packet. Sources do not begin together.
    fn begin(&mut self) {
        let first = self.gap();
        match self.pattern {
            TrafficPattern::Constant { .. } => {}
            TrafficPattern::Poisson { .. } => self.next += first,
            TrafficPattern::OnOff { .. } => {
                let part = self.random.unit();
                self.next += first.mul_f64(part);
                self.skip_off();
            }
        }
        self.end_in_time();
    }

    /// Sets the time of the packet after this one.
    fn go_on(&mut self) {
        let gap = self.gap();
        self.next += gap;
        self.skip_off();
        self.end_in_time();
    }

    /// Moves the next packet out of off-periods. Only on-time counts: the rest of a gap continues in the next
    /// on-period, so that the mean rate is the requested one.
    fn skip_off(&mut self) {
        let TrafficPattern::OnOff { on, off, shape, .. } = self.pattern else { return };
        while self.next >= self.on_until {
            let left = self.next.since(self.on_until);
            let start = self.on_until + exponential(&mut self.random, off);
            self.on_until = start + pareto(&mut self.random, on, shape);
            self.next = start + left;
        }
    }

    fn end_in_time(&mut self) {
        if self.next >= self.stop {
            self.next = Instant::FAR_FUTURE;
        }
    }
}

/// An exponentially distributed time with this mean.
pub(super) fn exponential(random: &mut Random, mean: Duration) -> Duration {
    // 1 - u is never 0.
    mean.mul_f64(-libm::log(1.0 - random.unit()))
}

/// A Pareto distributed time with this mean; `shape` is more than 1.
pub(super) fn pareto(random: &mut Random, mean: Duration, shape: f64) -> Duration {
    let least = mean.mul_f64((shape - 1.0) / shape);
    least.mul_f64(libm::pow(1.0 - random.unit(), -1.0 / shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_ms(draw: impl Fn(&mut Random) -> Duration) -> (f64, f64) {
        let mut random = Random::substream(1, "test");
        let all: Vec<f64> = (0..200_000).map(|_| draw(&mut random).as_secs_f64() * 1e3).collect();
        let least = all.iter().copied().fold(f64::MAX, f64::min);
        (all.iter().sum::<f64>() / all.len() as f64, least)
    }

    #[test]
    fn means_are_as_asked() {
        let mean = Duration::from_millis(10);
        let (got, least) = mean_ms(|r| exponential(r, mean));
        assert!((9.9..10.1).contains(&got) && least < 0.01, "{got} ms, at least {least}");
        let (got, least) = mean_ms(|r| pareto(r, mean, 2.5));
        assert!((9.8..10.2).contains(&got), "{got} ms");
        assert!((5.999..6.1).contains(&least), "no time is below the mean times (shape - 1) / shape: {least}");
    }
}
