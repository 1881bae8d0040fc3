//! Decisions of a scheduler.

use crate::seq::{DataSeq, SubflowId};
use alloc::format;
use alloc::string::String;
use arrayvec::ArrayVec;
use core::fmt;
use core::ops::Range;
use pathweave_units::{Instant, counted};

/// One decision of a scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// A range of the stream goes to a subflow.
    Assign(Assign),
    /// No subflow gets data for now.
    Wait {
        /// Time at which the scheduler is asked again at the latest. Without one, a wait is valid only while data is in
        /// flight on some subflow, because its acknowledgement asks again; otherwise the connection's default decides.
        until: Option<Instant>,
        /// The subflow that the rule waits for, if it names one.
        for_subflow: Option<SubflowId>,
        /// The reason.
        reason: Reason,
    },
}

impl Decision {
    /// The reason of [`Decision::no_space`].
    pub const NO_SPACE: &'static str = "no subflow has window space";

    /// A wait for the next acknowledgement, because of `rule`.
    pub fn wait(rule: &'static str) -> Decision {
        Decision::Wait { until: None, for_subflow: None, reason: Reason::new(rule) }
    }

    /// A wait for the next acknowledgement because no subflow that may be used has window space.
    pub fn no_space() -> Decision {
        Decision::wait(Decision::NO_SPACE)
    }

    /// A wait because there is nothing to send.
    pub fn nothing_to_send() -> Decision {
        Decision::wait("nothing unassigned lies inside the send window")
    }
}

/// Assignment of a range of the stream to a subflow.
///
/// The range may start at the first unassigned byte (the common case), start further ahead (leaving a gap for other
/// subflows), be assigned already (a duplicate), or be the tail of the stream (sending backwards). The connection cuts
/// it into segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// The subflow that carries the range.
    pub subflow: SubflowId,
    /// The range of the stream, in bytes.
    pub range: Range<DataSeq>,
    /// Whether the range must fit into the congestion window now.
    pub window: WindowUse,
    /// The reason.
    pub reason: Reason,
}

/// How an assignment uses the subflow's congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUse {
    /// The range is clipped to the room in the window now.
    Respect,
    /// The range may queue on the subflow beyond its window. If the subflow's send buffer has any room, the subflow
    /// takes all of the range. A host that keeps written data in fragments
    /// ([`View::fragment_ends`](crate::View::fragment_ends)) stops after the fragment that fills the buffer.
    Queue,
}

/// The limit that shortened an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClippedBy {
    /// The subflow's congestion window.
    CongestionWindow,
    /// The subflow's send buffer.
    SendBuffer,
    /// The connection's send window: the room that the receiver offers.
    SendWindow,
    /// The written data, or the data that is not yet acknowledged.
    Data,
}

/// A rule in its paper's terms, with the numbers that it compared.
///
/// The rule is a sentence with the terms' names in braces in place of their values: `"X·λ = {x_lambda_bytes} exceeds
/// {free_bytes}"` is shown as "X·λ = 212 KB exceeds 180 KB". A term's name ends with its unit (`_bytes`,
/// `_bytes_per_s`, `_ms`, `_segments`, `_paths`); without one, the value is a plain number. Terms that the sentence does
/// not name follow in brackets.
#[derive(Clone, PartialEq)]
pub struct Reason {
    /// The rule, as a sentence.
    pub rule: &'static str,
    /// The terms' names, which end with their units, and their values.
    pub terms: ArrayVec<(&'static str, f64), 6>,
}

impl Reason {
    /// A rule without terms.
    pub fn new(rule: &'static str) -> Self {
        Reason { rule, terms: ArrayVec::new() }
    }

    /// Adds a term. Terms after the sixth are left out.
    #[must_use]
    pub fn with(mut self, term: &'static str, value: f64) -> Self {
        // A reason only explains, so a term too many must not stop a run.
        let _ = self.terms.try_push((term, value));
        self
    }

    fn term(&self, name: &str) -> Option<f64> {
        self.terms.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.rule;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            f.write_str(before)?;
            match self.term(name) {
                Some(value) => quantity(f, name, value)?,
                None => write!(f, "{{{name}}}")?,
            }
            rest = after;
        }
        f.write_str(rest)?;
        let unnamed = self.terms.iter().filter(|(name, _)| !self.names(name));
        for (i, (name, value)) in unnamed.clone().enumerate() {
            let (word, _) = split_unit(name);
            f.write_str(if i == 0 { " (" } else { ", " })?;
            word.split('_').enumerate().try_for_each(|(i, w)| write!(f, "{}{w}", if i == 0 { "" } else { " " }))?;
            f.write_str(" = ")?;
            quantity(f, name, *value)?;
        }
        if unnamed.count() > 0 { f.write_str(")") } else { Ok(()) }
    }
}

