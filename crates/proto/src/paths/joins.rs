//! Which further subflows a client wants, and when (RFC 8684 §3.2).

use super::addresses::{AddressBook, RemoteAddress};
use super::subflow::{Join, Subflow};
use super::table::SubflowTable;
use crate::config::PathManager;
use crate::rate_limiter::Allowance;
use crate::tcp::{Origin, TcpState};
use core::net::{IpAddr, SocketAddr};
use pathweave_units::{Duration, Instant};

/// First wait before a lost or refused subflow is joined again.
const JOIN_RETRY: Duration = Duration::from_secs(1);

/// Budget for SYNs on paths that have never answered: a burst of 128, then one every 8 s. Without it a peer could aim our
/// SYNs at third parties. One path that is dark from the start is tried once a second for two minutes; several such paths
/// share the budget.
const UNPROVED_SYNS: u32 = 128;
const UNPROVED_SYN_INTERVAL: Duration = Duration::from_secs(8);
/// Most paths that are remembered as closed by the peer.
const MOST_CLOSED_PATHS: usize = 64;
/// Most paths to proved addresses of the peer for which the plan remembers whether they have answered.
const MOST_ASKED_PATHS: usize = 64;

/// Values that the endpoint gives a new subflow: random numbers, and the MTU of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewSubflow {
    pub(crate) origin: Origin,
    pub(crate) nonce: u32,
    /// Size of the largest IP packet on its path, if the endpoint was told.
    pub(crate) mtu: Option<u32>,
}

/// When subflows are joined, for the first time and again.
#[derive(Debug)]
pub(crate) struct JoinPlan {
    wanted: bool,
    /// When joins are tried again.
    retry_at: Option<Instant>,
    /// Subflows lost since a further subflow last began to carry data.
    lost: u32,
    /// The state of paths, by our address and the peer's. One list, because each idle connection keeps it.
    known: Vec<(Known, IpAddr, SocketAddr)>,
    unproved: Allowance,
}

/// The state of a path, as earlier joins have shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The peer has closed it for good.
    Closed,
    /// A join was tried there, and the peer has not answered.
    Asked,
    /// The peer has answered there.
    Answered,
}

impl Default for JoinPlan {
    fn default() -> Self {
        JoinPlan {
            wanted: false,
            retry_at: None,
            lost: 0,
            known: Vec::new(),
            unproved: Allowance::new(UNPROVED_SYNS, UNPROVED_SYN_INTERVAL),
        }
    }
}

impl JoinPlan {
    /// Asks the path manager to look for missing subflows.
    pub(crate) fn request(&mut self) {
        self.wanted = true;
    }

    /// Asks the path manager to look at `now`, because no segment may come that would make it look.
    pub(crate) fn request_at(&mut self, now: Instant) {
        self.retry_at = Some(now);
    }

    /// Whether the path manager was asked to look.
    #[inline]
    pub(crate) fn is_requested(&self) -> bool {
        self.wanted
    }

    /// Notes that the path manager has looked.
    pub(crate) fn answered(&mut self) {
        self.wanted = false;
    }

    /// Plans to join a lost subflow again: the first time at once, then after 1, 2, 4, 4, ... s. After a joined subflow
    /// has carried data, the series starts over.
    pub(crate) fn after_loss(&mut self, now: Instant) {
        match self.lost {
            0 => self.wanted = true,
            n => self.retry_at = Some(now + JOIN_RETRY.saturating_mul(1 << (n - 1).min(2))),
        }
        self.lost += 1;
    }

    /// Makes the next loss count as the first one.
    pub(crate) fn forget_losses(&mut self) {
        self.lost = 0;
    }

    /// Notes that the peer has closed the path between these addresses for good.
    #[cold]
    pub(crate) fn close_path(&mut self, local: IpAddr, remote: SocketAddr) {
        let closed = self.known.iter().filter(|path| path.0 == Known::Closed).count();
        if closed < MOST_CLOSED_PATHS && !self.is_closed(local, remote) {
            self.known.push((Known::Closed, local, remote));
        }
    }

    /// Forgets what is known of paths to addresses that the peer has removed.
    pub(crate) fn forget_paths_to(&mut self, is_removed: impl Fn(SocketAddr) -> bool) {
        self.known.retain(|(_, _, remote)| !is_removed(*remote));
    }

    fn is_closed(&self, local: IpAddr, remote: SocketAddr) -> bool {
        self.known.contains(&(Known::Closed, local, remote))
    }

    /// Notes that the peer has answered on this path with a value that only it can know.
    #[cold]
    pub(crate) fn note_answer(&mut self, local: IpAddr, remote: SocketAddr) {
        self.known.retain(|path| path.0 == Known::Closed || (path.1, path.2) != (local, remote));
        self.remember((Known::Answered, local, remote));
    }

    /// Remembers a path that was asked; forgets the oldest one if there are more than [`MOST_ASKED_PATHS`].
    fn remember(&mut self, path: (Known, IpAddr, SocketAddr)) {
        let is_asked = |path: &(Known, IpAddr, SocketAddr)| path.0 != Known::Closed;
        if self.known.iter().filter(|path| is_asked(path)).count() >= MOST_ASKED_PATHS
            && let Some(oldest) = self.known.iter().position(is_asked)
        {
            self.known.remove(oldest);
        }
        self.known.push(path);
    }

    /// Whether the peer has answered on this path.
    pub(crate) fn has_answered(&self, local: IpAddr, remote: SocketAddr) -> bool {
        self.known.contains(&(Known::Answered, local, remote))
    }

