//! Congestion controllers: how a subflow's window grows and shrinks.
//!
//! Windows are in segments, as in the kernel and in the papers. A controller belongs to one subflow; coupled ones (RFC
//! 6356 and its kin) also see the connection's other subflows. Loss detection and recovery are not here: the subflow
//! calls the controller when its window may grow and when it must shrink. To add one: a file in this folder and a line
//! in [`Registry::builtin`](crate::Registry::builtin).

#[cfg(test)]
mod properties;
#[cfg(test)]
mod testing;

pub mod balia;
pub mod coupled;
pub mod cubic;
pub mod dlia;
pub mod ewtcp;
pub mod hystart;
pub mod lia;
pub mod mptcp_pw;
pub mod mpveno;
pub mod mveno;
pub mod olia;
pub mod reno;
pub mod semicoupled;
pub mod vegas;
pub mod veno;
pub mod wvegas;

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
    /// Grows the window. Called for acknowledgements outside of recovery while the window is (or was) filled; the
    /// segments of the acknowledgement that arrive in slow start are to be handled by [`slow_start`] first.
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack);

    /// Sees every acknowledgement of new data, before [`Controller::on_ack`], also in recovery and while the window is
    /// not filled.
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

/// Collects fractions of segments until they make a whole one. Coupled controllers may also shrink a window so.
///
/// The window and what is collected are together the window of the equations, which is a real number (in RFC 6356 a number
/// of bytes). A loss takes its part of both. Discarding the fraction, as kernels that count segments do, costs a window that
/// grows by a quarter of a segment a round as much at each loss as one that grows by a segment: two subflows would take a
/// fifth less than one TCP flow at a shared bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FractionalIncrease {
    credit: f64,
}

impl FractionalIncrease {
    /// Slow start; then the window changes by `each` for each segment that is left of the acknowledgement.
    pub fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack, each: impl FnOnce(&Context<'_>) -> f64) {
        let left = slow_start(cx.window, ack.segments);
        if left > 0 {
            let each = each(cx);
            self.add(cx.window, each * f64::from(left));
        }
    }

    /// Changes the window by `segments`; what is not a whole segment waits for the next time.
    pub fn add(&mut self, window: &mut Window, segments: f64) {
        self.credit += segments;
        // The tolerance lets ten times 0.1 be one.
        let whole = libm::trunc(self.credit + if self.credit > 0.0 { 1e-9 } else { -1e-9 });
        self.credit -= whole;
        let cwnd = f64::from(window.cwnd) + whole;
        window.cwnd = cwnd.clamp(1.0, f64::from(Window::NO_THRESHOLD)) as u32;
    }

    /// The window with what has been collected, in segments.
    pub fn exact(&self, window: &Window) -> f64 {
        f64::from(window.cwnd) + self.credit
    }

    /// The whole segments of a threshold after a loss, at least 2; its fraction goes on to be collected, so that a window
    /// that grows slowly does not lose most of a segment at each loss.
    pub fn threshold(&mut self, exact: f64) -> u32 {
        let whole = libm::floor(exact).max(2.0);
        self.credit = (exact - whole).max(0.0);
        whole as u32
    }
}

/// A path as the equations of coupled controllers have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoupledPath {
    /// It is the subflow whose controller asks.
    pub own: bool,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Smoothed round-trip time, seconds; above zero.
    pub rtt: f64,
    /// Smallest round-trip time, seconds; above zero.
    pub min_rtt: f64,
    /// Data bytes of a full segment.
    pub mss: f64,
    /// The larger of the bytes acknowledged since the last loss and between the last two (OLIA's l).
    pub loss_interval: f64,
}

impl Context<'_> {
    /// The paths with a round-trip time sample, this subflow's with its window of now.
    pub fn coupled_paths(&self) -> impl Iterator<Item = CoupledPath> + Clone + '_ {
        let (own, own_cwnd) = (self.own, self.window.cwnd);
        self.paths.iter().enumerate().filter_map(move |(i, p)| {
            let rtt = p.srtt.filter(|r| !r.is_zero())?.as_secs_f64();
            let min_rtt = p.min_rtt.filter(|r| !r.is_zero()).map_or(rtt, Duration::as_secs_f64);
            Some(CoupledPath {
                own: i == own,
                cwnd: f64::from(if i == own { own_cwnd } else { p.cwnd }.max(1)),
                rtt,
                min_rtt,
                mss: f64::from(p.mss.max(1)),
                loss_interval: p.bytes_since_loss.max(p.bytes_between_losses) as f64,
            })
        })
    }

    /// This subflow's window, at least 1.
    pub fn cwnd(&self) -> f64 {
        f64::from(self.window.cwnd.max(1))
    }

    /// The windows of all subflows together, with a round-trip time sample or without.
    pub fn total_cwnd(&self) -> f64 {
        let others = self.paths.iter().enumerate().filter(|(i, _)| *i != self.own).map(|(_, p)| f64::from(p.cwnd));
        self.cwnd() + others.sum::<f64>()
    }

    /// Data bytes of a full segment of this subflow.
    pub fn mss(&self) -> f64 {
        f64::from(self.paths.get(self.own).map_or(1460, |p| p.mss).max(1))
    }
}
