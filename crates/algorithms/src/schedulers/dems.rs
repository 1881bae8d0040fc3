//! `dems`: decoupled subflows that meet in a chunk.
//!
//! # What it does
//!
//! A chunk of the stream is sent from both ends: the fastest subflow sends forwards from its head, the others send
//! backwards from its tail. So no subflow waits for another one's data, and all should finish at the receiver at the
//! same time. Where the two sides meet, each repeats a little of the other's last data, so that a wrong estimate does
//! not delay the chunk. They repeat more if round-trip times vary more. The receiver holds the tail of a chunk until
//! the chunk is complete.
//!
//! # Formula
//!
//! ```text
//! fastest:  from the first unassigned byte of the chunk, as much as its window has room for
//! other s:  one segment from the chunk's last unassigned byte backwards, unless
//!           gap / Σ rate_i + max delay_i  <  delay_s            over the i faster than s
//! rate_i  = cwnd_i · MSS_i / srtt_i
//! delay_i = srtt_i − min_rtt_i / 2
//! where the sides met: the fastest sends [met, met + r_s) again, the other one [met − r_s, met)
//! r_s = max(overlap · MSS_s, min(rate_s · variations · max rttvar_i, most_overlap · part_s))
//! part_s = chunk · rate_s/Σ rate_i
//! ```
//!
//! * gap: bytes from the first to the last unassigned byte of the chunk; rate_i: bytes/s; cwnd: segments; MSS: data
//!   bytes of a full segment.
//! * delay_i: time to the receiver, ms. Queues are assumed on the way there only, so the way back takes half of the
//!   smallest round-trip time.
//! * met: the byte at which the two sides of the last chunk met. r_s: the bytes that s could deliver in the time by
//!   which the estimate of the meeting point may be wrong, rounded up to whole segments.
//! * rttvar: the round-trip time's variation (RFC 6298), ms; chunk: the chunk's length, bytes; part_s: the part of it
//!   that s carries, bytes. overlap, variations, most_overlap: parameters.
//!
//! # Source
//!
//! Guo, Nikravesh, Mao, Qian and Sen, "Accelerating multipath transport through balanced subflow completion", MobiCom
//! 2017 (its demonstration is REMS Table 1's reference 19).
//!
//! # Deviations
//!
//! * If the application marks the ends of messages, a chunk is one message, and at most `chunk` bytes. With `chunk` 0
//!   and a stream without marks, a chunk is all the data that is written and inside the send window when the last chunk
//!   has been given out, in whole segments. Data beyond the window is left out because it cannot be sent yet: a tail
//!   that starts late would delay everything.
//! * If no subflow has taken the tail, the fastest one continues into the next chunk.
//! * The paper adapts the amount of redundant data. Only its summary and introduction were available. They name the
//!   three parts of the rule (chunks with decoupled paths, simultaneous completion, a little redundancy), but not the
//!   formula. So r_s and its two bounds are ours. With `variations` 0, r_s is fixed.
//! * Delays and rates are the sender's estimates; the paper's description of measurements at the receiver was not
//!   available.
//! * With more than two subflows, all but the fastest send from the tail. A subflow without a round-trip time sample
//!   takes from the tail unconditionally.

