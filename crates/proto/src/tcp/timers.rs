//! The subflow's timers: retransmission (RFC 6298), tail loss probe and reordering (RFC 8985), delayed acknowledgement.

use super::{Changes, Ended, Peers, Tcp, TcpState};
use crate::config::LossRecovery;
use pathweave_scheduler::LossKind;
use pathweave_units::{Duration, Instant};

/// Kinds of the timer that guards sent segments. Only one runs at a time (RFC 8985 §7.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetransmitTimer {
    Syn,
    /// A SYN is sent once more although none was lost.
    SynAgain,
    Timeout,
    /// Tail loss probe (RFC 8985 §7).
    LossProbe,
    /// Reordering timer (RFC 8985 §6.2 step 5).
    Reordering,
}

/// Retransmissions of a SYN/ACK (over 127 s, as in the kernel) and of a join's SYN.
const REPETITIONS: u32 = 6;

/// The longest that a peer may delay the acknowledgement of a single segment (RFC 8985 §7.2: WCDelAckT).
const WORST_DELAYED_ACK: Duration = Duration::from_millis(200);
/// TIME_WAIT ends after this many times its length, however often the peer repeats its FIN.
pub(super) const TIME_WAITS: u64 = 5;

//= RFC 9293 §3.8.3 (SHLD-11): "The value of R2 SHOULD correspond to at least 100 seconds"
//= tests: loss_recovery::data_is_sent_again_for_more_than_a_hundred_seconds_and_not_for_ever
const LEAST_SILENCE: Duration = Duration::from_secs(100);
/// Least interval between probes of a path that was dark, however near the peer is.
const SHORTEST_PROBE: Duration = Duration::from_millis(1);

/// The subflow's timers, except the receiver's.
#[derive(Debug, Default)]
pub(super) struct Timers {
    pub(super) retransmit: Option<(RetransmitTimer, Instant)>,
    pub(super) time_wait_end: Option<Instant>,
    pub(super) time_wait_limit: Option<Instant>,
}

/// Attempts that were not answered.
#[derive(Debug, Default)]
pub(super) struct TimeoutRun {
    /// Retransmission timeouts in a row.
    pub(super) timeouts: u32,
    /// Early probes of a dark path since the last acknowledgement of new data.
    pub(super) early_probes: u32,
    /// When the first timeout of the row was.
    pub(super) dark_since: Option<Instant>,
    /// Bound of the timeout while the path is dark or not known to work yet.
    pub(super) probe_interval: Option<Duration>,
}

