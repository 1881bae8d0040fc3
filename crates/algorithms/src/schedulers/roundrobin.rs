//! `roundrobin`: the subflows take turns.
//!
//! # What it does
//!
//! The subflows with room in their windows take turns in the order of their identifiers. Each gets a fixed number of
//! segments, or a whole window. A subflow without room loses the rest of its turn, so in a bulk transfer each carries
//! as much as its window allows. With `cwnd_limited=false`, a subflow whose window is full keeps its turn, and all
//! others wait for it: the shares are equal on any paths, and the slowest subflow sets the pace.
//!
//! # Formula
//!
//! ```text
//! i    = the next usable subflow after the last one, in a circle
//! turn = num_segments, or cwnd_i if num_segments = window
//! usable: free_i = cwnd_i − in_flight_i − unsent_i > 0                   (cwnd_limited = true)
//!         i is not in loss recovery after a timeout                      (cwnd_limited = false)
//! send the next min(turn, free_i) segments on i; while free_i = 0: wait for i
//! ```
//!
//! * cwnd_i: congestion window; in_flight_i: sent and believed to be in the network; unsent_i: given to i and not yet
//!   sent; free_i: room in the window; turn: length of a turn; all in segments.
//!
//! # Source
//!
//! EVAL §III.A, its reference 22; REMS §2, Fig. 3; DPSAF §IV, whose round robin fills a whole window; `num_segments`
//! and `cwnd_limited` as in the out-of-tree kernel's `mptcp_rr.c`.
//!
//! # Deviations
//!
//! * If the window cuts a turn short, the turn continues when the window opens, unless another subflow got a turn
//!   meanwhile. The port remembers the rest of each subflow's turn and serves these rests first; a subflow gets its
//!   next turn when all subflows with room have had theirs.
//! * The port never uses a subflow in loss recovery after a timeout. With `cwnd_limited=true` such a subflow is used
//!   here if it has room, as in the papers.

use pathweave_scheduler::parameter::{Kind, Parameter, ParameterError};
use pathweave_scheduler::{
    Assign, Decision, Event, Phase, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "roundrobin",
    source: "EVAL [22]; REMS §2; DPSAF §II",
    summary: "subflows with space take turns",
    parameters: &[
        Parameter {
            name: "num_segments",
            kind: Kind::Text,
            unit: "segments",
            default: "1",
            description: "segments per turn, or `window` for a whole congestion window",
            source: "mptcp_rr.c; DPSAF §II",
        },
        Parameter {
            name: "cwnd_limited",
            kind: Kind::Bool,
            unit: "",
            default: "true",
            description: "whether a full window passes the turn on; if false, all wait for it",
            source: "mptcp_rr.c",
        },
    ],
    queues: false,
    duplicates: false,
    build: |v| {
        let text = v.text("num_segments");
        let turn = match text.parse() {
            Ok(n) if n > 0 => Turn::Segments(n),
            _ if text == "window" => Turn::Window,
            _ => {
                return Err(ParameterError {
                    name: "num_segments".into(),
                    value: text.into(),
                    allowed: "a whole number from 1, or window".into(),
                });
            }
        };
        Ok(Box::new(RoundRobin::new(turn, v.bool("cwnd_limited"))))
    },
};

/// The length of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// This many segments.
    Segments(u32),
    /// A whole congestion window.
    Window,
}

/// The `usable` subflow that follows `last` in the order of identifiers; after the last one comes the first.
pub(crate) fn next_after<'v>(
    view: &'v View<'_>,
    last: Option<SubflowId>,
    usable: impl Fn(&SubflowView) -> bool,
) -> Option<&'v SubflowView> {
    let after = view.candidates().find(|s| last.is_none_or(|l| s.id > l) && usable(s));
    after.or_else(|| view.candidates().find(|s| usable(s)))
}

/// Round robin.
#[derive(Debug)]
pub struct RoundRobin {
    turn: Turn,
    cwnd_limited: bool,
    /// The subflow whose turn it is, and the segments left of the turn.
    current: Option<SubflowId>,
    left: u32,
}

impl RoundRobin {
    /// A scheduler with this length of a turn. The first turn goes to the first subflow.
    pub fn new(turn: Turn, cwnd_limited: bool) -> Self {
        RoundRobin { turn, cwnd_limited, current: None, left: 0 }
    }
}

