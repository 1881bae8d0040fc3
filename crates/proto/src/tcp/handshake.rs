//! Opening, and what an arriving segment does (RFC 9293 §3.10.7).

use super::receive::{Arrival, Receiver};
use super::recovery::Recovery;
use super::rtt::Rtt;
use super::{Changes, Counters, Peers, State, Tcp};
use crate::config::{LossRecovery, TIMESTAMP_BYTES, TcpConfig};
use crate::congestion::{Controller, Growth, Window};
use crate::host::{Host, SubflowHost};
use crate::send_queue::SendQueue;
use arrayvec::ArrayVec;
use core::cell::Cell;
use core::net::SocketAddr;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, Segment};

/// The segment size of a peer that names none (RFC 9293 §3.7.1).
const DEFAULT_MSS: u32 = 536;
/// How long a timestamp can be compared with (RFC 7323 §5.5).
const TIMESTAMP_VALID: Duration = Duration::from_secs(24 * 24 * 3600);

impl Tcp {
    fn new(
        config: TcpConfig,
        host: Host,
        controller: Box<dyn Controller>,
        (local, remote): (SocketAddr, SocketAddr),
        isn: u32,
        largest_window: u64,
    ) -> Self {
        let mut window_shift = if config.window_scaling { config.least_window_shift.min(14) as u8 } else { 0 };
        while config.window_scaling && window_shift < 14 && largest_window >> window_shift > 65_535 {
            window_shift += 1;
        }
        let cwnd = config.initial_window.max(1);
        Tcp {
            local,
            remote,
            state: State::Closed,
            isn,
            peer_isn: 0,
            peer_synced: false,
            mss: DEFAULT_MSS,
            peer_mss: DEFAULT_MSS,
            sack_ok: false,
            timestamps_ok: false,
            ecn_ok: false,
            window_shift,
            peer_window_shift: 0,
            queue: SendQueue::default(),
            una: 0,
            nxt: 0,
            queued_end: 1,
            window: Window { cwnd, ssthresh: Window::NO_THRESHOLD },
            controller,
            growth: Growth::default(),
            rtt: Rtt::new(config.min_rto, config.max_rto),
            recovery: Recovery::new(),
            previous_sack: ArrayVec::new(),
            delivered_bytes: 0,
            delivered_at: Instant::ZERO,
            delivered_in: (0, Duration::ZERO),
            delivery_rate: Cell::new(None),
            loss_estimate: 0.0,
            bytes_since_loss: 0,
            bytes_between_losses: 0,
            round_end: 0,
            round_start: None,
            last_sent: None,
            cwnd_limited: false,
            max_packets_out: 0,
            cwnd_usage_end: 0,
            peer_window: 0,
            largest_peer_window: 0,
            window_seq: 0,
            window_ack: 0,
            fin_queued: false,
            queues: false,
            small_end: 0,
            backlog: false,
            idle_for: None,
            nagle: true,
            send_cwr: false,
            send_syn: true,
            send_loss_probe: false,
            send_window_probe: false,
            send_signal: false,
            syn_sent_at: Instant::ZERO,
            syn_retransmissions: 0,
            consecutive_timeouts: 0,
            early_probes: 0,
            dark_since: None,
            probe_interval: None,
            receiver: Receiver::new(&config),
            retransmit_timer: None,
            time_wait_end: None,
            counters: Counters::default(),
            config,
            host: SubflowHost::new(&host, cwnd, DEFAULT_MSS),
        }
    }

    /// An active open: a SYN goes out.
    pub(crate) fn connect(
        config: TcpConfig,
        host: Host,
        controller: Box<dyn Controller>,
        addresses: (SocketAddr, SocketAddr),
        isn: u32,
        largest_window: u64,
    ) -> Self {
        let mut tcp = Tcp::new(config, host, controller, addresses, isn, largest_window);
        tcp.state = State::SynSent;
        tcp.nxt = 1;
        tcp
    }

    /// A passive open: answers `syn` with a SYN/ACK.
    pub(crate) fn accept(
        config: TcpConfig,
        host: Host,
        controller: Box<dyn Controller>,
        syn: &Segment,
        isn: u32,
        largest_window: u64,
    ) -> Self {
        let mut tcp = Tcp::new(config, host, controller, (syn.dst, syn.src), isn, largest_window);
        tcp.state = State::SynReceived;
        tcp.nxt = 1;
        tcp.negotiate(syn);
        tcp
    }