impl Reason {
    /// Whether the sentence shows the term's value.
    fn names(&self, term: &str) -> bool {
        self.rule.split('{').skip(1).any(|part| part.split_once('}').is_some_and(|(name, _)| name == term))
    }
}

/// The units that a term's name can end with.
const UNITS: [(&str, Unit); 5] = [
    ("_bytes_per_s", Unit::BytesPerSecond),
    ("_bytes", Unit::Bytes),
    ("_ms", Unit::Milliseconds),
    ("_segments", Unit::Counted("segment")),
    ("_paths", Unit::Counted("path")),
];

#[derive(Clone, Copy)]
enum Unit {
    None,
    Bytes,
    BytesPerSecond,
    Milliseconds,
    /// The word for one of them.
    Counted(&'static str),
}

fn split_unit(name: &str) -> (&str, Unit) {
    let of = |(suffix, unit): &(&str, Unit)| Some((name.strip_suffix(suffix)?, *unit));
    UNITS.iter().find_map(of).unwrap_or((name, Unit::None))
}

/// Writes a term's value with three significant digits and its unit: `212 KB` (1000 bytes), `8 Mbit/s`, `51.2 ms`,
/// `1 segment`.
fn quantity(f: &mut fmt::Formatter<'_>, name: &str, value: f64) -> fmt::Result {
    let scaled = |x: f64| match x.abs() {
        a if a >= 999.5e6 => (x / 1e9, "G"),
        a if a >= 999.5e3 => (x / 1e6, "M"),
        a if a >= 999.5 => (x / 1e3, "K"),
        _ => (x, ""),
    };
    match split_unit(name).1 {
        Unit::None => f.write_str(&significant(value)),
        Unit::Milliseconds => write!(f, "{} ms", significant(value)),
        Unit::Counted(one) => f.write_str(&counted(significant(value), one)),
        Unit::Bytes => {
            let (value, prefix) = scaled(value);
            write!(f, "{} {prefix}B", significant(value))
        }
        Unit::BytesPerSecond => {
            let (value, prefix) = scaled(value * 8.0);
            write!(f, "{} {}bit/s", significant(value), if prefix == "K" { "k" } else { prefix })
        }
    }
}

/// Three significant digits; whole numbers in full.
fn significant(value: f64) -> String {
    let a = value.abs();
    let whole = value == libm::trunc(value);
    let places = match a {
        _ if whole || a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        a if a >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_reason_reads_as_a_sentence() {
        let reason = Reason::new("X·λ = {x_lambda_bytes} > {free_bytes} free after {srtt_ms}")
            .with("x_lambda_bytes", 212_345.0)
            .with("free_bytes", 179_900.0)
            .with("srtt_ms", 51.23)
            .with("lambda", 1.01)
            .with("send_window_bytes", 16_777_216.0)
            .with("delivery_rate_bytes_per_s", 1_000_000.0);
        let text =
            "X·λ = 212 KB > 180 KB free after 51.2 ms (lambda = 1.01, send window = 16.8 MB, delivery rate = 8 Mbit/s)";
        assert_eq!(reason.to_string(), text);
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        let shown = |term, x| Reason::new("").with(term, x).to_string();
        let cases =
            [("a", 0.0, "0"), ("a", 2.0, "2"), ("a", 1234.6, "1235"), ("a", -0.5, "-0.500"), ("a", 3.4567, "3.46")];
        for (term, x, text) in cases.into_iter().chain([("a_bytes", 999.0, "999 B"), ("a_bytes", 1_000_000.0, "1 MB")])
        {
            assert_eq!(shown(term, x), format!(" (a = {text})"));
        }
        assert_eq!(shown("a_bytes", 999_600.0), " (a = 1.00 MB)");
        assert_eq!(shown("rate_bytes_per_s", 1500.0), " (rate = 12 kbit/s)");
        assert_eq!(shown("a", f64::INFINITY), " (a = inf)");
    }

    #[test]
    fn one_is_not_several() {
        let shown = |n| {
            Reason::new("{left_segments} left on {used_paths}").with("left_segments", n).with("used_paths", 3.0 - n)
        };
        assert_eq!(shown(1.0).to_string(), "1 segment left on 2 paths");
        assert_eq!(shown(2.0).to_string(), "2 segments left on 1 path");
    }

    #[test]
    fn a_brace_without_a_term_stays() {
        assert_eq!(Reason::new("a {b} c {d").to_string(), "a {b} c {d}");
    }
}
