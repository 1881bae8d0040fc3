//! TCP of one subflow (RFC 9293), or of a plain TCP connection if Multipath TCP was not negotiated.
//!
//! A [`Tcp`] moves segments; it does not own the data. The connection queues ranges of the data stream on it, passes
//! arriving segments to it, and supplies receive window and Multipath TCP options when a segment is built. Sequence
//! numbers inside are relative and never wrap: 0 is the SYN, 1 the first byte.

mod ack;
mod acknowledge;
mod changes;
mod detection;
mod handshake;
mod info;
mod lent;
mod mtu_probe;
mod pacing;
mod path_mtu;
mod queueing;
mod receive;
mod recovery;
mod reduction;
mod rtt;
mod segment;
mod send_window;
mod time_wait;
mod timers;
mod timestamp;
mod transmit;
mod undo;

pub(crate) use changes::{Changes, Ended, Told, Verdict};
pub use info::TcpInfo;
pub(crate) use lent::{Lent, SMALL, WaitingMemory, collect, copied};
pub use path_mtu::PacketTooBigVerdict;
pub(crate) use receive::{Arrival, exceeds_memory, memory_limit, memory_of};
pub use recovery::RecoveryState;
pub(crate) use segment::Input;
pub(crate) use time_wait::{TimeWait, Waited};
pub(crate) use timestamp::timestamp;
pub(crate) use transmit::Outgoing;

use crate::config::{LossRecovery, TcpConfig};
use crate::congestion::{Context, Controller, PathState, Window};
use crate::host::{SubflowHost, Surroundings};
use crate::send_queue::SendQueue;
use ack::{Congestion, DeliveryMeter, Round};
use core::net::SocketAddr;
pub(crate) use handshake::Origin;
use handshake::{Agreed, Opening};
use pacing::Pacer;
use path_mtu::PathMtu;
use pathweave_scheduler::{DataSeq, Growth, Phase};
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Flags, Segment, Timestamps};
use receive::SubflowReceiver;
use recovery::Recovery;
use rtt::Rtt;
use send_window::SubflowSendWindow;
use timers::{TimeoutRun, Timers};
use transmit::{Due, SendSpace};

/// The states of RFC 9293 §3.3.2. LISTEN belongs to the endpoint; CLOSED includes the time after a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpState {
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Data flows.
    Established,
    /// Our FIN is in flight.
    FinWait1,
    /// Our FIN is acknowledged.
    FinWait2,
    /// The peer's FIN arrived first.
    CloseWait,
    /// Both FINs crossed; ours is not acknowledged yet.
    Closing,
    /// The peer's FIN arrived first; ours is out.
    LastAck,
    /// Both FINs are acknowledged; old duplicates may still arrive.
    TimeWait,
    /// The subflow has ended.
    Closed,
}

/// Counters since the subflow began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Data segments sent, including retransmissions.
    pub data_segments_sent: u64,
    /// Data bytes sent, including retransmissions.
    pub data_bytes_sent: u64,
    /// Data segments retransmitted.
    pub retransmitted_segments: u64,
    /// Segments that the peer has received, including repeated ones and those without data.
    pub delivered_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub loss_probes: u64,
    /// How often fast recovery began.
    pub recoveries: u64,
    /// Window reductions that were taken back.
    pub undos: u64,
    /// Data segments received, including repeated ones.
    pub data_segments_received: u64,
    /// Data segments received without any new data.
    pub duplicate_segments_received: u64,
}

pub(crate) struct Tcp {
    pub(crate) config: TcpConfig,
    host: SubflowHost,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    state: TcpState,
    opening: Opening,
    agreed: Agreed,
    path_mtu: PathMtu,

    // Sending.
    queue: SendQueue,
    send: SendSpace,
    congestion: Congestion,
    rtt: Rtt,
    recovery: Recovery,
    delivery: DeliveryMeter,
    round: Round,
    peer_window: SubflowSendWindow,
    due: Due,
    silence: TimeoutRun,
    pacer: Pacer,
    /// Whether more stream data follows what is queued on this subflow.
    pub(crate) backlog: bool,

    // Receiving.
    receiver: SubflowReceiver,

    timers: Timers,
    pub(crate) counters: Counters,
}

