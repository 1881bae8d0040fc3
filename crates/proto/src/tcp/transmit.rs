//! What the subflow sends, and the segment around it.

use super::ack::timestamp;
use super::{State, Tcp};
use crate::host::Sending;
use crate::seq::DataSeq;
use core::ops::Range;
use pathweave_units::Instant;
use pathweave_wire::{Ecn, Flags, MAX_OPTION_BYTES, Segment, Timestamps};

/// One transmission, decided and accounted for; the connection adds window and Multipath TCP options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// A SYN, or a SYN/ACK.
    Syn,
    /// A data segment or a FIN, and its name in the queue.
    Data { name: u64, ssn: u64, data: Range<DataSeq>, fin: bool, again: bool },
    /// An acknowledgement without data.
    Ack,
    /// An acknowledgement with an old sequence number, which the peer must answer.
    WindowProbe,
}

impl Tcp {
    /// Decides what goes out next and accounts for it.
    pub(crate) fn next_transmission(&mut self, now: Instant) -> Option<Outgoing> {
        if self.state == State::Closed {
            return None;
        }
        if self.send_syn {
            self.send_syn = false;
            self.syn_sent_at = now;
            self.arm_syn(now);
            return Some(Outgoing::Syn);
        }
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return None;
        }
        if let Some(data) = self.next_data(now) {
            return Some(data);
        }
        if self.send_window_probe {
            self.send_window_probe = false;
            return Some(Outgoing::WindowProbe);
        }
        if core::mem::take(&mut self.send_signal) || self.receiver.ack_is_due() {
            return Some(Outgoing::Ack);
        }
        None
    }

    fn next_data(&mut self, now: Instant) -> Option<Outgoing> {
        if self.send_loss_probe {
            self.send_loss_probe = false;
            if self.queue.packets_out() > 0 && self.recovery.probe.is_none() {
                return Some(self.loss_probe(now));
            }
        }
        let repairs = self.queue.lost_out > 0 || self.recovery.state == super::recovery::State::Loss;
        if (self.queue.unsent() == 0 && !repairs) || self.in_flight() >= self.window.cwnd {
            return None;
        }
        if self.recovery.state == super::recovery::State::Loss {
            let possible = self.may_send_new(now);
            if self.tries_new_data(possible) {
                return possible.then(|| self.send_new(now));
            }
        }
        if let Some(name) = self.queue.next_to_retransmit() {
            return self.retransmit(now, name);
        }
        self.may_send_new(now).then(|| self.send_new(now))
    }

    /// Without limited transmit (RFC 3042), duplicate acknowledgements let nothing new out.
    fn limited_transmit_allows(&self) -> bool {
        self.config.limited_transmit
            || self.recovery.state != super::recovery::State::Disorder
            || self.queue.packets_out() < self.window.cwnd
    }

    /// Whether the first unsent segment may go out now, given room in the window.
    fn may_send_new(&mut self, now: Instant) -> bool {
        let Some(next) = self.queue.first_unsent() else { return false };
        let full = next.len >= self.mss;
        let last = self.queue.unsent() == 1;
        // Nagle, as Minshall has it (RFC 9293 §3.7.4): the stream's short tail waits for an earlier short segment.
        if self.nagle && last && !full && !next.fin && !self.fin_queued && self.small_outstanding() {
            return false;
        }
        if !self.limited_transmit_allows() {
            return false;
        }
        self.host.is_in_burst() || self.begin_burst(now)
    }

    /// Whether the host lets the first unsent segment begin a burst. What leaves with the one before is not asked for.
    fn begin_burst(&mut self, now: Instant) -> bool {
        use super::recovery::State as R;
        // What was queued beyond the window of this subflow's last acknowledgement may go: another one has offered it.
        let edge = (self.una + self.peer_window).max(self.queued_end);
        let sending = Sending {
            queue: &self.queue,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.srtt(),
            cwnd: self.window.cwnd,
            in_flight: self.in_flight(),
            mss: self.mss,
            recovering: matches!(self.recovery.state, R::Reduction | R::Recovery | R::Loss),
            last_sent: self.last_sent,
            offered: edge.saturating_sub(self.nxt),
            peer_window: self.peer_window,
            nagle_holds: self.nagle && self.small_outstanding(),
            fin_queued: self.fin_queued,
            backlog: self.backlog,
            queues: self.queues,
        };
        self.host.begin_burst(now, &sending)
    }

    /// RFC 5681 §4.1, as RFC 2861 has it: the window halves for each timeout that passed, down to the initial one, and the
    /// threshold remembers three quarters of it.
    #[inline(never)]
    fn restart_after_idle(&mut self, now: Instant) {
        let Some(last) = self.last_sent else { return };
        self.idle_for = Some(now.since(last));
        if !self.config.restart_after_idle {
            return;
        }
        let rto = self.rtt.base_rto();
        let idle = now.since(last);
        let least = self.config.initial_window.min(self.window.cwnd);
        if idle <= rto {
            return;
        }
        for _ in 0..self.host.restarts(&self.queue, self.queues) {
            self.window.ssthresh = self.window.ssthresh.max(self.window.cwnd - self.window.cwnd / 4);
            let mut idle = idle;
            while idle > rto && self.window.cwnd > least {
                idle -= rto;
                self.window.cwnd = (self.window.cwnd / 2).max(least);
            }
        }
    }

    fn send_new(&mut self, now: Instant) -> Outgoing {
        if self.queue.packets_out() == 0 {
            self.restart_after_idle(now);
            self.round_start = Some(now);
            self.round_end = self.nxt;
            if self.delivered_at < now {
                // The rate is measured from the first segment of a flight.
                self.delivered_at = now;
            }
        }
        let left = self.host.sent();
        // What is queued leaves its buffer with the burst; the rest has one of its own.
        let splits = self.queues && left.last;
        let name = self.queue.mark_sent(now, left.first, splits, self.delivered_bytes, self.delivered_at);
        if self.queue.get(name).is_some_and(|s| s.len > 0 && s.len < self.mss) {
            self.small_end = self.queue.get(name).map_or(0, |s| s.end());
        }
        if self.recovery.in_reduction() {
            self.recovery.prr_out += 1;
        }
        self.last_sent = Some(now);
        let out = self.account(name, false);
        self.nxt = self.nxt.max(self.queue.get(name).map_or(0, |s| s.end()));
        self.arm_after_sending(now);
        out
    }

    #[inline(never)]
    fn retransmit(&mut self, now: Instant, name: u64) -> Option<Outgoing> {
        self.queue.mark_retransmitted(name, now, self.delivered_bytes, self.delivered_at);
        if self.recovery.in_reduction() {
            self.recovery.prr_out += 1;
        }
        self.note_retransmission(timestamp(now));
        let head = self.queue.sent_names().start == name;
        if head || self.retransmit_timer.is_none() {
            self.arm_rto(now);
        }
        Some(self.account(name, true))
    }

    /// RFC 8985 §7.3: new data where there is some, else the last segment again.
    #[inline(never)]
    fn loss_probe(&mut self, now: Instant) -> Outgoing {
        if self.queue.first_unsent().is_some() {
            let out = self.send_new(now);
            self.recovery.probe = Some((self.nxt, false));
            self.arm_rto(now);
            return out;
        }
        let last = self.queue.sent_names().end - 1;
        self.queue.mark_retransmitted(last, now, self.delivered_bytes, self.delivered_at);
        self.recovery.probe = Some((self.nxt, true));
        self.arm_rto(now);
        self.account(last, true)
    }

    fn account(&mut self, name: u64, again: bool) -> Outgoing {
        let s = *self.queue.get(name).expect("a segment was just marked as sent");
        if s.len > 0 {
            self.counters.data_segments_sent += 1;
            self.counters.data_bytes_sent += u64::from(s.len);
            self.counters.retransmitted_segments += u64::from(again);
        }
        Outgoing::Data { name, ssn: s.ssn, data: s.data(), fin: s.fin, again }
    }

    /// Asks the peer for its window with an old sequence number (RFC 9293 §3.8.6.1).
    pub(crate) fn probe_window(&mut self) {
        self.send_window_probe = true;
    }

    /// An acknowledgement without data goes out, whatever else does: it carries a signal of the connection.
    pub(crate) fn signal(&mut self) {
        self.send_signal = true;
    }

    /// An acknowledgement goes out as soon as possible.
    pub(crate) fn ack_now(&mut self) {
        self.receiver.ack_now();
    }

    /// Makes the segment: numbers, flags, timestamps, data. `window` is the receive window in bytes after the acknowledgement.
    pub(crate) fn header(&mut self, now: Instant, out: &Outgoing, window: u64, segment: &mut Segment) {
        segment.reset(self.local, self.remote);
        segment.seq = self.isn.wrapping_add(match out {
            Outgoing::Syn => 0,
            Outgoing::Data { ssn, .. } => *ssn as u32,
            Outgoing::Ack => self.nxt as u32,
            Outgoing::WindowProbe => (self.una.max(1) - 1) as u32,
        });
        if self.peer_synced {
            segment.flags |= Flags::ACK;
            segment.ack = self.peer_isn.wrapping_add(self.receiver.next() as u32);
        }
        if self.timestamps_ok || (*out == Outgoing::Syn && self.state == State::SynSent && self.config.timestamps) {
            let echo = if self.peer_synced { self.receiver.recent_timestamp } else { 0 };
            segment.options.timestamps = Some(Timestamps { value: timestamp(now), echo });
        }
        match out {
            Outgoing::Syn => self.syn_header(segment, window),
            _ => {
                let field = window >> self.window_shift;
                segment.window = field.min(u64::from(u16::MAX)) as u16;
                if self.receiver.echo_congestion {
                    segment.flags |= Flags::ECE;
                }
            }
        }
        if let Outgoing::Data { name, fin, data, .. } = out {
            segment.payload = self.queue.payload(*name).cloned().unwrap_or_default();
            if *fin {
                segment.flags |= Flags::FIN;
            }
            if data.start < data.end {
                // The end of a burst of several segments, of a buffer that ended a scheduler's grant, and of all that is there.
                let pushed = self.queues && self.queue.last_sent_is_pushed();
                let at_end = self.queue.unsent() == 0 && !self.backlog;
                if self.host.pushes_burst() || at_end || pushed {
                    segment.flags |= Flags::PSH;
                }
                if self.send_cwr {
                    self.send_cwr = false;
                    segment.flags |= Flags::CWR;
                }
            }
        }
    }

    /// Adds SACK blocks in the option space that is left, once everything else is in.
    pub(crate) fn finish(&mut self, segment: &mut Segment) {
        if segment.flags.contains(Flags::ACK) && self.sack_ok && self.receiver.has_blocks() {
            let mut room = segment.options.free_sack_blocks();
            if !segment.payload.is_empty() {
                let left = self.config.mtu.saturating_sub(segment.ip_len());
                room = room.min((left.saturating_sub(4) / 8) as usize);
            }
            if room > 0 {
                segment.options.sack = self.receiver.sack_blocks(self.peer_isn, room);
            }
        }
        debug_assert!(segment.options.wire_len() <= MAX_OPTION_BYTES, "options fit the header: {:?}", segment.options);
        if segment.flags.contains(Flags::ACK) {
            self.receiver.ack_sent(u64::from(segment.window) << self.window_shift);
        }
    }

    /// The ECN codepoint of a segment (RFC 3168 §6.1): only new data is ECN-capable.
    pub(crate) fn ecn_of(&self, out: &Outgoing) -> Ecn {
        match out {
            Outgoing::Data { data, again: false, .. } if self.ecn_ok && data.start < data.end => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }
}
