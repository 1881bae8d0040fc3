//! Forward prediction: a slower subflow takes data further ahead in the stream (DPSAF §II and §III).
//!
//! The schedulers `fps`, `fps-daf`, `fpdps` and `dpsaf` share this code. Data that subflow j sends arrives after T_j =
//! RTT_j/2. Until then the faster subflows deliver N_j = Σ N_j^i segments. So j leaves that much of the unassigned data
//! to them, as a gap, and takes the data behind the gap. Then everything arrives in order. The fastest subflow takes
//! data from the first unassigned byte on. Each scheduler predicts N_j^i in its own way ([`Predict`]); [`Feedback`]
//! corrects the prediction by the outcome of the last one.
//!
//! A round of i lasts RTT_i, and data sent at its start arrives after RTT_i/2. So a transfer time T has
//! ⌊T/RTT_i + 1/2⌋ rounds whose data arrives within it (the conditions on T of DPSAF Alg. 1).
//!
//! # Deviations
//!
//! * N_j counts only *unassigned* segments: after a subflow has taken data, the rest is treated as a complete stream
//!   again (DPSAF III.A). A segment has the size of the subflow that is to send it. Subflows with window space are
//!   asked in order of their round-trip times.
//! * If the data or the send window ends inside the gap, j waits. Within T_j the faster subflows should have taken all
//!   of the gap. If by then they have not even taken its first byte, the prediction has failed, and j takes that byte.
//! * If round-trip times are equal, the subflow with the lower identifier counts as faster; otherwise each would leave
//!   the same data to the other. A subflow without a sample leaves no gap, and nothing is left to it.
//! * One decision assigns as much as j's window has room for, because N_j is the same for each of these segments.

use super::daf::{Feedback, is_faster};
use super::minrtt;
use core::fmt;
use core::ops::Range;
use pathweave_scheduler::{Assign, DataSeq, Decision, Event, Reason, Scheduler, SubflowView, View, WindowUse};
use pathweave_units::{Duration, Instant};

/// The most rounds that a prediction counts, which a ratio of 128 between two round-trip times reaches. In 64 rounds a
/// window of ten sends over two thousand segments.
pub(crate) const MAX_ROUNDS: u32 = 64;
/// The largest window in a prediction, segments: far more than any send window holds.
pub(crate) const MAX_WINDOW: u32 = 1 << 20;

/// Predicts how much a faster subflow delivers.
pub trait Predict: Send + fmt::Debug {
    /// N_j^i: the segments that `i` delivers while a slower subflow's data is on its way, from `now` for the time
    /// `transfer`.
    fn delivered(&mut self, i: &SubflowView, transfer: Duration, now: Instant) -> u64;
}

/// The number of rounds whose data arrives within `time`, on a subflow with the round-trip time `rtt`.
pub(crate) fn rounds(time: Duration, rtt: Duration) -> u32 {
    let (time, rtt) = (time.as_nanos(), rtt.as_nanos());
    if rtt == 0 {
        return MAX_ROUNDS;
    }
    let half_or_more = time % rtt >= rtt.div_ceil(2);
    (time / rtt).saturating_add(u64::from(half_or_more)).min(u64::from(MAX_ROUNDS)) as u32
}

/// A scheduler by forward prediction.
#[derive(Debug)]
pub struct Forward<P> {
    predict: P,
    feedback: Option<Feedback>,
    /// The first unassigned byte, and the time since which a subflow with space has waited for others to take it.
    stalled: Option<(Instant, DataSeq)>,
}

/// The unassigned data that j leaves to faster subflows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    /// Whether there are faster subflows.
    any_faster: bool,
    /// N_j.
    segments: u64,
    /// Δ_j of the feedback, in segments of j, rounded.
    offset: i64,
    /// The length of the gap, Δ_j included.
    bytes: u64,
}

impl<P: Predict> Forward<P> {
    pub(crate) fn new(predict: P, feedback: Option<Feedback>) -> Self {
        Forward { predict, feedback, stalled: None }
    }

    /// Predicts the gap that `j` leaves to faster subflows.
    fn gap(&mut self, view: &View<'_>, j: &SubflowView) -> Gap {
        let mut gap = Gap { any_faster: false, segments: 0, offset: 0, bytes: 0 };
        let Some(rtt) = j.rtt.smoothed else { return gap };
        let transfer = rtt.div(2);
        for i in view.candidates().filter(|i| is_faster(i, j)) {
            gap.any_faster = true;
            let n = self.predict.delivered(i, transfer, view.now);
            gap.segments += n;
            gap.bytes += n * u64::from(i.mss);
        }
        if gap.any_faster
            && let Some(feedback) = &self.feedback
        {
            // DPSAF eq. 10, with a gap of at least 0. N is whole, so rounding Δ rounds the sum.
            let mss = i64::from(j.mss.max(1));
            gap.offset = libm::round(feedback.offset(j.id) / mss as f64) as i64;
            gap.bytes = gap.bytes.saturating_add_signed(gap.offset.saturating_mul(mss));
        }
        gap
    }
}