use super::minrtt;
use core::ops::Range;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, DataSeq, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "dems",
    source: "REMS Table 1 [19]; Guo et al. 2017",
    summary: "chunks from both ends: the fastest subflow from the head, the others from the tail",
    parameters: &[
        Parameter {
            name: "chunk",
            kind: Kind::Integer { min: 0, max: 1 << 40 },
            unit: "bytes",
            default: "0",
            description: "largest chunk; 0: all data that is written and inside the send window",
            source: "ours",
        },
        Parameter {
            name: "overlap",
            kind: Kind::Integer { min: 0, max: 1000 },
            unit: "segments",
            default: "2",
            description: "least amount that each side repeats where they meet",
            source: "ours",
        },
        Parameter {
            name: "variations",
            kind: Kind::Number { min: 0.0, max: 100.0 },
            unit: "round-trip time variations",
            default: "1",
            description: "each side repeats what it delivers in this many variations of the round-trip time",
            source: "ours",
        },
        Parameter {
            name: "most_overlap",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "part of its data",
            default: "0.05",
            description: "limit of that, as a fraction of the side's part of the chunk; `overlap` is repeated in any case",
            source: "ours",
        },
    ],
    queues: false,
    duplicates: true,
    build: |v| {
        let redundancy = Redundancy {
            least_segments: v.integer("overlap"),
            variations: v.number("variations"),
            most: v.number("most_overlap"),
        };
        Ok(Box::new(Dems::new(v.integer("chunk"), redundancy)))
    },
};

/// Amount of data that each side repeats where the two sides of a chunk meet.
#[derive(Clone, Copy, Debug)]
pub struct Redundancy {
    /// The least number of segments.
    pub least_segments: u64,
    /// How much each side repeats: the data that the side delivers in this many round-trip time variations.
    pub variations: f64,
    /// Limit of the repeated data, as a fraction of the side's part of the chunk.
    pub most: f64,
}

/// Decoupled scheduling of chunks from both ends.
#[derive(Debug)]
pub struct Dems {
    chunk: u64,
    redundancy: Redundancy,
    /// End of the chunk that is being given out, and its length in bytes.
    end: DataSeq,
    length: u64,
    /// The byte at which the sides of the last chunk met.
    met: Option<DataSeq>,
}

/// The rate that the window allows, bytes per second; 0 without a sample.
fn rate(s: &SubflowView) -> f64 {
    let srtt = s.rtt.smoothed_or_zero().as_secs_f64();
    if srtt > 0.0 { f64::from(s.window.cwnd) * f64::from(s.mss) / srtt } else { 0.0 }
}

/// The delay from the sender to the receiver, seconds.
fn delay(s: &SubflowView) -> f64 {
    s.rtt.smoothed_or_zero().saturating_sub(s.rtt.min.unwrap_or_default().div(2)).as_secs_f64()
}

impl Dems {
    /// `chunk` is the largest chunk in bytes; 0 means no limit.
    pub fn new(chunk: u64, redundancy: Redundancy) -> Self {
        Dems { chunk, redundancy, end: DataSeq(0), length: 0, met: None }
    }

    /// The first and the last unassigned range of the chunk, inside the window. The first may extend beyond the chunk's
    /// end.
    fn gap(&self, view: &View<'_>) -> Option<(Range<DataSeq>, Range<DataSeq>)> {
        let end = self.end.min(view.send_window_end);
        let mut ranges = view.queue.unassigned().take_while(|r| r.start < end);
        let first = ranges.next()?;
        let last = ranges.last().unwrap_or_else(|| first.clone());
        Some((first.start..first.end.min(view.send_window_end), last.start..last.end.min(end)))
    }

    fn open_chunk(&mut self, view: &View<'_>, mss: u32) {
        let Some(data) = view.sendable() else { return };
        let longest = if self.chunk > 0 { data.end.min(data.start + self.chunk) } else { data.end };
        self.end = match view.message_end.filter(|end| (data.start + 1..=longest).contains(end)) {
            Some(end) => end,
            // Whole segments, so that only the last segment of a message is short.
            None => {
                let len = longest.since(data.start);
                longest - if len > u64::from(mss) { len % u64::from(mss) } else { 0 }
            }
        };
        self.length = self.end.since(data.start);
    }

