//! `fps-daf`: `fps` with the feedback of acknowledgements; DPSAF §IV.B, where it is FPS+DAF.
//!
//! The prediction is that of [`super::fps`], corrected by [`super::daf`]; so are the readings and deviations.

use super::daf::{ALPHA, Feedback};
use super::forward::Forward;
use super::fps::LossFree;
use crate::registry::SchedulerEntry;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "fps-daf",
    source: "DPSAF §IV.B",
    summary: "fps, corrected by what arrived out of order in the last round",
    parameters: &[ALPHA],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(Forward::new(LossFree, Some(Feedback::new(v.number(ALPHA.name)))))),
};

#[cfg(test)]
mod tests {
    use super::super::Event;
    use super::super::testing::{Bench, seg, sub};
    use super::*;
    use crate::seq::SubflowId;

    /// 33 segments are left to the fast subflow; the first round of the slow one was a gap of `late` segments too long.
    fn second_round(alpha: f64, late: u64) -> Vec<(u8, core::ops::Range<u64>)> {
        let mut bench = Bench::new([sub(0).rtt(20).in_flight(10), sub(1).rtt(100)]).write(200);
        let mut scheduler = Forward::new(LossFree, Some(Feedback::new(alpha)));
        assert_eq!(bench.run(&mut scheduler), [(1, 33..43)]);
        let (subflow, mappings, data_ack) = (SubflowId(1), [seg(33)..seg(43)], seg(33 - late));
        bench.acked(1, 10);
        bench.event(&mut scheduler, &Event::Acked { subflow, mappings: &mappings, data_ack, has_sack: false });
        bench.run(&mut scheduler)
    }

    /// DPSAF eqs. 10 and 11 with an eighth: 20 segments too many are three less in the next round (2.5, rounded).
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
