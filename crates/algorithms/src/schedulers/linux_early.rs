//! `linux-early`: the scheduler of the first Multipath TCP for Linux.
//!
//! # What it does
//!
//! Each segment goes to the subflow that would deliver it to the receiver first, among those with room in their
//! windows. The estimated time is the subflow's queued data divided by its bandwidth, plus its round-trip time. So over
//! time each subflow gets data in proportion to its bandwidth. A subflow whose bandwidth is not measured yet comes
//! first.
//!
//! # Formula
//!
//! ```text
//! i    = the first i without BW_i, or else arg min queued_i/BW_i + srtt_i
//!        over the i with room that are not in loss recovery after a timeout
//! BW_i = bytes acknowledged / time, measured anew whenever cwnd_i · MSS_i bytes are acknowledged
//! ```
//!
//! * queued_i: bytes given to i and not acknowledged on it, plus the buffers' overhead (`sk_wmem_queued`); srtt_i:
//!   smoothed round-trip time, ms.
//! * BW_i: bandwidth, bytes/s. A window is acknowledged in a round trip, so this is the cwnd_i/RTT_i of DPSAF §II.
//! * cwnd_i: congestion window, segments; MSS_i: data bytes of a full segment.
//!
//! # Source
//!
//! DPSAF §II and its reference 37, Barré, "Implementation and assessment of modern host-based multipath solutions", PhD
//! thesis 2011; after the first kernels of multipath-tcp/mptcp, `net/ipv4/mtcp.c`: `get_available_subflow`,
//! `mtcp_set_bw_est`. The thesis was not available.
//!
//! # Deviations
//!
//! * DPSAF says that this scheduler also chooses which packet to take from the shared send buffer. The kernel takes the
//!   first segment of the queue, and gives a segment that is sent again to a subflow that has not carried it. The first
//!   rule holds here too; the second is the connection's reinjection, which works under every scheduler. The kernel's
//!   code shows no other choice.
//! * The kernel measures time in whole jiffies. If a window takes less than a jiffy, it measures over more than one
//!   window.
//! * Subflows in loss recovery after a timeout are used if all are in it.

use super::bas::window_rate;
use pathweave_scheduler::{
    Assign, Decision, Event, Phase, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};
use pathweave_units::Instant;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "linux-early",
    source: "DPSAF §II [37]; mtcp.c",
    summary: "the shortest queue/bandwidth plus round-trip time",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(LinuxEarly::default())),
};

/// A subflow's bandwidth, measured over a window.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    since: Option<Instant>,
    /// Bytes acknowledged since then, and the bytes of the window at that time.
    bytes: u64,
    window: u64,
    /// Bytes per second; 0 before the first measurement.
    bandwidth: f64,
}

impl Measured {
    fn acked(&mut self, now: Instant, bytes: u64, s: &SubflowView) {
        let window = u64::from(s.window.cwnd) * u64::from(s.mss);
        let Some(since) = self.since else {
            (self.since, self.window) = (Some(now), window);
            return;
        };
        self.bytes += bytes;
        let time = now.since(since).as_secs_f64();
        if self.bytes >= self.window && time > 0.0 {
            self.bandwidth = self.bytes as f64 / time;
            (self.since, self.bytes, self.window) = (Some(now), 0, window);
        }
    }
}

/// A scheduler that prefers the subflow that delivers a segment first.
#[derive(Debug, Default)]
pub struct LinuxEarly {
    measured: [Measured; SubflowId::MAX_SUBFLOWS],
}

impl LinuxEarly {
    fn bandwidth(&self, s: &SubflowView) -> f64 {
        // A subflow whose identifier is too large for the array has the rate of its window.
        self.measured.get(s.id.index()).map_or_else(|| window_rate(s), |m| m.bandwidth)
    }

    /// Seconds until a segment given to `s` now is at the peer; `None` if the bandwidth is not known.
    fn time_to_peer(&self, s: &SubflowView) -> Option<f64> {
        let bandwidth = self.bandwidth(s);
        (bandwidth > 0.0).then(|| s.queue.memory as f64 / bandwidth + s.rtt.smoothed_or_zero().as_secs_f64())
    }
}