    /// r_s: the bytes that `s` repeats.
    fn repeated(&self, view: &View<'_>, s: &SubflowView) -> u64 {
        let mss = u64::from(s.mss.max(1));
        let variation = view.candidates().map(|i| i.rtt.variation).max().unwrap_or_default().as_secs_f64();
        let adapted = rate(s) * self.redundancy.variations * variation;
        let all = view.candidates().map(rate).sum::<f64>().max(f64::MIN_POSITIVE);
        let most = self.redundancy.most * self.length as f64 * rate(s) / all;
        (self.redundancy.least_segments * mss).max(adapted.min(most) as u64).next_multiple_of(mss)
    }

    /// The data that `s` repeats next around the meeting point of the last chunk, if any is left.
    fn overlap(&self, view: &View<'_>, s: &SubflowView, fastest: SubflowId) -> Option<Range<DataSeq>> {
        let met = self.met?;
        let length = self.repeated(view, s);
        let around = if s.id == fastest { met..met + length } else { met - length..met };
        let missing = view.queue.first_not_carried_by(s.id, around.start)?;
        // Only data that another subflow carries already; unassigned data belongs to the next chunk.
        let (carried, _) = view.queue.span_at(missing.start)?;
        let most = missing.start + u64::from(s.mss) * u64::from(s.window_space());
        let end = missing.end.min(carried.end).min(around.end).min(most);
        view.inside_window(s, missing.start..end)
    }

    /// The segment that `s`, which is not the fastest, takes from the tail. `None` if the faster subflows would deliver
    /// the gap sooner, or if the send window ends before the segment.
    fn tail(&self, view: &View<'_>, s: &SubflowView, gap: &Range<DataSeq>, last: &Range<DataSeq>) -> Option<Decision> {
        let faster = || view.candidates().filter(|f| minrtt::key(f) < minrtt::key(s));
        let left = last.end.since(gap.start) as f64;
        let faster_done = left / faster().map(rate).sum::<f64>() + faster().map(delay).fold(0.0, f64::max);
        if s.rtt.smoothed.is_some() && faster().next().is_some() && faster_done < delay(s) {
            return None;
        }
        let range = last.start.max(last.end - u64::from(s.mss))..last.end;
        let reason = Reason::new(
            "from the tail: the faster ones need {faster_done_ms} for the gap of {gap_bytes}, it needs {own_delay_ms}",
        )
        .with("gap_bytes", left)
        .with("faster_done_ms", faster_done * 1e3)
        .with("own_delay_ms", delay(s) * 1e3);
        assign(view, s, range, reason)
    }
}

fn assign(view: &View<'_>, s: &SubflowView, range: Range<DataSeq>, reason: Reason) -> Option<Decision> {
    let range = view.inside_window(s, range)?;
    Some(Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason }))
}

