//! `single`: everything on one given subflow, the baseline.
//!
//! # What it does
//!
//! One subflow, given by its number, carries the whole stream; the others stay idle. It is the baseline that other
//! schedulers are compared with, because it shows the cost of Multipath TCP without a second path. If the subflow is
//! dead, or does not come up in time, `minrtt` decides among the others until it is back.
//!
//! # Formula
//!
//! ```text
//! i = path
//! send the next free_i · MSS_i bytes on i
//! ```
//!
//! * path: the parameter. free_i = cwnd_i − in_flight_i − unsent_i, segments; unsent_i: given to i and not yet sent;
//!   MSS_i: data bytes of a full segment.
//!
//! # Source
//!
//! None: a baseline of our own.
//!
//! # Deviations
//!
//! * A connection must never stall because its subflow does not exist. So it waits at most `patience` for a subflow
//!   that has not come up yet. While the subflow is down or stale (it has stopped answering), the rule of `minrtt`
//!   decides.

use super::minrtt;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{Assign, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, View, WindowUse};
use pathweave_units::{Duration, Instant};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "single",
    source: "baseline",
    summary: "everything on one given subflow",
    parameters: &[
        Parameter {
            name: "path",
            kind: Kind::Integer { min: 0, max: SubflowId::MAX_SUBFLOWS as u64 - 1 },
            unit: "subflow",
            default: "0",
            description: "the subflow that carries everything",
            source: "ours",
        },
        Parameter {
            name: "patience",
            kind: Kind::Time,
            unit: "time",
            default: "1s",
            description: "time to wait for the subflow to come up before others are used",
            source: "ours",
        },
    ],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(Single::new(SubflowId(v.integer("path") as u8), v.time("patience")))),
};

/// A scheduler that sends everything on one subflow.
#[derive(Debug)]
pub struct Single {
    path: SubflowId,
    patience: Duration,
    /// The time at which the wait for the subflow to come up ends.
    give_up: Option<Instant>,
    /// Whether that wait is over, because the subflow has come up or the patience has ended.
    seen: bool,
}

impl Single {
    /// A scheduler that uses only `path`, and waits `patience` for it to come up.
    pub fn new(path: SubflowId, patience: Duration) -> Self {
        Single { path, patience, give_up: None, seen: false }
    }
}

impl Scheduler for Single {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let others_live = view.subflows.iter().any(|s| !s.stale);
        match view.subflow(self.path) {
            Some(s) if !s.stale || !others_live => {
                self.seen = true;
                if !s.has_space() {
                    return Decision::wait("the only subflow to use has no window space");
                }
                let Some(range) = view.next_for(s, s.window_space()) else { return Decision::nothing_to_send() };
                let reason = Reason::new("the only subflow to use: window space {window_space}")
                    .with("window_space", f64::from(s.window_space()));
                Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
            }
            None if !self.seen => {
                let give_up = *self.give_up.get_or_insert(view.now + self.patience);
                if view.now >= give_up {
                    self.seen = true;
                    return minrtt::decide(view);
                }
                let reason = Reason::new("the only subflow to use is not up yet");
                Decision::Wait { until: Some(give_up), for_subflow: Some(self.path), reason }
            }
            _ => minrtt::decide(view),
        }
    }

    fn on_event(&mut self, event: &Event<'_>, _view: &View<'_>) {
        if *event == Event::SubflowUp(self.path) {
            self.seen = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    fn single(path: u8) -> Single {
        Single::new(SubflowId(path), Duration::from_secs(1))
    }

    #[test]
    fn only_the_given_subflow_carries_data() {
        let mut bench = Bench::new([sub(0).rtt(10), sub(1).rtt(90).backup()]).write(100);
        assert_eq!(bench.run(&mut single(1)), [(1, 0..10)]);
    }

    #[test]
    fn a_subflow_that_is_not_up_yet_is_waited_for() {
        let mut bench = Bench::new([sub(0).rtt(10)]).write(100);
        let mut scheduler = single(1);
        let Decision::Wait { until, for_subflow, .. } = bench.decide(&mut scheduler) else { panic!("it waits") };
        assert_eq!((until, for_subflow), (Some(bench.now + Duration::from_secs(1)), Some(SubflowId(1))));
        bench.now += Duration::from_secs(1);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..10)]);
    }

    #[test]
    fn a_subflow_that_is_gone_is_replaced() {
        let mut bench = Bench::new([sub(0).rtt(10), sub(1).rtt(90)]).write(100);
        let mut scheduler = single(1);
        assert_eq!(bench.run(&mut scheduler), [(1, 0..10)]);
        bench.down(1, &mut scheduler);
        assert_eq!(bench.run(&mut scheduler), [(0, 10..20)]);
    }
}