    /// Whether one more join may use this path, on which the peer has not answered. If not, it is tried later. The first
    /// join to an address that is `proved` to be the peer's is always allowed, so that a new address of this host does not
    /// wait for dark ones.
    pub(crate) fn may_ask(&mut self, now: Instant, local: IpAddr, remote: SocketAddr, proved: bool) -> bool {
        if proved && !self.known.contains(&(Known::Asked, local, remote)) {
            self.remember((Known::Asked, local, remote));
            return true;
        }
        let may = self.unproved.take(now);
        if !may {
            let next = self.unproved.next(now);
            self.retry_at = Some(self.retry_at.map_or(next, |at| at.min(next)));
        }
        may
    }

    /// Charges `repeated` retransmitted SYNs of a join on a path that has not answered.
    pub(crate) fn charge_unproved(&mut self, repeated: u32) {
        self.unproved.charge(repeated);
    }

    /// When joins are tried again.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Requests joins again if it is time to.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.retry_at.take_if(|t| *t <= now).is_some() {
            self.wanted = true;
        }
    }
}

impl Subflow {
    /// Whether the peer has not proved yet that this join is its own.
    pub(crate) fn is_unproved(&self) -> bool {
        matches!(self.join, Join::Pending { .. }) && self.tcp.state() == TcpState::SynReceived
    }
}

/// The joins that a path manager wants in addition to the existing subflows: pairs of local address (port 0: any free
/// port) and remote address.
///
/// `closed_initial`: no join may go to the peer's initial address. `join_initial`: if the peer has announced no other
/// address, our further addresses may join its initial one.
pub(crate) fn wanted(
    plan: &JoinPlan,
    manager: PathManager,
    addresses: &AddressBook,
    subflows: &SubflowTable,
    closed_initial: bool,
    join_initial: bool,
) -> Vec<(SocketAddr, SocketAddr)> {
    let living = || subflows.iter().filter(|s| !s.has_ended());
    let initial = addresses.remote().first().copied();
    let joinable = |remote: &&RemoteAddress| !(closed_initial && Some(**remote) == initial);
    let mut joins = Vec::new();
    match manager {
        PathManager::Default => joins = from_each_address(addresses, subflows, closed_initial, join_initial),
        PathManager::FullMesh => {
            let exists = |local: IpAddr, remote: SocketAddr| {
                living().any(|s| s.tcp.local.ip() == local && s.tcp.remote == remote)
            };
            for (_, local, _) in addresses.local() {
                for RemoteAddress { address: remote, .. } in addresses.remote().iter().filter(joinable) {
                    if local.is_ipv4() == remote.is_ipv4() && !exists(*local, *remote) {
                        joins.push((SocketAddr::new(*local, 0), *remote));
                    }
                }
            }
        }
        PathManager::NDiffPorts(n) => {
            let first = subflows.iter().next().map(|s| s.tcp.local.ip());
            if let (Some(local), Some(remote)) = (first, initial.as_ref().filter(|r| joinable(r))) {
                for _ in living().count()..usize::from(n) {
                    joins.push((SocketAddr::new(local, 0), remote.address));
                }
            }
        }
    }
    //= RFC 8684 §3.6: "If the error condition is considered to be Permanent, the receiver of the RST segment SHOULD NOT try to
    //= re-establish a subflow for this connection over this path"
    //= tests: resets::a_path_that_was_closed_for_good_is_not_joined_again
    // A connection without any other subflow keeps trying: even a path that breaks repeatedly delivers a window each
    // time.
    let open = |(local, remote): &(SocketAddr, SocketAddr)| !plan.is_closed(local.ip(), *remote);
    if living().next().is_some() || joins.iter().any(open) {
        joins.retain(open);
    }
    joins
}

/// One subflow from each local address: to the peer's address of the same number, or to its initial one if
/// it has announced no other. Numbers count within each address family. If the initial address takes no
/// joins, only the others count, on both sides.
fn from_each_address(
    addresses: &AddressBook,
    subflows: &SubflowTable,
    closed_initial: bool,
    join_initial: bool,
) -> Vec<(SocketAddr, SocketAddr)> {
    let initial = addresses.remote().first().copied();
    let joinable = |remote: &&RemoteAddress| !(closed_initial && Some(**remote) == initial);
    let mut joins = Vec::new();
    let first = addresses.initial_local().ip();
    let counts = |local: IpAddr| !closed_initial || local != first;
    let ours = || addresses.local().iter().map(|l| l.1).filter(|local| counts(*local));
    // The first subflow's address comes first, even if it is not among those that may be used.
    let unlisted = Some(first).filter(|first| counts(*first) && ours().all(|local| local != *first));
    for (i, local) in ours().enumerate() {
        let before = unlisted.into_iter().chain(ours().take(i));
        let place = before.filter(|before| before.is_ipv4() == local.is_ipv4()).count();
        let of_family = |r: &&RemoteAddress| r.address.is_ipv4() == local.is_ipv4();
        let announced = addresses.remote().iter().filter(joinable).filter(of_family).nth(place);
        //= RFC 8684 §3.9.1: "the destination port of a SYN containing an MP_JOIN option SHOULD be the same as the remote
        //= port of the first subflow in the connection"
        //= tests: mp_join::four_segments_join_a_subflow
        let only_initial = addresses.remote().iter().filter(of_family).count() == 1 && join_initial;
        let alone = initial.as_ref().filter(|_| only_initial);
        let Some(RemoteAddress { address: remote, .. }) = announced.or(alone).filter(joinable) else {
            continue;
        };
        let used = subflows.iter().any(|s| !s.has_ended() && s.tcp.local.ip() == local);
        if !used && local.is_ipv4() == remote.is_ipv4() {
            joins.push((SocketAddr::new(local, 0), *remote));
        }
    }
    joins
}
