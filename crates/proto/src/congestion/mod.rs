//! Congestion controllers: how a subflow's window grows and shrinks.
//!
//! Windows are in segments, as in the kernel and in the papers. A controller belongs to one subflow; coupled ones
//! (RFC 6356 and its kin) also see the connection's other subflows. Loss detection and recovery are not here: the
//! subflow calls the controller when its window may grow and when it must shrink. To add one: a file in this folder and a
//! line in [`Registry::builtin`](crate::Registry::builtin).

#[cfg(test)]
mod testing;

pub mod reno;

use crate::scheduler::Growth;
use pathweave_units::{Duration, Instant};

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
    pub const NO_THRESHOLD: u32 = 0x7fff_ffff;

    /// Whether the window is below its threshold.
    pub const fn in_slow_start(self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// What a coupled controller knows of each subflow of the connection, itself included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathState {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Whether the window is below its threshold.
    pub in_slow_start: bool,
    /// Smoothed round-trip time; nothing before the first sample.
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

/// What a controller works on.
#[derive(Debug)]
pub struct Context<'a> {
    /// Now.
    pub now: Instant,
    /// The subflow's own window. While this is borrowed, `paths[own].cwnd` may lag behind it.
    pub window: &'a mut Window,
    /// All established subflows of the connection.
    pub paths: &'a [PathState],
    /// Which of `paths` is this subflow.
    pub own: usize,
    /// This subflow's smoothed round-trip time; nothing before the first sample.
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
    /// The round trip that this acknowledgement measured, where it did.
    pub rtt: Option<Duration>,
    /// The acknowledgement covers the segment that opened the current round: a new round starts.
    pub round_ended: bool,
}

/// The rules of one congestion controller, for one subflow.
pub trait Controller: Send {
    /// Grows the window. Called for acknowledgements outside of recovery while the window is (or was) filled; the segments
    /// of the acknowledgement that arrive in slow start are to be handled by [`slow_start`] first.
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack);

    /// Sees every acknowledgement of new data, before [`Controller::on_ack`], also in recovery and while the window is not filled.
    fn on_sample(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let _ = (cx, ack);
    }

    /// The threshold after a loss or an ECN echo; called once per reduction, before the window changes. At least 2.
    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32;

    /// The retransmission timer expired; called after [`Controller::threshold_after_loss`].
    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Data is sent again after `idle` without any in flight.
    fn on_restart(&mut self, cx: &mut Context<'_>, idle: Duration) {
        let _ = (cx, idle);
    }

    /// The window to return to when a reduction turns out to have been unnecessary; `prior` is the one before it.
    fn window_after_undo(&self, cx: &Context<'_>, prior: Window) -> u32 {
        cx.window.cwnd.max(prior.cwnd)
    }

    /// How the window will grow from now on (CP §3.2).
    fn growth(&self, cx: &Context<'_>) -> Growth;
}

/// Slow start: one segment for each acknowledged one, up to the threshold. Returns the segments left for avoidance.
pub fn slow_start(window: &mut Window, acked: u32) -> u32 {
    let target = window.cwnd.saturating_add(acked).min(window.ssthresh.max(window.cwnd));
    let used = target - window.cwnd;
    window.cwnd = target;
    acked - used
}

/// Counts acknowledged segments towards the next increase of the window (the kernel's `snd_cwnd_cnt`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdditiveIncrease {
    count: u32,
}

impl AdditiveIncrease {
    /// Adds one segment to the window for every `per` acknowledged ones.
    pub fn grow(&mut self, window: &mut Window, per: u32, acked: u32) {
        let per = per.max(1);
        // Credits from a time when more were needed give one segment, not several.
        if self.count >= per {
            self.count = 0;
            window.cwnd = window.cwnd.saturating_add(1);
        }
        self.count = self.count.saturating_add(acked);
        window.cwnd = window.cwnd.saturating_add(self.count / per);
        self.count %= per;
    }

    /// Forgets what has been counted, as at the start of a recovery.
    pub fn reset(&mut self) {
        self.count = 0;
    }
}
