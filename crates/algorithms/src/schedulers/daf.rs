//! DAF: dynamic adjustment of a forward prediction with the feedback of acknowledgements; DPSAF III.B, Alg. 2 and 3.
//!
//! A prediction says how many segments N_j subflow j leaves to faster subflows. A round of j begins with the first
//! segment that it is given, F_j, and ends with the acknowledgement of F_j. The acknowledgements of the round show the
//! prediction's error, the deviation e_j. The next round begins with Δ_j ← Δ_j + α·e_j and e_j ← 0 (eq. 11). The offset
//! Δ_j is added to N_j (eq. 10).
//!
//! * Situation 1, N_j was too large: the acknowledgement of F_j comes with a DATA_ACK below F_j. So the data between
//!   the DATA_ACK and F_j had not arrived. e_j falls by the part of it that was left to faster subflows (eq. 12).
//! * Situation 2, N_j was too small: an acknowledgement on a faster subflow i comes with a DATA_ACK at data of j, at
//!   F_j or before it. Each segment beyond F_j that it acknowledges on i arrived before F_j. e_j grows by these
//!   segments (eq. 13).
//!
//! A deviation is ignored only if the acknowledgement itself has a SACK block. A loss on another subflow, or of F_j
//! itself, counts as a wrong prediction (Alg. 3). With `losses=exempt`, which is our addition, such rounds do not
//! count. After a loss on j its round does not count at all, because the loss makes F_j late, whatever N_j was. After a
//! loss on a faster subflow situation 1 does not count: the hole is then the lost data, and the data beyond it has
//! arrived.
//!
//! # Deviations
//!
//! * A subflow's SACK blocks cannot show holes in the data sequence. The code takes the paper's SACK on a subflow to be
//!   an acknowledgement that advances, has no SACK block, and comes with a DATA_ACK below what it acknowledges.
//! * The hole of situation 1 includes data that no subflow was given yet, because that was left to the faster subflows
//!   too.
//! * Situation 1 counts only if the hole begins with data that was left to faster subflows. If it begins with data of j
//!   that was sent after F_j, the data between may have arrived.
//! * Situation 2 counts segments, not acknowledgements, because a receiver sends one acknowledgement for two segments.
//!   It counts only segments beyond F_j, because the hole may be at an earlier segment of j, from an earlier round
//!   whose distance was also too small. A hole at a segment that was sent after F_j, but comes before it in the stream,
//!   does not show whether F_j has arrived.
//! * Deviations are in bytes, because segments of different subflows may differ in size.

use super::minrtt;
use core::ops::Range;
use pathweave_scheduler::parameter::{Kind, Parameter, Values};
use pathweave_scheduler::{DataSeq, Event, SendMap, SubflowId, SubflowSet, SubflowView, View};

pub(crate) const ALPHA: Parameter = Parameter {
    name: "alpha",
    kind: Kind::Number { min: 0.0, max: 1.0 },
    unit: "",
    default: "0.125",
    description: "fraction of a round's deviation that corrects the next prediction",
    source: "DPSAF III.B: 1/8",
};

pub(crate) const LOSSES: Parameter = Parameter {
    name: "losses",
    kind: Kind::Choice("count exempt"),
    unit: "",
    default: "count",
    description: "whether a round in which the subflow or a faster one lost something corrects the prediction",
    source: "DPSAF Alg. 3 counts it; the exemption is ours",
};

/// A subflow's round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Round {
    /// Δ_j and e_j, bytes.
    offset: f64,
    deviation: f64,
    /// The present round; `None` after F_j is acknowledged, until j is given data again.
    open: Option<Open>,
}

/// A round that lasts until F_j is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Open {
    /// The first byte of F_j.
    first: DataSeq,
    /// The lowest byte that j was given in the round.
    lowest: DataSeq,
    /// The first unacknowledged byte of the stream when F_j was sent.
    base: DataSeq,
    /// Whether a faster subflow has lost something in the round.
    loss: bool,
}

/// The feedback of all subflows: their rounds and offsets.
#[derive(Debug)]
pub struct Feedback {
    alpha: f64,
    /// Whether rounds with a loss are ignored (`losses=exempt`).
    exempts_losses: bool,
    rounds: [Round; SubflowId::MAX_SUBFLOWS],
    /// The subflow of each byte. The acknowledgement of an F_j may come with an old DATA_ACK, so this map begins at the
    /// lowest one that may still come. The connection's own map begins at the highest one, which a faster subflow may
    /// have brought.
    carried: SendMap,
}

