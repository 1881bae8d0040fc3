//! `fps-daf`: forward prediction without losses, corrected by feedback.
//!
//! # What it does
//!
//! The prediction is that of [`super::fps`]: a slow subflow takes data as far ahead in the stream as the faster ones
//! would deliver meanwhile without loss. The acknowledgements of its last round show whether that distance was too
//! large (its data had to wait at the receiver) or too small (the receiver had to wait for its data). An eighth of the
//! error corrects the next distance. So the rule learns some of what the prediction leaves out, such as losses.
//!
//! # Formula
//!
//! ```text
//! N_j      as fps
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
//! * α: the parameter `alpha`, 1/8.
//!
//! # Source
//!
//! DPSAF §IV.B, which calls it FPS+DAF: the prediction of its reference 35 with the feedback of III.B (Alg. 2 and 3,
//! eqs. 10 to 13).
//!
//! # Deviations
//!
//! * The deviations of [`super::fps`], of forward prediction ([`super::forward`]) and of the feedback ([`super::daf`]).

use super::daf::{ALPHA, Feedback, LOSSES};
use super::forward::Forward;
use super::fps::LossFree;
use pathweave_scheduler::SchedulerEntry;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "fps-daf",
    source: "DPSAF §IV.B",
    summary: "fps, corrected by what arrived out of order in the last round",
    parameters: &[ALPHA, LOSSES],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(Forward::new(LossFree, Some(Feedback::from_values(v))))),
};

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, seg, sub};
    use pathweave_scheduler::{Event, SubflowId};

    /// The slow subflow's second round. 33 segments are left to the fast one; in the first round the gap was `late`
    /// segments too long.
    fn second_round(alpha: f64, late: u64) -> Vec<(u8, core::ops::Range<u64>)> {
        let mut bench = Bench::new([sub(0).rtt(20).in_flight(10), sub(1).rtt(100)]).write(200);
        let mut scheduler = Forward::new(LossFree, Some(Feedback::new(alpha)));
        assert_eq!(bench.run(&mut scheduler), [(1, 33..43)]);
        let (subflow, mappings, data_ack) = (SubflowId(1), [seg(33)..seg(43)], seg(33 - late));
        bench.acked(1, 10);
        bench.event(&mut scheduler, &Event::Acked { subflow, mappings: &mappings, data_ack, has_sack: false });
        bench.run(&mut scheduler)
    }

    /// DPSAF eqs. 10 and 11 with an eighth: after a gap of 20 segments too many, the next gap is three segments shorter
    /// (2.5, rounded).
    #[test]
    fn the_offset_shifts_the_next_round() {
        assert_eq!(second_round(0.125, 0), [(1, 43..53)]);
        assert_eq!(second_round(0.125, 20), [(1, 30..33), (1, 43..50)]);
        assert_eq!(second_round(0.0, 20), second_round(0.125, 0), "with an alpha of 0 it is fps");
    }

    #[test]
    fn a_gap_is_never_less_than_nothing() {
        assert_eq!(second_round(1.0, 33), [(1, 0..10)]);
    }
}
