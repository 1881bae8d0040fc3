//! Recovery from losses: its states, the end of an episode, F-RTO (RFC 5682) and tail loss probes (RFC 8985). Losses
//! are found in `detection`; the window is reduced in `reduction` and restored in `undo`.

use super::detection::Rack;
use super::reduction::Prr;
use super::undo::Undo;
use super::{Peers, Tcp};
use crate::config::LossRecovery;
use arrayvec::ArrayVec;
use pathweave_scheduler::LossKind;
use pathweave_units::Instant;

/// The states of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// No loss and no reordering.
    Open,
    /// Duplicate acknowledgements or SACKs, no loss yet.
    Disorder,
    /// The window is being reduced without a loss to repair (after ECN, or a tail loss that a probe repaired).
    Reduction,
    /// Fast recovery.
    Recovery,
    /// Recovery from a retransmission timeout.
    Loss,
}

#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) state: RecoveryState,
    /// Value of `nxt` at the start of the episode, which ends when this is acknowledged.
    pub(crate) high: u64,
    pub(crate) undo: Undo,
    pub(crate) prr: Prr,
    pub(crate) rack: Rack,
    pub(crate) highest_sacked: u64,

    /// Duplicate acknowledgements, if the peer sends no SACK.
    //= RFC 6675 §5: "If the incoming ACK is a cumulative acknowledgment, the TCP MUST reset DupAcks to zero"
    //= tests: congestion::duplicates_before_and_after_new_data_was_acknowledged_do_not_add_up
    //= RFC 6675 §5: "the TCP MUST increase DupAcks by one"
    //= tests: congestion::duplicates_before_and_after_new_data_was_acknowledged_do_not_add_up
    pub(crate) duplicate_acks: u32,
    /// F-RTO (RFC 5682): whether the timeout may have been spurious.
    forward: bool,
    /// F-RTO step 2b: whether only new data leaves until the next acknowledgement.
    new_data_only: bool,
    /// A tail loss probe in flight: `nxt` when it was sent, and whether it repeated data.
    pub(crate) probe: Option<(u64, bool)>,
    /// Segments that the current acknowledgement showed to be lost.
    pub(super) newly_lost: u32,
    /// SACK blocks of the last acknowledgement.
    pub(crate) previous_sack: ArrayVec<(u64, u64), 4>,
}

/// Data that one acknowledgement delivered, and what else it showed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    pub(crate) segments: u32,
    pub(crate) bytes: u64,
    pub(crate) una_advanced: bool,
    pub(crate) newly_sacked: bool,
    /// Whether a segment from before the episode that was sent only once was delivered.
    pub(crate) original: bool,
    pub(crate) duplicate_ack: bool,
    /// Segments reported as received twice.
    pub(crate) duplicates: u32,
    /// Sequence number at which these duplicates end.
    pub(crate) duplicates_end: u64,
    pub(crate) echoed_timestamp: Option<u32>,
    /// The echoed timestamp, if RACK uses it on this host.
    pub(crate) rack_echo: Option<u32>,
    pub(crate) congestion_echo: bool,
    /// Whether a segment that was sent only once was delivered after one above it.
    pub(crate) reordered: bool,
}

impl Recovery {
    pub(crate) fn new() -> Self {
        Recovery {
            state: RecoveryState::Open,
            high: 0,
            undo: Undo::default(),
            prr: Prr::default(),
            rack: Rack::default(),
            highest_sacked: 0,
            duplicate_acks: 0,
            forward: false,
            new_data_only: false,
            probe: None,
            newly_lost: 0,
            previous_sack: ArrayVec::new(),
        }
    }

    /// Whether there is no episode, nothing to undo, and nothing counted towards an episode.
    pub(crate) fn is_quiet(&self) -> bool {
        self.state == RecoveryState::Open
            && self.undo.prior.is_none()
            && self.probe.is_none()
            && self.duplicate_acks == 0
            && !self.rack.advanced
    }

    pub(crate) fn in_reduction(&self) -> bool {
        matches!(self.state, RecoveryState::Reduction | RecoveryState::Recovery)
    }
}

