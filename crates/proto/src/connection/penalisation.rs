//! Opportunistic retransmission and penalisation (`pr`), by the host's rules.

use super::{Happening, Kinds, Shared};
use crate::host::{Carrier, Penalty, Remedy};
use crate::paths::subflow::Subflow;
use crate::paths::table::SubflowTable;
use arrayvec::ArrayVec;
use core::ops::Range;
use pathweave_scheduler::{Assign, DataSeq, Reason, SubflowId, SubflowView, WindowUse};
use pathweave_units::{Duration, Instant};

impl Shared {
    /// If something holds the connection back while some subflow has room, the fastest of those helps: the segment that holds
    /// the connection up may go out again on it, and the window of a slow subflow that holds the segment may be halved. Returns
    /// whether a segment was sent.
    pub(super) fn opportunistic_retransmission(
        &mut self,
        now: Instant,
        views: &mut [SubflowView],
        subflows: &mut SubflowTable,
    ) -> bool {
        if !self.config.pr {
            return false;
        }
        let (window_is_full, all_is_out) = (self.sender.window_is_full(subflows), self.sender.buffer_is_full());
        let obstacle = self.host.obstacle(window_is_full, all_is_out, &self.written(), || self.send_buffer(subflows));
        // Nothing holds the connection back.
        let Some(obstacle) = obstacle else { return false };
        let first = self.sender.map.first_unacked();
        // Everything that was assigned is acknowledged.
        let Some((span, owners)) = self.sender.map.span_at(first) else { return false };
        let may_help = |s: &&SubflowView| s.has_space() && (self.host.helper_may_hold() || !owners.contains(s.id));
        let view = self.view(now, views, subflows);
        let fastest = view.candidates().filter(may_help).min_by_key(|s| s.rtt.smoothed_or_zero());
        // No subflow has room.
        let Some((id, mss)) = fastest.map(|s| (s.id, u64::from(s.mss))) else { return false };
        let helper = carrier(subflows.at(id).subflow);
        let holders: ArrayVec<Carrier, { SubflowId::MAX_SUBFLOWS }> =
            subflows.iter().filter(|s| s.id != id && owners.contains(s.id)).map(carrier).collect();
        let Remedy { resends, penalty } = self.host.remedy(now, obstacle, &helper, owners.contains(id), &holders);
        if let Some(penalty) = penalty.filter(|penalty| penalty.at_once) {
            self.penalise(now, penalty, subflows);
        }
        let sent = resends && self.resend_blocking(now, views, id, first..span.end.min(first + mss), subflows);
        if let Some(penalty) = penalty.filter(|penalty| sent && !penalty.at_once) {
            self.penalise(now, penalty, subflows);
        }
        sent
    }

    /// Sends the blocking segment `range` on `fast` too. Returns whether it was sent.
    fn resend_blocking(
        &mut self,
        now: Instant,
        views: &mut [SubflowView],
        fast: SubflowId,
        range: Range<DataSeq>,
        subflows: &mut SubflowTable,
    ) -> bool {
        let reason = Reason::new("opportunistic retransmission of the blocking segment");
        let assign = Assign { subflow: fast, range, window: WindowUse::Respect, reason };
        // The helper has no room in the peer's window or the send buffer, or carries the segment already.
        let Ok((range, _)) = self.carry_out(&assign, views, subflows) else { return false };
        let reason = assign.reason;
        self.news.record(now, Kinds::DECISIONS, || Happening::Reinjected {
            subflow: fast,
            range,
            reason: Box::new(reason),
        });
        self.counters.opportunistic_retransmissions += 1;
        true
    }

    /// Makes the window of a subflow smaller.
    fn penalise(&mut self, now: Instant, penalty: Penalty, subflows: &mut SubflowTable) {
        for subflow in subflows.iter_mut() {
            if subflow.id == penalty.remembered_with {
                subflow.penalised_at = Some(now);
            }
            if subflow.id == penalty.slow {
                subflow.tcp.penalise(penalty.halve);
                let cwnd = subflow.tcp.window().cwnd;
                self.counters.penalisations += 1;
                self.news.record(now, Kinds::DECISIONS, || Happening::Penalised { subflow: penalty.slow, cwnd });
            }
        }
    }
}

fn carrier(subflow: &Subflow) -> Carrier {
    let tcp = &subflow.tcp;
    Carrier {
        id: subflow.id,
        srtt: tcp.rtt().srtt().unwrap_or(Duration::ZERO),
        cwnd: tcp.window().cwnd,
        usable: subflow.usable(),
        open: tcp.is_open(),
        penalised_at: subflow.penalised_at,
    }
}
