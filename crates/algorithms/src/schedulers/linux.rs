//! `linux`: the default of the mainline kernel, 6.x (`mptcp_subflow_get_send`).
//!
//! # What it does
//!
//! The subflow whose queue would drain first gets a burst of up to 64 KB. The burst may exceed the congestion window:
//! the rest waits in the subflow's send buffer. An empty queue always wins. The congestion window and the round-trip
//! time do not count by themselves. If the chosen subflow has no buffer space, nothing is sent; the second best is not
//! tried. Backups are used only while there is no other subflow.
//!
//! # Formula
//!
//! ```text
//! i = arg min queued_i / rate_i                   ties to the first
//! buffer_i = 0:  wait
//! burst  = min(65,428 bytes, rest of the send window)
//! rate_i = (rate_i·queued_i + pacing_i·burst) / (queued_i + burst)
//! send burst on i, rounded up to a multiple of 32,728 bytes in the stream
//! ```
//!
//! * queued_i: bytes given to i and not acknowledged on it, plus the buffers' overhead (`sk_wmem_queued`); pacing_i:
//!   the subflow's pacing rate, bytes/s.
//! * rate_i: average of the pacing rate, bytes/s, at first the pacing rate itself; buffer_i: free bytes in the
//!   subflow's send buffer.
//!
//! # Source
//!
//! Linux 6.12, `net/mptcp/protocol.c`: `mptcp_subflow_get_send`, MPTCP_SEND_BURST_SIZE.
//!
//! # Deviations
//!
//! * The kernel ends a burst at the end of a fragment of its send queue. A fragment has 32,728 bytes if the application
//!   writes without pause; the parameter `fragment` stands for that.
//! * The kernel skips subflows without a pacing rate. Here they are used by the rule of `minrtt` if there is no other.

use super::minrtt;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, DataSeq, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, View, WindowUse,
};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "linux",
    source: "Linux 6.x, net/mptcp",
    summary: "the shortest time to drain what is queued; fills send buffers beyond the windows",
    parameters: &[
        Parameter {
            name: "burst",
            kind: Kind::Integer { min: 1, max: 1 << 30 },
            unit: "bytes",
            default: "65428",
            description: "most bytes given to a subflow at once",
            source: "MPTCP_SEND_BURST_SIZE",
        },
        Parameter {
            name: "fragment",
            kind: Kind::Integer { min: 0, max: 1 << 30 },
            unit: "bytes",
            default: "32728",
            description: "a burst is extended to a multiple of this in the stream; 0: not extended",
            source: "32 KiB page fragment less its header",
        },
    ],
    queues: true,
    duplicates: false,
    build: |v| Ok(Box::new(Linux::new(v.integer("burst"), v.integer("fragment")))),
};

/// A scheduler that prefers the subflow whose queue drains first.
#[derive(Debug)]
pub struct Linux {
    burst: u64,
    fragment: u64,
    /// Average pacing rate of each subflow, bytes per second; 0 if there is none yet.
    average: [u64; SubflowId::MAX_SUBFLOWS],
}

impl Linux {
    /// `burst` and `fragment` are the kernel's two sizes, bytes.
    pub fn new(burst: u64, fragment: u64) -> Self {
        Linux { burst, fragment, average: [0; SubflowId::MAX_SUBFLOWS] }
    }
}

