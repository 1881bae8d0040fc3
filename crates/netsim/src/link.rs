//! One direction of a link: queue, serializer, impairments and wire.
//!
//! A packet passes these steps in this order:
//!
//! 1. It is dropped if the link is down.
//! 2. Random loss, if that comes before the queue.
//! 3. It is dropped if the queue's limit is reached; otherwise it waits.
//! 4. CoDel may drop or mark it.
//! 5. Transmission.
//! 6. Random loss, if that comes after the queue.
//! 7. Corruption, duplication, jitter and reordering.
//! 8. Propagation, and arrival at the other end.
//!
//! The link computes lazily: a call at `now` first works out what happened since the last call. So a link with a
//! constant rate and a drop-tail queue asks to be woken only once per packet, at its arrival.

use crate::delay::{InFlight, Wire};
use crate::loss::LossState;
use crate::queue::{CodelState, Verdict};
use crate::queue::{Entry, Fifo};
use crate::serializer::{Head, OPPORTUNITY, Serializer, work};
use crate::{Fate, Jitter, LinkConfig, LinkRandom, LinkStats, LossPosition, Packet, QueueLimit};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant, Probability};
use std::collections::VecDeque;

mod settings;

/// A packet that leaves a link: delivered or dropped, as [`LinkOutput::fate`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkOutput<P> {
    /// Time at which the packet arrived at the other end, or was dropped.
    pub at: Instant,
    /// Time at which the packet was handed to the link.
    pub entered: Instant,
    /// Number of packets that were handed to the link before this one.
    pub sequence: u64,
    /// What became of the packet.
    pub fate: Fate,
    /// The packet, which the caller owns again.
    pub packet: P,
    /// If the link duplicated the packet: the copy, which arrives right after it. If packets are handles, both refer to
    /// the same thing.
    pub copy: Option<P>,
}

/// The frame in transmission.
#[derive(Clone, Debug)]
struct Service<P> {
    entry: Entry<P>,
    head: Head,
}

/// A unidirectional link, which does no input or output.
///
/// Call order: after [`enqueue`](Link::enqueue) or [`apply`](Link::apply), call [`poll`](Link::poll) until it returns
/// `None`, then wake the link again at [`poll_timeout`](Link::poll_timeout). Time never goes back: a `now` that is
/// earlier than the latest one counts as the latest one. Packets come out in the order of [`LinkOutput::at`].
#[derive(Debug)]
pub struct Link<P> {
    config: LinkConfig,
    clock: Instant,
    queue: Fifo<P>,
    codel: Option<CodelState>,
    serializer: Serializer,
    service: Option<Service<P>>,
    loss: LossState,
    wire: Wire<P>,
    dropped: VecDeque<LinkOutput<P>>,
    /// Latest arrival so far, apart from packets that explicit reordering held back.
    last_arrival: Instant,
    random: LinkRandom,
    stats: LinkStats,
    /// Shortest time from the end of a packet's transmission to an output for that packet. Depends on the settings
    /// only.
    lookahead: Duration,
    /// Whether nothing happens to packets after transmission except the fixed delay. Depends on the settings only.
    plain: bool,
    /// [`QueueLimit::Time`] in bytes. Depends on the settings only.
    time_limit_bytes: u64,
    /// Whether the waiting frame's time is that of a token bucket that a new rate has replaced.
    waits_for_old_tokens: bool,
}

impl<P: Packet + Clone> Link<P> {
    /// An empty link. A trace starts at time zero.
    pub fn new(config: LinkConfig, random: LinkRandom) -> Self {
        let mut link = Link {
            clock: Instant::ZERO,
            queue: Fifo::new(),
            codel: config.queue.codel.map(CodelState::new),
            serializer: Serializer::new(&config.shaper, Instant::ZERO),
            service: None,
            waits_for_old_tokens: false,
            loss: LossState::new(config.loss),
            wire: Wire::new(),
            dropped: VecDeque::new(),
            last_arrival: Instant::ZERO,
            random,
            stats: LinkStats::default(),
            lookahead: Duration::ZERO,
            plain: false,
            time_limit_bytes: 0,
            config,
        };
        link.settings_changed();
        link
    }

