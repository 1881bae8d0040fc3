//! One subflow's TCP (RFC 9293): also plain TCP where no Multipath TCP is negotiated.
//!
//! A [`Tcp`] moves segments; it does not own the data. The connection queues ranges of the data stream on it, hands it
//! what arrives, and supplies receive window and Multipath TCP options when a segment is built. Sequence numbers inside
//! are relative and never wrap: 0 is the SYN, 1 the first byte.

mod ack;
mod handshake;
mod receive;
mod recovery;
mod rtt;
mod timers;
mod transmit;

pub(crate) use receive::{Arrival, exceeds_memory};
pub(crate) use transmit::Outgoing;

use crate::config::{LossRecovery, TcpConfig};
use crate::congestion::{Context, Controller, Growth, LossKind, PathState, Phase, Window};
use crate::host::SubflowHost;
use crate::send_queue::{SendQueue, SentSegment};
use crate::seq::DataSeq;
use arrayvec::ArrayVec;
use core::cell::Cell;
use core::net::SocketAddr;
use core::ops::Range;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Flags, Payload, Segment};
use receive::Receiver;
use recovery::Recovery;
use rtt::Rtt;

/// The states of RFC 9293 §3.3.2. LISTEN is the endpoint's, CLOSED includes what follows a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Data flows.
    Established,
    /// Our FIN is out.
    FinWait1,
    /// Our FIN is acknowledged.
    FinWait2,
    /// The peer's FIN arrived first.
    CloseWait,
    /// Both FINs crossed; ours is not acknowledged.
    Closing,
    /// The peer's FIN arrived first; ours is out.
    LastAck,
    /// Both FINs are acknowledged; old duplicates may still arrive.
    TimeWait,
    /// Over.
    Closed,
}

/// What one call changed, for the connection to act on. Reused, so that nothing is allocated per segment.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Data that is now in order on the subflow.
    pub(crate) arrived: Vec<Arrival>,
    /// Data ranges newly acknowledged on the subflow, in order.
    pub(crate) acked: Vec<Range<DataSeq>>,
    /// The subflow's cumulative acknowledgement advanced.
    pub(crate) una_advanced: bool,
    /// The peer has data of which it had not told: cumulatively, or by SACK.
    pub(crate) delivered: bool,
    pub(crate) has_sack: bool,
    pub(crate) rtt: Option<Duration>,
    pub(crate) loss: Option<LossKind>,
    /// The handshake is complete on this side.
    pub(crate) established: bool,
    /// The peer's FIN is in order.
    pub(crate) fin: bool,
    /// The subflow is over without an orderly close.
    pub(crate) reset: bool,
    /// Nothing answered a tail loss probe's worth of time (RFC 8985 §7.2).
    pub(crate) late: bool,
    /// It is over because nothing answered.
    pub(crate) unanswered: bool,
    /// A handshake was answered too often without a reply.
    pub(crate) gave_up: bool,
    /// The segment passed every check of its numbers, but that it may be a repetition.
    pub(crate) acceptable: bool,
    /// It is no repetition either: its signals count.
    pub(crate) current: bool,
    /// The segment may be a blind attack: an acknowledgement tells an honest peer where we are (RFC 5961).
    pub(crate) challenge: bool,
    /// The segment belongs to no connection that we know: a reset answers it.
    pub(crate) refused: bool,
}

impl Changes {
    pub(crate) fn clear(&mut self) {
        self.arrived.clear();
        self.acked.clear();
        self.una_advanced = false;
        self.delivered = false;
        self.has_sack = false;
        self.rtt = None;
        self.loss = None;
        self.established = false;
        self.fin = false;
        self.reset = false;
        self.late = false;
        self.unanswered = false;
        self.gave_up = false;
        self.acceptable = false;
        self.current = false;
        self.challenge = false;
        self.refused = false;
    }
}