impl Scheduler for Linux {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let mut best = None;
        for s in view.candidates() {
            let Some(average) = self.average.get_mut(s.id.index()) else { continue };
            if *average == 0 {
                *average = s.delivery.pacing_rate.max(0.0) as u64;
                if *average == 0 {
                    continue;
                }
            }
            let linger = (u128::from(s.queue.memory) << 32) / u128::from(*average);
            if best.is_none_or(|(_, least)| linger < least) {
                best = Some((s, linger));
            }
        }
        let Some((s, linger)) = best else { return minrtt::decide(view) };
        let reason = |rule| {
            Reason::new(rule)
                .with("linger_ms", linger as f64 / (1u64 << 32) as f64 * 1e3)
                .with("queued_memory_bytes", s.queue.memory as f64)
                .with("average_rate_bytes_per_s", self.average[s.id.index()] as f64)
        };
        if s.queue.space == 0 {
            let reason = reason("the least lingering, {linger_ms}, has no send buffer space");
            return Decision::Wait { until: None, for_subflow: Some(s.id), reason };
        }
        let Some(data) = view.sendable() else {
            let reason = reason("the least lingering, {linger_ms}; the send window is full");
            return Decision::Wait { until: None, for_subflow: Some(s.id), reason };
        };
        let decision = reason("least linger: {queued_memory_bytes} at {average_rate_bytes_per_s} drain in {linger_ms}");
        let burst = self.burst.min(view.send_window_end.since(data.start)).max(1);
        let (queued, rate) = (u128::from(s.queue.memory), s.delivery.pacing_rate.max(0.0) as u128);
        let average = &mut self.average[s.id.index()];
        *average = ((u128::from(*average) * queued + rate * u128::from(burst)) / (queued + u128::from(burst))) as u64;
        let mut end = data.start + burst;
        if self.fragment > 0 {
            end = view.fragment_end(end).unwrap_or(DataSeq(end.0.next_multiple_of(self.fragment)));
        }
        let range = data.start..end.min(data.end);
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Queue, reason: decision })
    }

    fn on_event(&mut self, event: &Event<'_>, _view: &View<'_>) {
        if let Event::SubflowDown(id) | Event::SubflowUp(id) = event
            && let Some(average) = self.average.get_mut(id.index())
        {
            *average = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, Sub, sub};

    /// A subflow with `queued` bytes and a pacing rate.
    fn pacing(id: u8, rate: f64, queued: u64) -> Sub {
        sub(id).pacing(rate).queued_memory(queued)
    }

    fn linux() -> Linux {
        Linux::new(65_428, 0)
    }

    fn picked(bench: &Bench, scheduler: &mut Linux) -> (u8, u64) {
        match bench.decide(scheduler) {
            Decision::Assign(a) => {
                assert_eq!(a.window, WindowUse::Queue);
                (a.subflow.0, a.range.end.since(a.range.start))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_empty_queue_wins_and_ties_go_to_the_first() {
        let bench = Bench::new([pacing(0, 1e6, 1), pacing(1, 1e3, 0), pacing(2, 1e9, 0)]).write(1000);
        assert_eq!(picked(&bench, &mut linux()), (1, 65_428));
    }

    #[test]
    fn the_shortest_to_drain_wins_whatever_its_round_trip_time_and_window() {
        // 20 ms against 10 ms.
        let bench = Bench::new([pacing(0, 1e6, 20_000).rtt(1), pacing(1, 1e5, 1000).rtt(900).cwnd(1)]).write(1000);
        assert_eq!(picked(&bench, &mut linux()), (1, 65_428));
    }

    #[test]
    fn the_send_window_limits_the_burst() {
        let bench = Bench::new([pacing(0, 1e6, 0)]).write(1000).send_window(3);
        assert_eq!(picked(&bench, &mut linux()), (0, 3000));
    }

    #[test]
    fn a_burst_ends_at_the_end_of_a_fragment() {
        let mut bench = Bench::new([pacing(0, 1e6, 0)]).write(1000);
        let mut scheduler = Linux::new(65_428, 32_728);
        assert_eq!(picked(&bench, &mut scheduler), (0, 65_456));
        bench.map.assign(DataSeq(0)..DataSeq(1000), SubflowId(0));
        assert_eq!(picked(&bench, &mut scheduler), (0, 3 * 32_728 - 1000));
    }

    #[test]
    fn the_second_best_is_not_tried() {
        let bench = Bench::new([pacing(0, 1e6, 0).buffer_space(0), pacing(1, 1e6, 1)]).write(1000);
        assert!(matches!(
            bench.decide(&mut linux()),
            Decision::Wait { until: None, for_subflow: Some(SubflowId(0)), .. }
        ));
    }

    #[test]
    fn backups_only_without_active_ones() {
        let bench = Bench::new([pacing(0, 1e6, 99_999), pacing(1, 1e6, 0).backup()]).write(1000);
        assert_eq!(picked(&bench, &mut linux()).0, 0);
        let bench = Bench::new([pacing(1, 1e6, 0).backup()]).write(1000);
        assert_eq!(picked(&bench, &mut linux()).0, 1);
    }

    #[test]
    fn the_average_rate_is_weighted_by_what_is_queued() {
        let mut bench = Bench::new([pacing(0, 1e6, 0)]).write(1000).send_window(10);
        let mut scheduler = linux();
        picked(&bench, &mut scheduler);
        assert_eq!(scheduler.average[0], 1_000_000);
        bench.sub(0).queue.memory = 30_000;
        bench.sub(0).delivery.pacing_rate = 2e6;
        picked(&bench, &mut scheduler);
        // (1e6 · 30,000 + 2e6 · 10,000) / 40,000.
        assert_eq!(scheduler.average[0], 1_250_000);
        bench.down(0, &mut scheduler);
        assert_eq!(scheduler.average[0], 0);
    }

    #[test]
    fn without_any_pacing_rate_minrtt_decides() {
        let mut bench = Bench::new([sub(0).rtt(50), sub(1).rtt(20)]).write(5);
        assert_eq!(bench.run(&mut linux()), [(1, 0..5)]);
    }
}