/// The first run of unassigned bytes after the first `gap` unassigned bytes, inside the send window.
pub(crate) fn beyond(view: &View<'_>, gap: u64) -> Option<Range<DataSeq>> {
    view.queue.unassigned_beyond(gap, view.send_window_end)
}

fn give(j: &SubflowView, range: Range<DataSeq>, reason: Reason) -> Decision {
    let most = u64::from(j.mss.max(1)) * u64::from(j.window_space());
    let range = range.start..range.end.min(range.start + most);
    Decision::Assign(Assign { subflow: j.id, range, window: WindowUse::Respect, reason })
}

/// The reason why `j` takes or leaves data, in the words of DPSAF. The text is `with_offset` if the feedback has an
/// offset Δ other than 0.
fn reason(without: &'static str, with_offset: &'static str, gap: Gap, j: &SubflowView) -> Reason {
    let reason = Reason::new(if gap.offset == 0 { without } else { with_offset });
    let reason = reason.with("n_segments", gap.segments as f64);
    let reason = match gap.offset {
        0 => reason,
        offset => {
            let sum = gap.segments.saturating_add_signed(offset);
            reason.with("offset_segments", offset as f64).with("ahead_segments", sum as f64)
        }
    };
    reason.with("transfer_ms", j.rtt.smoothed_or_zero().as_secs_f64() * 500.0)
}

/// The reason why `j` takes the first unassigned bytes.
fn first_in_line(gap: Gap, j: &SubflowView) -> Reason {
    match (gap.any_faster, j.rtt.smoothed) {
        (true, _) => reason(
            "N = {n_segments}: faster subflows deliver nothing within RTT/2 = {transfer_ms}",
            "N + Δ = {ahead_segments}: N = {n_segments} from faster subflows within RTT/2 = {transfer_ms}, Δ = {offset_segments}",
            gap,
            j,
        ),
        (false, Some(_)) => Reason::new("the fastest takes the first unassigned bytes"),
        (false, None) => Reason::new("no round trip was measured yet"),
    }
}

