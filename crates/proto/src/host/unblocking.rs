//! Opportunistic retransmission and penalisation (the setting `pr`): what a host does if data of a slow subflow holds the
//! connection back while a faster subflow has room.

use crate::congestion::Window;
use crate::seq::SubflowId;
use pathweave_units::{Duration, Instant};

/// The reason why a connection cannot send although some subflow has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "some hosts look at the receive window only")]
pub(crate) enum Obstacle {
    /// The next segment does not fit the receive window.
    ReceiveWindow,
    /// All written data is out and a writer waits. If the buffer is not `full`, it has room that the writer does not know of
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
    /// It can carry new data.
    pub(crate) usable: bool,
    /// Nothing is lost or reordered, and the window is not being reduced.
    pub(crate) open: bool,
    /// The last time that a penalty was remembered with it.
    pub(crate) penalised_at: Option<Instant>,
}

/// What is done about an obstacle. By default nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Remedy {
    /// The first segment that is not acknowledged goes out again on the helper.
    pub(crate) resends: bool,
    pub(crate) penalty: Option<Penalty>,
}

/// A subflow's window becomes smaller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Penalty {
    pub(crate) slow: SubflowId,
    pub(crate) halve: fn(&mut Window),
    /// The subflow with which the time of the penalty is remembered.
    pub(crate) remembered_with: SubflowId,
    /// Before the segment goes out again, and also if it does not. Otherwise only after it has.
    pub(crate) at_once: bool,
}

/// As in the paper (NSDI 2012 §4.2): the first holder's segment goes out again on a faster subflow, and the holder's window is
/// halved, at most once in its round trip.
pub(super) fn as_in_the_paper(now: Instant, helper: &Carrier, holders: &[Carrier]) -> Remedy {
    let Some(slow) = holders.iter().find(|holder| holder.usable) else { return Remedy::default() };
    if helper.srtt >= slow.srtt {
        return Remedy::default();
    }
    let due = slow.penalised_at.is_none_or(|last| now.since(last) >= slow.srtt);
    let penalty = Penalty { slow: slow.id, halve, remembered_with: slow.id, at_once: false };
    Remedy { resends: true, penalty: due.then_some(penalty) }
}

/// The window is halved, and the threshold is set to it.
fn halve(window: &mut Window) {
    window.cwnd = (window.cwnd / 2).max(1);
    window.ssthresh = window.cwnd.max(2);
}
