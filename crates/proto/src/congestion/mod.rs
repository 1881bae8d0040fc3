//! Congestion controllers: how a subflow's window grows and shrinks.
//!
//! Windows are in segments, as in the papers. A controller belongs to one subflow; coupled ones (RFC 6356 and its
//! relatives) also see the connection's other subflows. Loss detection and recovery are elsewhere: the subflow calls
//! the controller when its window may grow and when it must shrink. The controllers themselves are in the crate
//! `pathweave-algorithms`.

mod factory;

pub use factory::{ChosenController, ControllerEntry, ControllerFactory};
pub use pathweave_scheduler::Growth;

use pathweave_scheduler::WindowState;
use pathweave_units::{Bitrate, Duration, Instant};

/// A congestion window and its threshold, segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start threshold; [`Window::NO_THRESHOLD`] until the first loss.
    pub ssthresh: u32,
}

impl Window {
    /// The threshold before any loss.
    //= RFC 5681 §3.1: "The initial value of ssthresh SHOULD be set arbitrarily high (e.g., to the size of the largest possible
    //= advertised window), but ssthresh MUST be reduced in response to congestion"
    //= tests: congestion::no_more_is_out_than_the_first_window_and_the_handshake_adds_nothing_to_it, loss_recovery::a_loss_halves_the_window
    pub const NO_THRESHOLD: u32 = WindowState::NO_THRESHOLD;

    /// Whether the window is below its slow start threshold.
    pub const fn in_slow_start(self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// State of one subflow, as coupled controllers see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathState {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Whether the window is below its slow start threshold.
    pub in_slow_start: bool,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// Data bytes of a full segment.
    pub mss: u32,
    /// Bytes acknowledged since the last loss (OLIA's l2).
    pub bytes_since_loss: u64,
    /// Bytes acknowledged between the last two losses (OLIA's l1).
    pub bytes_between_losses: u64,
}

/// State that a controller reads, and the window that it changes.
#[derive(Debug)]
pub struct Context<'a> {
    /// The current time.
    pub now: Instant,
    /// The subflow's own window. `paths[own].cwnd` may lag behind it while a controller runs.
    pub window: &'a mut Window,
    /// All established subflows of the connection, this one included.
    pub paths: &'a [PathState],
    /// Index of this subflow in `paths`.
    pub own: usize,
    /// This subflow's smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// This subflow's smallest round-trip time.
    pub min_rtt: Option<Duration>,
    /// Segments in flight after this acknowledgement.
    pub in_flight: u32,
}

/// One acknowledgement of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Segments newly acknowledged, cumulatively or by SACK.
    pub segments: u32,
    /// Bytes newly acknowledged, cumulatively or by SACK.
    pub bytes: u64,
    /// Round-trip time that this acknowledgement measured, if any.
    pub rtt: Option<Duration>,
    /// Whether the acknowledgement covers the segment that opened the current round, so that a new round starts.
    pub round_ended: bool,
}

/// The rules of one congestion controller, for one subflow.
//= RFC 9293 §3.8.2 (MAY-18): "An endpoint MAY implement such alternative algorithms provided that the algorithms are conformant
//= with the TCP specifications from the IETF Standards Track"
//= tests: cubic::the_window_follows_the_curve, lia::two_equal_paths_grow_by_a_quarter_each
pub trait Controller: Send {
    /// Grows the window. Called for acknowledgements outside of recovery if the window is, or was, filled. The
    /// controller passes the acknowledged segments to [`slow_start`] first, and applies its own rule to the segments
    /// that are left.
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack);

    /// Observes an acknowledgement of new data, before [`Controller::on_ack`]. Called for each one, also in recovery
    /// and while the window is not filled.
    fn on_sample(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let _ = (cx, ack);
    }

    /// Returns the threshold, at least 2, after a loss or an ECN echo. Called once per reduction, before the window
    /// changes.
    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32;

    /// Handles an expired retransmission timer. Called after [`Controller::threshold_after_loss`].
    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Handles the first new data after the subflow had nothing in flight for `idle`.
    fn on_restart(&mut self, cx: &mut Context<'_>, idle: Duration) {
        let _ = (cx, idle);
    }

    /// Returns the window to restore if a reduction was unnecessary; `prior` is the window before the reduction.
    fn window_after_undo(&self, cx: &Context<'_>, prior: Window) -> u32 {
        cx.window.cwnd.max(prior.cwnd)
    }

    /// The rate at which data is to be paced, in bits of data per second, if the controller has a rate of its own.
    /// Called after each acknowledgement while pacing is on.
    fn pacing_rate(&self, cx: &Context<'_>) -> Option<Bitrate> {
        let _ = cx;
        None
    }

    /// How the window will grow from now on (CP §3.2).
    fn growth(&self, cx: &Context<'_>) -> Growth;
}

/// Slow start: the window grows by one segment for each acknowledged one, up to the threshold. Returns the segments
/// that are left for congestion avoidance.
pub fn slow_start(window: &mut Window, acked: u32) -> u32 {
    let target = window.cwnd.saturating_add(acked).min(window.ssthresh.max(window.cwnd));
    let used = target - window.cwnd;
    window.cwnd = target;
    acked - used
}

/// Data bytes that fit through every path (RFC 9293 §3.7.1).
const LEAST_SEGMENT: u32 = 536;

impl Context<'_> {
    /// This subflow's window, at least 1.
    pub fn cwnd(&self) -> f64 {
        f64::from(self.window.cwnd.max(1))
    }

    /// Sum of all subflows' windows, also of those without a round-trip time sample.
    pub fn total_cwnd(&self) -> f64 {
        let others = self.paths.iter().enumerate().filter(|(i, _)| *i != self.own).map(|(_, p)| f64::from(p.cwnd));
        self.cwnd() + others.sum::<f64>()
    }

    /// Data bytes of a full segment of this subflow.
    pub fn mss(&self) -> f64 {
        f64::from(self.paths.get(self.own).map_or(LEAST_SEGMENT, |p| p.mss).max(1))
    }
}