impl Scheduler for RoundRobin {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let limited = self.cwnd_limited;
        let usable = move |s: &SubflowView| if limited { s.has_space() } else { s.window.phase != Phase::Loss };
        let same = self.current.filter(|_| self.left > 0);
        let (s, left) = match same.and_then(|id| view.candidates().find(|s| s.id == id && usable(s))) {
            Some(s) => (s, self.left),
            None => {
                let Some(s) = next_after(view, self.current, usable) else {
                    let all = "every subflow recovers from a timeout";
                    return if limited { Decision::no_space() } else { Decision::wait(all) };
                };
                let turn = match self.turn {
                    Turn::Segments(n) => n,
                    Turn::Window => s.window.cwnd.max(1),
                };
                (s, turn)
            }
        };
        let reason = |rule| Reason::new(rule).with("left_segments", f64::from(left));
        if !s.has_space() {
            let reason = reason("its turn, {left_segments} left of it, and its window is full");
            return Decision::Wait { until: None, for_subflow: Some(s.id), reason };
        }
        let Some(range) = view.next_for(s, left.min(s.window_space())) else { return Decision::nothing_to_send() };
        (self.current, self.left) = (Some(s.id), left);
        let reason = reason("its turn: {left_segments} left of it");
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        match event {
            Event::Assigned { subflow, range, .. } if self.current == Some(*subflow) => {
                let mss = view.subflow(*subflow).map_or(1, |s| u64::from(s.mss.max(1)));
                let given = range.end.since(range.start).div_ceil(mss).min(u64::from(u32::MAX));
                self.left = self.left.saturating_sub(given as u32);
            }
            Event::SubflowDown(id) if self.current == Some(*id) => self.left = 0,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::parameter::Values;
    use pathweave_scheduler::properties;
    use pathweave_scheduler::testing::{Bench, sub};

    fn segments(n: u32) -> RoundRobin {
        RoundRobin::new(Turn::Segments(n), true)
    }

    #[test]
    fn one_segment_each_in_turn() {
        let mut bench = Bench::new([sub(0).cwnd(3), sub(1).cwnd(2), sub(2).cwnd(1)]).write(100);
        assert_eq!(bench.run(&mut segments(1)), [(0, 0..1), (1, 1..2), (2, 2..3), (0, 3..4), (1, 4..5), (0, 5..6)]);
    }

    #[test]
    fn turns_of_several_segments_survive_a_full_window() {
        let mut bench = Bench::new([sub(0).cwnd(5), sub(1)]).write(11);
        assert_eq!(bench.run(&mut segments(4)), [(0, 0..4), (1, 4..8), (0, 8..9), (1, 9..11)]);
    }

    #[test]
    fn a_window_per_turn() {
        let mut bench = Bench::new([sub(0).cwnd(6), sub(1).cwnd(3)]).write(100);
        let mut scheduler = RoundRobin::new(Turn::Window, true);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..6), (1, 6..9)]);
        bench.acked(1, 2);
        assert_eq!(bench.run(&mut scheduler), [(1, 9..11)], "nobody else has space");
    }

    /// mptcp_rr.c with cwnd_limited=0 chooses the subflow whatever its window is, and then waits until there is room.
    #[test]
    fn without_cwnd_limited_all_wait_for_the_one_whose_turn_it_is() {
        let mut bench = Bench::new([sub(0).cwnd(1), sub(1).cwnd(50)]).write(6);
        let mut scheduler = RoundRobin::new(Turn::Segments(1), false);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..1), (1, 1..2)]);
        let Decision::Wait { until: None, for_subflow: Some(SubflowId(0)), reason } = bench.decide(&mut scheduler)
        else {
            panic!("it waits for the first")
        };
        assert_eq!(reason.to_string(), "its turn, 1 segment left of it, and its window is full");
        bench.acked(0, 1);
        assert_eq!(bench.run(&mut scheduler), [(0, 2..3), (1, 3..4)]);
        assert_eq!((bench.sub(0).queue.unsent, bench.sub(1).queue.unsent), (0, 0), "nothing is queued");
    }

    #[test]
    fn without_cwnd_limited_a_turn_goes_on_after_a_wait_and_loss_recovery_ends_it() {
        let mut bench = Bench::new([sub(0).cwnd(3), sub(1).cwnd(9)]).write(100);
        let mut scheduler = RoundRobin::new(Turn::Segments(4), false);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..3)]);
        bench.acked(0, 2);
        assert_eq!(bench.run(&mut scheduler), [(0, 3..4), (1, 4..8), (0, 8..9)]);
        bench.sub(0).window.phase = Phase::Loss;
        assert_eq!(bench.run(&mut scheduler), [(1, 9..14)]);
    }

    /// Also with `cwnd_limited=false` nothing is queued beyond the windows, as the entry says.
    #[test]
    fn without_cwnd_limited_it_keeps_the_rules_of_every_scheduler() {
        properties::holds(&SchedulerEntry {
            build: |_| Ok(Box::new(RoundRobin::new(Turn::Segments(2), false))),
            ..ENTRY
        });
    }

    #[test]
    fn a_dead_subflow_s_turn_goes_to_the_next() {
        let mut bench = Bench::new([sub(0), sub(1), sub(2)]).write(100);
        let mut scheduler = segments(4);
        assert_eq!(bench.step(&mut scheduler), Some((0, 0..4)));
        bench.down(1, &mut scheduler);
        assert_eq!(bench.step(&mut scheduler), Some((2, 4..8)));
        assert_eq!(bench.step(&mut scheduler), Some((0, 8..12)));
    }

    #[test]
    fn num_segments_is_a_number_or_window() {
        let build = |text: &str| {
            let given = [("num_segments".to_string(), text.to_string())];
            (ENTRY.build)(&Values::parse(ENTRY.parameters, &given).expect("any text")).map(|_| ())
        };
        assert!(build("12").is_ok() && build("window").is_ok());
        let error = build("0").expect_err("no segment at all");
        assert_eq!(error.to_string(), "num_segments=0: allowed: a whole number from 1, or window");
    }
}