/// What counts over a subflow's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data segments sent, repeated ones included.
    pub data_segments_sent: u64,
    /// Data bytes sent, repeated ones included.
    pub data_bytes_sent: u64,
    /// Data segments sent again.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub loss_probes: u64,
    /// Times that fast recovery began.
    pub recoveries: u64,
    /// Window reductions taken back.
    pub undos: u64,
    /// Data segments received, repeated ones included.
    pub data_segments_received: u64,
    /// Data segments received that held nothing new.
    pub duplicate_segments_received: u64,
}

pub(crate) struct Tcp {
    pub(crate) config: TcpConfig,
    host: SubflowHost,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    state: State,
    /// Initial sequence numbers: our own and the peer's.
    isn: u32,
    peer_isn: u32,
    /// The peer's SYN has been seen.
    peer_synced: bool,

    // Negotiated.
    /// Data bytes of a full segment, options of a data segment subtracted.
    mss: u32,
    peer_mss: u32,
    sack_ok: bool,
    timestamps_ok: bool,
    ecn_ok: bool,
    /// Shift of the window fields that we send and receive.
    window_shift: u8,
    peer_window_shift: u8,

    // Sending.
    queue: SendQueue,
    /// First sequence number not acknowledged; next one to send; the end of what is queued.
    una: u64,
    nxt: u64,
    queued_end: u64,
    window: Window,
    controller: Box<dyn Controller>,
    growth: Growth,
    rtt: Rtt,
    recovery: Recovery,
    /// The SACK blocks of the last acknowledgement.
    previous_sack: ArrayVec<(u64, u64), 4>,
    /// Bytes delivered to the peer in all, and when that last changed.
    delivered_bytes: u64,
    delivered_at: Instant,
    /// The last interval of the delivery rate and what was delivered in it. The rate is divided out where it is asked for, and
    /// then known until it changes.
    delivered_in: (u64, Duration),
    delivery_rate: Cell<Option<f64>>,
    loss_estimate: f64,
    bytes_since_loss: u64,
    bytes_between_losses: u64,
    round_end: u64,
    round_start: Option<Instant>,
    last_sent: Option<Instant>,
    /// Kernel-like tracking of whether the window was filled.
    cwnd_limited: bool,
    max_packets_out: u32,
    cwnd_usage_end: u64,
    /// The peer's last window field as bytes, and the largest of all.
    peer_window: u64,
    largest_peer_window: u64,
    /// Segment that the last window update was taken from (RFC 9293 §3.10.7.4: SND.WL1, SND.WL2).
    window_seq: u64,
    window_ack: u64,
    /// A FIN is queued.
    fin_queued: bool,
    /// ECN: the peer reported congestion; our answer is due.
    send_cwr: bool,
    /// Data is queued beyond the congestion window: buffers are what schedulers' grants made them, as in the kernel.
    queues: bool,
    /// End of the last segment sent that was not full (Minshall's variant of Nagle).
    small_end: u64,
    /// The stream goes on behind what is queued here.
    pub(crate) backlog: bool,
    /// Data went out after this long without any; the controller has not been told.
    idle_for: Option<Duration>,
    nagle: bool,
    /// What to send next, beside data: a SYN or SYN/ACK, a tail loss probe, a probe of the peer's window.
    send_syn: bool,
    send_loss_probe: bool,
    send_window_probe: bool,
    send_signal: bool,
    syn_sent_at: Instant,
    syn_retransmissions: u32,
    consecutive_timeouts: u32,
    /// Probes of a path that was dark before their time, since something was last acknowledged.
    early_probes: u32,
    /// The first of them.
    dark_since: Option<Instant>,
    /// While the path is dark, or is not known to work yet: timeouts are not stretched beyond this.
    probe_interval: Option<Duration>,

    // Receiving.
    receiver: Receiver,

    // Timers.
    retransmit_timer: Option<(timers::RetransmitTimer, Instant)>,
    time_wait_end: Option<Instant>,