impl Feedback {
    /// `alpha` is α of eq. 11. Losses count as wrong predictions.
    pub fn new(alpha: f64) -> Self {
        let rounds = [Round::default(); SubflowId::MAX_SUBFLOWS];
        Feedback { alpha, exempts_losses: false, rounds, carried: SendMap::new() }
    }

    /// Makes the feedback ignore rounds in which the subflow or a faster one lost segments.
    pub fn exempting_losses(self) -> Self {
        Feedback { exempts_losses: true, ..self }
    }

    /// Feedback with the values of the parameters [`ALPHA`] and [`LOSSES`].
    pub(crate) fn from_values(values: &Values) -> Self {
        let feedback = Feedback::new(values.number(ALPHA.name));
        if values.choice(LOSSES.name) == "exempt" { feedback.exempting_losses() } else { feedback }
    }

    /// The offset Δ_j, bytes.
    pub fn offset(&self, j: SubflowId) -> f64 {
        self.rounds.get(j.index()).map_or(0.0, |r| r.offset)
    }

    fn assigned(&mut self, subflow: SubflowId, range: &Range<DataSeq>, view: &View<'_>) {
        self.carried.append(range.end.since(self.carried.written_end()));
        self.carried.assign(range.clone(), subflow);
        let Some(round) = self.rounds.get_mut(subflow.index()) else { return };
        match &mut round.open {
            Some(open) => open.lowest = open.lowest.min(range.start),
            None => {
                let first = range.start;
                round.open = Some(Open { first, lowest: first, base: view.first_unacked(), loss: false });
            }
        }
    }

    fn acked(&mut self, k: SubflowId, mappings: &[Range<DataSeq>], data_ack: DataSeq, has_sack: bool, view: &View<'_>) {
        let Some(own) = view.subflow(k) else { return };
        if !has_sack {
            self.too_small(own, mappings, data_ack, view);
        }
        let Some(Open { first, loss, .. }) = self.rounds.get(k.index()).and_then(|r| r.open) else { return };
        if mappings.iter().any(|m| m.contains(&first)) {
            let late = if has_sack || loss { 0 } else { self.left_to_faster(own, data_ack..first, view) };
            let round = &mut self.rounds[k.index()];
            round.offset += self.alpha * (round.deviation - late as f64);
            (round.open, round.deviation) = (None, 0.0);
        }
    }

    /// Situation 1: the bytes of `hole` that were left to subflows faster than `k`, which carry them or were not given
    /// them yet.
    fn left_to_faster(&self, k: &SubflowView, hole: Range<DataSeq>, view: &View<'_>) -> u64 {
        let is_left = |owners: SubflowSet| view.subflows.iter().any(|i| is_faster(i, k) && owners.contains(i.id));
        let others = |(_, owners): &(_, SubflowSet)| !is_left(*owners);
        if self.carried.span_at(hole.start).filter(others).is_some() {
            return 0;
        }
        let spans = self.carried.spans_from(hole.start).take_while(|(r, _)| r.start < hole.end);
        let others: u64 = spans.filter(others).map(|(r, _)| r.end.min(hole.end).since(r.start)).sum();
        hole.end.since(hole.start) - others
    }

    /// Situation 2: handles an acknowledgement on `i` for the rounds of slower subflows.
    fn too_small(&mut self, i: &SubflowView, mappings: &[Range<DataSeq>], data_ack: DataSeq, view: &View<'_>) {
        let Some((_, owners)) = self.carried.span_at(data_ack) else { return };
        for j in view.subflows.iter().filter(|j| owners.contains(j.id) && is_faster(i, j)) {
            let Some(round) = self.rounds.get_mut(j.id.index()) else { continue };
            if let Some(open) = round.open.filter(|o| data_ack == o.first || data_ack < o.lowest) {
                let early: u64 = mappings.iter().map(|m| m.end.since(m.start.max(open.first))).sum();
                round.deviation += early as f64;
            }
        }
    }

    /// Handles a loss on `i` if losses are exempt: `i`'s own round ends without counting, and the rounds of slower
    /// subflows are marked.
    fn lost(&mut self, i: SubflowId, view: &View<'_>) {
        if let Some(round) = self.rounds.get_mut(i.index()) {
            (round.open, round.deviation) = (None, 0.0);
        }
        let Some(own) = view.subflow(i) else { return };
        for j in view.subflows.iter().filter(|j| is_faster(own, j)) {
            if let Some(Round { open: Some(open), .. }) = self.rounds.get_mut(j.id.index()) {
                open.loss = true;
            }
        }
    }

