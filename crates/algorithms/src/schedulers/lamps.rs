//! `lamps`: a loss-aware scheduler.
//!
//! # What it does
//!
//! This is `minrtt` with a transfer time in place of the round-trip time: the expected time until a segment has
//! arrived, retransmissions included. A subflow that loses more than a threshold becomes redundant: it only sends data
//! that others send too. It continues from its own place in the stream, or from the first unacknowledged byte if that
//! is further ahead. New data that it sends is still given to another subflow, unless all subflows are redundant.
//!
//! # Formula
//!
//! ```text
//! p_i = MSS_i / max(acked_i since i's last loss, L_i);  0 before the first loss
//! at a loss:  sample = acked_i since the loss before + MSS_i
//!             L_i = 4·sample at the first loss, later L_i + weight·(sample − L_i)
//! T_i = srtt_i/2 · (1 + p_i)/(1 − p_i)
//! i becomes redundant if p_i > threshold, and normal again if p_i ≤ release
//! i = arg min T_i   over the i with room that have something to send:
//!   normal:     sends from `head`; then head = the end of the data sent
//!   redundant:  sends the first byte that i does not carry, from max(end of i's last data, first_unacked) on;
//!               head moves only if all subflows are redundant
//! ```
//!
//! * srtt_i: smoothed round-trip time, ms; p_i: loss rate; L_i: bytes that i delivers between two losses, smoothed;
//!   MSS_i: data bytes of a full segment; acked_i: bytes acknowledged on i; T_i: transfer time, ms.
//! * head: the stream's first byte that no normal subflow was given; first_unacked: its first byte without a DATA_ACK;
//!   threshold, release, weight: parameters.
//!
//! # Source
//!
//! Dong, Xu, Fu and Cao, "LAMPS: a loss aware scheduler for multipath TCP over highly lossy networks", LCN 2017 (REMS
//! §2 and Fig. 8, its reference 23, which dates it 2020), after the kernel module of vkirany/mptcp-kau, `mptcp_lamp.c`.
//! The article itself was not available.
//!
//! # Deviations
//!
//! * REMS speaks of one mode for the connection, and of path probing. In the module each subflow has its own mode, and
//!   there is no probe: a lossy path is measured because it continues to carry copies.
//! * REMS says that at the switch to redundant sending "prior scheduled packets are also recovered", so that all subflows
//!   send what is not acknowledged. In the module, and here, a subflow that becomes redundant continues from its own
//!   place: data before that place is not sent again.
//! * The module only considers the subflow with the lowest T, even if that has nothing to send. Here the next one is
//!   tried then. The module also retransmits opportunistically; here the connection does that (`pr`).
//! * A second sign of the same loss is ignored: a timeout after a fast retransmission, or the other way round, with
//!   nothing acknowledged in between.
//! * The module's threshold has no hysteresis. `release` is our addition, and has no effect by default.

use core::ops::Range;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, DataSeq, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "lamps",
    source: "REMS §2, Fig. 8 [23]; mptcp_lamp.c",
    summary: "the lowest transfer time counting losses; lossy subflows only repeat what others send",
    parameters: &[
        Parameter {
            name: "threshold",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "part of the segments",
            default: "0.05",
            description: "loss above which a subflow only sends what others send too",
            source: "mptcp_lamp.c",
        },
        Parameter {
            name: "release",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "part of the segments",
            default: "0.05",
            description: "loss at which that ends; at most the threshold",
            source: "ours",
        },
        Parameter {
            name: "weight",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "",
            default: "1",
            description: "weight of the newest interval between losses",
            source: "mptcp_lamp.c",
        },
    ],
    queues: false,
    duplicates: true,
    build: |v| Ok(Box::new(Lamps::new(v.number("threshold"), v.number("release"), v.number("weight")))),
};

/// The state of one subflow.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    /// Bytes acknowledged on it so far, and at the time of its last loss.
    acked: u64,
    acked_at_loss: u64,
    /// L, bytes; `None` before the first loss.
    interval: Option<f64>,
    redundant: bool,
    /// The end of the data that it was given last.
    place: DataSeq,
}