    /// Takes the options of the peer's SYN.
    fn negotiate(&mut self, syn: &Segment) {
        let o = &syn.options;
        self.peer_synced = true;
        self.peer_isn = syn.seq;
        self.receiver.start();
        //= RFC 9293 §3.7.1: "If an MSS Option is not received at connection setup, TCP implementations MUST assume a
        //= default send MSS of 536 (576 - 40) for IPv4"
        //= tests: handshake::a_peer_that_names_no_segment_size_gets_536_bytes
        self.peer_mss = u32::from(o.mss.unwrap_or(DEFAULT_MSS as u16)).max(64);
        self.sack_ok = o.sack_permitted && self.config.recovery != LossRecovery::NewReno;
        self.timestamps_ok = o.timestamps.is_some() && self.config.timestamps;
        if let Some(t) = o.timestamps {
            self.receiver.recent_timestamp = t.value;
        }
        match o.window_scale {
            Some(shift) if self.config.window_scaling => self.peer_window_shift = shift.min(14),
            _ => {
                self.window_shift = 0;
                self.peer_window_shift = 0;
            }
        }
        // RFC 3168 §6.1.1: ECE and CWR on the SYN ask, ECE alone on the SYN/ACK agrees.
        let asks = syn.flags.contains(Flags::ECE | Flags::CWR) && !syn.flags.contains(Flags::ACK);
        let agrees = syn.flags.contains(Flags::ECE | Flags::ACK) && !syn.flags.contains(Flags::CWR);
        self.ecn_ok = self.config.ecn && (asks || agrees);
        self.mss = self.largest_segment().saturating_sub(if self.timestamps_ok { TIMESTAMP_BYTES } else { 0 });
        self.host.set_plain_mss(self.mss);
    }

    /// Largest TCP payload plus options that path and peer take.
    pub(crate) fn largest_segment(&self) -> u32 {
        self.own_mss().min(self.peer_mss)
    }

    fn own_mss(&self) -> u32 {
        self.config.largest_segment(self.local.is_ipv4())
    }

    #[cold]
    pub(super) fn syn_header(&self, segment: &mut Segment, window: u64) {
        segment.flags |= Flags::SYN;
        let answering = self.peer_synced;
        segment.window = window.min(65_535) as u16;
        segment.options.mss = Some(self.own_mss().min(65_535) as u16);
        segment.options.sack_permitted = self.config.recovery != LossRecovery::NewReno && (!answering || self.sack_ok);
        if self.config.window_scaling && (!answering || self.window_shift > 0 || self.peer_window_shift > 0) {
            segment.options.window_scale = Some(self.window_shift);
        }
        if self.config.ecn {
            if !answering {
                segment.flags |= Flags::ECE | Flags::CWR;
            } else if self.ecn_ok {
                segment.flags |= Flags::ECE;
            }
        }
    }