impl<P: Predict> Scheduler for Forward<P> {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(data) = view.sendable() else { return Decision::nothing_to_send() };
        let mut first = None;
        let mut after = None;
        // Visits the subflows in order of round-trip times without a sorted list: each step finds the next one above.
        while let Some(j) = view
            .candidates()
            .filter(|s| s.has_space() && after.is_none_or(|last| (minrtt::key(s), s.id) > last))
            .min_by_key(|s| (minrtt::key(s), s.id))
        {
            after = Some((minrtt::key(j), j.id));
            let gap = self.gap(view, j);
            if gap.bytes == 0 {
                return give(j, data, first_in_line(gap, j));
            }
            if let Some(range) = beyond(view, gap.bytes).and_then(|r| view.inside_window(j, r)) {
                let reason = reason(
                    "N = {n_segments} ahead, which faster subflows deliver within RTT/2 = {transfer_ms}",
                    "N + Δ = {ahead_segments} ahead: N = {n_segments} from faster subflows within RTT/2 = {transfer_ms}, \
                     Δ = {offset_segments}",
                    gap,
                    j,
                );
                return give(j, range, reason);
            }
            first = first.or(Some((j, gap)));
        }
        let Some((j, gap)) = first else { return Decision::no_space() };
        let since = self.stalled.filter(|(_, at)| *at == data.start).map_or(view.now, |(since, _)| since);
        self.stalled = Some((since, data.start));
        let until = since + j.rtt.smoothed_or_zero().div(2);
        if until <= view.now {
            let rule = "faster subflows have not taken the next byte within RTT/2 = {transfer_ms}";
            return give(j, data, reason(rule, rule, gap, j));
        }
        let fastest = view.candidates().min_by_key(|s| (minrtt::key(s), s.id)).map(|s| s.id);
        let reason = reason(
            "N = {n_segments}: faster subflows deliver all that can be sent within RTT/2 = {transfer_ms}",
            "N + Δ = {ahead_segments}: faster subflows deliver all that can be sent within RTT/2 = {transfer_ms}",
            gap,
            j,
        );
        Decision::Wait { until: Some(until), for_subflow: fastest, reason }
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        if let Some(feedback) = &mut self.feedback {
            feedback.on_event(event, view);
        }
    }

    fn wants_events(&self) -> bool {
        self.feedback.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fps::LossFree;
    use super::*;
    use pathweave_scheduler::SubflowId;
    use pathweave_scheduler::testing::{Bench, seg, sub};

    fn fps() -> Forward<LossFree> {
        Forward::new(LossFree, None)
    }

    /// The fast subflow is full. During the slow one's transfer of 50 ms it has rounds of 10, 11 and 12 segments, so 33
    /// segments are left to it.
    fn full_fast() -> [pathweave_scheduler::testing::Sub; 2] {
        [sub(0).rtt(20).in_flight(10), sub(1).rtt(100)]
    }

    #[test]
    fn the_fastest_takes_the_first_unassigned_and_the_others_what_follows_the_gap() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(100);
        assert_eq!(bench.run(&mut fps()), [(0, 0..10), (1, 43..53)]);
        bench.acked(0, 10);
        bench.acked(1, 4);
        // 33 unassigned segments from 20 on: assigned ones are not counted.
        assert_eq!(bench.run(&mut fps()), [(0, 10..20), (1, 63..67)]);
        bench.acked(0, 10);
        for start in [20, 30] {
            assert_eq!(bench.run(&mut fps()), [(0, start..start + 10)]);
            bench.acked(0, 10);
        }
        // The gap is filled up to the data of the slow one, and continues behind it.
        assert_eq!(bench.run(&mut fps()), [(0, 40..43), (0, 53..60)]);
    }

    #[test]
    fn a_gap_beyond_the_data_makes_it_wait_for_at_most_its_transfer_time() {
        let mut bench = Bench::new(full_fast()).write(33);
        let mut scheduler = fps();
        let limit = bench.now + Duration::from_millis(50);
        let Decision::Wait { until, for_subflow, .. } = bench.decide(&mut scheduler) else { panic!("it waits") };
        assert_eq!((until, for_subflow), (Some(limit), Some(SubflowId(0))));
        // As long as the fast one takes some, the wait begins anew.
        bench.now += Duration::from_millis(30);
        bench.acked(0, 1);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..1)]);
        let Decision::Wait { until, .. } = bench.decide(&mut scheduler) else { panic!("it waits") };
        assert_eq!(until, Some(limit + Duration::from_millis(30)));
        bench.now += Duration::from_millis(50);
        assert_eq!(
            bench.rule(&mut scheduler),
            "faster subflows have not taken the next byte within RTT/2 = {transfer_ms}"
        );
        assert_eq!(bench.step(&mut scheduler), Some((1, 1..11)));
    }

    #[test]
    fn a_gap_beyond_the_send_window_makes_it_wait_too() {
        let mut bench = Bench::new(full_fast()).write(100).send_window(33);
        assert_eq!(bench.run(&mut fps()), []);
        bench.send_window += 3 * 1000;
        assert_eq!(bench.run(&mut fps()), [(1, 33..36)]);
    }

    #[test]
    fn with_data_again_behind_the_gap_the_wait_is_over() {
        let mut bench = Bench::new(full_fast()).write(33);
        let mut scheduler = fps();
        assert_eq!(bench.run(&mut scheduler), []);
        bench.map.append(5000);
        assert_eq!(bench.run(&mut scheduler), [(1, 33..38)]);
    }

    #[test]
    fn of_equal_round_trip_times_the_first_is_the_faster() {
        // 50 ms of rounds of 100 ms: one round.
        let mut bench = Bench::new([sub(0), sub(1)]).write(100);
        assert_eq!(bench.run(&mut fps()), [(0, 0..10), (1, 20..30)]);
    }

    #[test]
    fn without_a_sample_a_subflow_leaves_nothing_and_gets_nothing_left() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).no_rtt().cwnd(5)]).write(100);
        assert_eq!(bench.run(&mut fps()), [(0, 0..10), (1, 10..15)]);
        let mut bench = Bench::new([sub(0).no_rtt().in_flight(10), sub(1).rtt(100)]).write(100);
        assert_eq!(bench.run(&mut fps()), [(1, 0..10)]);
    }

    #[test]
    fn a_gap_counts_segments_of_the_subflow_that_is_to_send_them() {
        let mut bench = Bench::new([sub(0).rtt(100).mss(500).in_flight(10), sub(1).rtt(100)]).write(100);
        assert_eq!(bench.run(&mut fps()), [(1, 5..15)]);
    }

    #[test]
    fn nothing_is_left_to_a_backup_or_a_dark_subflow() {
        let mut bench = Bench::new([sub(0).rtt(20).in_flight(10).backup(), sub(1).rtt(100)]).write(100);
        assert_eq!(bench.run(&mut fps()), [(1, 0..10)]);
        let mut bench = Bench::new([sub(0).rtt(20).in_flight(10).stale(), sub(1).rtt(100)]).write(100);
        assert_eq!(bench.run(&mut fps()), [(1, 0..10)]);
    }

    #[test]
    fn what_is_acknowledged_moves_the_gap() {
        let mut bench = Bench::new(full_fast()).write(200);
        bench.map.assign(seg(0)..seg(10), SubflowId(0));
        assert_eq!(bench.run(&mut fps()), [(1, 43..53)]);
        bench.map.acknowledge(seg(10));
        bench.acked(1, 10);
        assert_eq!(bench.run(&mut fps()), [(1, 53..63)], "33 unassigned from 10 on are 10..43");
    }

    #[test]
    fn rounds_are_bounded() {
        let of = |time, rtt| rounds(Duration::from_nanos(time), Duration::from_nanos(rtt));
        assert_eq!([of(0, 1), of(u64::MAX, 1), of(5, 0), of(1, u64::MAX)], [0, MAX_ROUNDS, MAX_ROUNDS, 0]);
        assert_eq!([of(1, 3), of(2, 3), of(1, 2)], [0, 1, 1]);
    }
}