    pub(crate) counters: Counters,
}

impl Tcp {
    pub(crate) fn state(&self) -> State {
        self.state
    }
    pub(crate) fn is_established(&self) -> bool {
        !matches!(self.state, State::SynSent | State::SynReceived | State::Closed)
    }
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }
    /// Data can still be queued: established, and our side not closed.
    pub(crate) fn can_send(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait) && !self.fin_queued
    }
    /// Nagle's rule, as Minshall has it: a short segment waits while an earlier short one is not acknowledged.
    pub(crate) fn small_outstanding(&self) -> bool {
        self.small_end > self.una
    }
    pub(crate) fn mss(&self) -> u32 {
        self.mss
    }
    pub(crate) fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
    }
    pub(crate) fn set_nagle(&mut self, on: bool) {
        self.nagle = on;
    }
    /// A segment as long as the path takes has arrived.
    pub(crate) fn saw_full_segment(&self) -> bool {
        self.receiver.full_segment() >= self.mss
    }
    /// Round-trip time as the receiver measures it by the peer's echoed timestamps.
    pub(crate) fn receiver_rtt(&self) -> Option<Duration> {
        self.receiver.rtt()
    }
    pub(crate) fn timestamps_ok(&self) -> bool {
        self.timestamps_ok
    }
    pub(crate) fn window(&self) -> Window {
        self.window
    }
    pub(crate) fn growth(&self) -> Growth {
        self.growth
    }
    pub(crate) fn queue(&self) -> &SendQueue {
        &self.queue
    }
    pub(crate) fn rtt(&self) -> &Rtt {
        &self.rtt
    }
    pub(crate) fn rto(&self) -> Duration {
        let rto = self.rtt.rto();
        self.probe_interval.map_or(rto, |interval| rto.min(interval))
    }
    /// Bytes per second; 0 before the first.
    pub(crate) fn delivery_rate(&self) -> f64 {
        self.delivery_rate.get().unwrap_or_else(|| {
            let (bytes, interval) = self.delivered_in;
            let rate = if interval.is_zero() { 0.0 } else { bytes as f64 / interval.as_secs_f64() };
            self.delivery_rate.set(Some(rate));
            rate
        })
    }
    /// The rate at which the host sends, bytes per second; 0 before the first round trip was measured.
    pub(crate) fn pacing_rate(&self) -> f64 {
        self.host.pacing_rate()
    }
    pub(crate) fn loss_estimate(&self) -> f64 {
        self.loss_estimate
    }
    pub(crate) fn round_start(&self) -> Option<Instant> {
        self.round_start
    }
    pub(crate) fn last_sent(&self) -> Option<Instant> {
        self.last_sent
    }
    pub(crate) fn cwnd_limited(&self) -> bool {
        self.cwnd_limited
    }
    /// The window that the peer last offered on this subflow, bytes.
    pub(crate) fn peer_window(&self) -> u64 {
        self.peer_window
    }
    /// Bytes of the stream acknowledged in sequence on this subflow, SYN and FIN not counted.
    pub(crate) fn acked_offset(&self) -> u64 {
        let fin_acked = self.fin_queued && self.queue.is_empty() && self.una == self.queued_end;
        self.una.saturating_sub(1) - u64::from(fin_acked)
    }
    /// Data bytes that wait for a hole in the subflow's sequence.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.receiver.held_bytes()
    }
    /// Bytes of the stream before the peer's FIN, which has arrived in order.
    pub(crate) fn bytes_before_fin(&self) -> u64 {
        self.receiver.next().saturating_sub(2)
    }
    /// The peer's FIN has arrived in order.
    pub(crate) fn fin_arrived(&self) -> bool {
        self.receiver.fin_in_order()
    }
    /// The smallest step of the window that the peer offers, bytes.
    pub(crate) fn peer_window_step(&self) -> u64 {
        1 << self.peer_window_shift
    }
    /// Our FIN is queued or out, and not acknowledged.
    pub(crate) fn fin_outstanding(&self) -> bool {
        matches!(self.state, State::FinWait1 | State::Closing | State::LastAck)
    }
    /// Only the peer's FIN is missing.
    pub(crate) fn awaits_fin(&self) -> bool {
        self.state == State::FinWait2
    }
    pub(crate) fn in_time_wait(&self) -> bool {
        self.state == State::TimeWait
    }

    /// What the queue takes of the host's memory.
    pub(crate) fn queued_memory(&self) -> u64 {
        self.host.memory(&self.queue)
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.recovery.state {
            recovery::State::Recovery | recovery::State::Reduction => Phase::Recovery,
            recovery::State::Loss => Phase::Loss,
            _ if self.window.in_slow_start() => Phase::SlowStart,
            _ => Phase::Avoidance,
        }
    }

    pub(crate) fn path_state(&self) -> PathState {
        PathState {
            cwnd: self.window.cwnd,
            in_slow_start: self.window.in_slow_start(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            mss: self.mss,
            bytes_since_loss: self.bytes_since_loss,
            bytes_between_losses: self.bytes_between_losses,
        }
    }

    /// Runs a rule of the congestion controller.
    fn with_controller<R>(
        &mut self,
        now: Instant,
        peers: Peers<'_>,
        rule: impl FnOnce(&mut dyn Controller, &mut Context<'_>) -> R,
    ) -> R {
        let mut cx = Context {
            now,
            window: &mut self.window,
            paths: peers.paths,
            own: peers.own,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            in_flight: self.queue.in_flight(),
        };
        rule(self.controller.as_mut(), &mut cx)
    }

    fn sack_recovery(&self) -> bool {
        self.sack_ok && self.config.recovery != LossRecovery::NewReno
    }

    /// What of the host's memory the queue may take, at most `max` bytes.
    pub(crate) fn send_buffer(&self, max: u64) -> u64 {
        self.host.send_buffer(max)
    }

    /// The send buffer may have become too small for the window, where a writer waits for room. Says whether it grew.
    pub(crate) fn grow_send_buffer(&mut self, writer_waits: bool, idle: bool) -> bool {
        let in_flight = self.in_flight();
        self.host.grow_send_buffer(writer_waits, idle, self.window.cwnd, in_flight)
    }

    /// Bytes that still fit the last segment, where data from `at` on goes on there and nothing of its buffer was sent.
    pub(crate) fn room_in_last(&self, at: DataSeq) -> u32 {
        match (self.queue.open_buffer(), self.queue.last_queued()) {
            (Some(_), Some(last)) if !last.fin && last.data().end == at => self.mss.saturating_sub(last.len),
            _ => 0,
        }
    }

    /// [`Tcp::queued_memory`] once `bytes` more from `at` on are queued.
    pub(crate) fn memory_with(&self, at: DataSeq, bytes: u64) -> u64 {
        let goes_on = self.queue.last_queued().is_some_and(|l| l.data().end == at);
        self.host.memory_with(&self.queue, goes_on, bytes, self.mss, self.largest_peer_window)
    }

    /// What `bytes` not yet queued here take of it, where they are all that is left of a plain TCP's stream.
    pub(crate) fn memory_of(&self, bytes: u64) -> u64 {
        self.host.memory_of(bytes, self.mss, self.largest_peer_window)
    }

    /// How much a writer adds to `unassigned` bytes where `free` bytes of memory are left.
    pub(crate) fn fills(&self, unassigned: u64, free: u64) -> u64 {
        self.host.fills(unassigned, free, self.mss, self.largest_peer_window)
    }

    /// Queues `payload`, which starts at `dsn` and is no longer than a segment; it goes on in the last segment as far as
    /// [`Tcp::room_in_last`] says.
    pub(crate) fn queue_segment(&mut self, dsn: DataSeq, payload: Payload) {
        debug_assert!(self.can_send(), "data is queued only where it can be sent");
        let len = payload.len();
        self.host.look_again();
        if len <= self.room_in_last(dsn) && self.queue.extend_last(&payload) {
            self.queued_end += u64::from(len);
            return;
        }
        let goes_on = self.queue.last_queued().is_some_and(|l| l.data().end == dsn);
        let starts_buffer = !goes_on
            || self
                .queue
                .open_buffer()
                .is_none_or(|n| n >= self.host.buffer_segments(self.mss, self.largest_peer_window));
        let segment = SentSegment {
            ssn: self.queued_end,
            len,
            fin: false,
            starts_buffer,
            pushed: false,
            sacked: false,
            lost: false,
            retransmitted: false,
            ever_retransmitted: false,
            dsn,
            last_sent: Instant::ZERO,
            transmission: 0,
            delivered: 0,
            delivered_at: Instant::ZERO,
        };
        self.queue.push(segment, payload);
        self.queued_end += u64::from(len);
    }

    /// A scheduler's grant that may lie beyond the congestion window ends here.
    pub(crate) fn end_grant(&mut self) {
        self.queues = true;
        self.queue.end_grant();
    }

    /// Ends our direction after all that is queued (RFC 9293 §3.10.4).
    pub(crate) fn close(&mut self, now: Instant) {
        match self.state {
            State::SynSent => self.abort(),
            State::SynReceived | State::Established | State::CloseWait if !self.fin_queued => {
                if !self.queue.end_with_last() {
                    self.queue_lone_fin(now);
                }
                self.queued_end += 1;
                self.fin_queued = true;
                match self.state {
                    State::Established => self.state = State::FinWait1,
                    State::CloseWait => self.state = State::LastAck,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Takes back a FIN that was queued and never sent. Returns whether there was one.
    pub(crate) fn take_back_fin(&mut self) -> bool {
        if !self.fin_queued || !self.queue.take_back_fin() {
            return false;
        }
        self.fin_queued = false;
        self.queued_end -= 1;
        self.state = match self.state {
            State::FinWait1 => State::Established,
            State::LastAck => State::CloseWait,
            state => state,
        };
        true
    }

    fn queue_lone_fin(&mut self, now: Instant) {
        let fin = SentSegment {
            ssn: self.queued_end,
            len: 0,
            fin: true,
            starts_buffer: true,
            pushed: false,
            sacked: false,
            lost: false,
            retransmitted: false,
            ever_retransmitted: false,
            dsn: DataSeq(0),
            last_sent: now,
            transmission: 0,
            delivered: 0,
            delivered_at: now,
        };
        self.queue.push(fin, Payload::EMPTY);
    }

    /// A reset of this subflow.
    pub(crate) fn reset_segment(&self) -> Segment {
        let mut segment = Segment::new(self.local, self.remote);
        segment.flags = Flags::RST | Flags::ACK;
        segment.seq = self.isn.wrapping_add(self.nxt as u32);
        segment.ack = self.peer_isn.wrapping_add(self.receiver.next() as u32);
        segment
    }

    /// Decides when data that arrived is acknowledged. `taken`: it waits for other subflows' data, not for the reader.
    pub(crate) fn decide_ack(&mut self, now: Instant, window: u64, taken: bool) {
        if self.state == State::Closed {
            // A signal of the same segment has ended the subflow.
            return;
        }
        let around =
            receive::Surroundings { rto: self.rtt.base_rto(), srtt: self.rtt.srtt(), sack: self.sack_ok, taken };
        self.receiver.decide_ack(now, window, &around, &self.config, &self.host);
    }
    /// An acknowledgement goes out now or at this time at the latest.
    pub(crate) fn acknowledges_by(&self, at: Instant) -> bool {
        self.receiver.ack_is_due() || self.receiver.ack_timer() <= at
    }
    /// An acknowledgement goes out at this time, if none does before; without a time at once.
    pub(crate) fn ack_by(&mut self, at: Option<Instant>) {
        self.receiver.ack_by(at);
    }
    /// What is left of the immediate acknowledgements is given up.
    pub(crate) fn end_quick_acks(&mut self) {
        self.receiver.end_quick_acks();
    }
    /// Something in order has arrived since the last acknowledgement.
    pub(crate) fn owes_ack(&self) -> bool {
        self.receiver.owes_ack()
    }
    /// See [`Receiver::noted_data`].
    pub(crate) fn noted_data(&self) -> Option<(u32, bool)> {
        self.receiver.noted_data()
    }
    /// The application has read from the connection.
    pub(crate) fn after_read(&mut self, at: Option<Instant>, empty: bool) {
        self.receiver.after_read(at, empty);
    }
    pub(crate) fn window_grew(&mut self) {
        self.receiver.window_grew();
    }
    /// What is left of the window offered last on this subflow.
    pub(crate) fn window_left(&self) -> u64 {
        self.receiver.window_left()
    }
    pub(crate) fn set_offered(&mut self, window: u64) {
        self.receiver.set_offered(window);
    }
    /// The smallest step of the offered window, bytes.
    pub(crate) fn window_step(&self) -> u64 {
        1 << self.window_shift
    }

    /// Ends everything at once.
    pub(crate) fn abort(&mut self) {
        self.state = State::Closed;
        self.retransmit_timer = None;
        self.receiver.stop_timer();
    }

    /// Takes back every queued segment that was never sent; returns their data, newest first.
    pub(crate) fn take_unsent(&mut self) -> impl Iterator<Item = Range<DataSeq>> + '_ {
        core::iter::from_fn(|| {
            if self.queue.last_queued().is_some_and(|s| s.fin) {
                return None;
            }
            let s = self.queue.pop_unsent()?;
            self.queued_end = s.ssn;
            Some(s.data())
        })
    }

    /// The data of every segment that is not acknowledged, in subflow order.
    pub(crate) fn unacked_data(&self) -> impl Iterator<Item = Range<DataSeq>> + '_ {
        self.queue.iter().filter(|s| s.len > 0).map(SentSegment::data)
    }

    /// The data of every segment that went out at least a round trip ago and is not acknowledged, in subflow order.
    pub(crate) fn overdue_data(&self, now: Instant) -> impl Iterator<Item = Range<DataSeq>> + '_ {
        let round_trip = self.rtt.srtt().unwrap_or(Duration::ZERO);
        let overdue = move |s: &&SentSegment| s.len > 0 && s.last_sent + round_trip <= now;
        self.queue.iter().take(self.queue.packets_out() as usize).filter(overdue).map(SentSegment::data)
    }

    /// More was lost than the window sends again in one round trip.
    pub(crate) fn is_repairing(&self) -> bool {
        self.queue.lost_out.saturating_sub(self.queue.retransmitted_out) > self.window.cwnd
    }

    /// Everything up to `end` of the stream was queued here, in order: the subflow's sequence is the stream's.
    pub(crate) fn is_whole_stream(&self, end: DataSeq) -> bool {
        let data_end = self.queued_end - u64::from(self.fin_queued);
        data_end == end.0 + 1 && self.queue.iter().filter(|s| s.len > 0).all(|s| s.dsn.0 + 1 == s.ssn)
    }

    /// Halves the window and sets the threshold to it (penalisation).
    pub(crate) fn penalise(&mut self) {
        self.window.cwnd = (self.window.cwnd / 2).max(1);
        self.window.ssthresh = self.window.cwnd.max(2);
    }
}
/// All subflows as a coupled controller sees them, and which one this is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peers<'a> {
    pub(crate) paths: &'a [PathState],
    pub(crate) own: usize,
}
