//! `sample-rule`: the lowest round-trip time among the subflows with window space that are fast enough. Yours begins here.
//!
//! Say here which rule it is and where it comes from; what it deviates in, and why.

use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{Assign, Decision, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse};

/// The rule's name, texts and parameters, for the command.
pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "sample-rule",
    source: "your own",
    summary: "the lowest round-trip time, but none above a multiple of the fastest",
    parameters: &[Parameter {
        name: "most",
        kind: Kind::Number { min: 1.0, max: 1000.0 },
        unit: "RTTs of the fastest",
        default: "10",
        description: "longest round-trip time that is used",
        source: "a first guess",
    }],
    // It never assigns beyond a congestion window, and never twice.
    queues: false,
    duplicates: false,
    build: |values| Ok(Box::new(Rule { most: values.number("most") })),
};

/// The rule and its state.
#[derive(Debug)]
pub(crate) struct Rule {
    most: f64,
}

impl Scheduler for Rule {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let rtt = |s: &SubflowView| s.rtt.smoothed_or_zero().as_secs_f64() * 1e3;
        let fastest = view.candidates().map(rtt).fold(f64::INFINITY, f64::min);
        // In flight on the fastest or free: the fastest always qualifies, so every wait ends.
        let usable = view.candidates().filter(|s| s.has_space() && rtt(s) <= self.most * fastest);
        let Some(s) = usable.min_by(|a, b| rtt(a).total_cmp(&rtt(b))) else {
            // `Decision::no_space()` would say less: a subflow that is too slow may have space.
            let reason = Reason::new("no subflow within {most} times {fastest_ms} has space");
            let reason = reason.with("most", self.most).with("fastest_ms", fastest);
            return Decision::Wait { until: None, for_subflow: None, reason };
        };
        let Some(range) = view.next_for(s, s.window_space()) else { return Decision::nothing_to_send() };
        // A reason is a sentence with its numbers; `explain` shows it.
        let reason = Reason::new("{srtt_ms} is at most {most} times the fastest, {fastest_ms}")
            .with("srtt_ms", rtt(s))
            .with("most", self.most)
            .with("fastest_ms", fastest);
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::properties;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn the_faster_subflow_is_filled_first() {
        let mut bench = Bench::new([sub(0).rtt(50), sub(1).rtt(20)]).write(100);
        assert_eq!(bench.run(&mut Rule { most: 10.0 }), [(1, 0..10), (0, 10..20)]);
    }

    #[test]
    fn a_subflow_that_is_too_slow_is_not_used() {
        let mut bench = Bench::new([sub(0).rtt(10), sub(1).rtt(200)]).write(100);
        assert_eq!(bench.run(&mut Rule { most: 10.0 }), [(0, 0..10)]);
    }

    #[test]
    fn it_has_the_properties_that_every_scheduler_must_have() {
        properties::holds(&ENTRY);
    }
}