impl Path {
    /// The loss rate p.
    fn loss(&self, mss: u32) -> f64 {
        let Some(interval) = self.interval else { return 0.0 };
        let bytes = interval.max((self.acked - self.acked_at_loss) as f64);
        (f64::from(mss) / bytes.max(1.0)).min(1.0)
    }

    fn lost(&mut self, mss: u32, weight: f64) {
        let since = self.acked - self.acked_at_loss;
        let sample = (since + u64::from(mss)) as f64;
        self.interval = match self.interval {
            None => Some(4.0 * sample),
            // Another sign of the same loss.
            Some(_) if since == 0 => return,
            Some(interval) => Some(interval + weight * (sample - interval)),
        };
        self.acked_at_loss = self.acked;
    }
}

/// Loss-aware scheduling, redundant on lossy paths.
#[derive(Debug)]
pub struct Lamps {
    threshold: f64,
    release: f64,
    weight: f64,
    paths: [Path; SubflowId::MAX_SUBFLOWS],
    /// The first byte that no normal subflow was given.
    head: DataSeq,
}

impl Lamps {
    /// `threshold` and `release`: the loss rates above which a subflow becomes redundant, and at which it becomes
    /// normal again; `weight`: the weight of the newest interval between losses.
    pub fn new(threshold: f64, release: f64, weight: f64) -> Self {
        let paths = [Path::default(); SubflowId::MAX_SUBFLOWS];
        Lamps { threshold, release: release.min(threshold), weight, paths, head: DataSeq(0) }
    }

    fn path(&self, id: SubflowId) -> Path {
        self.paths.get(id.index()).copied().unwrap_or_default()
    }

    fn update_modes(&mut self, view: &View<'_>) {
        for s in view.subflows {
            if let Some(path) = self.paths.get_mut(s.id.index()) {
                let limit = if path.redundant { self.release } else { self.threshold };
                path.redundant = path.loss(s.mss) > limit;
            }
        }
    }

    /// The transfer time T, seconds.
    fn transfer_time(&self, s: &SubflowView) -> f64 {
        let p = self.path(s.id).loss(s.mss);
        let srtt = s.rtt.smoothed.map_or(f64::INFINITY, |srtt| srtt.as_secs_f64());
        srtt / 2.0 * (1.0 + p) / (1.0 - p).max(f64::EPSILON)
    }

    /// The data that `s` would send next.
    fn next(&self, view: &View<'_>, s: &SubflowView) -> Option<Range<DataSeq>> {
        let path = self.path(s.id);
        let from = if path.redundant { path.place.max(view.first_unacked()) } else { self.head };
        // Data that was taken back from a subflow comes before the head. It is not new, so redundant subflows send it
        // too.
        let taken_back = view.queue.first_unassigned().filter(|r| r.start < self.head);
        view.inside_window(s, taken_back.or_else(|| view.queue.first_not_carried_by(s.id, from))?)
    }
}

