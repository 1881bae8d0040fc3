//! The queue of a link: its limit, the waiting packets in order of arrival, and CoDel.
//!
//! CoDel (RFC 8289) drops packets at dequeue, depending on how long they have waited. The code is the pseudocode of
//! RFC 8289 §5.5. Two things that it leaves open are decided as in Linux (`codel_impl.h`): the "maximum packet size" is
//! the largest packet seen so far, and an ECN-capable packet is marked instead of dropped.

use crate::Packet;
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// How much may wait for transmission. A packet that does not fit is dropped on arrival (drop-tail).
///
/// A packet waits until its transmission begins. With a constant rate, the frame that is being sent does not count.
/// With a token bucket, the frame at the head waits in the queue for its tokens and counts, as in Linux. With a trace,
/// a frame counts until its first delivery opportunity, as in mahimahi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes of frames (without the link's overhead).
    Bytes(u64),
    /// At most the bytes that the link sends in this time at its rate, or at its trace's mean rate. Overhead counts.
    /// There is always room for one packet. An unlimited link has no such limit.
    Time(Duration),
}

/// The settings of a link's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// How much may wait.
    pub limit: QueueLimit,
    /// CoDel, in addition to the limit.
    pub codel: Option<Codel>,
}

impl From<QueueLimit> for Queue {
    /// A drop-tail queue.
    fn from(limit: QueueLimit) -> Self {
        Queue { limit, codel: None }
    }
}

/// A packet on a link that has not been sent yet.
#[derive(Clone, Debug)]
pub(crate) struct Entry<P> {
    /// The caller's packet.
    pub(crate) packet: P,
    /// Number of packets handed to the link before this one.
    pub(crate) sequence: u64,
    /// Time at which it was handed to the link.
    pub(crate) entered: Instant,
}

