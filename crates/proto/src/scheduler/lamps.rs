//! `lamps`: a loss-aware scheduler.
//!
//! # What it does
//!
//! Normally it is `minrtt` with a transfer time that counts losses: the subflow with the lowest srtt/(1 − p) among
//! those with room. When the fastest subflow loses more than a threshold it turns redundant: every subflow sends
//! every byte from the first unacknowledged one on, so what was scheduled before the switch is duplicated too. When
//! that loss has fallen it turns back.
//!
//! # Formula
//!
//! ```text
//! T_i = srtt_i / (1 − p_i)
//! F   = arg min T_i                         over all i, with room or without
//! redundant from p_F > threshold until p_F < release
//! normal:     i = arg min T_i over the i with room; send the next free_i · MSS_i bytes
//! redundant:  i = arg min T_i over the i with room that lack a byte; send free_i · MSS_i bytes
//!             from its first byte ≥ first_unacked that it does not carry
//! ```
//!
//! * srtt_i: smoothed round-trip time, ms; p_i: smoothed part of i's segments that were lost, 0 to 1; T_i: transfer
//!   time, ms.
//! * free_i = cwnd_i − in_flight_i − unsent_i (given, not yet sent), segments; MSS_i: data bytes of a full segment.
//!
//! # Source
//!
//! Dong, Xu, Fu and Cao, "LAMPS: a loss aware scheduler for multipath TCP over highly lossy networks", LCN 2020, as
//! in REMS §2 and Fig. 8, its reference 23.
//!
//! # Deviations
//!
//! * REMS gives neither the transfer time's formula nor the threshold: srtt/(1 − p) is the expected time of a segment
//!   that is sent until it arrives, one srtt for each try; the threshold and the hysteresis are ours.
//! * The fastest subflow is the one with the lowest transfer time, with room or without.
//! * On the switch back nothing is taken back.

use super::{Assign, Decision, Reason, Scheduler, SubflowView, View, WindowUse};
use crate::parameter::{Kind, Parameter};
use crate::registry::SchedulerEntry;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "lamps",
    source: "REMS §2, Fig. 8 [23]",
    summary: "the lowest round-trip time counting losses; redundant while the fastest subflow loses a lot",
    parameters: &[
        Parameter {
            name: "threshold",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "part of the segments",
            default: "0.05",
            description: "loss of the fastest subflow above which every subflow sends every byte",
            source: "ours",
        },
        Parameter {
            name: "release",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "part of the segments",
            default: "0.025",
            description: "loss below which that ends; not more than the threshold",
            source: "ours",
        },
    ],
    queues: false,
    duplicates: true,
    build: |v| Ok(Box::new(Lamps::new(v.number("threshold"), v.number("release")))),
};

/// Loss-aware, redundant on lossy paths.
#[derive(Debug)]
pub struct Lamps {
    threshold: f64,
    release: f64,
    redundant: bool,
}

/// srtt/(1 − p), seconds.
fn transfer_time(s: &SubflowView) -> f64 {
    let srtt = s.srtt.map_or(f64::INFINITY, |srtt| srtt.as_secs_f64());
    srtt / (1.0 - s.loss).max(f64::EPSILON)
}

fn by_transfer_time<'v>(subflows: impl Iterator<Item = &'v SubflowView>) -> Option<&'v SubflowView> {
    subflows.min_by(|a, b| transfer_time(a).total_cmp(&transfer_time(b)))
}

impl Lamps {
    /// With the losses at which it turns redundant and back.
    pub fn new(threshold: f64, release: f64) -> Self {
        Lamps { threshold, release: release.min(threshold), redundant: false }
    }

    /// Changes the mode by the fastest subflow's loss, and returns that.
    fn update_mode(&mut self, view: &View<'_>) -> f64 {
        let Some(f) = by_transfer_time(view.candidates()) else { return 0.0 };
        self.redundant = if self.redundant { f.loss >= self.release } else { f.loss > self.threshold };
        f.loss
    }
}