impl Tcp {
    pub(crate) fn state(&self) -> TcpState {
        self.state
    }
    pub(crate) fn is_established(&self) -> bool {
        !matches!(self.state, TcpState::SynSent | TcpState::SynReceived | TcpState::Closed)
    }
    pub(crate) fn is_closed(&self) -> bool {
        self.state == TcpState::Closed
    }
    /// SYNs that were not answered, neither rightly nor wrongly.
    pub(crate) fn syns_unanswered(&self) -> u32 {
        self.opening.unanswered
    }
    /// Whether data can still be queued: the subflow is established and our side not closed.
    pub(crate) fn can_send(&self) -> bool {
        matches!(self.state, TcpState::Established | TcpState::CloseWait) && !self.send.fin_queued
    }
    /// Nagle's rule in Minshall's variant: whether a short segment must wait for the acknowledgement of an earlier
    /// short one.
    pub(crate) fn small_outstanding(&self) -> bool {
        self.send.small_end > self.send.una
    }
    pub(crate) fn mss(&self) -> u32 {
        self.agreed.mss
    }
    //= RFC 9293 §3.7.4 (SHLD-7): "A TCP implementation SHOULD implement the Nagle algorithm to coalesce short segments"
    //= tests: zero_window::nagle_holds_a_short_tail_only_while_a_short_segment_is_out
    pub(crate) fn set_nagle(&mut self, on: bool) {
        self.send.nagle = on;
    }
    /// Lets the host decide anew on segments that it held back.
    pub(crate) fn look_again(&mut self) {
        self.host.look_again();
    }
    /// Whether a segment as large as the path allows has arrived.
    pub(crate) fn saw_full_segment(&self) -> bool {
        self.receiver.full_segment() >= self.agreed.mss
    }
    /// Data bytes of the largest segment received so far.
    pub(crate) fn largest_received(&self) -> u32 {
        self.receiver.full_segment()
    }
    /// Round-trip time as the receiver measures it from the timestamps that the peer echoes.
    pub(crate) fn receiver_rtt(&self) -> Option<Duration> {
        self.receiver.rtt()
    }
    pub(crate) fn window(&self) -> Window {
        self.congestion.window
    }
    pub(crate) fn growth(&self) -> Growth {
        self.congestion.growth
    }
    /// Notes that several segments were declared with one mapping ([`SendQueue::declare_several`]).
    pub(crate) fn declare_several(&mut self, ssn: u64, dsn: DataSeq, len: u32) {
        self.queue.declare_several(ssn, dsn, len);
    }
    pub(crate) fn queue(&self) -> &SendQueue {
        &self.queue
    }
    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink();
        self.receiver.shrink();
    }
    pub(crate) fn rtt(&self) -> &Rtt {
        &self.rtt
    }
    pub(crate) fn rto(&self) -> Duration {
        let rto = self.rtt.rto();
        self.silence.probe_interval.map_or(rto, |interval| rto.min(interval))
    }
    /// Whether the timeout was doubled since the last measured round trip.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.rtt.is_backed_off()
    }
    /// Delivery rate, bytes per second; 0 before the first measurement.
    pub(crate) fn delivery_rate(&self) -> f64 {
        self.delivery.rate()
    }
    pub(crate) fn loss_estimate(&self) -> f64 {
        self.delivery.loss_estimate
    }
    pub(crate) fn round_start(&self) -> Option<Instant> {
        self.round.start
    }
    pub(crate) fn last_sent(&self) -> Option<Instant> {
        self.send.last_sent
    }
    pub(crate) fn cwnd_limited(&self) -> bool {
        self.congestion.limited
    }
    /// The window that the peer last offered on this subflow, bytes.
    pub(crate) fn peer_window(&self) -> u64 {
        self.peer_window.bytes
    }
    /// Bytes acknowledged in sequence on this subflow, without SYN and FIN.
    pub(crate) fn acked_offset(&self) -> u64 {
        let fin_acked = self.send.fin_queued && self.queue.is_empty() && self.send.una == self.send.queued_end;
        self.send.una.saturating_sub(1) - u64::from(fin_acked)
    }
    /// Data bytes that wait for a hole in the subflow's sequence.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.receiver.held_bytes()
    }
    /// Bytes of the subflow's sequence before the peer's FIN, which must have arrived in order.
    pub(crate) fn bytes_before_fin(&self) -> u64 {
        self.receiver.next().saturating_sub(2)
    }
    /// Whether the peer's FIN has arrived in order.
    pub(crate) fn fin_arrived(&self) -> bool {
        self.receiver.fin_in_order()
    }
    /// Granularity of the window that the peer offers, bytes.
    pub(crate) fn peer_window_step(&self) -> u64 {
        1 << self.agreed.peer_window_shift
    }
    /// Whether our FIN is queued or in flight, and not acknowledged.
    pub(crate) fn fin_outstanding(&self) -> bool {
        matches!(self.state, TcpState::FinWait1 | TcpState::Closing | TcpState::LastAck)
    }
    /// Whether everything but the peer's FIN is done.
    pub(crate) fn awaits_fin(&self) -> bool {
        self.state == TcpState::FinWait2
    }
    pub(crate) fn in_time_wait(&self) -> bool {
        self.state == TcpState::TimeWait
    }

    /// The queue's share of the host's memory, as the host counts it, bytes.
    pub(crate) fn queued_memory(&self) -> u64 {
        self.host.memory(&self.queue)
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.recovery.state {
            RecoveryState::Recovery | RecoveryState::Reduction => Phase::Recovery,
            RecoveryState::Loss => Phase::Loss,
            _ if self.congestion.window.in_slow_start() => Phase::SlowStart,
            _ => Phase::Avoidance,
        }
    }

    pub(crate) fn path_state(&self) -> PathState {
        PathState {
            cwnd: self.congestion.window.cwnd,
            in_slow_start: self.congestion.window.in_slow_start(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            mss: self.agreed.mss,
            bytes_since_loss: self.delivery.bytes_since_loss,
            bytes_between_losses: self.delivery.bytes_between_losses,
        }
    }

    /// Calls a rule of the congestion controller.
    fn with_controller<R>(
        &mut self,
        now: Instant,
        peers: Peers<'_>,
        rule: impl FnOnce(&mut dyn Controller, &mut Context<'_>) -> R,
    ) -> R {
        let mut cx = Context {
            now,
            window: &mut self.congestion.window,
            paths: peers.paths,
            own: peers.own,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            in_flight: self.queue.in_flight(),
        };
        rule(self.congestion.controller.as_mut(), &mut cx)
    }

    fn sack_recovery(&self) -> bool {
        self.agreed.sack && self.config.recovery != LossRecovery::NewReno
    }

    /// This subflow's part of the connection's send buffer, at most `max` bytes, if the host sizes the buffer by the
    /// subflows' windows.
    pub(crate) fn share_of_send_buffer(&self, max: u64) -> u64 {
        self.host.share_of_send_buffer(max)
    }
    /// Notes that the application has fixed the size of the send buffer.
    pub(crate) fn fix_send_buffer(&mut self) {
        self.host.fix_send_buffer();
    }
    /// Size of the subflow's send buffer, counted in the host's memory, at most `max` bytes.
    pub(crate) fn send_buffer(&self, max: u64) -> u64 {
        self.host.send_buffer(max)
    }

    /// Lets the host enlarge the send buffer if it is too small for the window and a writer waits for room. Returns
    /// whether it grew.
    pub(crate) fn grow_send_buffer(&mut self, writer_waits: bool, idle: bool) -> bool {
        let in_flight = self.in_flight();
        self.host.grow_send_buffer(writer_waits, idle, self.congestion.window.cwnd, in_flight)
    }

    /// A reset of this subflow.
    //= RFC 7323 §3.2: "and SHOULD be sent in an <RST> segment"
    //= tests: resets::they_have_timestamps_where_these_were_agreed
    pub(crate) fn reset_segment(&self, now: Instant) -> Segment {
        let mut segment = Segment::new(self.local, self.remote);
        segment.flags = Flags::RST | Flags::ACK;
        segment.seq = self.opening.isn.wrapping_add(self.send.nxt as u32);
        segment.ack = self.opening.peer_isn.wrapping_add(self.receiver.next() as u32);
        segment.options.timestamps = self.agreed.timestamps.then(|| self.timestamps(now));
        segment
    }

    /// The timestamps option: our clock, and the newest timestamp of the peer.
    //= RFC 7323 §3.2: "If the ACK bit is not set in the outgoing TCP header, the sender of that segment SHOULD set the TSecr
    //= field to zero"
    //= tests: handshake::options_are_offered_and_agreed
    //= RFC 7323 §3.2: "When the ACK bit is set in an outgoing segment, the sender MUST echo a recently received TSval"
    //= tests: loss_recovery::a_loss_halves_the_window
    //= RFC 7323 §4.3: "When a TSopt is sent, its TSecr field is set to the current TS.Recent value"
    //= tests: loss_recovery::a_loss_halves_the_window
    fn timestamps(&self, now: Instant) -> Timestamps {
        let echo = if self.opening.peer_synced { self.receiver.clock.recent } else { 0 };
        Timestamps { value: timestamp(now).wrapping_add(self.opening.timestamp_offset), echo }
    }

    /// Decides when arrived data is acknowledged. `taken`: the data waits for other subflows' data, not for the reader.
    /// `readable`: there is data for the reader.
    pub(crate) fn decide_ack(&mut self, now: Instant, window: u64, taken: bool, readable: bool) {
        if self.state == TcpState::Closed {
            // An option of the same segment has ended the subflow.
            return;
        }
        let around = Surroundings {
            rto: self.rtt.base_rto(),
            srtt: self.rtt.srtt(),
            receiver_rtt: self.receiver.rtt(),
            sack: self.agreed.sack,
            taken,
            readable,
        };
        self.receiver.decide_ack(now, window, &around, &self.config);
    }
    /// Whether an acknowledgement leaves at `at` or earlier.
    pub(crate) fn acknowledges_by(&self, at: Instant) -> bool {
        self.receiver.ack_is_due() || self.receiver.ack_timer() <= at
    }
    /// Lets an acknowledgement leave at `at`, or at once, if none leaves earlier.
    pub(crate) fn ack_by(&mut self, at: Option<Instant>) {
        self.receiver.ack_by(at);
    }
    /// Gives up the immediate acknowledgements that are left.
    pub(crate) fn end_quick_acks(&mut self) {
        self.receiver.end_quick_acks();
    }
    /// When data last arrived.
    pub(crate) fn last_data(&self) -> Option<Instant> {
        self.receiver.last_data()
    }
    /// Whether selective acknowledgements are in use.
    pub(crate) fn sack(&self) -> bool {
        self.agreed.sack
    }
    /// Whether this host's DATA_ACKs may also leave on other subflows; see `AckRules::shares_data_acks`.
    pub(crate) fn shares_data_acks(&self) -> bool {
        self.receiver.shares_data_acks()
    }
    /// Whether data or a FIN has arrived in order since the last acknowledgement.
    pub(crate) fn owes_ack(&self) -> bool {
        self.receiver.owes_ack()
    }
    /// Data of the segment just received; see [`SubflowReceiver::noted_data`].
    pub(crate) fn noted_data(&self) -> Option<(u32, bool)> {
        self.receiver.noted_data()
    }
    /// Notes that the application has read from the connection.
    pub(crate) fn after_read(&mut self, at: Option<Instant>, empty: bool) {
        self.receiver.after_read(at, empty);
    }
    pub(crate) fn window_grew(&mut self) {
        self.receiver.window_grew();
    }
    /// Unused part of the window that was last offered on this subflow.
    pub(crate) fn window_left(&self) -> u64 {
        self.receiver.window_left()
    }
    pub(crate) fn set_offered(&mut self, window: u64) {
        self.receiver.set_offered(window);
    }
    /// Memory of the data that waits for a hole, at most, bytes.
    #[inline]
    pub(crate) fn waiting_memory(&self) -> WaitingMemory {
        self.receiver.memory()
    }
    /// The largest window that a header can offer, bytes.
    pub(crate) fn largest_field(&self) -> u64 {
        u64::from(u16::MAX) << self.agreed.window_shift
    }
    /// Granularity of the window that we offer, bytes.
    pub(crate) fn window_step(&self) -> u64 {
        1 << self.agreed.window_shift
    }

    /// Closes the subflow at once.
    pub(crate) fn abort(&mut self) {
        self.state = TcpState::Closed;
        self.timers.retransmit = None;
        self.pacer.stop_waiting();
        self.receiver.stop_timer();
    }

    /// Whether more segments are lost than the window lets the subflow retransmit in one round trip.
    pub(crate) fn is_repairing(&self) -> bool {
        self.queue.lost_out.saturating_sub(self.queue.retransmitted_out) > self.congestion.window.cwnd
    }

    /// Whether no segment is lost or reordered, and the window is not being reduced.
    pub(crate) fn is_open(&self) -> bool {
        self.recovery.state == RecoveryState::Open
    }

    /// Makes the window smaller (penalisation).
    pub(crate) fn penalise(&mut self, halve: fn(&mut Window)) {
        halve(&mut self.congestion.window);
    }
}
/// All subflows as a coupled controller sees them, and the index of this one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peers<'a> {
    pub(crate) paths: &'a [PathState],
    pub(crate) own: usize,
}