    /// Hands a packet to the link. Even a packet that is dropped at once comes back through [`Link::poll`].
    pub fn enqueue(&mut self, now: Instant, packet: P) {
        self.advance(now);
        self.take(packet);
        if self.waits_for_old_tokens {
            self.look_at_new_tokens();
        }
    }

    /// The kernel asks for the next frame at each arrival, and finds the tokens of the new rate.
    #[cold]
    fn look_at_new_tokens(&mut self) {
        let Some(service) = self.service.as_mut().filter(|_| self.config.up) else { return };
        self.waits_for_old_tokens = false;
        self.serializer.resume(&mut service.head, self.clock);
        self.transmit(self.clock);
    }

    fn take(&mut self, packet: P) {
        let now = self.clock;
        let length = u64::from(packet.len_bytes());
        let entry = Entry { packet, sequence: self.stats.entered_packets, entered: now };
        self.stats.entered_packets += 1;
        self.stats.entered_bytes += length;
        if !self.config.up {
            return self.drop_entry(now, entry, Fate::LinkDown);
        }
        if self.config.loss_position == LossPosition::BeforeQueue && self.loss.loses(&mut self.random.loss) {
            return self.drop_entry(now, entry, Fate::RandomLoss);
        }
        // If the transmitter is idle, the frame need not wait in the queue.
        let idle = self.service.is_none();
        let fits = match &self.serializer {
            Serializer::Unlimited | Serializer::Constant { .. } => idle || self.admits(length),
            Serializer::Trace(_) => self.admits(length),
            Serializer::Bucket(bucket) => {
                if self.wire_work(length) > bucket.longest {
                    return self.drop_entry(now, entry, Fate::Oversized);
                }
                self.admits(length)
            }
        };
        if !fits {
            return self.drop_entry(now, entry, Fate::QueueFull);
        }
        if idle && self.codel.is_none() && !matches!(self.serializer, Serializer::Trace(_)) {
            // An idle transmitter means an empty queue, so transmission starts now.
            self.start(entry, now);
            return self.transmit(now);
        }
        self.queue.push(entry);
        if idle && !matches!(self.serializer, Serializer::Trace(_)) {
            self.start_next(now);
            self.transmit(now);
        }
        self.stats.max_queue_packets = self.stats.max_queue_packets.max(self.queue.packets());
        self.stats.max_queue_bytes = self.stats.max_queue_bytes.max(self.queue.bytes());
    }

    /// The next packet that has left the link by `now`, delivered or dropped.
    pub fn poll(&mut self, now: Instant) -> Option<LinkOutput<P>> {
        self.advance(now);
        let arrival = self.wire.next_arrival();
        if let Some(drop) = self.dropped.front()
            && drop.at <= arrival
        {
            return self.dropped.pop_front();
        }
        if arrival > self.clock {
            return None;
        }
        let InFlight { arrival, entered, sequence, packet, corrupted, duplicated } = self.wire.pop()?;
        let fate = if corrupted { Fate::Corrupted } else { Fate::Delivered };
        let copy = duplicated.then(|| packet.clone());
        let copies = 1 + u64::from(duplicated);
        self.stats.fates[fate.index()] += copies;
        self.stats.delivered_packets += copies;
        self.stats.delivered_bytes += copies * u64::from(packet.len_bytes());
        self.stats.duplicated_packets += u64::from(duplicated);
        Some(LinkOutput { at: arrival, entered, sequence, fate, packet, copy })
    }

