//! Loss detection and recovery: RACK (RFC 8985), SACK (RFC 6675), NewReno (RFC 6582), PRR (RFC 9937), undo (RFC 4015,
//! RFC 5682).

use super::{Peers, Tcp};
use crate::config::LossRecovery;
use crate::congestion::{LossKind, Window};
use crate::send_queue::SentSegment;
use pathweave_units::{Duration, Instant};

/// The kernel's states of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing unusual.
    Open,
    /// Duplicate acknowledgements or SACKs, no loss yet.
    Disorder,
    /// The window is being reduced without a loss to repair (ECN, a repaired tail loss).
    Reduction,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) state: State,
    /// What was sent when the episode began: it ends when this is acknowledged.
    pub(crate) high: u64,
    /// The window before the episode, to return to when the episode was unnecessary.
    pub(crate) prior: Option<Window>,
    /// The first byte of the episode: duplicates before it are none of its.
    undo_from: u64,
    /// Retransmissions not yet reported as duplicates (D-SACK).
    undo_retransmissions: Option<u32>,
    /// The timestamp clock at the episode's first retransmission.
    pub(crate) first_retransmission: Option<u32>,

    // Proportional rate reduction.
    prr_prior_cwnd: u32,
    prr_delivered: u32,
    pub(crate) prr_out: u32,

    // RACK: the most recently sent segment that was delivered.
    rack_sent: Instant,
    rack_transmission: u64,
    rack_rtt: Duration,
    rack_advanced: bool,
    reordering_seen: bool,
    reordering_steps: u32,
    reordering_round: u64,
    pub(crate) highest_sacked: u64,

    /// Duplicate acknowledgements where the peer sends no SACK.
    pub(crate) duplicate_acks: u32,
    /// F-RTO (RFC 5682): a timeout may have been spurious.
    forward: bool,
    /// F-RTO step 2b: only new data goes out until the next acknowledgement.
    new_data_only: bool,
    /// A tail loss probe is out: `nxt` when it was sent, and whether it repeated data.
    pub(crate) probe: Option<(u64, bool)>,
    /// Segments found lost by the acknowledgement at hand.
    newly_lost: u32,
}

/// What an acknowledgement delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    pub(crate) segments: u32,
    pub(crate) bytes: u64,
    pub(crate) una_advanced: bool,
    pub(crate) newly_sacked: bool,
    /// A segment sent only once, from before the episode, was delivered.
    pub(crate) original: bool,
    pub(crate) duplicate_ack: bool,
    /// Segments reported as received twice.
    pub(crate) duplicates: u32,
    /// Where they end.
    pub(crate) duplicates_end: u64,
    pub(crate) echoed_timestamp: Option<u32>,
    pub(crate) congestion_echo: bool,
}

const DUPLICATE_THRESHOLD: u32 = 3;
/// Added to the reordering timer, and to the probe timer: two ticks of a kernel's clock.
pub(crate) const TIMER_SLACK: Duration = Duration::from_millis(2);

impl Recovery {
    pub(crate) fn new() -> Self {
        Recovery {
            state: State::Open,
            high: 0,
            prior: None,
            undo_from: 0,
            undo_retransmissions: None,
            first_retransmission: None,
            prr_prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            rack_sent: Instant::ZERO,
            rack_transmission: 0,
            rack_rtt: Duration::ZERO,
            rack_advanced: false,
            reordering_seen: false,
            reordering_steps: 1,
            reordering_round: 0,
            highest_sacked: 0,
            duplicate_acks: 0,
            forward: false,
            new_data_only: false,
            probe: None,
            newly_lost: 0,
        }
    }

    /// No episode, nothing to undo, and nothing counted towards one.
    pub(crate) fn is_quiet(&self) -> bool {
        self.state == State::Open
            && self.prior.is_none()
            && self.probe.is_none()
            && self.duplicate_acks == 0
            && !self.rack_advanced
    }

