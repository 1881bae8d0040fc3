//! DATA_ACKs on a subflow that delivers them sooner.
//!
//! The peer learns of the moved window when a DATA_ACK arrives, which takes the one-way delay of the subflow on which
//! it leaves. If most data comes over the subflow with the longer delay, much of a small window is idle meanwhile. So
//! the subflow with the shortest round trip repeats the DATA_ACK in an acknowledgement of its own. A DATA_ACK counts on
//! any subflow (RFC 8684 §3.3.2).

use super::Shared;
use crate::paths::subflow::Subflow;
use crate::paths::table::Split;
use pathweave_units::{Duration, Instant};

impl Shared {
    /// Called if a subflow acknowledges, or has filled a hole for which other subflows' data waited. Another subflow
    /// acknowledges too, at `due` or at once, if its DATA_ACK arrives early enough to be worth a segment.
    #[inline]
    pub(super) fn acknowledge_sooner(&self, now: Instant, at: &mut Split<'_>, due: Option<Instant>) {
        if self.config.share_data_acks
            && at.subflow.tcp.shares_data_acks()
            && let Some(sooner) = self.sooner_back(now, at)
        {
            sooner.tcp.ack_by(due);
        }
    }

    /// The subflow with the shortest measured round trip (the handshake's if it sends no data), if the peer uses it and
    /// it has not carried the current DATA_ACK yet.
    fn sooner_back<'a>(&self, now: Instant, at: &'a mut Split<'_>) -> Option<&'a mut Subflow> {
        let rtt = at.subflow.tcp.rtt().min()?;
        // An acknowledgement on an unused subflow could wake a radio or cost money, against the peer's choice.
        let is_used = |s: &Subflow| s.usable() && s.tcp.last_data().is_some_and(|last| now.since(last) <= rtt);
        let known = at.all_mut().filter(|s| is_used(s)).filter_map(|s| Some((s.tcp.rtt().min()?, s)));
        let (shortest, subflow) = known.min_by_key(|(rtt, _)| *rtt)?;
        let gain = Duration::from_nanos(rtt.as_nanos().saturating_sub(shortest.as_nanos()) / 2);
        let is_news = subflow.last_data_ack_sent < self.receiver.next();
        // Without SACK a sender may take several acknowledgements without new data for the sign of a loss.
        let is_safe = subflow.tcp.sack() || subflow.tcp.owes_ack();
        (is_news && is_safe && self.receiver.window.is_worth_a_segment(gain)).then_some(subflow)
    }
}
