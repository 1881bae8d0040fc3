//! `cheap-first`: uses the cheapest path, and dearer ones only while the cheapest path's backlog would take too long.
//!
//! An example of a third party's rule. It needs the crate `pathweave-scheduler` alone, and works in every program that
//! fills a [`View`].

use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, Decision, Duration, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse,
};

/// The rule's name, texts and parameters.
pub const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "cheap-first",
    source: "an example",
    summary: "the cheapest path; dearer ones while its backlog would take longer than the patience",
    parameters: &[Parameter {
        name: "patience",
        kind: Kind::Time,
        unit: "time",
        default: "500ms",
        description: "longest backlog of the cheapest path with which dearer paths stay unused",
        source: "a first guess",
    }],
    queues: false,
    duplicates: false,
    build: |values| Ok(Box::new(CheapFirst { patience: values.time("patience") })),
};

/// The scheduler `cheap-first`.
#[derive(Debug)]
pub struct CheapFirst {
    /// Longest backlog of the cheapest path with which dearer paths stay unused.
    patience: Duration,
}

impl Scheduler for CheapFirst {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let dearness = |a: &&SubflowView, b: &&SubflowView| a.path.cost.total_cmp(&b.path.cost);
        let Some(cheapest) = view.candidates().min_by(dearness) else { return Decision::no_space() };
        let give = |s: &SubflowView, reason: Reason| match view.next_for(s, s.window_space()) {
            Some(range) => Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason }),
            None => Decision::nothing_to_send(),
        };
        if cheapest.has_space() {
            return give(cheapest, Reason::new("the cheapest path has room"));
        }
        // The time in which the cheapest path would send its queue and all unassigned data, at one congestion window
        // each round trip.
        let window = f64::from(cheapest.window.cwnd.max(1)) * f64::from(cheapest.mss);
        let bytes = cheapest.queue.bytes + view.queue.unassigned_bytes();
        let backlog = bytes as f64 / window * cheapest.rtt.smoothed_or_zero().as_secs_f64();
        let patience = self.patience.as_secs_f64();
        let reason = |rule| Reason::new(rule).with("backlog_ms", backlog * 1e3).with("patience_ms", patience * 1e3);
        let dearer = view.candidates().filter(|s| s.has_space()).min_by(dearness);
        match dearer {
            Some(s) if backlog > patience => {
                give(s, reason("the cheapest path's backlog is {backlog_ms} > {patience_ms}"))
            }
            // The cheapest path is full, so one of its acknowledgements will end this wait.
            Some(_) => Decision::Wait {
                until: None,
                for_subflow: Some(cheapest.id),
                reason: reason("the cheapest path sends its backlog in {backlog_ms} <= {patience_ms}"),
            },
            None => Decision::no_space(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::properties;
    use pathweave_scheduler::testing::{Bench, Sub, sub};

    /// A path with a window of 10 segments of 1000 bytes and a round trip of 100 ms.
    fn path(id: u8, cost: f64) -> Sub {
        let mut path = sub(id);
        path.0.path.cost = cost;
        path
    }

    fn rule() -> CheapFirst {
        CheapFirst { patience: Duration::from_millis(500) }
    }

    #[test]
    fn a_short_backlog_waits_for_the_cheapest_path() {
        // 50 segments are five windows: 500 ms.
        let mut bench = Bench::new([path(0, 8.0), path(1, 1.0)]).write(50);
        assert_eq!(bench.run(&mut rule()), [(1, 0..10)]);
    }

    #[test]
    fn a_longer_one_uses_a_dearer_path_too() {
        // The dearer path takes segments until 50 are left for the cheapest one.
        let mut bench = Bench::new([path(0, 8.0), path(1, 1.0)]).write(55);
        assert_eq!(bench.run(&mut rule()), [(1, 0..10), (0, 10..20)]);
    }

    #[test]
    fn the_cheapest_path_that_answers_counts() {
        let mut bench = Bench::new([path(0, 8.0), path(1, 1.0).stale()]).write(5);
        assert_eq!(bench.run(&mut rule()), [(0, 0..5)]);
    }

    #[test]
    fn it_has_the_properties_that_every_scheduler_must_have() {
        properties::holds(&ENTRY);
    }
}
