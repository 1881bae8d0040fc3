//! Parts that controllers share: windows in whole segments that grow by fractions of a segment, the paths as the
//! equations of coupled controllers see them, and [`Linked`], a base for LIA and its relatives. Such a controller has
//! Reno's slow start, a rule for each acknowledged segment, and a rule for what a loss leaves of the window.

use pathweave_proto::congestion::{Ack, Context, Controller, Growth, Window, slow_start};
use pathweave_units::Duration;

/// Counts acknowledged segments towards the next increase of the window (the kernel's `snd_cwnd_cnt`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdditiveIncrease {
    count: u32,
}

impl AdditiveIncrease {
    /// Adds one segment to the window for every `per` acknowledged segments.
    //= RFC 5681 §3.1: "The RECOMMENDED way to increase cwnd during congestion avoidance is to count the number of bytes that
    //= have been acknowledged by ACKs for new data"
    //= tests: reno::a_stretch_acknowledgement_counts_its_segments
    //= RFC 5681 §3.1: "during congestion avoidance, cwnd MUST NOT be increased by more than SMSS bytes per RTT"
    //= tests: reno::avoidance_adds_one_each_round
    //= RFC 5681 §3.1: "SHOULD increment cwnd per equation (2) once per RTT"
    //= tests: reno::avoidance_adds_one_each_round
    //= RFC 5681 §3.1: "MUST NOT increment cwnd by more than SMSS bytes"
    //= tests: reno::avoidance_adds_one_each_round
    pub fn grow(&mut self, window: &mut Window, per: u32, acked: u32) {
        let per = per.max(1);
        // The count may come from a time when `per` was larger. It then gives one segment, not several.
        if self.count >= per {
            self.count = 0;
            window.cwnd = window.cwnd.saturating_add(1);
        }
        self.count = self.count.saturating_add(acked);
        window.cwnd = window.cwnd.saturating_add(self.count / per);
        self.count %= per;
    }

    /// Resets the count to zero, for the start of a recovery.
    pub fn reset(&mut self) {
        self.count = 0;
    }
}

/// Collects fractions of segments until they make a whole segment. The fractions may be negative: some coupled
/// controllers also shrink the window.
///
/// The window plus the collected fraction is the window of the equations, which is a real number (in RFC 6356 a number
/// of bytes). A loss takes its part of both. Kernels that count segments discard the fraction at a loss, which costs a
/// slowly growing window as much as a fast growing one. Two coupled subflows, whose windows grow by a quarter of a
/// segment a round, would then together take a fifth less than one TCP flow at a shared bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FractionalIncrease {
    credit: f64,
}

impl FractionalIncrease {
    /// Handles an acknowledgement: slow start first. For each acknowledged segment that slow start does not use, the
    /// window changes by `each`.
    pub fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack, each: impl FnOnce(&Context<'_>) -> f64) {
        let left = slow_start(cx.window, ack.segments);
        if left > 0 {
            let each = each(cx);
            self.add(cx.window, each * f64::from(left));
        }
    }

    /// Changes the window by `segments`; a fraction of a segment is kept for the next call.
    pub fn add(&mut self, window: &mut Window, segments: f64) {
        self.credit += segments;
        // The tolerance makes ten times 0.1 count as one.
        let whole = libm::trunc(self.credit + if self.credit > 0.0 { 1e-9 } else { -1e-9 });
        self.credit -= whole;
        let cwnd = f64::from(window.cwnd) + whole;
        window.cwnd = cwnd.clamp(1.0, f64::from(Window::NO_THRESHOLD)) as u32;
    }

    /// The window plus the collected fraction, segments.
    pub fn exact(&self, window: &Window) -> f64 {
        f64::from(window.cwnd) + self.credit
    }

    /// Returns the slow start threshold after a loss: the window `exact` that the loss leaves, in whole segments, at
    /// least 2. The fraction is kept, so that a window that grows slowly does not lose most of a segment at each loss.
    pub fn threshold(&mut self, exact: f64) -> u32 {
        let whole = libm::floor(exact).max(2.0);
        self.credit = (exact - whole).max(0.0);
        whole as u32
    }
}

/// A path with the quantities that appear in the equations of coupled controllers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoupledPath {
    /// Whether this is the path of the controller that asks.
    pub own: bool,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Smoothed round-trip time, seconds; above zero.
    pub rtt: f64,
    /// Smallest round-trip time, seconds; above zero.
    pub min_rtt: f64,
    /// Data bytes of a full segment.
    pub mss: f64,
    /// The bytes acknowledged since the last loss, or between the last two losses if that is more (OLIA's l).
    pub loss_interval: f64,
}

/// All paths that have a round-trip time sample. The own path has its current window.
pub fn coupled_paths<'a>(cx: &'a Context<'_>) -> impl Iterator<Item = CoupledPath> + Clone + 'a {
    let (own, own_cwnd) = (cx.own, cx.window.cwnd);
    cx.paths.iter().enumerate().filter_map(move |(i, p)| {
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

/// The two rules of a [`Linked`] controller.
pub trait Rule: Send {
    /// The change of the window for one segment that is acknowledged after slow start, in segments.
    fn increase(&self, cx: &Context<'_>) -> f64;

    /// The window that a loss leaves of `window` segments; by default half of it.
    fn after_loss(&mut self, cx: &Context<'_>, window: f64) -> f64 {
        let _ = cx;
        window / 2.0
    }
}

/// A controller with Reno's slow start and the increase and decrease of a [`Rule`].
#[derive(Debug)]
pub struct Linked<R> {
    pub(super) rule: R,
    pub(super) increase: FractionalIncrease,
}

impl<R> Linked<R> {
    /// A controller with this rule.
    pub fn new(rule: R) -> Self {
        Linked { rule, increase: FractionalIncrease::default() }
    }
}

impl<R: Rule> Controller for Linked<R> {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.increase.on_ack(cx, ack, |cx| self.rule.increase(cx));
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        let window = self.increase.exact(cx.window);
        self.increase.threshold(self.rule.after_loss(cx, window))
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        Growth::PerRound(self.rule.increase(cx) * cx.cwnd())
    }
}