    /// When to call [`Link::poll`] next; `None` if the link is empty or stopped. `poll` may still return `None` then.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_event();
        (next < Instant::FAR_FUTURE).then_some(next)
    }

    /// Like [`Link::poll_timeout`], with [`Instant::FAR_FUTURE`] for never.
    #[inline]
    pub(crate) fn next_event(&self) -> Instant {
        let mut next = self.wire.next_arrival();
        if let Some(drop) = self.dropped.front() {
            next = next.min(drop.at);
        }
        if let Serializer::Trace(cursor) = &self.serializer {
            let left = match (&self.service, self.queue.first()) {
                (Some(service), _) => service.head.left,
                (None, Some(entry)) => self.wire_work(u64::from(entry.packet.len_bytes())),
                (None, None) => return next,
            };
            if !self.config.up {
                return next;
            }
            // CoDel may drop at each opportunity. Without it, there is no output before the head has been sent.
            return next.min(match self.codel {
                Some(_) => cursor.next(),
                None => cursor.nth(left.div_ceil(OPPORTUNITY).saturating_sub(1)) + self.lookahead,
            });
        }
        match &self.service {
            Some(service) if self.codel.is_some() && !self.queue.is_empty() => next.min(service.head.done),
            Some(service) => next.min(service.head.done + self.lookahead),
            None => next,
        }
    }

    /// Computes all that happened on the link up to `now`, so that the getters return the state at `now`. There is no
    /// other visible effect.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        self.clock = self.clock.max(now);
        match &self.service {
            Some(service) if service.head.done <= self.clock => self.transmit(self.clock),
            _ => {}
        }
        if matches!(self.serializer, Serializer::Trace(_)) && self.config.up {
            self.use_opportunities(self.clock);
        }
    }

    /// Completes the transmissions that end by `now`, one after the other, and starts those that follow.
    fn transmit(&mut self, now: Instant) {
        while let Some(service) = self.service.take_if(|service| service.head.done <= now) {
            self.serializer.depart(&service.head);
            self.depart(service.entry, service.head.done);
            self.start_next(service.head.done);
        }
    }

    /// Starts to send the next waiting frame at `at`, the time at which the transmitter becomes free.
    fn start_next(&mut self, at: Instant) {
        if let Some(entry) = self.dequeue(at) {
            self.start(entry, at);
        }
    }

    /// Starts to send this frame.
    #[inline]
    fn start(&mut self, entry: Entry<P>, at: Instant) {
        let left = self.wire_work(u64::from(entry.packet.len_bytes()));
        let mut head = Head { left, since: at, done: Instant::FAR_FUTURE };
        self.serializer.resume(&mut head, at);
        self.service = Some(Service { entry, head });
    }

    /// Uses the trace's opportunities up to `now`, by the rules of [`crate::trace`].
    fn use_opportunities(&mut self, now: Instant) {
        while let Serializer::Trace(cursor) = &mut self.serializer {
            if self.service.is_none() && self.queue.is_empty() {
                return cursor.skip_past(now);
            }
            let at = cursor.next();
            if at > now {
                return;
            }
            cursor.take();
            let mut budget = OPPORTUNITY;
            while budget > 0 {
                let mut service = match self.service.take() {
                    Some(service) => service,
                    None => {
                        let Some(entry) = self.dequeue(at) else { break };
                        let left = self.wire_work(u64::from(entry.packet.len_bytes()));
                        Service { entry, head: Head { left, since: at, done: Instant::FAR_FUTURE } }
                    }
                };
                let used = budget.min(service.head.left);
                budget -= used;
                service.head.left -= used;
                if service.head.left == 0 {
                    self.depart(service.entry, at);
                } else {
                    self.service = Some(service);
                }
            }
        }
    }

    fn dequeue(&mut self, at: Instant) -> Option<Entry<P>> {
        let Some(codel) = &mut self.codel else { return self.queue.pop() };
        let (dropped, stats) = (&mut self.dropped, &mut self.stats);
        codel.dequeue(at, &mut self.queue, |verdict| match verdict {
            Verdict::Marked => stats.ce_marks += 1,
            Verdict::Drop(entry) => drop_output(dropped, stats, at, entry, Fate::Codel),
        })
    }

    /// Puts a frame on the wire at `at`, when its last bit has been sent, and applies the impairments.
    #[inline]
    fn depart(&mut self, entry: Entry<P>, at: Instant) {
        let Entry { mut packet, sequence, entered } = entry;
        let (mut corrupted, mut duplicated) = (false, false);
        let mut arrival = at + self.config.delay;
        let mut held_back = false;
        if !self.plain {
            if self.config.loss_position == LossPosition::AfterQueue && self.loss.loses(&mut self.random.loss) {
                return self.drop_entry(at, Entry { packet, sequence, entered }, Fate::RandomLoss);
            }
            corrupted = happens(self.config.corrupt, &mut self.random.corrupt);
            if corrupted {
                packet.set_corrupted();
            }
            duplicated = happens(self.config.duplicate, &mut self.random.duplicate);
            arrival = at + self.config.jitter.sample(self.config.delay, &mut self.random.jitter);
            held_back = happens(self.config.reorder.probability, &mut self.random.reorder);
        }
        if self.config.keep_order {
            arrival = arrival.max(self.last_arrival);
        }
        if held_back {
            arrival += self.config.reorder.extra;
            self.stats.held_back_packets += 1;
        } else {
            self.last_arrival = self.last_arrival.max(arrival);
        }
        self.wire.insert(InFlight { arrival, entered, sequence, packet, corrupted, duplicated });
    }

    fn drop_entry(&mut self, at: Instant, entry: Entry<P>, fate: Fate) {
        drop_output(&mut self.dropped, &mut self.stats, at, entry, fate);
    }

    /// Whether the queue's limit has room for a packet of `length` bytes.
    fn admits(&self, length: u64) -> bool {
        let (mut packets, mut bytes) = (self.queue.packets(), self.queue.bytes());
        if let (Serializer::Bucket(_), Some(service)) = (&self.serializer, &self.service) {
            packets += 1;
            bytes += u64::from(service.entry.packet.len_bytes());
        }
        match self.config.queue.limit {
            QueueLimit::Packets(limit) => packets < u64::from(limit),
            QueueLimit::Bytes(limit) => bytes + length <= limit,
            QueueLimit::Time(_) => {
                let overhead = (packets + 1).saturating_mul(u64::from(self.config.overhead_bytes.unsigned_abs()));
                let bytes = bytes + length;
                let on_link =
                    if self.config.overhead_bytes < 0 { bytes.saturating_sub(overhead) } else { bytes + overhead };
                packets == 0 || on_link <= self.time_limit_bytes
            }
        }
    }

    /// The work of sending a frame of `length` bytes, overhead included.
    #[inline]
    fn wire_work(&self, length: u64) -> u64 {
        work(length.saturating_add_signed(i64::from(self.config.overhead_bytes)))
    }

    /// Recomputes the fields that depend on the settings only.
    fn settings_changed(&mut self) {
        let config = &self.config;
        let loss_after = config.loss_position == LossPosition::AfterQueue && !self.loss.is_none();
        self.lookahead = if loss_after { Duration::ZERO } else { config.jitter.least(config.delay) };
        self.plain = !loss_after
            && config.jitter == Jitter::None
            && config.reorder.probability == Probability::ZERO
            && config.duplicate == Probability::ZERO
            && config.corrupt == Probability::ZERO;
        self.time_limit_bytes = match (config.queue.limit, self.serializer.rate()) {
            (QueueLimit::Time(time), Some(rate)) => {
                let bytes = u128::from(rate) * u128::from(time.as_nanos()) / u128::from(work(1));
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
            _ => u64::MAX,
        };
    }
}

/// Getters. They return the state at the latest `now` that the link was given; see [`Link::advance`].
impl<P: Packet + Clone> Link<P> {
    /// The settings.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }
    /// The counters.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }
    /// Packets that wait for transmission.
    pub fn queued_packets(&self) -> u64 {
        self.queue.packets()
    }
    /// Bytes that wait for transmission.
    pub fn queued_bytes(&self) -> u64 {
        self.queue.bytes()
    }
    /// Packets in the link: waiting, in transmission, on the wire, or dropped but not yet polled.
    pub fn packets_inside(&self) -> u64 {
        self.queue.packets() + u64::from(self.service.is_some()) + (self.wire.len() + self.dropped.len()) as u64
    }
}

fn happens(probability: Probability, random: &mut Random) -> bool {
    probability > Probability::ZERO && random.chance(probability.get())
}

fn drop_output<P>(
    dropped: &mut VecDeque<LinkOutput<P>>,
    stats: &mut LinkStats,
    at: Instant,
    entry: Entry<P>,
    fate: Fate,
) {
    stats.fates[fate.index()] += 1;
    let Entry { packet, sequence, entered } = entry;
    dropped.push_back(LinkOutput { at, entered, sequence, fate, packet, copy: None });
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trace_tests;
