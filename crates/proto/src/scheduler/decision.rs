//! What a scheduler answers.

use crate::seq::{DataSeq, SubflowId};
use arrayvec::ArrayVec;
use core::fmt;
use core::ops::Range;
use pathweave_units::Instant;

/// One answer of a scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Give a range of the stream to a subflow.
    Assign(Assign),
    /// Give nothing to anyone for now.
    Wait {
        /// Ask again at this time at the latest. Without it a wait is valid only while data is in flight on some
        /// subflow, whose acknowledgement will ask again; otherwise the connection's default takes over.
        until: Option<Instant>,
        /// The subflow that is waited for, where the rule names one.
        for_subflow: Option<SubflowId>,
        /// Why.
        reason: Reason,
    },
}

impl Decision {
    /// A wait for the next acknowledgement because no subflow has space.
    pub fn no_space() -> Decision {
        Decision::Wait { until: None, for_subflow: None, reason: Reason::new("no subflow has window space") }
    }

    /// A wait because there is nothing to send.
    pub fn nothing_to_send() -> Decision {
        Decision::Wait { until: None, for_subflow: None, reason: Reason::new("nothing to send") }
    }
}

/// Gives a range of the stream to a subflow.
///
/// The range may start at the first unassigned byte (the common case), further ahead (leaving a gap for others), be
/// already assigned (a duplicate), or be the tail of the stream (sending backwards). The connection cuts it into
/// segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// Who carries it.
    pub subflow: SubflowId,
    /// What, in bytes.
    pub range: Range<DataSeq>,
    /// Whether it must fit the congestion window now.
    pub window: WindowUse,
    /// Why.
    pub reason: Reason,
}

/// How an assignment uses the subflow's congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUse {
    /// Clip to what the window lets out now.
    Respect,
    /// Queue on the subflow beyond its window, up to its send buffer.
    Queue,
}

/// What an assignment was cut down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClippedBy {
    /// The subflow's congestion window.
    CongestionWindow,
    /// The subflow's send buffer.
    SendBuffer,
    /// The connection's send window: what the receiver has room for.
    SendWindow,
    /// What has been written, or is not yet acknowledged.
    Data,
}

/// A rule in the paper's terms, with the numbers that it compared.
#[derive(Clone, PartialEq)]
pub struct Reason {
    /// The rule.
    pub rule: &'static str,
    /// Its terms and their values, units in the names.
    pub terms: ArrayVec<(&'static str, f64), 6>,
}

impl Reason {
    /// A rule without numbers.
    pub fn new(rule: &'static str) -> Self {
        Reason { rule, terms: ArrayVec::new() }
    }

    /// With one more term; beyond six they are left out.
    #[must_use]
    pub fn with(mut self, term: &'static str, value: f64) -> Self {
        // A reason explains; a term too many must not stop a run.
        let _ = self.terms.try_push((term, value));
        self
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule)?;
        for (i, (term, value)) in self.terms.iter().enumerate() {
            write!(f, "{}{term} = {value}", if i == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}