    /// Forgets the part of the map that no acknowledgement can refer to any more. Also forgets the rounds of stale
    /// subflows, because such a round would never end.
    fn trim(&mut self, view: &View<'_>) {
        let mut from = view.first_unacked();
        for s in view.subflows {
            let Some(round) = self.rounds.get_mut(s.id.index()) else { continue };
            match round.open {
                Some(_) if s.stale => (round.open, round.deviation) = (None, 0.0),
                Some(Open { base, .. }) => from = from.min(base),
                None => {}
            }
        }
        self.carried.acknowledge(from);
    }

    /// Updates the rounds after an event of the connection.
    pub fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        match event {
            Event::Assigned { subflow, range, .. } => self.assigned(*subflow, range, view),
            Event::Acked { subflow, mappings, data_ack, has_sack } => {
                self.acked(*subflow, mappings, *data_ack, *has_sack, view);
                self.trim(view);
            }
            Event::Lost { subflow, .. } if self.exempts_losses => self.lost(*subflow, view),
            Event::SubflowDown(id) | Event::SubflowUp(id) => {
                self.carried.release(*id);
                if let Some(round) = self.rounds.get_mut(id.index()) {
                    *round = Round::default();
                }
            }
            _ => {}
        }
    }
}

/// Whether `i` is faster than `j`; DPSAF III.B calls `i` a slave of `j`.
pub(crate) fn is_faster(i: &SubflowView, j: &SubflowView) -> bool {
    i.rtt.smoothed.is_some() && (minrtt::key(i), i.id) < (minrtt::key(j), j.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    /// The segment size of the paper's figures, bytes.
    const MSS: u64 = 1400;
    const I: u8 = 0;
    const J: u8 = 1;

    /// The setting of DPSAF Figs. 2, 6 and 7: subflow i is the faster one; segments count from 1.
    struct Figure {
        bench: Bench,
        daf: Feedback,
    }

    impl Figure {
        fn new() -> Self {
            let bench = Bench::new([sub(I).rtt(40).mss(1400), sub(J).rtt(160).mss(1400)]).write(1000);
            Figure { bench, daf: Feedback::new(0.125) }
        }

        fn exempting_losses() -> Self {
            Figure { daf: Feedback::new(0.125).exempting_losses(), ..Figure::new() }
        }

        fn sent(&mut self, id: u8, segments: Range<u64>) -> &mut Self {
            let range = DataSeq((segments.start - 1) * MSS)..DataSeq((segments.end - 1) * MSS);
            let subflow = SubflowId(id);
            self.bench.map.assign(range.clone(), subflow);
            self.daf.on_event(&Event::Assigned { subflow, range, clipped_by: None }, &self.bench.view());
            self
        }

        fn acked(&mut self, id: u8, segments: Range<u64>, data_ack: u64, has_sack: bool) -> &mut Self {
            let mappings = [DataSeq((segments.start - 1) * MSS)..DataSeq((segments.end - 1) * MSS)];
            let data_ack = DataSeq(data_ack);
            self.bench.map.acknowledge(data_ack);
            let event = Event::Acked { subflow: SubflowId(id), mappings: &mappings, data_ack, has_sack };
            self.daf.on_event(&event, &self.bench.view());
            self
        }

        fn event(&mut self, event: &Event<'_>) -> &mut Self {
            self.daf.on_event(event, &self.bench.view());
            self
        }

        /// e_j and Δ_j, segments.
        fn of(&self, id: u8) -> (f64, f64) {
            let round = self.daf.rounds[usize::from(id)];
            (round.deviation / MSS as f64, round.offset / MSS as f64)
        }
    }

    /// Fig. 6: of seven segments for i only five arrive in time. Segment 8 of j, at 9800, is acknowledged with a
    /// DATA_ACK of 7000, so the hole has 2800 bytes, which are two segments. (Segment 9 is at 11200; the figure prints
    /// 10200.)
    #[test]
    fn situation_1_figure_6() {
        let mut f = Figure::new();
        f.sent(I, 1..3).sent(J, 8..10).sent(I, 3..6);
        f.acked(I, 1..3, 2800, false).acked(I, 3..6, 7000, false).sent(I, 6..8);
        assert_eq!(f.of(J), (0.0, 0.0));
        f.acked(J, 8..9, 7000, false);
        // Eq. 11 with e_j = −2.
        assert_eq!(f.of(J), (0.0, -2.0 / 8.0));
        // Only the first segment of the round counts.
        f.acked(J, 9..10, 7000, false);
        assert_eq!(f.of(J), (0.0, -2.0 / 8.0));
    }

    /// The acknowledgement on j arrives after acknowledgements on i that have closed the hole. Its own DATA_ACK still
    /// shows the hole.
    #[test]
    fn situation_1_is_seen_when_faster_acknowledgements_have_overtaken() {
        let mut f = Figure::new();
        f.sent(I, 1..3).sent(J, 8..10).sent(I, 3..8).acked(I, 1..6, 7000, false).acked(I, 6..8, 12_600, false);
        assert_eq!(f.of(J), (0.0, 0.0));
        f.acked(J, 8..9, 7000, false);
        assert_eq!(f.of(J), (0.0, -2.0 / 8.0));
    }

    /// Segments 6 and 7 were not given to any subflow yet; they were left to i all the same.
    #[test]
    fn situation_1_counts_what_is_unassigned_and_not_j_s_own() {
        let mut f = Figure::new();
        f.sent(J, 4..5).acked(J, 4..5, 0, false);
        assert_eq!(f.of(J), (0.0, -3.0 / 8.0));
        f.sent(I, 1..3).sent(J, 8..10).sent(I, 3..4).acked(I, 1..3, 2800, false);
        // The hole is 3 to 7. Segment 4 is j's own and has arrived.
        f.acked(J, 8..9, 2800, false);
        assert_eq!(f.of(J), (0.0, -7.0 / 8.0));
    }

    /// Fig. 7: three segments are left to i, which sends five. Segments 6 and 7 arrive before segment 4 of j, which is
    /// at 4200.
    #[test]
    fn situation_2_figure_7() {
        let mut f = Figure::new();
        f.sent(I, 1..3).sent(J, 4..6).acked(I, 1..3, 2800, false).sent(I, 3..4).sent(I, 6..8);
        f.acked(I, 3..4, 4200, false);
        assert_eq!(f.of(J), (0.0, 0.0));
        f.acked(I, 6..7, 4200, false);
        assert_eq!(f.of(J), (1.0, 0.0));
        f.acked(I, 7..8, 4200, false);
        assert_eq!(f.of(J), (2.0, 0.0));
        // Segment 4 is acknowledged, which ends the round, so segment 8 does not count as early.
        f.acked(J, 4..6, 9800, false).sent(I, 8..9).acked(I, 8..9, 11_200, false);
        assert_eq!(f.of(J), (0.0, 2.0 / 8.0));
    }

    #[test]
    fn situation_2_counts_segments_where_one_acknowledgement_covers_two() {
        let mut f = Figure::new();
        f.sent(I, 1..4).sent(J, 4..6).sent(I, 6..9).acked(I, 1..4, 4200, false).acked(I, 6..8, 4200, false);
        assert_eq!(f.of(J), (2.0, 0.0));
    }

    /// Segments 4 and 5 of j are late. Each is the first of a round. Segments 6 to 9 of i arrive before segment 5.
    #[test]
    fn situation_2_counts_beyond_the_first_segment_also_while_an_earlier_one_is_missing() {
        let mut f = Figure::new();
        f.sent(J, 1..2).sent(J, 4..5).sent(I, 2..4).acked(J, 1..2, 1400, false).acked(I, 2..4, 4200, false);
        f.sent(J, 5..6).sent(I, 6..10).acked(I, 6..8, 4200, false).acked(I, 8..10, 4200, false);
        assert_eq!(f.of(J), (4.0, 0.0));
    }

    /// j was given segment 3 after segment 8, which is F_j. If 3 is missing, it is not known whether 8 has arrived.
    #[test]
    fn holes_at_what_was_sent_after_the_first_segment_do_not_count() {
        let mut f = Figure::new();
        f.sent(J, 8..9).sent(J, 3..4).sent(I, 1..3).sent(I, 4..8).sent(I, 9..12);
        f.acked(I, 1..3, 2800, false).acked(I, 4..8, 2800, false).acked(I, 9..12, 2800, false);
        assert_eq!(f.of(J), (0.0, 0.0));
        f.acked(J, 8..9, 2800, false);
        assert_eq!(f.of(J), (0.0, 0.0));
    }

    #[test]
    fn later_holes_of_the_same_round_do_not_count_again() {
        let mut f = Figure::new();
        f.sent(I, 1..4).sent(J, 4..5).sent(I, 5..8).sent(J, 10..11).sent(I, 8..10).sent(I, 11..13);
        f.acked(I, 1..4, 4200, false).acked(I, 5..8, 12_600, false);
        // The hole is now at segment 10 of j; F_j is segment 4.
        f.acked(I, 8..10, 12_600, false).acked(I, 11..13, 12_600, false);
        assert_eq!(f.of(J), (0.0, 0.0));
    }

    #[test]
    fn a_round_in_order_has_no_deviation_and_keeps_the_offset() {
        let mut f = Figure::new();
        f.sent(J, 3..4).acked(J, 3..4, 0, false).sent(I, 1..3).sent(J, 6..7);
        assert_eq!(f.of(J), (0.0, -0.25));
        f.sent(I, 4..6).acked(I, 1..6, 7000, false).acked(J, 6..7, 8400, false).sent(J, 9..10);
        assert_eq!(f.of(J), (0.0, -0.25));
    }

    #[test]
    fn an_acknowledgement_with_a_sack_block_says_nothing_of_the_prediction() {
        let mut f = Figure::new();
        f.sent(I, 1..3).sent(J, 4..6).acked(J, 4..5, 0, true);
        assert_eq!(f.of(J), (0.0, 0.0));
        f.sent(J, 8..9).sent(I, 3..4).sent(I, 6..8).sent(I, 9..11).acked(I, 1..4, 9800, false);
        f.acked(I, 9..10, 9800, true);
        assert_eq!(f.of(J), (0.0, 0.0));
        f.acked(I, 10..11, 9800, false);
        assert_eq!(f.of(J), (1.0, 0.0));
    }

    fn lost(id: u8) -> Event<'static> {
        Event::Lost { subflow: SubflowId(id), kind: pathweave_scheduler::LossKind::FastRecovery }
    }

    /// Alg. 3 asks only whether the acknowledged subflow has data out of order. Here segment 10 arrives before 8, which
    /// is lost.
    #[test]
    fn a_loss_of_the_subflow_itself_counts_unless_it_is_exempt() {
        for (mut f, after_loss, in_the_end) in
            [(Figure::new(), (1.0, 0.0), (0.0, 1.0 / 8.0)), (Figure::exempting_losses(), (0.0, 0.0), (0.0, 0.0))]
        {
            f.sent(I, 1..8).sent(J, 8..9).sent(I, 9..11).acked(I, 1..8, 9800, false).acked(I, 10..11, 9800, false);
            assert_eq!(f.of(J), (1.0, 0.0));
            f.event(&lost(J));
            assert_eq!(f.of(J), after_loss);
            f.acked(J, 8..9, 14_000, false).sent(J, 15..16);
            assert_eq!(f.of(J), in_the_end);
        }
    }

    /// Segments 1 to 7 were left to i, which lost the first of them. Either all seven count as too many, or the round
    /// does not count.
    #[test]
    fn a_hole_that_a_faster_subflow_s_loss_left_counts_unless_it_is_exempt() {
        for (mut f, offset) in [(Figure::new(), -7.0 / 8.0), (Figure::exempting_losses(), 0.0)] {
            f.sent(I, 1..6).sent(J, 8..10).event(&lost(I)).acked(J, 8..9, 0, false);
            assert_eq!(f.of(J), (0.0, offset));
            // The next round has no loss, so it counts.
            f.sent(J, 14..15).acked(J, 14..15, 14_000, false);
            assert_eq!(f.of(J), (0.0, offset - 3.0 / 8.0));
        }
    }

    #[test]
    fn the_fastest_has_no_deviation() {
        let mut f = Figure::new();
        f.sent(J, 1..2).sent(I, 2..4).acked(I, 2..4, 0, false);
        assert_eq!(f.of(I), (0.0, 0.0));
        assert_eq!(f.of(J), (2.0, 0.0));
    }

    #[test]
    fn a_subflow_that_dies_or_goes_dark_begins_anew() {
        let mut f = Figure::new();
        f.sent(J, 3..4).acked(J, 3..4, 0, false).sent(J, 6..7);
        assert_eq!(f.of(J), (0.0, -0.25));
        f.bench.sub(J).stale = true;
        f.sent(I, 1..3).acked(I, 1..3, 4200, false);
        assert_eq!(f.daf.rounds[usize::from(J)].open, None, "nothing may end its round");
        f.event(&Event::SubflowDown(SubflowId(J)));
        assert_eq!(f.of(J), (0.0, 0.0));
    }

    #[test]
    fn owners_are_forgotten_once_no_acknowledgement_can_ask_for_them() {
        let mut f = Figure::new();
        for n in 0..1000 {
            let at = 1 + 5 * n;
            f.bench.map.append(5 * MSS);
            f.sent(I, at..at + 4).sent(J, at + 4..at + 5);
            f.acked(I, at..at + 4, (at + 3) * MSS, false).acked(J, at + 4..at + 5, (at + 4) * MSS, false);
            assert!(f.daf.carried.spans_from(DataSeq(0)).count() <= 4);
        }
    }
}
