//! `dpsaf`: forward prediction based dynamic packet scheduling and adjusting with feedback.
//!
//! # What it does
//!
//! The prediction is that of [`super::fpdps`]: a slower subflow takes data as far ahead in the stream as the faster
//! ones will most likely deliver meanwhile, given their losses. The acknowledgements of its last round show whether
//! that distance was too large (its data had to wait at the receiver) or too small (the receiver had to wait for its
//! data). An eighth of the error corrects the next distance.
//!
//! # Formula
//!
//! ```text
//! N_j      as fpdps
//! gap_j    = max(0, N_j·MSS + Δ_j), Δ_j rounded to whole segments                          (eq. 10)
//! Δ_j     ← Δ_j + α·e_j,  e_j ← 0         when F_j, the first segment of j's round, is acked (eq. 11)
//! too far (situation 1):   the ACK of F_j comes with DATA_ACK < F_j:
//!            e_j −= bytes from DATA_ACK to F_j that were left to faster subflows           (eq. 12)
//! too near (situation 2):  an ACK on a faster i comes with a DATA_ACK at j's data, F_j or before it:
//!            e_j += bytes beyond F_j that it acknowledges on i                             (eq. 13)
//! j sends its free window from the first unassigned byte after gap_j unassigned bytes
//! ```
//!
//! * N_j: segments that the faster subflows are predicted to deliver, of MSS bytes each; gap_j: the distance; Δ_j: its
//!   offset; e_j: the deviation of one round; all three in bytes.
//! * A round counts even if something was lost in it. With `losses=exempt`, no round counts in which j or a faster
//!   subflow lost something.
//! * α: the parameter `alpha`, 1/8. With α = 0 the rule is that of `fpdps`.
//!
//! # Source
//!
//! DPSAF III: the prediction of III.A (Alg. 1, eqs. 1 to 9) with the feedback of III.B (Alg. 2 and 3, eqs. 10 to 13).
//!
//! # Deviations
//!
//! * The deviations of [`super::fpdps`], of forward prediction ([`super::forward`]) and of the feedback
//!   ([`super::daf`]).

use super::daf::{ALPHA, Feedback, LOSSES};
use super::forward::Forward;
use super::fpdps::{MostLikely, OUTCOMES};
use pathweave_scheduler::SchedulerEntry;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "dpsaf",
    source: "DPSAF III",
    summary: "fpdps, corrected by what arrived out of order in the last round",
    parameters: &[OUTCOMES, ALPHA, LOSSES],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(Forward::new(MostLikely::from_values(v), Some(Feedback::from_values(v))))),
};
