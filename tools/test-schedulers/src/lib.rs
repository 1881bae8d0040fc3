//! One small scheduler for each kind of decision, and some that break the rules, for tests of connections.
//!
//! The schedulers are not meant to be good. Each sends one segment per decision, so that every kind of range occurs
//! often. They are a crate of their own, so that a program built with them shares all other crates with the command.

use core::ops::Range;
use pathweave_scheduler::{
    Assign, DataSeq, Decision, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};
use pathweave_units::{Duration, Instant};

macro_rules! entry {
    ($name:literal, $summary:literal, $make:expr $(, $flag:ident)?) => {{
        #[allow(unused_mut, reason = "only some have a flag")]
        let mut entry = SchedulerEntry {
            name: $name,
            source: "tests",
            summary: $summary,
            parameters: &[],
            queues: false,
            duplicates: false,
            build: |_| Ok(Box::new($make)),
        };
        $(entry.$flag = true;)?
        entry
    }};
}

/// Schedulers that keep the rules: a connection delivers everything with them.
pub const GOOD: &[SchedulerEntry] = &[
    entry!("test-in-order", "the first subflow with space", InOrder),
    entry!("test-ahead", "the first subflow in order, the others eight segments ahead", Ahead),
    entry!("test-backwards", "from the tail of the stream backwards", Backwards),
    entry!("test-duplicate", "in order, and again on any other subflow with space", Duplicate, duplicates),
    entry!("test-queue", "beyond the windows, the shortest queue first", QueueBeyond, queues),
    entry!("test-wait-time", "a segment every two milliseconds", WaitTime { next: None }),
    entry!("test-wait-ack", "a segment at a time, waiting for its acknowledgement", WaitAck),
];

/// Schedulers that break a rule: a connection must notice this, and its default scheduler must decide instead.
pub const BAD: &[SchedulerEntry] = &[
    entry!("test-unknown-subflow", "assigns to a subflow that is not there", UnknownSubflow),
    entry!("test-never", "waits for ever, also with nothing in flight", Never),
    entry!("test-past", "waits until a time that has passed", Past),
    entry!("test-outside", "assigns what has not been written or is acknowledged", Outside),
    entry!("test-empty", "assigns nothing at all", Empty),
    entry!("test-full-window", "assigns to subflows without space", FullWindow),
];

fn assign(s: &SubflowView, range: Range<DataSeq>, rule: &'static str) -> Decision {
    Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason: Reason::new(rule) })
}

fn with_space<'v>(view: &'v View<'_>) -> impl Iterator<Item = &'v SubflowView> {
    view.candidates().filter(|s| s.has_space())
}

/// Sends on the first subflow with space.
#[derive(Debug)]
pub struct InOrder;

impl Scheduler for InOrder {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(s) = with_space(view).next() else { return Decision::no_space() };
        match view.next_for(s, 1) {
            Some(range) => assign(s, range, "in order"),
            None => Decision::nothing_to_send(),
        }
    }
}

/// Sends in order on the first subflow, and eight segments ahead of it on the others.
#[derive(Debug)]
pub struct Ahead;

impl Scheduler for Ahead {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(first) = view.candidates().next() else { return Decision::no_space() };
        // The others first, or no data would be left to send ahead.
        for s in with_space(view).filter(|s| s.id != first.id) {
            let Some(data) = view.sendable() else { return Decision::nothing_to_send() };
            let from = data.start + 8 * u64::from(s.mss);
            let gap = view.queue.unassigned().find(|r| r.end > from);
            if let Some(gap) = gap {
                let start = gap.start.max(from);
                if let Some(range) = view.inside_window(s, start..gap.end.min(start + u64::from(s.mss))) {
                    return assign(s, range, "ahead");
                }
            }
        }
        InOrder.decide(view)
    }
}

/// Sends backwards from the tail of the sendable data, so that data sequence numbers decrease along every subflow.
#[derive(Debug)]
pub struct Backwards;

impl Scheduler for Backwards {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(s) = with_space(view).next() else { return Decision::no_space() };
        let piece = |gap: Range<DataSeq>| {
            let end = gap.end.min(view.send_window_end);
            view.inside_window(s, gap.start.max(end - u64::from(s.mss))..end)
        };
        match view.queue.unassigned().take_while(|r| r.start < view.send_window_end).filter_map(piece).last() {
            Some(range) => assign(s, range, "backwards"),
            None => Decision::nothing_to_send(),
        }
    }
}

/// Sends data in order, and again on every other subflow with space.
#[derive(Debug)]
pub struct Duplicate;

impl Scheduler for Duplicate {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        for s in with_space(view) {
            let Some(missing) = view.queue.first_not_carried_by(s.id, view.first_unacked()) else { continue };
            let one = missing.start..missing.end.min(missing.start + u64::from(s.mss));
            if let Some(range) = view.inside_window(s, one) {
                return assign(s, range, "again");
            }
        }
        Decision::wait("each subflow with window space carries all that the send window takes")
    }
}

/// Queues data beyond the windows, on the shortest queue first.
#[derive(Debug)]
pub struct QueueBeyond;

impl Scheduler for QueueBeyond {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let shortest = view.candidates().filter(|s| s.queue.space > 0).min_by_key(|s| s.queue.bytes);
        let Some(s) = shortest else { return Decision::no_space() };
        let Some(range) = view.next_for(s, 1) else { return Decision::nothing_to_send() };
        let reason = Reason::new("queue");
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Queue, reason })
    }
}

