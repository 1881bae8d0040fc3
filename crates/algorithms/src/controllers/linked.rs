//! What LIA and its kin share: Reno's slow start, a window that changes by a rule for each acknowledged segment, and a part of it
//! that a loss leaves.

use super::FractionalIncrease;
use pathweave_proto::congestion::{Ack, Context, Controller, Growth};

/// The two rules of such a controller.
pub trait Rule: Send {
    /// The change of the window for one segment that is acknowledged after slow start, in segments.
    fn increase(&self, cx: &Context<'_>) -> f64;

    /// What a loss leaves of a window of so many segments.
    fn after_loss(&mut self, cx: &Context<'_>, window: f64) -> f64 {
        let _ = cx;
        window / 2.0
    }
}

/// A controller by these rules.
#[derive(Debug)]
pub struct Linked<R> {
    pub(super) rule: R,
    pub(super) increase: FractionalIncrease,
}

impl<R> Linked<R> {
    /// By these rules.
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