    /// Handles an arriving segment. `acceptable` is how many bytes beyond the next one expected may be taken.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        segment: &mut Segment,
        ecn: Ecn,
        acceptable: u64,
        peers: Peers<'_>,
        changes: &mut Changes,
    ) {
        self.host.look_again();
        match self.state {
            State::Closed => {}
            State::SynSent => self.handle_in_syn_sent(now, segment, peers, changes),
            _ => self.handle_synchronised(now, segment, ecn, acceptable, peers, changes),
        }
    }

    #[cold]
    fn handle_in_syn_sent(&mut self, now: Instant, segment: &Segment, peers: Peers<'_>, changes: &mut Changes) {
        let acks_syn = segment.flags.contains(Flags::ACK) && segment.ack == self.isn.wrapping_add(1);
        if segment.flags.contains(Flags::ACK) && !acks_syn {
            //= RFC 9293 §3.10.7.3: "If SEG.ACK =< ISS or SEG.ACK > SND.NXT, send a reset"
            //= tests: handshake::a_wrong_acknowledgement_of_the_syn_is_reset
            changes.refused = true;
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if acks_syn {
                self.abort();
                changes.reset = true;
            }
            return;
        }
        changes.acceptable = true;
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.negotiate(segment);
        self.update_peer_window(segment, 0, u64::from(acks_syn));
        if acks_syn {
            self.una = 1;
            self.receiver.ack_now();
            self.establish(now, peers, changes);
        } else {
            // RFC 9293 §3.5: both sides opened at once.
            //= RFC 9293 §3.5: "A TCP implementation MUST support simultaneous open attempts"
            //= tests: handshake::both_ends_may_open_at_once
            self.state = State::SynReceived;
            self.send_syn = true;
        }
    }

    /// Whether the numbers are such that handshake options of the segment count: it could change this state.
    pub(crate) fn is_plausible(&self, segment: &Segment, acceptable: u64) -> bool {
        match self.state {
            State::Closed => false,
            State::SynSent => !segment.flags.contains(Flags::ACK) || segment.ack == self.isn.wrapping_add(1),
            _ => {
                let next = self.receiver.next();
                let delta = segment.seq.wrapping_sub(self.peer_isn.wrapping_add(next as u32)) as i32;
                let Some(seq) = next.checked_add_signed(i64::from(delta)) else { return false };
                let len = u64::from(segment.sequence_len());
                let in_window = seq + len >= next && seq <= next + acceptable;
                in_window && segment.flags.contains(Flags::ACK) && self.acceptable_ack(segment).is_some()
            }
        }
    }

    /// The segment acknowledges something after our SYN, which is more than a FIN.
    pub(crate) fn acknowledges_data(&self, segment: &Segment) -> bool {
        if self.queued_end - u64::from(self.fin_queued) <= 1 {
            return false;
        }
        let beyond_syn = segment.ack.wrapping_sub(self.isn.wrapping_add(1)) as i32 > 0;
        segment.flags.contains(Flags::ACK) && beyond_syn && self.is_established()
    }

    #[cold]
    fn establish(&mut self, now: Instant, peers: Peers<'_>, changes: &mut Changes) {
        self.state = if self.fin_queued { State::FinWait1 } else { State::Established };
        self.retransmit_timer = None;
        if self.syn_retransmissions == 0 {
            let rtt = now.since(self.syn_sent_at);
            self.rtt.sample_min(rtt);
            self.rtt.sample(rtt, 0, 1);
            changes.rtt = Some(rtt);
        } else if self.syn_retransmissions > 1 {
            // RFC 5681 §3.1: a lost SYN or SYN/ACK means a window of one segment; once may have been chance (RFC 6298 §5.7).
            self.window.cwnd = 1;
        }
        self.rtt.reset_backoff();
        self.delivered_at = now;
        self.growth = self.with_controller(now, peers, |c, cx| c.growth(cx));
        self.update_pacing();
        changes.established = true;
    }

    fn handle_synchronised(
        &mut self,
        now: Instant,
        segment: &mut Segment,
        ecn: Ecn,
        acceptable: u64,
        peers: Peers<'_>,
        changes: &mut Changes,
    ) {
        self.receiver.held_window = acceptable;
        let next = self.receiver.next();
        let delta = segment.seq.wrapping_sub(self.peer_isn.wrapping_add(next as u32)) as i32;
        let seq = next.checked_add_signed(i64::from(delta));
        let len = u64::from(segment.sequence_len());
        let Some(seq) = seq else {
            return self.reject(segment, 0);
        };
        // RFC 7323 §5 (PAWS).
        if let (true, Some(t)) = (self.timestamps_ok, segment.options.timestamps) {
            let old = (t.value.wrapping_sub(self.receiver.recent_timestamp) as i32) < 0;
            // §5.5: after 24 days the comparison means nothing.
            let valid = now.since(self.receiver.recent_timestamp_at) < TIMESTAMP_VALID;
            if old && valid && !segment.flags.contains(Flags::RST) {
                return self.reject(segment, seq);
            }
        }
        if segment.flags.contains(Flags::RST) {
            // RFC 5961 §3.2.
            //= RFC 5961 §3.2: "If the RST bit is set and the sequence number exactly matches the next expected sequence
            //= number (RCV.NXT), then TCP MUST reset the connection"
            //= tests: fastclose::resets_count_only_at_the_exact_number
            if seq == next {
                self.abort();
                changes.reset = true;
                changes.acceptable = true;
                changes.current = true;
            } else if seq > next && seq < next + acceptable.max(1) {
                changes.challenge = true;
            }
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            if self.state == State::SynReceived && seq == 0 {
                if segment.flags.contains(Flags::ACK) && segment.ack == self.isn.wrapping_add(1) {
                    // Our own SYN of a simultaneous open is acknowledged.
                    self.una = 1;
                    self.receiver.ack_now();
                    return self.establish(now, peers, changes);
                }
                self.send_syn = true;
                return;
            }
            changes.challenge = true;
            return;
        }
        let old_probe = len == 0 && seq + 1 == next;
        if seq > next + acceptable || (seq + len > next + acceptable.max(1) && len > 0 && seq >= next + acceptable) {
            if len == 0 {
                changes.challenge = true;
                return;
            }
            return self.reject(segment, seq);
        }
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        if self.state == State::SynReceived {
            if seq + len < next {
                // An old one, such as a keep-alive probe: it completes no handshake.
                return;
            }
            if segment.ack != self.isn.wrapping_add(1) {
                //= RFC 9293 §3.10.7.4: "If the segment acknowledgment is not acceptable, form a reset segment"
                //= tests: handshake::only_the_acknowledgement_of_the_syn_ack_completes_the_handshake
                changes.refused = true;
                return;
            }
            self.una = 1;
            self.establish(now, peers, changes);
        }
        if !self.handle_ack(now, segment, seq, peers, changes) {
            changes.challenge = true;
            return;
        }
        self.take_timestamp(now, segment, seq, len);
        changes.acceptable = true;
        changes.current = seq + len >= next;
        // What lies beyond the edge is cut off before anything is acknowledged: the connection has no place for it.
        if seq + len > next + acceptable {
            let room = (next + acceptable).saturating_sub(seq).min(u64::from(segment.payload.len()));
            segment.payload = segment.payload.slice(0, room as u32);
            segment.flags = segment.flags.without(Flags::FIN);
        }
        if old_probe {
            self.receiver.ack_now();
        }
        self.handle_data(now, segment, seq, ecn, changes);
        self.follow_fins(now);
    }

    /// Remembers the timestamp of an acceptable segment for the next acknowledgement, where it is the earliest that this
    /// covers (RFC 7323 §4.3). Of what lies wholly before that, of what came out of order, and of what acknowledges the
    /// impossible it would let one forged segment silence the peer (§5.3).
    fn take_timestamp(&mut self, now: Instant, segment: &Segment, seq: u64, len: u64) {
        let acked = self.receiver.acked_next();
        if let (true, Some(t)) = (self.timestamps_ok, segment.options.timestamps)
            && (seq..=seq + len).contains(&acked)
        {
            self.receiver.recent_timestamp = t.value;
            self.receiver.recent_timestamp_at = now;
        }
    }

    /// Answers what is not acceptable (RFC 9293 §3.10.7.4 first step), unless it is a reset. Data that is here already is
    /// reported as a duplicate, as the kernel does: its sender may have repeated it for nothing.
    #[cold]
    fn reject(&mut self, segment: &Segment, seq: u64) {
        if !segment.flags.contains(Flags::RST) {
            self.receiver.note_duplicate(seq, seq + u64::from(segment.payload.len()));
            self.receiver.ack_now();
        }
    }

    fn handle_data(&mut self, now: Instant, segment: &mut Segment, seq: u64, ecn: Ecn, changes: &mut Changes) {
        let fin = segment.flags.contains(Flags::FIN);
        let len = segment.payload.len();
        if segment.payload.is_empty() && !fin {
            return;
        }
        if self.ecn_ok {
            if segment.flags.contains(Flags::CWR) {
                self.receiver.echo_congestion = false;
            }
            if ecn == Ecn::Ce {
                self.receiver.echo_congestion = true;
            }
        }
        let first = changes.arrived.len();
        let arrival = Arrival {
            ssn: seq,
            payload: core::mem::take(&mut segment.payload),
            mapping: segment.options.dss.and_then(|d| d.mapping),
            data_fin: segment.options.dss.is_some_and(|d| d.data_fin),
        };
        self.counters.data_segments_received += 1;
        let had_fin = self.receiver.fin_in_order();
        let received = self.receiver.receive(arrival, fin, &mut changes.arrived);
        if received == super::receive::Received::Duplicate {
            self.counters.duplicate_segments_received += 1;
        }
        debug_assert!(changes.arrived.len() >= first, "arrivals are only appended");
        changes.fin = self.receiver.fin_in_order() && !had_fin;
        let pushed = segment.flags.contains(Flags::PSH);
        let echo = segment.options.timestamps.filter(|_| self.timestamps_ok).map(|t| t.echo);
        self.receiver.note(now, received, changes.fin, pushed, len, echo);
    }

    /// State changes of FINs, ours acknowledged and the peer's received.
    fn follow_fins(&mut self, now: Instant) {
        let ours_acked = self.fin_queued && self.una == self.queued_end;
        let theirs = self.receiver.fin_in_order();
        self.state = match (self.state, ours_acked, theirs) {
            (State::Established, _, true) => State::CloseWait,
            (State::FinWait1, true, true) | (State::Closing, true, _) | (State::FinWait2, _, true) => {
                return self.start_time_wait(now);
            }
            (State::FinWait1, true, false) => State::FinWait2,
            (State::FinWait1, false, true) => State::Closing,
            (State::LastAck, true, _) => return self.abort(),
            (state, _, _) => state,
        };
        if self.state == State::TimeWait {
            self.start_time_wait(now);
        }
    }
}