impl Scheduler for Lamps {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.update_modes(view);
        let mut best: Option<(&SubflowView, Range<DataSeq>, f64)> = None;
        for s in view.candidates().filter(|s| s.has_space()) {
            let time = self.transfer_time(s);
            if best.as_ref().is_none_or(|(_, _, least)| time < *least)
                && let Some(range) = self.next(view, s)
            {
                best = Some((s, range, time));
            }
        }
        let Some((s, range, time)) = best else {
            let full = !view.candidates().any(|s| s.has_space());
            let none = "no subflow with window space has anything to send or to repeat";
            return if full { Decision::no_space() } else { Decision::wait(none) };
        };
        let most = u64::from(s.mss) * u64::from(s.window_space());
        let range = range.start..range.end.min(range.start + most);
        let path = self.path(s.id);
        let reason = Reason::new(if path.redundant {
            "redundant: it loses p = {loss}, more than the threshold; transfer time {transfer_time_ms}"
        } else {
            "lowest transfer time srtt/2·(1 + p)/(1 − p) with window space: {transfer_time_ms}, p = {loss}"
        })
        .with("transfer_time_ms", time * 1e3)
        .with("loss", path.loss(s.mss))
        .with("srtt_ms", s.rtt.smoothed_or_zero().as_secs_f64() * 1e3);
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        match event {
            Event::Assigned { subflow, range, .. } => {
                let all_redundant = || view.candidates().all(|s| self.path(s.id).redundant);
                if !self.path(*subflow).redundant || all_redundant() {
                    self.head = self.head.max(range.end);
                }
                if let Some(path) = self.paths.get_mut(subflow.index()) {
                    path.place = range.end;
                }
            }
            Event::Acked { subflow, mappings, .. } => {
                if let Some(path) = self.paths.get_mut(subflow.index()) {
                    path.acked += mappings.iter().map(|r| r.end.since(r.start)).sum::<u64>();
                }
            }
            Event::Lost { subflow, .. } => {
                let mss = view.subflow(*subflow).map_or(1, |s| s.mss);
                if let Some(path) = self.paths.get_mut(subflow.index()) {
                    path.lost(mss, self.weight);
                }
            }
            Event::SubflowUp(id) | Event::SubflowDown(id) => {
                if let Some(path) = self.paths.get_mut(id.index()) {
                    *path = Path::default();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::LossKind;
    use pathweave_scheduler::testing::{Bench, MSS, seg, sub};

    fn lamps() -> Lamps {
        Lamps::new(0.05, 0.05, 1.0)
    }

    /// Makes subflow `id` lose one segment in `segments`.
    fn lossy(mut scheduler: Lamps, id: usize, segments: f64) -> Lamps {
        scheduler.paths[id].interval = Some(segments * MSS as f64);
        scheduler
    }

    fn tell_acked(bench: &Bench, scheduler: &mut Lamps, id: u8, segments: u64) {
        let (subflow, range) = (SubflowId(id), seg(0)..seg(segments));
        bench.event(scheduler, &Event::Acked { subflow, mappings: &[range], data_ack: seg(0), has_sack: false });
    }

    #[test]
    fn without_loss_it_is_minrtt() {
        let bench = || Bench::new([sub(0).rtt(90), sub(1).rtt(3), sub(2).no_rtt(), sub(3).rtt(40)]).write(35);
        assert_eq!(bench().run(&mut lamps()), bench().run(&mut super::super::minrtt::MinRtt));
    }

    /// At one loss in 25 segments, p = 0.04: 48/2·1.04/0.96 = 26 ms, as without losses at a round-trip time of 52 ms.
    #[test]
    fn losses_lengthen_the_transfer_time() {
        let bench = |other| Bench::new([sub(0).rtt(48), sub(1).rtt(other)]).write(5);
        let scheduler = lossy(lamps(), 0, 25.0);
        assert!((scheduler.transfer_time(&bench(53).subflows[0]) - 0.026).abs() < 1e-12);
        assert_eq!(bench(53).run(&mut lossy(lamps(), 0, 25.0)), [(0, 0..5)]);
        assert_eq!(bench(51).run(&mut lossy(lamps(), 0, 25.0)), [(1, 0..5)]);
    }

    /// The first loss comes after 9 segments: L = 4·(9 + 1) = 40. Then 49 more arrive, and 49 > 40 counts. The second
    /// loss makes it 49 + 1. The third, after 4 segments, makes it 5.
    #[test]
    fn the_interval_between_losses_gives_the_loss() {
        let bench = Bench::new([sub(0)]);
        let mut scheduler = lamps();
        let mut losses = Vec::new();
        let lost = Event::Lost { subflow: SubflowId(0), kind: LossKind::FastRecovery };
        for (acked, lose) in [(9, false), (0, true), (49, false), (0, true), (4, true)] {
            tell_acked(&bench, &mut scheduler, 0, acked);
            if lose {
                bench.event(&mut scheduler, &lost);
            }
            losses.push(scheduler.paths[0].loss(MSS as u32));
        }
        assert_eq!(losses, [0.0, 1.0 / 40.0, 1.0 / 49.0, 1.0 / 50.0, 1.0 / 5.0]);
        // A timeout for a segment that was found lost already.
        bench.event(&mut scheduler, &Event::Lost { subflow: SubflowId(0), kind: LossKind::Timeout });
        assert_eq!(scheduler.paths[0].loss(MSS as u32), 1.0 / 5.0);
    }

    /// With a weight of a half: 40 + ½·(10 − 40) = 25.
    #[test]
    fn intervals_can_be_smoothed() {
        let bench = Bench::new([sub(0)]);
        let mut scheduler = lossy(Lamps::new(0.05, 0.05, 0.5), 0, 40.0);
        tell_acked(&bench, &mut scheduler, 0, 9);
        bench.event(&mut scheduler, &Event::Lost { subflow: SubflowId(0), kind: LossKind::FastRecovery });
        assert_eq!(scheduler.paths[0].loss(MSS as u32), 1.0 / 25.0);
    }

    /// Subflow 0 loses one segment in 16 and still has the lowest transfer time. Its new data goes to the other subflow
    /// too.
    #[test]
    fn what_a_lossy_subflow_sends_another_one_sends_too() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100).cwnd(14)]).write(100);
        let mut scheduler = lossy(lamps(), 0, 16.0);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..10), (1, 0..14)]);
        bench.acked(0, 4);
        // It continues from its own place, with data that the other subflow has sent after it, and nothing new.
        assert_eq!(bench.run(&mut scheduler), [(0, 10..14)]);
    }

    #[test]
    fn a_lossy_subflow_goes_on_from_its_place_or_from_what_is_unacknowledged() {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(20), sub(1).rtt(100).cwnd(4)]).write(100);
        let mut scheduler = lossy(lamps(), 1, 16.0);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..20), (1, 0..4)]);
        bench.acked(1, 2);
        assert_eq!(bench.run(&mut scheduler), [(1, 4..6)]);
        bench.map.acknowledge(seg(9));
        bench.acked(1, 2);
        assert_eq!(bench.run(&mut scheduler), [(1, 9..11)]);
    }

    /// If all subflows are redundant, new data is still given out, and then repeated by each of the others in turn, as
    /// in `redundant`.
    #[test]
    fn where_all_are_lossy_each_sends_everything() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(10);
        let mut scheduler = lossy(lossy(lamps(), 0, 16.0), 1, 16.0);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..10), (1, 0..10)]);
        assert_eq!(scheduler.head, seg(10));
    }

    /// The stream waits for data that was taken back, wherever the subflows' places are.
    #[test]
    fn what_was_taken_back_goes_first_even_where_all_are_lossy() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(10);
        let mut scheduler = lossy(lossy(lamps(), 0, 16.0), 1, 16.0);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..10), (1, 0..10)]);
        bench.acked(0, 10);
        bench.acked(1, 10);
        bench.map.withdraw_all();
        assert_eq!(bench.run(&mut scheduler), [(0, 0..10)]);
    }

    #[test]
    fn the_threshold_is_one_of_twenty_and_can_have_hysteresis() {
        let modes = |release: f64| {
            let bench = Bench::new([sub(0)]);
            let mut scheduler = Lamps::new(0.05, release, 1.0);
            [20.0, 19.0, 25.0, 40.0, 30.0].map(|segments| {
                scheduler = lossy(core::mem::replace(&mut scheduler, lamps()), 0, segments);
                scheduler.update_modes(&bench.view());
                scheduler.paths[0].redundant
            })
        };
        assert_eq!(modes(0.05), [false, true, false, false, false]);
        assert_eq!(modes(0.025), [false, true, true, false, false]);
    }

    #[test]
    fn a_path_that_loses_everything_is_still_a_path() {
        let mut bench = Bench::new([sub(0).rtt(20)]).write(5);
        assert_eq!(bench.run(&mut lossy(lamps(), 0, 0.5)), [(0, 0..5)]);
    }

    #[test]
    fn a_subflow_that_comes_back_begins_anew() {
        let mut bench = Bench::new([sub(0), sub(1)]).write(5);
        let mut scheduler = lossy(lamps(), 1, 2.0);
        bench.down(1, &mut scheduler);
        assert_eq!(scheduler.paths[1].loss(MSS as u32), 0.0);
    }
}