impl Scheduler for LinuxEarly {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let all_in_loss = view.candidates().all(|s| s.window.phase == Phase::Loss);
        let mut best: Option<(&SubflowView, f64)> = None;
        for s in view.candidates().filter(|s| s.has_space() && (all_in_loss || s.window.phase != Phase::Loss)) {
            let Some(time) = self.time_to_peer(s) else {
                best = Some((s, 0.0));
                break;
            };
            if best.is_none_or(|(_, least)| time < least) {
                best = Some((s, time));
            }
        }
        let Some((s, time)) = best else { return Decision::no_space() };
        let Some(range) = view.next_for(s, 1) else { return Decision::nothing_to_send() };
        let reason = Reason::new("soonest at the peer: in {time_to_peer_ms} at {bandwidth_bytes_per_s}")
            .with("time_to_peer_ms", time * 1e3)
            .with("bandwidth_bytes_per_s", self.bandwidth(s));
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        match event {
            Event::Acked { subflow, mappings, .. } => {
                let bytes = mappings.iter().map(|r| r.end.since(r.start)).sum();
                if let (Some(m), Some(s)) = (self.measured.get_mut(subflow.index()), view.subflow(*subflow)) {
                    m.acked(view.now, bytes, s);
                }
            }
            Event::SubflowDown(id) | Event::SubflowUp(id) => {
                if let Some(m) = self.measured.get_mut(id.index()) {
                    *m = Measured::default();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, MSS, seg, sub};
    use pathweave_units::Duration;

    /// A scheduler that has measured these bandwidths, segments per second.
    fn with<const N: usize>(segments_per_second: [u64; N]) -> LinuxEarly {
        let mut scheduler = LinuxEarly::default();
        for (m, rate) in scheduler.measured.iter_mut().zip(segments_per_second) {
            m.bandwidth = (rate * MSS) as f64;
        }
        scheduler
    }

    /// 200/s at 20 ms and 100/s at 40 ms: the times are 20 + 5·n and 40 + 10·m ms. The first subflow gets 4 segments
    /// until it is at 40 ms too; ties go to the first. From then on it gets two segments for each one of the other.
    #[test]
    fn data_goes_in_proportion_to_bandwidth_once_the_round_trip_times_are_even() {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(100), sub(1).rtt(40).cwnd(100)]).write(30);
        let mut scheduler = with([200, 100]);
        let to: Vec<u8> = core::iter::from_fn(|| Some(bench.step(&mut scheduler)?.0)).collect();
        assert_eq!(to[..11], [0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0]);
        assert_eq!((to.len(), to.iter().filter(|id| **id == 1).count()), (30, 9));
    }

    #[test]
    fn only_subflows_with_room_are_asked() {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(2), sub(1).rtt(400).cwnd(3)]).write(30);
        assert_eq!(bench.run(&mut with([200, 100])), [(0, 0..2), (1, 2..5)]);
    }

    #[test]
    fn an_unknown_bandwidth_is_tried_first() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(400).cwnd(3)]).write(10);
        assert_eq!(bench.run(&mut with([200])), [(1, 0..3), (0, 3..10)]);
    }

    #[test]
    fn a_subflow_in_loss_waits_while_another_does_not_lose() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(400).cwnd(3)]).write(10);
        bench.sub(0).window.phase = Phase::Loss;
        assert_eq!(bench.run(&mut with([200, 100])), [(1, 0..3)]);
        bench.sub(1).window.phase = Phase::Loss;
        assert_eq!(bench.run(&mut with([200, 100])), [(0, 3..10)], "unless all do");
    }

    /// The window has 10 segments. The time runs from the first acknowledgement; 4, 4 and 4 more segments in 60 ms are
    /// 200/s.
    #[test]
    fn bandwidth_is_measured_over_a_window() {
        let mut bench = Bench::new([sub(0)]);
        let mut scheduler = LinuxEarly::default();
        let mut ack = |ms: u64, segments: u64| {
            bench.now += Duration::from_millis(ms);
            let event = Event::Acked {
                subflow: SubflowId(0),
                mappings: &[seg(0)..seg(segments)],
                data_ack: seg(0),
                has_sack: false,
            };
            bench.event(&mut scheduler, &event);
            scheduler.measured[0].bandwidth / MSS as f64
        };
        let measured = [ack(0, 1), ack(20, 4), ack(20, 4), ack(20, 4), ack(100, 9), ack(100, 1)];
        for (got, expected) in measured.into_iter().zip([0.0, 0.0, 0.0, 200.0, 200.0, 50.0]) {
            assert!((got - expected).abs() < 1e-9, "{measured:?}");
        }
    }
}