impl Tcp {
    /// When [`Tcp::handle_timeout`] is to be called.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_timer();
        (next < Instant::FAR_FUTURE).then_some(next)
    }

    /// As [`Tcp::poll_timeout`]; the far future if no timer runs.
    #[inline]
    pub(crate) fn next_timer(&self) -> Instant {
        let never = Instant::FAR_FUTURE;
        let retransmit = self.timers.retransmit.map_or(never, |(_, t)| t);
        let others = self.receiver.ack_timer().min(self.timers.time_wait_end.unwrap_or(never));
        retransmit.min(others).min(self.pacer.wake())
    }

    //= RFC 6298 §5.2: "When all outstanding data has been acknowledged, turn off the retransmission timer"
    //= tests: timeouts::no_timer_runs_when_all_is_acknowledged
    pub(super) fn arm_rto(&mut self, now: Instant) {
        self.timers.retransmit =
            (self.queue.packets_out() > 0).then(|| (RetransmitTimer::Timeout, self.config.expiry(now, self.rto())));
    }

    /// Sets the least rate of probes while the path is dark or not known to work yet. Meanwhile its first answer to
    /// earlier data is no round-trip sample. `None`: the path works.
    pub(crate) fn probe_at_least_every(&mut self, interval: Option<Duration>) {
        self.silence.probe_interval = interval;
    }

    /// Forgets the doubled timeouts, because a dark path answers again.
    pub(crate) fn answered_again(&mut self, now: Instant) {
        self.silence.probe_interval = None;
        self.rtt.reset_backoff();
        if let Some((RetransmitTimer::Timeout, _)) = self.timers.retransmit {
            self.arm_rto(now);
        }
    }

    /// A segment came on a path that was dark: the first unacknowledged segment is sent again, one round trip after its
    /// last transmission, and twice as long after each such attempt without success. Its acknowledgement shows whether
    /// the path works in our direction too.
    pub(crate) fn probe_again(&mut self, now: Instant) {
        let round = self.rtt.srtt().unwrap_or(Duration::ZERO).max(SHORTEST_PROBE);
        let wait = round.saturating_mul(1 << self.silence.early_probes.min(16));
        if let (Some((RetransmitTimer::Timeout, at)), Some(head)) = (&mut self.timers.retransmit, self.queue.head()) {
            let sooner = (head.last_sent + wait).max(now);
            if sooner < *at {
                *at = sooner;
                self.silence.early_probes = self.silence.early_probes.saturating_add(1);
            }
        }
    }

    pub(super) fn arm_syn(&mut self, now: Instant) {
        self.timers.retransmit = Some((RetransmitTimer::Syn, self.config.expiry(now, self.rto())));
    }

    //= RFC 8985 §6.2: "For timely loss detection, it is RECOMMENDED that the sender install a reordering timer"
    //= tests: rack::a_loss_that_few_later_segments_tell_of_is_found_a_quarter_of_a_round_trip_later, rack::the_reordering_timer_runs_for_the_last_that_may_be_lost
    //= RFC 8985 §8: "When arming a RACK reordering timer or TLP PTO timer, the sender SHOULD cancel any other pending timers"
    //= tests: rack::a_loss_that_few_later_segments_tell_of_is_found_a_quarter_of_a_round_trip_later
    pub(super) fn arm_reordering_timer(&mut self, now: Instant, wait: Duration) {
        self.timers.retransmit = Some((RetransmitTimer::Reordering, self.config.expiry(now, wait)));
    }

    pub(super) fn timer_is_probe(&self) -> bool {
        matches!(self.timers.retransmit, Some((RetransmitTimer::LossProbe, _)))
    }

    //= RFC 8985 §7.2: "when the FlightSize is one segment, the sender MAY inflate the PTO by TLP.max_ack_delay to accommodate a
    //= potentially delayed acknowledgment and reduce the risk of spurious retransmissions"
    //= tests: loss_recovery::a_lost_tail_is_probed_after_two_round_trips
    //= RFC 8985 §7.2: "The sender SHOULD start or restart a loss probe PTO timer after transmitting new data (that was not itself a
    //= loss probe) or upon receiving an ACK that cumulatively acknowledges new data"
    //= tests: loss_recovery::a_lost_tail_is_probed_after_two_round_trips
    //= RFC 8985 §7.2: "unless it is already in fast recovery, RTO recovery, or segments have been SACKed (i.e.,
    //= RACK.segs_sacked is not zero)"
    //= tests: rack::nothing_is_probed_in_recovery
    //= RFC 8985 §7.2: "when there is no SRTT estimate available, the PTO SHOULD be 1 second"
    //= tests: rack::without_a_round_trip_a_probe_goes_out_after_a_second
    //= RFC 8985 §7.2: "Summarizing these considerations in pseudocode form, a sender SHOULD use the following logic to select
    //= the duration of a PTO"
    //= tests: loss_recovery::a_lost_tail_is_probed_after_two_round_trips
    //= RFC 8985 §7.3: "If either one of these two conditions is not met, then the sender MUST skip sending a loss probe and
    //= MUST proceed to re-arm the RTO timer"
    //= tests: rack::there_is_one_probe_at_a_time, rack::after_a_probe_a_round_trip_is_measured_before_the_next
    //= RFC 8985 §4: "TLP requires RACK"
    //= tests: rack::who_counts_sacks_sends_no_probe
    fn probe_delay(&self) -> Option<Duration> {
        use super::RecoveryState as R;
        let allowed = self.sack_recovery()
            && self.config.recovery == LossRecovery::RackTlp
            && matches!(self.recovery.state, R::Open | R::Reduction)
            && self.queue.packets_out() > 0
            && self.queue.sacked_out == 0
            && self.recovery.probe.is_none()
            && self.rtt.allows_probe();
        if !allowed {
            return None;
        }
        let Some(srtt) = self.rtt.srtt() else { return Some(Duration::from_secs(1)) };
        let extra = if self.queue.packets_out() == 1 { WORST_DELAYED_ACK } else { self.host.timer_slack() };
        Some(srtt.saturating_mul(2) + extra)
    }

    //= RFC 6298 §5.3: "When an ACK is received that acknowledges new data, restart the retransmission timer so that it will
    //= expire after RTO seconds (for the current value of RTO)"
    //= tests: loss_recovery::a_lost_tail_is_probed_after_two_round_trips
    pub(super) fn arm_after_ack(&mut self, now: Instant) {
        if matches!(self.timers.retransmit, Some((RetransmitTimer::Reordering, t)) if t > now) {
            return;
        }
        self.arm_rto(now);
        if let (Some(delay), Some((kind, at))) = (self.probe_delay(), self.timers.retransmit.as_mut()) {
            // RFC 8985 §7.2: if the retransmission timer would expire first, the probe takes its place.
            *kind = RetransmitTimer::LossProbe;
            *at = (*at).min(self.config.expiry(now, delay));
        }
    }

    //= RFC 6298 §5.1: "Every time a packet containing data is sent (including a retransmission), if the timer is not running,
    //= start it running so that it will expire after RTO seconds (for the current value of RTO)"
    //= tests: loss_recovery::a_lost_tail_is_probed_after_two_round_trips
    pub(super) fn arm_after_sending(&mut self, now: Instant) {
        if self.timers.retransmit.is_none() {
            self.arm_rto(now);
        }
        if let Some(delay) = self.probe_delay()
            && matches!(self.timers.retransmit, Some((RetransmitTimer::Timeout | RetransmitTimer::LossProbe, _)))
        {
            let timeout = self.queue.head().map_or(now, |h| h.last_sent) + self.rto();
            let at = self.config.expiry(now, delay.min(timeout.max(now).since(now)));
            self.timers.retransmit = Some((RetransmitTimer::LossProbe, at));
        }
    }

    //= RFC 9293 §3.6.1 (MUST-13): "When a connection is closed actively, it MUST linger in the TIME-WAIT state for a time 2xMSL"
    //= tests: close::either_side_first_or_both_at_once
    #[cold]
    pub(super) fn start_time_wait(&mut self, now: Instant) {
        self.state = TcpState::TimeWait;
        self.timers.retransmit = None;
        // A repeated FIN restarts the wait (RFC 9293 §3.10.7.4), but not for ever.
        let length = self.config.time_wait;
        let limit = *self.timers.time_wait_limit.get_or_insert(now + length.saturating_mul(TIME_WAITS));
        self.timers.time_wait_end = Some((now + length).min(limit));
    }

    /// Runs every timer that is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant, peers: Peers<'_>, changes: &mut Changes) {
        debug_assert!(self.queue.is_consistent(), "the counters agree with the segments: {:?}", self.queue);
        self.receiver.handle_timeout(now);
        self.pacer.stop_waiting();
        self.host.look_again();
        if self.timers.time_wait_end.is_some_and(|t| t <= now) {
            self.timers.time_wait_end = None;
            self.abort();
        }
        let Some((kind, at)) = self.timers.retransmit else { return };
        if at > now {
            return;
        }
        self.timers.retransmit = None;
        match kind {
            RetransmitTimer::SynAgain => self.opening.syn_due = true,
            RetransmitTimer::Syn => {
                self.opening.retransmissions += 1;
                self.opening.unanswered += u32::from(!core::mem::take(&mut self.opening.misled));
                //= RFC 9293 §3.8.3 (MUST-22): "SYN retransmissions MUST be handled in the general way just described for data
                //= retransmissions, including notification of the application layer"
                //= tests: handshake::a_syn_that_nobody_answers_is_given_up_after_more_than_3_minutes
                let answering = self.state == TcpState::SynReceived;
                // A join is tried again soon, from another port.
                let joins = self.silence.probe_interval.is_some();
                let most = if answering || joins { REPETITIONS } else { self.host.syn_repetitions() };
                if self.opening.retransmissions > self.config.max_retransmissions.min(most) {
                    self.abort();
                    changes.ended = Some(if answering { Ended::NeverEstablished } else { Ended::Unanswered });
                    return;
                }
                self.rtt.back_off();
                self.opening.syn_due = true;
            }
            RetransmitTimer::Timeout => self.retransmission_timeout(now, peers, changes),
            RetransmitTimer::LossProbe => {
                self.due.loss_probe = true;
                self.counters.loss_probes += 1;
                changes.late = true;
                self.arm_rto(now);
            }
            RetransmitTimer::Reordering => {
                self.rack_detect(now);
                if self.queue.lost_out > self.queue.retransmitted_out
                    && !matches!(self.recovery.state, super::RecoveryState::Recovery | super::RecoveryState::Loss)
                {
                    changes.loss = Some(self.enter_recovery(now, peers));
                    let one = super::recovery::Delivered { segments: 1, ..Default::default() };
                    self.reduce_window(&one);
                }
                self.arm_rto(now);
            }
        }
    }

    //= RFC 9293 §3.8.2 (MUST-19): "A TCP endpoint MUST implement the basic congestion control algorithms slow start, congestion
    //= avoidance, and exponential backoff of RTO"
    //= tests: loss_recovery::a_loss_halves_the_window, loss_recovery::timeouts_double
    //= RFC 6298 §5.4: "Retransmit the earliest segment that has not been acknowledged by the TCP receiver"
    //= tests: loss_recovery::a_timeout_repeats_the_first_segment_first_even_with_new_data_waiting
    //= RFC 6298 §5.6: "Start the retransmission timer, such that it expires after RTO seconds (for the value of RTO after the
    //= doubling operation outlined in 5.5)"
    //= tests: loss_recovery::data_is_sent_again_for_more_than_a_hundred_seconds_and_not_for_ever
    fn retransmission_timeout(&mut self, now: Instant, peers: Peers<'_>, changes: &mut Changes) {
        if self.queue.packets_out() == 0 {
            return;
        }
        self.counters.timeouts += 1;
        self.silence.timeouts += 1;
        self.silence.dark_since.get_or_insert(now);
        // Probes more frequent than doubled timeouts must not shorten the time that a path is given.
        let given = self.silence.probe_interval.is_none()
            || self.silence.dark_since.is_some_and(|t| now.since(t) >= LEAST_SILENCE);
        //= RFC 9293 §3.8.3 (MUST-20): "When the number of transmissions of the same segment reaches a threshold R2 greater than R1,
        //= close the connection"
        //= tests: loss_recovery::data_is_sent_again_for_more_than_a_hundred_seconds_and_not_for_ever
        //= RFC 8684 §3.3.6: "The sender will declare the subflow failed after a predefined upper bound on retransmissions is
        //= reached (which MAY be lower than the usual TCP limits of the MSL)"
        //= tests: loss_recovery::data_is_sent_again_for_more_than_a_hundred_seconds_and_not_for_ever
        if self.silence.timeouts > self.config.max_retransmissions && given {
            self.abort();
            changes.ended = Some(Ended::Unanswered);
            return;
        }
        self.doubt_path_mtu(now);
        // The peer has discarded data that it had SACKed (RFC 2018 §8).
        if self.queue.head().is_some_and(|h| h.sacked) {
            self.queue.forget_sacks();
            self.recovery.previous_sack.clear();
        }
        self.enter_loss(now, peers);
        self.rtt.back_off();
        self.arm_rto(now);
        changes.loss = Some(LossKind::Timeout);
    }
}