/// Sends a segment every two milliseconds.
#[derive(Debug)]
pub struct WaitTime {
    next: Option<Instant>,
}

impl Scheduler for WaitTime {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        if let Some(next) = self.next.filter(|t| view.now < *t) {
            let reason = Reason::new("not yet");
            return Decision::Wait { until: Some(next), for_subflow: None, reason };
        }
        let decision = InOrder.decide(view);
        if let Decision::Assign(_) = decision {
            self.next = Some(view.now + Duration::from_millis(2));
        }
        decision
    }
}

/// Sends one segment at a time and waits, without a time limit, for its acknowledgement.
#[derive(Debug)]
pub struct WaitAck;

impl Scheduler for WaitAck {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        match view.subflows.iter().find(|s| s.window.unacked + s.queue.unsent > 0) {
            Some(s) => {
                let reason = Reason::new("an acknowledgement is due");
                Decision::Wait { until: None, for_subflow: Some(s.id), reason }
            }
            None => InOrder.decide(view),
        }
    }
}

/// Assigns data to a subflow that does not exist.
#[derive(Debug)]
pub struct UnknownSubflow;

impl Scheduler for UnknownSubflow {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(range) = view.sendable() else { return Decision::nothing_to_send() };
        let id = (0..SubflowId::MAX_SUBFLOWS as u8).rev().map(SubflowId).find(|id| view.subflow(*id).is_none());
        let (window, reason) = (WindowUse::Respect, Reason::new("nobody"));
        Decision::Assign(Assign { subflow: id.unwrap_or(SubflowId(u8::MAX)), range, window, reason })
    }
}

/// Waits for ever, even with nothing in flight.
#[derive(Debug)]
pub struct Never;

impl Scheduler for Never {
    fn decide(&mut self, _view: &View<'_>) -> Decision {
        Decision::Wait { until: None, for_subflow: None, reason: Reason::new("never") }
    }
}

/// Waits until a time that has passed.
#[derive(Debug)]
pub struct Past;

impl Scheduler for Past {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        Decision::Wait { until: Some(view.now), for_subflow: None, reason: Reason::new("now") }
    }
}

/// Assigns data that is not written yet or is acknowledged already.
#[derive(Debug)]
pub struct Outside;

impl Scheduler for Outside {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(s) = with_space(view).next() else { return Decision::no_space() };
        let end = view.queue.written_end();
        let range = if end.0.is_multiple_of(2) { end..end + 5000 } else { DataSeq(0)..view.first_unacked() };
        assign(s, range, "outside")
    }
}

/// Assigns an empty range.
#[derive(Debug)]
pub struct Empty;

impl Scheduler for Empty {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(s) = with_space(view).next() else { return Decision::no_space() };
        let at = view.first_unacked();
        assign(s, at..at, "empty")
    }
}

/// Assigns all data to the subflow with the least window space, which may be none.
#[derive(Debug)]
pub struct FullWindow;

impl Scheduler for FullWindow {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(s) = view.subflows.iter().min_by_key(|s| s.window_space()) else { return Decision::no_space() };
        match view.sendable() {
            Some(range) => assign(s, range, "full"),
            None => Decision::nothing_to_send(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::properties::holds;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn those_that_keep_the_rules_deliver() {
        GOOD.iter().for_each(|factory| holds(factory));
    }

    #[test]
    #[should_panic(expected = "waits with nothing in flight")]
    fn a_scheduler_that_never_gives_is_found() {
        holds(BAD.iter().find(|e| e.name.contains("never")).expect("it is one of the bad ones"));
    }

    #[test]
    fn ahead_leaves_a_gap_and_fills_it() {
        let mut bench = Bench::new([sub(0).cwnd(10), sub(1).cwnd(3)]).write(12);
        assert_eq!(bench.run(&mut Ahead), [(1, 8..11), (0, 0..8), (0, 11..12)]);
    }

    #[test]
    fn backwards_goes_down_to_the_start() {
        let mut bench = Bench::new([sub(0)]).write(9).send_window(4);
        let ranges: Vec<_> = core::iter::from_fn(|| bench.step(&mut Backwards)).map(|(_, r)| r.start).collect();
        assert_eq!(ranges, [3, 2, 1, 0]);
    }

    #[test]
    fn duplicates_come_after_new_data() {
        let mut bench = Bench::new([sub(0), sub(1)]).write(3);
        assert_eq!(bench.run(&mut Duplicate), [(0, 0..3), (1, 0..3)]);
    }

    #[test]
    fn queues_fill_evenly_beyond_the_windows() {
        let mut bench = Bench::new([sub(0).cwnd(1), sub(1).cwnd(1)]).write(6);
        bench.run(&mut QueueBeyond);
        assert_eq!((bench.sub(0).queue.unsent, bench.sub(1).queue.unsent), (2, 2));
    }

    #[test]
    fn waits() {
        let mut bench = Bench::new([sub(0)]).write(6);
        let mut timed = WaitTime { next: None };
        assert_eq!(bench.run(&mut timed), [(0, 0..1)]);
        bench.now += Duration::from_millis(2);
        assert_eq!(bench.run(&mut timed), [(0, 1..2)]);
        assert_eq!(bench.run(&mut WaitAck), []);
        bench.acked(0, 2);
        assert_eq!(bench.run(&mut WaitAck), [(0, 2..3)]);
    }
}