    pub(crate) fn in_reduction(&self) -> bool {
        matches!(self.state, State::Reduction | State::Recovery)
    }

    /// A segment sent at `sent` was delivered (RFC 8985 §6.2 step 2).
    pub(crate) fn rack_delivered(&mut self, s: &SentSegment, now: Instant, min_rtt: Option<Duration>) {
        let rtt = now.since(s.last_sent);
        // An acknowledgement this soon after a retransmission is for the original.
        if s.ever_retransmitted && min_rtt.is_some_and(|min| rtt < min) {
            return;
        }
        self.rack_advanced = true;
        self.rack_rtt = rtt;
        if s.transmission >= self.rack_transmission {
            self.rack_sent = s.last_sent;
            self.rack_transmission = s.transmission;
        }
    }

    /// A segment that was sent once is delivered below one that was delivered earlier.
    pub(crate) fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }
}

impl Tcp {
    /// Segments thought to be in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        self.queue.in_flight().saturating_sub(self.recovery.duplicate_acks)
    }

    /// The reordering window of RACK (RFC 8985 §6.2 step 4; the kernel's form).
    fn reordering_window(&self) -> Duration {
        if !self.recovery.reordering_seen {
            if matches!(self.recovery.state, State::Recovery | State::Loss) {
                return Duration::ZERO;
            }
            if self.queue.sacked_out.max(self.recovery.duplicate_acks) >= DUPLICATE_THRESHOLD {
                return Duration::ZERO;
            }
        }
        let quarter = self.rtt.min().unwrap_or(Duration::ZERO).div(4);
        let window = quarter.saturating_mul(u64::from(self.recovery.reordering_steps));
        self.rtt.srtt().map_or(window, |srtt| window.min(srtt))
    }

    fn lose(&mut self, name: u64) {
        if self.queue.mark_lost(name) {
            self.recovery.newly_lost += 1;
            self.loss_estimate += (1.0 - self.loss_estimate) / 128.0;
        }
    }

    /// Marks lost what was sent long enough before something that was delivered. Returns when to look again.
    pub(crate) fn rack_detect(&mut self, now: Instant) -> Option<Duration> {
        let window = self.reordering_window();
        let mut wait = None;
        while let Some(name) = self.queue.oldest_transmission() {
            let Some(&SentSegment { last_sent, transmission, .. }) = self.queue.get(name) else { break };
            if transmission >= self.recovery.rack_transmission {
                break;
            }
            if last_sent + self.recovery.rack_rtt + window > now {
                // Later transmissions may wait longer: one sent together with the delivered one decides.
                wait = Some((self.recovery.rack_sent + self.recovery.rack_rtt + window).since(now));
                break;
            }
            self.lose(name);
        }
        wait
    }

    /// Finds losses after an acknowledgement, by the configured rule.
    fn identify_losses(&mut self, now: Instant, delivered: &Delivered) {
        if !self.sack_ok || self.config.recovery == LossRecovery::NewReno {
            self.newreno_losses(delivered);
        } else if self.config.recovery == LossRecovery::Sack {
            self.sack_losses();
        } else if self.recovery.rack_advanced {
            self.recovery.rack_advanced = false;
            if let Some(wait) = self.rack_detect(now) {
                self.arm_reordering_timer(now, wait + TIMER_SLACK);
            }
        }
    }

    /// RFC 6582: the first segment is lost after three duplicates, and after each partial acknowledgement.
    fn newreno_losses(&mut self, delivered: &Delivered) {
        let partial = self.recovery.state == State::Recovery && delivered.una_advanced;
        if partial || (self.recovery.state < State::Recovery && self.recovery.duplicate_acks >= DUPLICATE_THRESHOLD) {
            let head = self.queue.sent_names().start;
            if self.queue.get(head).is_some_and(|s| !s.lost) {
                self.lose(head);
            }
        }
    }

    /// RFC 6675 IsLost(): three segments above were SACKed.
    fn sack_losses(&mut self) {
        if self.queue.sacked_out < DUPLICATE_THRESHOLD {
            return;
        }
        let mut above = 0;
        for name in self.queue.sent_names().rev() {
            let Some(s) = self.queue.get(name) else { break };
            if s.sacked {
                above += 1;
            } else if above >= DUPLICATE_THRESHOLD && !s.lost {
                self.lose(name);
            }
        }
    }

    /// The threshold falls; the window follows by proportional rate reduction.
    #[inline(never)]
    fn start_reduction(&mut self, now: Instant, peers: Peers<'_>) {
        self.recovery.high = self.nxt;
        self.recovery.probe = None;
        self.recovery.prr_prior_cwnd = self.window.cwnd;
        self.recovery.prr_delivered = 0;
        self.recovery.prr_out = 0;
        self.window.ssthresh = self.with_controller(now, peers, |c, cx| c.threshold_after_loss(cx)).max(2);
        self.note_loss_interval();
    }

    fn note_loss_interval(&mut self) {
        self.bytes_between_losses = self.bytes_since_loss;
        self.bytes_since_loss = 0;
    }

    /// The threshold to return to after an undo is not below three quarters of the window.
    fn remember_for_undo(&mut self) {
        let w = self.window;
        self.recovery.prior = Some(Window { cwnd: w.cwnd, ssthresh: w.ssthresh.max(w.cwnd - w.cwnd / 4) });
        self.recovery.undo_from = self.una;
        self.recovery.undo_retransmissions = None;
        self.recovery.first_retransmission = None;
    }

    fn end_reduction(&mut self) {
        self.window.cwnd = self.window.ssthresh.max(1);
    }

    #[inline(never)]
    pub(crate) fn enter_recovery(&mut self, now: Instant, peers: Peers<'_>) -> LossKind {
        if !self.recovery.in_reduction() {
            self.remember_for_undo();
            self.start_reduction(now, peers);
            if !self.config.prr {
                self.window.cwnd = self.window.ssthresh;
            }
        }
        self.recovery.state = State::Recovery;
        self.counters.recoveries += 1;
        LossKind::FastRecovery
    }

    /// A tail loss that a probe repaired, or an ECN echo: the window shrinks without anything to repair.
    pub(crate) fn enter_reduction(&mut self, now: Instant, peers: Peers<'_>) {
        if !self.recovery.in_reduction() {
            self.recovery.prior = None;
            self.start_reduction(now, peers);
            self.recovery.state = State::Reduction;
        }
    }

    /// After the retransmission timer (RFC 6298 §5, RFC 5681 §3.1).
    #[inline(never)]
    pub(crate) fn enter_loss(&mut self, now: Instant, peers: Peers<'_>) {
        let state = self.recovery.state;
        let fresh = matches!(state, State::Open | State::Disorder) || self.recovery.high <= self.una;
        let rack = self.sack_recovery() && self.config.recovery == LossRecovery::RackTlp;
        let rtt = self.recovery.rack_rtt;
        let names = self.queue.sent_names();
        for name in names.clone() {
            let Some(s) = self.queue.get(name) else { break };
            // What was sent less than a round trip ago may still arrive.
            if name == names.start || !rack || s.last_sent + rtt <= now {
                self.lose(name);
            }
        }
        self.recovery.duplicate_acks = 0;
        if fresh {
            self.remember_for_undo();
            self.recovery.prr_prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.with_controller(now, peers, |c, cx| c.threshold_after_loss(cx)).max(2);
            self.note_loss_interval();
        }
        self.with_controller(now, peers, |c, cx| c.on_timeout(cx));
        self.window.cwnd = self.in_flight() + 1;
        self.recovery.forward = fresh && self.sack_recovery();
        self.recovery.new_data_only = false;
        self.recovery.probe = None;
        self.recovery.state = State::Loss;
        self.recovery.high = self.nxt;
        self.recovery.newly_lost = 0;
    }

    fn may_undo(&self, delivered: &Delivered) -> bool {
        if self.recovery.prior.is_none() {
            return false;
        }
        self.recovery.undo_retransmissions == Some(0) || self.was_delayed(delivered)
    }

    /// The acknowledgement is older than every retransmission of the episode: what looked lost was late.
    fn was_delayed(&self, delivered: &Delivered) -> bool {
        match (delivered.echoed_timestamp, self.recovery.first_retransmission) {
            (Some(echo), Some(first)) => (echo.wrapping_sub(first) as i32) < 0,
            // Losses were marked, nothing was repeated yet, and all arrived after all.
            (_, None) => delivered.una_advanced && self.recovery.undo_retransmissions.is_none(),
            _ => false,
        }
    }

    #[inline(never)]
    fn undo(&mut self, now: Instant, peers: Peers<'_>) {
        let Some(prior) = self.recovery.prior.take() else { return };
        self.queue.forget_losses();
        let cwnd = self.with_controller(now, peers, |c, cx| c.window_after_undo(cx, prior));
        self.window = Window { cwnd, ssthresh: self.window.ssthresh.max(prior.ssthresh) };
        self.counters.undos += 1;
    }

    /// A retransmission went out while an undo is possible.
    pub(crate) fn note_retransmission(&mut self, timestamp: u32) {
        self.recovery.first_retransmission.get_or_insert(timestamp);
        let n = self.recovery.undo_retransmissions.unwrap_or(0);
        self.recovery.undo_retransmissions = Some(n + 1);
    }

    /// The state machine, once per acknowledgement. Returns a loss that it found.
    pub(crate) fn update_recovery(&mut self, now: Instant, peers: Peers<'_>, d: &Delivered) -> Option<LossKind> {
        self.recovery.newly_lost = 0;
        if d.duplicates > 0 {
            if d.duplicates_end > self.recovery.undo_from
                && let Some(n) = &mut self.recovery.undo_retransmissions
            {
                *n = n.saturating_sub(d.duplicates);
            }
            if self.recovery.reordering_seen && self.una >= self.recovery.reordering_round {
                self.recovery.reordering_steps = (self.recovery.reordering_steps + 1).min(255);
                self.recovery.reordering_round = self.nxt;
            }
        }
        self.end_probe(now, peers, d);
        if d.congestion_echo && matches!(self.recovery.state, State::Open | State::Disorder) && self.ecn_ok {
            self.send_cwr = true;
            self.enter_reduction(now, peers);
        }
        self.leave_finished(now, peers, d);
        match self.recovery.state {
            State::Recovery => {
                if d.una_advanced && self.recovery.prior.is_some() && self.was_delayed(d) {
                    // A late segment filled the hole, not a retransmission.
                    self.recovery.note_reordering();
                    if self.queue.retransmitted_out > 0 {
                        return None;
                    }
                }
                if d.una_advanced && self.may_undo(d) && self.queue.retransmitted_out == 0 {
                    self.undo(now, peers);
                    self.recovery.state = State::Disorder;
                    self.settle();
                    return None;
                }
                self.identify_losses(now, d);
                None
            }
            State::Loss => {
                self.handle_loss_state(now, peers, d);
                None
            }
            State::Open | State::Disorder | State::Reduction => {
                if self.recovery.prior.is_some() && self.recovery.undo_retransmissions == Some(0) {
                    self.undo(now, peers);
                }
                self.identify_losses(now, d);
                if self.queue.lost_out > 0 {
                    return Some(self.enter_recovery(now, peers));
                }
                self.settle();
                None
            }
        }
    }

    /// Open or Disorder, whichever it is.
    fn settle(&mut self) {
        if self.recovery.state == State::Reduction {
            return;
        }
        let disorder =
            self.queue.sacked_out > 0 || self.recovery.duplicate_acks > 0 || self.queue.retransmitted_out > 0;
        self.recovery.state = if disorder { State::Disorder } else { State::Open };
    }

    /// Ends an episode whose data is all acknowledged.
    #[inline(never)]
    fn leave_finished(&mut self, now: Instant, peers: Peers<'_>, d: &Delivered) {
        let done = match self.recovery.state {
            State::Reduction => self.una > self.recovery.high,
            State::Recovery | State::Loss => self.una >= self.recovery.high && d.una_advanced,
            _ => false,
        };
        if !done {
            return;
        }
        let undone = self.recovery.state != State::Reduction && self.may_undo(d);
        if undone {
            self.undo(now, peers);
        } else if self.recovery.in_reduction() {
            self.end_reduction();
        }
        // The window before is kept: duplicates that are reported later may still undo the reduction.
        self.recovery.state = State::Open;
        self.recovery.duplicate_acks = 0;
    }

    /// F-RTO (RFC 5682 §3) and repair after a timeout.
    #[inline(never)]
    fn handle_loss_state(&mut self, now: Instant, peers: Peers<'_>, d: &Delivered) {
        self.recovery.new_data_only = false;
        let delayed = d.una_advanced && self.may_undo(d);
        if delayed || (self.recovery.forward && d.original && self.recovery.prior.is_some()) {
            self.undo(now, peers);
            self.recovery.forward = false;
            self.recovery.state = State::Open;
            self.settle();
            return;
        }
        if self.recovery.forward {
            if self.nxt > self.recovery.high {
                if d.newly_sacked || d.duplicate_ack {
                    self.recovery.forward = false;
                }
            } else if d.una_advanced {
                self.recovery.high = self.nxt;
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

    /// Retransmissions wait while F-RTO tries new data. `possible`: some can go out now.
    pub(crate) fn tries_new_data(&mut self, possible: bool) -> bool {
        if !possible && self.nxt == self.recovery.high {
            // Nothing to try with: the conventional recovery (step 2b, last sentence).
            self.recovery.new_data_only = false;
            self.recovery.forward = false;
        }
        self.recovery.state == State::Loss && self.recovery.new_data_only
    }

    /// The end of a tail loss probe's episode (RFC 8985 §7.4).
    #[inline(never)]
    fn end_probe(&mut self, now: Instant, peers: Peers<'_>, d: &Delivered) {
        let Some((high, repeated)) = self.recovery.probe else { return };
        if self.una < high {
            return;
        }
        if !repeated || d.duplicates > 0 {
            self.recovery.probe = None;
        } else if self.una > high {
            // The probe repaired a loss: react to it once.
            self.recovery.probe = None;
            if !self.recovery.in_reduction() {
                self.enter_reduction(now, peers);
                self.end_reduction();
                self.recovery.state = State::Open;
            }
        } else if !d.una_advanced && d.duplicate_ack && !d.newly_sacked {
            self.recovery.probe = None;
        }
    }

    /// Proportional rate reduction (RFC 9937 §5), after losses are marked and before anything is sent again.
    pub(crate) fn reduce_window(&mut self, d: &Delivered) {
        if d.segments == 0 || self.recovery.prr_prior_cwnd == 0 {
            return;
        }
        if !self.config.prr {
            return;
        }
        let in_flight = i64::from(self.in_flight());
        let ssthresh = i64::from(self.window.ssthresh);
        let delta = ssthresh - in_flight;
        self.recovery.prr_delivered += d.segments;
        let delivered = i64::from(self.recovery.prr_delivered);
        let out = i64::from(self.recovery.prr_out);
        let mut count = if delta < 0 {
            let prior = i64::from(self.recovery.prr_prior_cwnd);
            (ssthresh * delivered + prior - 1) / prior - out
        } else {
            let mut n = (delivered - out).max(i64::from(d.segments));
            if d.una_advanced && self.recovery.newly_lost == 0 {
                n += 1;
            }
            n.min(delta)
        };
        // The first retransmission goes out at once.
        count = count.max(i64::from(out == 0));
        self.window.cwnd = (in_flight + count).max(1) as u32;
    }
}

impl PartialOrd for State {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        (*self as u8).partial_cmp(&(*other as u8))
    }
}