impl Tcp {
    /// Segments thought to be in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        self.queue.in_flight().saturating_sub(self.recovery.duplicate_acks)
    }

    //= RFC 5681 §4.3: "Loss in two successive windows of data ... should be taken as two indications of congestion and,
    //= therefore, cwnd (and ssthresh) MUST be lowered twice in this case"
    //= tests: congestion::losses_in_two_windows_lower_the_threshold_twice
    #[inline(never)]
    pub(crate) fn enter_recovery(&mut self, now: Instant, peers: Peers<'_>) -> LossKind {
        if !self.recovery.in_reduction() {
            self.remember_for_undo();
            self.start_reduction(now, peers);
            if !self.config.prr {
                self.congestion.window.cwnd = self.congestion.window.ssthresh;
            }
        }
        self.recovery.state = RecoveryState::Recovery;
        self.counters.recoveries += 1;
        LossKind::FastRecovery
    }

    /// Starts the recovery from a retransmission timeout (RFC 6298 §5, RFC 5681 §3.1).
    //= RFC 5681 §3.1: "when a TCP sender detects segment loss using the retransmission timer and the given segment has already
    //= been retransmitted by way of the retransmission timer at least once, the value of ssthresh is held constant"
    //= tests: congestion::a_timeout_leaves_a_window_of_one_segment_and_further_ones_leave_the_threshold
    //= RFC 5681 §3.1: "upon a timeout (as specified in [RFC2988]) cwnd MUST be set to no more than the loss window, LW, which
    //= equals 1 full-sized segment (regardless of the value of IW)"
    //= tests: congestion::a_timeout_leaves_a_window_of_one_segment_and_further_ones_leave_the_threshold
    //= RFC 8985 §6.3: "Upon RTO timer expiration, RACK marks the first outstanding segment as lost (since it was sent an RTO
    //= ago)"
    //= tests: congestion::what_was_sent_less_than_a_round_trip_ago_is_not_lost_with_a_timeout
    //= RFC 6675 §5.1: "If an RTO occurs during loss recovery as specified in this document, RecoveryPoint MUST be set to
    //= HighData. Further, the new value of RecoveryPoint MUST be preserved"
    //= tests: congestion::a_timeout_leaves_a_window_of_one_segment_and_further_ones_leave_the_threshold
    //= RFC 6675 §5.1: "a new recovery phase (as described in Section 5) MUST NOT be initiated until HighACK is greater than or
    //= equal to the new value of RecoveryPoint"
    //= tests: congestion::a_timeout_leaves_a_window_of_one_segment_and_further_ones_leave_the_threshold
    //= RFC 8985 §7.1: "Reset TLP.is_retrans and TLP.end_seq when initiating a connection, fast recovery, or RTO recovery"
    //= tests: rack::a_timeout_forgets_the_probe_before_it
    #[inline(never)]
    pub(crate) fn enter_loss(&mut self, now: Instant, peers: Peers<'_>) {
        let state = self.recovery.state;
        let fresh =
            matches!(state, RecoveryState::Open | RecoveryState::Disorder) || self.recovery.high <= self.send.una;
        let rack = self.sack_recovery() && self.config.recovery == LossRecovery::RackTlp;
        let rtt = self.recovery.rack.rtt;
        let names = self.queue.sent_names();
        for name in names.clone() {
            let Some(s) = self.queue.get(name) else { break };
            // Segments sent less than a round trip ago may still arrive.
            if name == names.start || !rack || s.last_sent + rtt <= now {
                self.lose(name);
            }
        }
        self.recovery.duplicate_acks = 0;
        if fresh {
            self.remember_for_undo();
            self.recovery.prr.prior_cwnd = self.congestion.window.cwnd;
            self.congestion.window.ssthresh =
                self.with_controller(now, peers, |c, cx| c.threshold_after_loss(cx)).max(2);
            self.note_loss_interval();
        }
        self.with_controller(now, peers, |c, cx| c.on_timeout(cx));
        self.congestion.window.cwnd = self.in_flight() + 1;
        self.recovery.forward = fresh && self.sack_recovery();
        self.recovery.new_data_only = false;
        self.recovery.probe = None;
        self.recovery.state = RecoveryState::Loss;
        self.recovery.high = self.send.nxt;
        self.recovery.newly_lost = 0;
    }

    /// Lets segments that are marked lost be sent again without reducing the window, because their loss has another
    /// cause than congestion; there is then nothing to undo. If an episode is under way, it repairs them.
    pub(super) fn repair_without_reduction(&mut self) {
        if !matches!(self.recovery.state, RecoveryState::Open | RecoveryState::Disorder) {
            return;
        }
        self.recovery.undo = Undo::default();
        self.recovery.state = RecoveryState::Loss;
        self.recovery.high = self.send.nxt;
        self.recovery.forward = false;
        self.recovery.new_data_only = false;
        self.recovery.probe = None;
        self.recovery.duplicate_acks = 0;
    }

    /// The state machine, called once per acknowledgement. Returns a loss that it found.
    //= RFC 8985 §3.3.2: "The RACK reordering window SHOULD adaptively increase (using the algorithm in "Step 4: Update RACK
    //= reordering window" below) if the sender receives a Duplicate Selective Acknowledgment (DSACK) option [RFC2883]"
    //= tests: rack::what_the_peer_has_twice_makes_the_reordering_window_wider
    //= RFC 8985 §4: "RACK DSACK-based reordering window adaptation is RECOMMENDED but is not required"
    //= tests: rack::what_the_peer_has_twice_makes_the_reordering_window_wider
    //= RFC 6675 §5: "Upon receipt of an ACK that does not cover RecoveryPoint, the following actions MUST be taken"
    //= tests: loss_recovery::any_two_segments_are_repaired
    pub(crate) fn update_recovery(&mut self, now: Instant, peers: Peers<'_>, d: &Delivered) -> Option<LossKind> {
        self.recovery.newly_lost = 0;
        if d.duplicates > 0 {
            if d.duplicates_end > self.recovery.undo.from
                && let Some(n) = &mut self.recovery.undo.retransmissions
            {
                *n = n.saturating_sub(d.duplicates);
            }
            self.recovery.widen_reordering_window(self.send.una, self.send.nxt);
        }
        self.end_probe(now, peers, d);
        if d.congestion_echo
            && matches!(self.recovery.state, RecoveryState::Open | RecoveryState::Disorder)
            && self.agreed.ecn
        {
            self.due.cwr = true;
            self.enter_reduction(now, peers);
        }
        self.leave_finished(now, peers, d);
        match self.recovery.state {
            RecoveryState::Recovery => {
                if d.una_advanced && self.recovery.undo.prior.is_some() && self.was_delayed(d) {
                    // A late original filled the hole, not a retransmission.
                    self.recovery.note_reordering();
                    if self.queue.retransmitted_out > 0 {
                        return None;
                    }
                }
                if d.una_advanced && self.may_undo(d) && self.queue.retransmitted_out == 0 {
                    self.undo(now, peers);
                    self.recovery.state = RecoveryState::Disorder;
                    self.settle();
                    return None;
                }
                self.identify_losses(now, d);
                None
            }
            RecoveryState::Loss => {
                self.handle_loss_state(now, peers, d);
                None
            }
            RecoveryState::Open | RecoveryState::Disorder | RecoveryState::Reduction => {
                if self.recovery.undo.prior.is_some() && self.recovery.undo.retransmissions == Some(0) {
                    self.undo(now, peers);
                }
                self.identify_losses(now, d);
                if self.queue.lost_out > 0 {
                    if self.only_mtu_probe_was_lost(now) {
                        return None;
                    }
                    return Some(self.enter_recovery(now, peers));
                }
                self.settle();
                None
            }
        }
    }

    /// Sets the state to Open or Disorder, as the counters say.
    fn settle(&mut self) {
        if self.recovery.state == RecoveryState::Reduction {
            return;
        }
        let disorder =
            self.queue.sacked_out > 0 || self.recovery.duplicate_acks > 0 || self.queue.retransmitted_out > 0;
        self.recovery.state = if disorder { RecoveryState::Disorder } else { RecoveryState::Open };
    }

    /// Ends an episode whose data is all acknowledged.
    //= RFC 6675 §5: "An incoming cumulative ACK for a sequence number greater than RecoveryPoint signals the end of loss
    //= recovery, and the loss recovery phase MUST be terminated"
    //= tests: congestion::when_losses_are_repaired_the_window_is_the_threshold_and_grows_by_a_segment_each_round
    #[inline(never)]
    fn leave_finished(&mut self, now: Instant, peers: Peers<'_>, d: &Delivered) {
        let done = match self.recovery.state {
            RecoveryState::Reduction => self.send.una > self.recovery.high,
            RecoveryState::Recovery | RecoveryState::Loss => self.send.una >= self.recovery.high && d.una_advanced,
            _ => false,
        };
        if !done {
            return;
        }
        let undone = self.recovery.state != RecoveryState::Reduction && self.may_undo(d);
        if undone {
            self.undo(now, peers);
        } else {
            if self.recovery.state != RecoveryState::Reduction {
                self.recovery.outlast_recovery();
            }
            if self.recovery.in_reduction() {
                self.end_reduction();
            }
        }
        // The window before the episode is kept: duplicates that are reported later may still undo the reduction.
        self.recovery.state = RecoveryState::Open;
        self.recovery.duplicate_acks = 0;
    }

    /// F-RTO (RFC 5682 §3) and repair after a timeout.
    #[inline(never)]
    fn handle_loss_state(&mut self, now: Instant, peers: Peers<'_>, d: &Delivered) {
        self.recovery.new_data_only = false;
        let delayed = d.una_advanced && self.may_undo(d);
        if delayed || (self.recovery.forward && d.original && self.recovery.undo.prior.is_some()) {
            self.undo(now, peers);
            self.recovery.forward = false;
            self.recovery.state = RecoveryState::Open;
            self.settle();
            return;
        }
        if self.recovery.forward {
            if self.send.nxt > self.recovery.high {
                if d.newly_sacked || d.duplicate_ack {
                    self.recovery.forward = false;
                }
            } else if d.una_advanced {
                self.recovery.high = self.send.nxt;
                if self.queue.unsent() > 0 {
                    // Step 2b: new data instead of retransmissions.
                    self.recovery.new_data_only = true;
                    return;
                }
                self.recovery.forward = false;
            }
        }
        self.identify_losses(now, d);
    }

    /// Whether retransmissions wait while F-RTO tries new data. `possible`: new data can leave now.
    pub(crate) fn tries_new_data(&mut self, possible: bool) -> bool {
        if !possible && self.send.nxt == self.recovery.high {
            // No new data to try: the conventional recovery (step 2b, last sentence).
            self.recovery.new_data_only = false;
            self.recovery.forward = false;
        }
        self.recovery.state == RecoveryState::Loss && self.recovery.new_data_only
    }

    /// Ends a tail loss probe's episode (RFC 8985 §7.4).
    //= RFC 8985 §7.4.2: "it MUST assume that the original data segment, the TLP retransmission, or a corresponding ACK was lost
    //= for congestion control purposes"
    //= tests: rack::a_loss_that_a_probe_repaired_halves_the_window, rack::a_probe_of_what_had_arrived_leaves_the_window
    //= RFC 8985 §7.4.2: "The sender then SHOULD invoke a congestion control response equivalent to a fast recovery"
    //= tests: rack::a_loss_that_a_probe_repaired_halves_the_window
    #[inline(never)]
    fn end_probe(&mut self, now: Instant, peers: Peers<'_>, d: &Delivered) {
        let Some((high, repeated)) = self.recovery.probe else { return };
        if self.send.una < high {
            return;
        }
        if !repeated || d.duplicates > 0 {
            self.recovery.probe = None;
        } else if self.send.una > high {
            // The probe repaired a loss: react to it once.
            self.recovery.probe = None;
            if !self.recovery.in_reduction() {
                self.enter_reduction(now, peers);
                self.end_reduction();
                self.recovery.state = RecoveryState::Open;
            }
        } else if !d.una_advanced && d.duplicate_ack && !d.newly_sacked {
            self.recovery.probe = None;
        }
    }
}

impl PartialOrd for RecoveryState {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        (*self as u8).partial_cmp(&(*other as u8))
    }
}
