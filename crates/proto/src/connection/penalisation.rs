//! Opportunistic retransmission and penalisation (`pr`), as in the paper and as in the kernel of mptcp.org.

use super::{Connection, Happening, Kinds};
use crate::congestion::Window;
#[cfg(feature = "host-mptcp-org")]
use crate::host::ConnectionHost;
#[cfg(feature = "host-mptcp-org")]
use crate::host::mptcp_org::{
    MptcpOrgConnection,
    penalisation::{self, Holder, Trigger},
};
use crate::scheduler::{Assign, Reason, SubflowView, WindowUse};
use crate::seq::{DataSeq, SubflowId};
use core::ops::Range;
use pathweave_units::Instant;

/// Halves the window and sets the threshold to it.
fn paper_halves(window: &mut Window) {
    window.cwnd = (window.cwnd / 2).max(1);
    window.ssthresh = window.cwnd.max(2);
}

impl Connection {
    /// Retransmits the segment that blocks the window on a faster subflow, if `pr` is on and that is possible. Returns
    /// whether a segment was sent.
    pub(super) fn opportunistic_retransmission(&mut self, now: Instant, views: &mut [SubflowView]) -> bool {
        if !self.config.pr {
            return false;
        }
        match &self.host {
            #[cfg(feature = "host-mptcp-org")]
            ConnectionHost::MptcpOrg(_) => self.unblock_as_mptcp_org(now, views),
            _ => self.unblock_as_the_paper(now, views),
        }
    }

    /// NSDI 2012 §4.2 (the papers' PR): if the receive window blocks, the blocking segment is sent on a faster subflow
    /// with space, and the slow subflow's window is halved, at most once per its round trip. Returns whether a segment
    /// was sent.
    fn unblock_as_the_paper(&mut self, now: Instant, views: &mut [SubflowView]) -> bool {
        if !self.sender.window_is_full(&self.subflows) {
            return false;
        }
        let first = self.sender.map.first_unacked();
        let Some((span, owners)) = self.sender.map.span_at(first) else { return false };
        let Some(slow) = owners.iter().find_map(|id| views.iter().find(|v| v.id == id)) else { return false };
        let (slow_id, slow_srtt) = (slow.id, slow.rtt.smoothed_or_zero());
        let fast = self
            .view(now, views)
            .candidates()
            .filter(|s| !owners.contains(s.id) && s.has_space() && s.rtt.smoothed_or_zero() < slow_srtt)
            .min_by_key(|s| s.rtt.smoothed_or_zero())
            .map(|s| (s.id, u64::from(s.mss)));
        let Some((fast, mss)) = fast else { return false };
        if !self.resend_blocking(now, views, fast, first..span.end.min(first + mss)) {
            return false;
        }
        if let Some(subflow) = self.subflows.get_mut(slow_id)
            && subflow.penalised_at.is_none_or(|t| now.since(t) >= slow_srtt)
        {
            subflow.penalised_at = Some(now);
            self.penalise(now, slow_id, paper_halves);
        }
        true
    }

    /// Sends the blocking segment `range` on `fast` too. Returns whether it was sent.
    fn resend_blocking(
        &mut self,
        now: Instant,
        views: &mut [SubflowView],
        fast: SubflowId,
        range: Range<DataSeq>,
    ) -> bool {
        let reason = Reason::new("opportunistic retransmission of the blocking segment");
        let assign = Assign { subflow: fast, range, window: WindowUse::Respect, reason };
        let Ok((range, _)) = self.carry_out(&assign, views) else { return false };
        let reason = assign.reason;
        self.news.record(now, Kinds::DECISIONS, || Happening::Reinjected {
            subflow: fast,
            range,
            reason: Box::new(reason),
        });
        self.counters.opportunistic_retransmissions += 1;
        true
    }

    /// Halves the window of `slow`.
    fn penalise(&mut self, now: Instant, slow: SubflowId, halve: fn(&mut Window)) {
        let Some(subflow) = self.subflows.get_mut(slow) else { return };
        subflow.tcp.penalise(halve);
        let cwnd = subflow.tcp.window().cwnd;
        self.counters.penalisations += 1;
        self.news.record(now, Kinds::DECISIONS, || Happening::Penalised { subflow: slow, cwnd });
    }

    /// Does the same as the kernel of mptcp.org; its rules are in [`penalisation`].
    #[cfg(feature = "host-mptcp-org")]
    fn unblock_as_mptcp_org(&mut self, now: Instant, views: &mut [SubflowView]) -> bool {
        let Some(trigger) = self.trigger() else { return false };
        let first = self.sender.map.first_unacked();
        let Some((span, owners)) = self.sender.map.span_at(first) else { return false };
        let fast = self
            .view(now, views)
            .candidates()
            .filter(|s| s.has_space())
            .min_by_key(|s| s.rtt.smoothed_or_zero())
            .map(|s| (s.id, u64::from(s.mss), s.rtt.smoothed_or_zero()));
        let Some((fast, mss, srtt)) = fast else { return false };
        let holders = || owners.iter().filter(|id| *id != fast).filter_map(|id| self.holder(id));
        let last = self.subflows.get(fast).and_then(|s| s.penalised_at);
        let slow = holders().next().filter(|(_, holder)| penalisation::penalises(now, trigger, srtt, last, holder));
        let resends = !owners.contains(fast) && penalisation::resends(srtt, holders().map(|(_, holder)| holder));
        if let Some((slow, _)) = slow {
            // The kernel keeps the time with the subflow for whose benefit it penalises.
            if let Some(fast) = self.subflows.get_mut(fast) {
                fast.penalised_at = Some(now);
            }
            self.penalise(now, slow, penalisation::halve);
        }
        resends && self.resend_blocking(now, views, fast, first..span.end.min(first + mss))
    }

    /// The limit that holds the connection back, if there is one.
    #[cfg(feature = "host-mptcp-org")]
    fn trigger(&self) -> Option<Trigger> {
        if self.sender.window_is_full(&self.subflows) {
            return Some(Trigger::ReceiveWindow);
        }
        if !self.sender.buffer_is_full() {
            return None;
        }
        let full = MptcpOrgConnection::buffer_is_full(&self.written(), self.send_buffer())?;
        Some(Trigger::SendBuffer { full })
    }

    #[cfg(feature = "host-mptcp-org")]
    fn holder(&self, id: SubflowId) -> Option<(SubflowId, Holder)> {
        let tcp = &self.subflows.get(id)?.tcp;
        let srtt = tcp.rtt().srtt().unwrap_or(pathweave_units::Duration::ZERO);
        Some((id, Holder { srtt, cwnd: tcp.window().cwnd, open: tcp.is_open() }))
    }
}
