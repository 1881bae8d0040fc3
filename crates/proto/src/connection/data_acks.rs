//! DATA_ACKs on a subflow that brings them back sooner.
//!
//! The peer learns how far the window has moved when a DATA_ACK is back, and that takes the way back of the subflow on which it leaves. Where
//! most data comes over the subflow with the longer way back, much of a small window waits for it. So the subflow with the shortest round
//! trip repeats it in an acknowledgement of its own. A DATA_ACK counts on any subflow (RFC 8684 §3.3.2).

use super::Connection;
use crate::paths::subflow::Subflow;
use crate::seq::SubflowId;
use pathweave_units::{Duration, Instant};

impl Connection {
    /// Subflow `id` acknowledges, or has filled a hole for which other subflows' data waited. Another one acknowledges too, at `at` or at
    /// once, where its DATA_ACK is back sooner by enough to be worth a segment.
    #[inline]
    pub(super) fn acknowledge_sooner(&mut self, now: Instant, id: SubflowId, at: Option<Instant>) {
        if self.config.share_data_acks
            && self.subflows.get(id).is_some_and(|s| s.tcp.shares_data_acks())
            && let Some(sooner) = self.sooner_back(now, id)
            && let Some(subflow) = self.subflows.get_mut(sooner)
        {
            subflow.tcp.ack_by(at);
        }
    }

    /// The subflow with the shortest round trip that TCP has measured, the handshake's where nothing is sent, if the peer uses it and
    /// has not heard there what the DATA_ACK says now.
    fn sooner_back(&self, now: Instant, id: SubflowId) -> Option<SubflowId> {
        let rtt = self.subflows.get(id)?.tcp.rtt().min()?;
        // An acknowledgement on one that carries nothing would wake a radio, or cost money, where the peer decided not to.
        let is_used = |s: &&Subflow| s.tcp.last_data().is_some_and(|last| now.since(last) <= rtt);
        let known = self.subflows.usable().filter(is_used).filter_map(|s| Some((s.tcp.rtt().min()?, s)));
        let (shortest, subflow) = known.min_by_key(|(rtt, _)| *rtt)?;
        let gain = Duration::from_nanos(rtt.as_nanos().saturating_sub(shortest.as_nanos()) / 2);
        let is_news = subflow.told < self.receiver.next();
        // Without SACK a sender may take several that acknowledge nothing new of their subflow for the sign of a loss.
        let is_safe = subflow.tcp.sack() || subflow.tcp.owes_ack();
        (is_news && is_safe && self.receiver.window.is_worth_a_segment(gain)).then_some(subflow.id)
    }
}
