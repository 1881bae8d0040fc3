//! `redundant`: every subflow sends every byte.
//!
//! # What it does
//!
//! Each subflow sends the whole stream: always the next byte that it has not carried itself. It skips data that has
//! been acknowledged meanwhile, so a slow subflow jumps forward to data that is still missing. The receiver has each
//! byte as soon as the first copy arrives, but only the capacity of one path is used. Backups are used only while there
//! is no other subflow.
//!
//! # Formula
//!
//! ```text
//! next_i = first byte ≥ first_unacked that i does not carry
//! i      = arg min srtt_i  over the i with room whose next_i is inside the send window
//! send free_i · MSS_i bytes from next_i on i
//! ```
//!
//! * first_unacked: first byte of the stream without a DATA_ACK; srtt_i: smoothed round-trip time, ms.
//! * free_i = cwnd_i − in_flight_i − unsent_i, segments; unsent_i: given to i and not yet sent; MSS_i: data bytes of a
//!   full segment.
//!
//! # Source
//!
//! ReMP TCP: Frömmgen et al., ICC 2016; REMS §2, its reference 21.
//!
//! # Deviations
//!
//! * A subflow's place in the stream is not stored, but found in the connection's send map. That map says what a
//!   subflow carries, even after a reinjection, or if a subflow's identifier is used again.

use super::minrtt;
use pathweave_scheduler::{Assign, Decision, Reason, Scheduler, SchedulerEntry, View, WindowUse};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "redundant",
    source: "REMS §2 [21]",
    summary: "every subflow sends every byte",
    parameters: &[],
    queues: false,
    duplicates: true,
    build: |_| Ok(Box::new(Redundant)),
};

/// A scheduler that sends every byte on every subflow.
#[derive(Debug, Default)]
pub struct Redundant;

impl Scheduler for Redundant {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let with_data = view.candidates().filter(|s| s.has_space()).filter_map(|s| {
            let missing = view.queue.first_not_carried_by(s.id, view.first_unacked())?;
            Some((s, view.inside_window(s, missing)?))
        });
        let Some((s, missing)) = with_data.min_by_key(|(s, _)| minrtt::key(s)) else {
            let full = !view.candidates().any(|s| s.has_space());
            let all_carried = "each subflow with window space carries all that the send window takes";
            return if full { Decision::no_space() } else { Decision::wait(all_carried) };
        };
        let most = u64::from(s.mss) * u64::from(s.window_space());
        let range = missing.start..missing.end.min(missing.start + most);
        let duplicate = view.queue.span_at(range.start).is_some();
        let reason = Reason::new(if duplicate {
            "sent by others, not yet on this subflow"
        } else {
            "new data, for every subflow"
        });
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, seg, sub};

    #[test]
    fn both_subflows_carry_everything() {
        let mut bench = Bench::new([sub(0).rtt(50), sub(1).rtt(20)]).write(6);
        assert_eq!(bench.run(&mut Redundant), [(1, 0..6), (0, 0..6)]);
        let rule = "each subflow with window space carries all that the send window takes";
        assert_eq!(bench.decide(&mut Redundant), Decision::wait(rule));
    }

    #[test]
    fn each_goes_on_from_its_own_place() {
        let mut bench = Bench::new([sub(0).rtt(50).cwnd(2), sub(1).rtt(20).cwnd(5)]).write(100);
        assert_eq!(bench.run(&mut Redundant), [(1, 0..5), (0, 0..2)]);
        bench.acked(1, 2);
        bench.acked(0, 1);
        assert_eq!(bench.run(&mut Redundant), [(1, 5..7), (0, 2..3)]);
    }

    #[test]
    fn acknowledged_data_is_skipped() {
        let mut bench = Bench::new([sub(0).rtt(50).cwnd(1), sub(1).rtt(20)]).write(20);
        assert_eq!(bench.run(&mut Redundant), [(1, 0..10), (0, 0..1)]);
        bench.map.acknowledge(seg(8));
        bench.acked(0, 1);
        assert_eq!(bench.run(&mut Redundant), [(0, 8..9)]);
    }

    #[test]
    fn the_send_window_ends_it() {
        let mut bench = Bench::new([sub(0), sub(1)]).write(20).send_window(3);
        assert_eq!(bench.run(&mut Redundant), [(0, 0..3), (1, 0..3)]);
    }

    #[test]
    fn a_backup_repeats_nothing() {
        let mut bench = Bench::new([sub(0), sub(1).backup()]).write(5);
        assert_eq!(bench.run(&mut Redundant), [(0, 0..5)]);
    }
}
