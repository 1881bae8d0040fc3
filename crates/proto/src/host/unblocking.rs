//! Opportunistic retransmission and penalisation (the setting `pr`): the host's remedies if data of a slow subflow
//! holds the connection back while a faster subflow has room.

use crate::congestion::Window;
use pathweave_scheduler::SubflowId;
use pathweave_units::{Duration, Instant};

/// The reason why a connection cannot send although some subflow has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "some hosts look at the receive window only")]
pub(crate) enum Obstacle {
    /// The next segment does not fit the receive window.
    ReceiveWindow,
    /// All written data has left and a writer waits. If the send buffer is not `full`, the writer has not been woken
    /// yet.
    SendBuffer { full: bool },
}

/// A subflow that holds the first unacknowledged segment, or one that may help.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Carrier {
    pub(crate) id: SubflowId,
    pub(crate) srtt: Duration,
    pub(crate) cwnd: u32,
    /// Whether the subflow can carry new data.
    pub(crate) usable: bool,
    /// Whether nothing is lost or reordered, and the window is not being reduced.
    pub(crate) open: bool,
    /// The last time that a penalty was noted at this subflow.
    pub(crate) penalised_at: Option<Instant>,
}

/// The host's remedy for an obstacle; by default nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Remedy {
    /// Whether the first unacknowledged segment is sent again on the helper.
    pub(crate) resends: bool,
    pub(crate) penalty: Option<Penalty>,
}

/// A reduction of a subflow's congestion window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Penalty {
    pub(crate) slow: SubflowId,
    pub(crate) halve: fn(&mut Window),
    /// The subflow at which the time of the penalty is noted.
    pub(crate) remembered_with: SubflowId,
    /// Whether the penalty comes before the segment is sent again, and even if it is not. Otherwise the penalty follows
    /// only after the segment was sent again.
    pub(crate) at_once: bool,
}

/// The remedy of the paper (NSDI 2012 §4.2). The first segment is sent again on the helper if this is faster than the
/// first usable holder, and the holder's window is halved, at most once per round trip of the holder.
pub(super) fn as_in_the_paper(now: Instant, helper: &Carrier, holders: &[Carrier]) -> Remedy {
    let Some(slow) = holders.iter().find(|holder| holder.usable) else { return Remedy::default() };
    if helper.srtt >= slow.srtt {
        return Remedy::default();
    }
    let due = slow.penalised_at.is_none_or(|last| now.since(last) >= slow.srtt);
    let penalty = Penalty { slow: slow.id, halve, remembered_with: slow.id, at_once: false };
    Remedy { resends: true, penalty: due.then_some(penalty) }
}

/// Halves the window, and sets the threshold to the new window.
fn halve(window: &mut Window) {
    window.cwnd = (window.cwnd / 2).max(1);
    window.ssthresh = window.cwnd.max(2);
}