/// The waiting packets in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    entries: VecDeque<Entry<P>>,
    bytes: u64,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new() -> Self {
        Fifo { entries: VecDeque::new(), bytes: 0 }
    }
    pub(crate) fn push(&mut self, entry: Entry<P>) {
        self.bytes += u64::from(entry.packet.len_bytes());
        self.entries.push_back(entry);
    }
    pub(crate) fn pop(&mut self) -> Option<Entry<P>> {
        let entry = self.entries.pop_front()?;
        self.bytes -= u64::from(entry.packet.len_bytes());
        Some(entry)
    }
    pub(crate) fn first(&self) -> Option<&Entry<P>> {
        self.entries.front()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    pub(crate) fn packets(&self) -> u64 {
        self.entries.len() as u64
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codel {
    /// Acceptable standing delay. RFC 8289 §4.4: 5 ms.
    pub target: Duration,
    /// Time for which the delay must stay above the target before CoDel acts, about the largest usual round-trip time.
    /// RFC 8289 §4.3: 100 ms.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for Codel {
    fn default() -> Self {
        Codel { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: true }
    }
}

/// CoDel's action on a packet during a dequeue.
pub(crate) enum Verdict<P> {
    /// CoDel dropped this packet.
    Drop(Entry<P>),
    /// The packet that comes out has been marked.
    Marked,
}

/// CoDel's state, with the names of RFC 8289.
#[derive(Clone, Debug)]
pub(crate) struct CodelState {
    config: Codel,
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    dropping: bool,
    max_packet: u64,
}

impl CodelState {
    pub(crate) fn new(config: Codel) -> Self {
        CodelState {
            config,
            first_above: None,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            max_packet: 0,
        }
    }

    /// Changes the parameters and keeps the state.
    pub(crate) fn set(&mut self, config: Codel) {
        self.config = config;
    }

    /// The next packet to send at `now` (RFC 8289 §5.5, `dequeue`). Marks and drops are reported to `tell`.
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        queue: &mut Fifo<P>,
        mut tell: impl FnMut(Verdict<P>),
    ) -> Option<Entry<P>> {
        let (mut head, mut ok_to_drop) = self.do_dequeue(now, queue)?;
        if self.dropping {
            // "Sojourn time below TARGET - leave drop state."
            self.dropping = ok_to_drop;
            // "Time for the next drop. Drop the current packet and dequeue the next. If the dequeue doesn't take us
            // out of dropping state, schedule the next drop."
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if self.mark(&mut head) {
                    self.drop_next = self.control_law(self.drop_next);
                    tell(Verdict::Marked);
                    break;
                }
                tell(Verdict::Drop(head));
                let Some(next) = self.do_dequeue(now, queue) else {
                    self.dropping = false;
                    return None;
                };
                (head, ok_to_drop) = next;
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if ok_to_drop {
            // "If we get here, we're not in drop state. The 'ok_to_drop' return from dodequeue() means that the
            // sojourn time has been above 'TARGET' for 'INTERVAL' so enter drop state."
            self.enter(now);
            if self.mark(&mut head) {
                tell(Verdict::Marked);
            } else {
                tell(Verdict::Drop(head));
                return self.do_dequeue(now, queue).map(|(head, _)| head);
            }
        }
        Some(head)
    }

    /// Enters the drop state: "If min went above TARGET close to when it last went below, assume that the drop rate
    /// that controlled the queue on the last cycle is a good starting point to control it now."
    fn enter(&mut self, now: Instant) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < self.config.interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    /// The next packet, and whether the delay has been above the target for an interval (RFC 8289 §5.5, `dodequeue`).
    fn do_dequeue<P: Packet>(&mut self, now: Instant, queue: &mut Fifo<P>) -> Option<(Entry<P>, bool)> {
        let Some(entry) = queue.pop() else {
            self.first_above = None;
            return None;
        };
        self.max_packet = self.max_packet.max(u64::from(entry.packet.len_bytes()));
        let sojourn = now.since(entry.entered);
        if sojourn < self.config.target || queue.bytes() <= self.max_packet {
            self.first_above = None;
            return Some((entry, false));
        }
        let first_above = *self.first_above.get_or_insert(now + self.config.interval);
        Some((entry, now >= first_above))
    }

    /// The time of the next drop: `t + INTERVAL / sqrt(count)` (RFC 8289 §5.5). IEEE 754 defines the square root
    /// exactly, so the result is the same on every machine.
    fn control_law(&self, t: Instant) -> Instant {
        t + self.config.interval.mul_f64(1.0 / f64::from(self.count.max(1)).sqrt())
    }

    fn mark<P: Packet>(&self, entry: &mut Entry<P>) -> bool {
        let mark = self.config.ecn && entry.packet.ecn().is_capable();
        if mark {
            entry.packet.set_ce();
        }
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Frame, frame};
    use crate::{Ecn, Fate, Link, LinkConfig, LinkRandom, LinkStats, Queue, QueueLimit, Shaper};
    use pathweave_units::Bitrate;

    /// Sends one packet of 1000 bytes every `gap` for ten seconds through a link of 8 Mbit/s with CoDel. Returns the
    /// queueing delays in milliseconds of the packets that arrived in the second half, and the link's counters.
    fn codel_run(gap: Duration, ecn: Ecn) -> (Vec<f64>, LinkStats) {
        let config = LinkConfig {
            queue: Queue { limit: QueueLimit::Packets(10_000), codel: Some(Codel::default()) },
            ..LinkConfig::default()
        };
        let mut link = Link::new(
            LinkConfig { shaper: Shaper::Constant(Bitrate::from_mbps(8)), ..config },
            LinkRandom::new(1, "link"),
        );
        let mut delays = Vec::new();
        let mut now = Instant::ZERO;
        let mut number = 0;
        while now < Instant::from_secs(10) {
            while let Some(out) = link.poll(now) {
                if out.fate == Fate::Delivered && out.at > Instant::from_secs(5) {
                    delays.push(out.at.since(out.entered).as_secs_f64() * 1e3 - 1.0);
                }
            }
            link.enqueue(now, Frame { ecn, ..frame(number, 1000) });
            number += 1;
            now += gap;
        }
        (delays, *link.stats())
    }

    #[test]
    fn codel_leaves_a_link_below_capacity_alone() {
        let (delays, stats) = codel_run(Duration::from_micros(1_010), Ecn::NotEct);
        assert_eq!(stats.dropped_packets(), 0);
        assert!(delays.iter().all(|&delay| delay == 0.0));
    }

    #[test]
    fn codel_brings_a_slight_overload_down_to_its_target() {
        // This is 2 % more than the link carries: a drop-tail queue would grow by 20 ms each second, to 200 ms.
        let (delays, stats) = codel_run(Duration::from_micros(980), Ecn::NotEct);
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!(stats.count(Fate::Codel) > 0);
        assert!((1.0..15.0).contains(&mean), "mean queueing delay {mean} ms, target 5 ms");
    }

    #[test]
    fn codel_marks_what_is_ecn_capable_and_drops_nothing() {
        let (_, stats) = codel_run(Duration::from_micros(980), Ecn::Ect0);
        assert_eq!(stats.dropped_packets(), 0);
        assert!(stats.ce_marks > 10);
    }

    /// The times of the drops under an overload that CoDel cannot end.
    #[test]
    fn drops_follow_the_control_law() {
        let mut queue = Fifo::new();
        let mut codel = CodelState::new(Codel { ecn: false, ..Codel::default() });
        for number in 0..10_000 {
            queue.push(Entry { packet: frame(number, 1000), sequence: u64::from(number), entered: Instant::ZERO });
        }
        let mut drops = Vec::new();
        for micros in (10_000u64..1_000_000).step_by(1_000) {
            let now = Instant::from_nanos(micros * 1_000);
            codel.dequeue(now, &mut queue, |_| drops.push(micros / 1_000));
        }
        // The delay is above the target from 10 ms on, so the first drop is at 110 ms. The next ones follow after 100
        // ms, 100/√2, 100/√3, ...; there is a dequeue each millisecond, which rounds each time up.
        assert_eq!(drops[..7], [110, 210, 281, 339, 389, 434, 474]);
    }
}