impl Scheduler for Dems {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(first) = view.candidates().min_by_key(|s| minrtt::key(s)) else { return Decision::no_space() };
        let (fastest, mss) = (first.id, first.mss.max(1));
        for s in view.candidates().filter(|s| s.has_space()) {
            if let Some(range) = self.overlap(view, s, fastest) {
                let reason = Reason::new("overlap where head and tail met");
                return Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason });
            }
        }
        if self.gap(view).is_none() {
            self.open_chunk(view, mss);
        }
        let Some((head, tail)) = self.gap(view) else { return Decision::nothing_to_send() };
        for s in view.candidates().filter(|s| s.has_space()) {
            let decision = if s.id == fastest {
                let most = u64::from(s.mss) * u64::from(s.window_space());
                let reason = Reason::new("from the head of the chunk, of which {chunk_left_bytes} are left")
                    .with("chunk_left_bytes", tail.end.since(head.start) as f64);
                assign(view, s, head.start..head.end.min(head.start + most), reason)
            } else {
                self.tail(view, s, &head, &tail)
            };
            if let Some(decision) = decision {
                return decision;
            }
        }
        let reason = Reason::new("the faster subflows deliver the last {chunk_left_bytes} of the chunk sooner")
            .with("chunk_left_bytes", tail.end.since(head.start) as f64);
        Decision::Wait { until: None, for_subflow: Some(fastest), reason }
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        let Event::Assigned { subflow, range, .. } = event else { return };
        if range.end > self.end || self.gap(view).is_some() {
            return;
        }
        let owners = view.queue.owners(range.clone());
        if owners.len() > 1 {
            // The data is a repetition.
            return;
        }
        let other = |at: DataSeq| view.queue.span_at(at).is_some_and(|(_, owners)| !owners.contains(*subflow));
        self.met = if range.end < self.end && other(range.end) {
            Some(range.end)
        } else if range.start > view.first_unacked() && other(range.start - 1) {
            Some(range.start)
        } else {
            None
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, MSS, sub};

    /// A redundancy of a fixed number of segments.
    fn fixed(least_segments: u64) -> Redundancy {
        Redundancy { least_segments, variations: 0.0, most: 0.0 }
    }

    fn dems() -> Dems {
        Dems::new(0, fixed(0))
    }

    #[test]
    fn the_fast_subflow_goes_from_the_head_and_the_slow_one_from_the_tail() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(40).cwnd(3)]).write(100);
        let mut scheduler = dems();
        assert_eq!(bench.step(&mut scheduler), Some((0, 0..10)));
        // The slow subflow's data sequence numbers decrease.
        assert_eq!(bench.step(&mut scheduler), Some((1, 99..100)));
        assert_eq!(bench.step(&mut scheduler), Some((1, 98..99)));
        assert_eq!(bench.step(&mut scheduler), Some((1, 97..98)));
        assert_eq!(bench.step(&mut scheduler), None);
        bench.acked(0, 5);
        assert_eq!(bench.step(&mut scheduler), Some((0, 10..15)));
        bench.acked(1, 1);
        assert_eq!(bench.step(&mut scheduler), Some((1, 96..97)));
    }

    /// The fast subflow sends 10 segments in 20 ms, which is half a segment each ms. The slow one's delay is 50 ms, the
    /// fast one's is 10 ms. So the fast one delivers a gap below 20 segments sooner.
    #[test]
    fn the_slow_subflow_stops_where_the_fast_one_would_be_first() {
        let stops = |written: u64| {
            let mut bench = Bench::new([sub(0).rtt(20).in_flight(10), sub(1).rtt(100).cwnd(60)]).write(written);
            let mut scheduler = dems();
            written - core::iter::from_fn(|| bench.step(&mut scheduler)).count() as u64
        };
        assert_eq!(stops(60), 19, "with 20 left both take the same time");
        assert_eq!(stops(19), 19);
        let bench = Bench::new([sub(0).rtt(20).in_flight(10), sub(1).rtt(100)]).write(19);
        assert_eq!(
            bench.rule(&mut dems()),
            "the faster subflows deliver the last {chunk_left_bytes} of the chunk sooner"
        );
    }

    #[test]
    fn both_sides_send_a_little_again_where_they_met() {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(5), sub(1).rtt(20).cwnd(6)]).write(8);
        let mut scheduler = Dems::new(0, fixed(2));
        assert_eq!(bench.run(&mut scheduler), [(0, 0..5), (1, 7..8), (1, 6..7), (1, 5..6), (1, 3..5)]);
        bench.acked(0, 5);
        assert_eq!(bench.run(&mut scheduler), [(0, 5..7)]);
        assert_eq!(bench.step(&mut scheduler), None, "once");

        // The same if the subflow at the head takes the last data of the gap.
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(4), sub(1).rtt(20).cwnd(2)]).write(8);
        let mut scheduler = Dems::new(0, fixed(2));
        assert_eq!(bench.run(&mut scheduler), [(0, 0..4), (1, 7..8), (1, 6..7)]);
        bench.acked(0, 4);
        assert_eq!(bench.run(&mut scheduler), [(0, 4..8)]);
        bench.acked(1, 2);
        assert_eq!(bench.run(&mut scheduler), [(1, 4..6)]);
    }

    /// Both send 20 segments in 100 ms. In a variation of 15 ms a side delivers 3 segments. In 25 ms it delivers 5, but
    /// the limit of a fifth of its half of the chunk of 40 is 4. Without variation the overlap is the least one.
    #[test]
    fn the_overlap_follows_the_variation_of_the_round_trip_time() {
        let overlaps = |rttvar_ms: u64| {
            let subflows = [sub(0).cwnd(20), sub(1).cwnd(20).rttvar(rttvar_ms)];
            let mut bench = Bench::new(subflows).write(40);
            let mut scheduler = Dems::new(0, Redundancy { least_segments: 2, variations: 1.0, most: 0.2 });
            let first = bench.run_for(&mut scheduler, 100);
            assert_eq!((first[0].clone(), first.last().map(|l| l.1.start)), ((0, 0..20), Some(20)), "they met at 20");
            bench.acked(0, 20);
            bench.acked(1, 20);
            let again = bench.run(&mut scheduler);
            again.iter().map(|(_, range)| (range.start, range.end)).collect::<Vec<_>>()
        };
        assert_eq!(overlaps(15), [(20, 23), (17, 20)]);
        assert_eq!(overlaps(25), [(20, 24), (16, 20)]);
        assert_eq!(overlaps(0), [(20, 22), (18, 20)]);
    }

    #[test]
    fn one_side_alone_repeats_nothing() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(1000)]).write(6);
        assert_eq!(bench.run(&mut Dems::new(0, fixed(2))), [(0, 0..6)]);
    }

    #[test]
    fn chunks_follow_one_another() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(20).cwnd(3)]).write(100);
        let mut scheduler = Dems::new(8 * MSS, fixed(0));
        // The fast subflow's window takes more than the first chunk; the second chunk begins behind that.
        assert_eq!(bench.run(&mut scheduler), [(0, 0..10), (1, 17..18), (1, 16..17), (1, 15..16)]);
        bench.acked(0, 10);
        assert_eq!(bench.run(&mut scheduler), [(0, 10..15), (0, 18..23)]);
    }

    #[test]
    fn a_message_is_a_chunk() {
        let bench = Bench::new([sub(0).rtt(20).cwnd(3), sub(1).rtt(20).cwnd(3)]).write(100);
        let mut view = bench.view();
        view.message_end = Some(DataSeq(12 * MSS));
        let mut scheduler = dems();
        scheduler.open_chunk(&view, MSS as u32);
        assert_eq!((scheduler.end, scheduler.length), (DataSeq(12 * MSS), 12 * MSS));
        // A short last segment belongs to the message.
        view.message_end = Some(DataSeq(12 * MSS + 300));
        scheduler.open_chunk(&view, MSS as u32);
        assert_eq!(scheduler.end, DataSeq(12 * MSS + 300));
    }

    /// The part of a message beyond the send window belongs to the next chunk; this chunk ends with a whole segment.
    #[test]
    fn a_chunk_that_the_window_cuts_out_of_a_message_has_whole_segments() {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(3), sub(1).rtt(20).cwnd(3)]).write(100);
        bench.send_window = 12 * MSS + 300;
        let mut view = bench.view();
        view.message_end = Some(DataSeq(50 * MSS));
        let mut scheduler = dems();
        scheduler.open_chunk(&view, MSS as u32);
        assert_eq!(scheduler.end, DataSeq(12 * MSS));
    }

    #[test]
    fn the_send_window_bounds_the_chunk() {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(3), sub(1).rtt(20).cwnd(2)]).write(100).send_window(12);
        assert_eq!(bench.run(&mut dems()), [(0, 0..3), (1, 11..12), (1, 10..11)]);
    }

    #[test]
    fn alone_a_subflow_sends_in_order() {
        let mut bench = Bench::new([sub(0).rtt(20)]).write(100);
        assert_eq!(bench.run(&mut Dems::new(0, fixed(2))), [(0, 0..10)]);
    }
}