impl Scheduler for Lamps {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let loss = self.update_mode(view);
        let with_space = view.candidates().filter(|s| s.has_space());
        let (s, range, rule) = if self.redundant {
            let missing = |s: &&SubflowView| {
                let range = view.queue.first_not_carried_by(s.id, view.first_unacked())?;
                view.inside_window(s, range)
            };
            let Some(s) = by_transfer_time(with_space.filter(|s| missing(s).is_some())) else {
                return Decision::no_space();
            };
            let Some(range) = missing(&s) else { return Decision::no_space() };
            (s, range, "redundant: the fastest subflow's loss p = {fastest_loss} has passed the threshold")
        } else {
            let Some(range) = view.sendable() else { return Decision::nothing_to_send() };
            let Some(s) = by_transfer_time(with_space) else { return Decision::no_space() };
            (s, range, "lowest transfer time srtt/(1 − p) with window space: {transfer_time_ms}")
        };
        let most = u64::from(s.mss) * u64::from(s.window_space());
        let range = range.start..range.end.min(range.start + most);
        let reason = Reason::new(rule)
            .with("transfer_time_ms", transfer_time(s) * 1e3)
            .with("srtt_ms", s.srtt_or_zero().as_secs_f64() * 1e3)
            .with("loss", s.loss)
            .with("fastest_loss", loss);
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }

    fn wants_events(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Sub, seg, sub};
    use super::*;

    fn lamps() -> Lamps {
        Lamps::new(0.05, 0.025)
    }

    fn lossy(mut s: Sub, loss: f64) -> Sub {
        s.0.loss = loss;
        s
    }

    #[test]
    fn without_loss_it_is_minrtt() {
        let bench = || Bench::new([sub(0).rtt(90), sub(1).rtt(3), sub(2).no_rtt(), sub(3).rtt(40)]).write(35);
        assert_eq!(bench().run(&mut lamps()), bench().run(&mut super::super::minrtt::MinRtt));
    }

    #[test]
    fn losses_lengthen_the_transfer_time() {
        // 48/(1 − 0.04) = 50 ms: before 51 ms, behind 49 ms.
        let with = |other| Bench::new([lossy(sub(0).rtt(48), 0.04), sub(1).rtt(other)]).write(5);
        assert_eq!(with(51).run(&mut lamps()), [(0, 0..5)]);
        assert_eq!(with(49).run(&mut lamps()), [(1, 0..5)]);
    }

    #[test]
    fn on_the_switch_everything_unacknowledged_is_duplicated() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100).cwnd(14)]).write(100);
        let mut scheduler = lamps();
        assert_eq!(bench.run_for(&mut scheduler, 1), [(0, 0..10)]);
        bench.map.acknowledge(seg(4));
        bench.sub(0).loss = 0.051;
        assert_eq!(bench.run(&mut scheduler), [(1, 4..18)], "4 to 9 again, then new data");
        bench.acked(0, 4);
        assert_eq!(bench.run(&mut scheduler), [(0, 10..14)], "each goes on from its own place");
    }

    #[test]
    fn the_mode_has_hysteresis() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(100);
        let mut scheduler = lamps();
        let mut mode = |loss: f64| {
            bench.sub(0).loss = loss;
            scheduler.update_mode(&bench.view());
            scheduler.redundant
        };
        let modes = [0.05, 0.06, 0.04, 0.025, 0.024, 0.04, 0.05].map(&mut mode);
        assert_eq!(modes, [false, true, true, true, false, false, false]);
    }

    #[test]
    fn only_the_fastest_subflow_s_loss_counts() {
        let mut bench = Bench::new([sub(0).rtt(20), lossy(sub(1).rtt(100), 0.3)]).write(15);
        assert_eq!(bench.run(&mut lamps()), [(0, 0..10), (1, 10..15)]);
        // The lossy one at 70 ms counts as 100: the other one is the fastest.
        let mut bench = Bench::new([lossy(sub(0).rtt(70), 0.3), sub(1).rtt(90)]).write(15);
        assert_eq!(bench.run(&mut lamps()), [(1, 0..10), (0, 10..15)]);
    }

    #[test]
    fn a_path_that_loses_everything_is_still_a_path() {
        let mut bench = Bench::new([lossy(sub(0).rtt(20), 1.0)]).write(5);
        assert_eq!(bench.run(&mut lamps()), [(0, 0..5)]);
    }
}
