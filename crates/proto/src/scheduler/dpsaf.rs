//! `dpsaf`: forward prediction based dynamic packet scheduling and adjusting with feedback; Xue et al., IEEE TVT 2018.
//!
//! The prediction is that of [`super::fpdps`] (III.A), corrected by [`super::daf`] (III.B); so are the readings and
//! deviations.

use super::daf::{ALPHA, Feedback};
use super::forward::Forward;
use super::fpdps::{MostLikely, OUTCOMES};
use crate::registry::SchedulerEntry;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "dpsaf",
    source: "DPSAF III",
    summary: "fpdps, corrected by what arrived out of order in the last round",
    parameters: &[OUTCOMES, ALPHA],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(Forward::new(MostLikely::from_values(v), Some(Feedback::new(v.number(ALPHA.name)))))),
};
