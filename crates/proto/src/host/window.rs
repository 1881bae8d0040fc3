//! What a host adds to the window that a connection offers: what received data takes of its memory, and how far a new subflow's
//! window opens.

use super::Host;
#[cfg(feature = "host-linux")]
use super::linux::window::{self, READING, Shares};
#[cfg(feature = "host-mptcp-org")]
use super::mptcp_org;
use super::rfc;
use crate::seq::DataSeq;
use pathweave_units::Duration;

/// What is known of a connection where its window is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowSetting {
    /// The receive buffer at first, bytes.
    pub(crate) buffer: u64,
    /// It grows with what is read.
    pub(crate) grows: bool,
    /// Multipath TCP is asked for.
    pub(crate) mptcp: bool,
    /// Data bytes of a full segment of plain TCP, without and with timestamps if those are asked for.
    pub(crate) largest_segment: u64,
    pub(crate) full_segment: u64,
}

/// A segment that has just arrived on a subflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// Its data bytes, and whether they wait for a hole of the subflow.
    pub(crate) len: u32,
    pub(crate) out_of_order: bool,
    /// Bytes that wait for a hole of the subflow, these included.
    pub(crate) held: u64,
    /// A full segment has come on this subflow by now.
    pub(crate) saw_full: bool,
    /// The connection uses Multipath TCP.
    pub(crate) mptcp: bool,
}

/// What a window is made of. Sizes are bytes of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The receive buffer, and what of it is taken.
    pub(crate) buffer: u64,
    pub(crate) occupied: u64,
    /// A full segment of plain TCP.
    pub(crate) full_segment: u64,
    /// The largest segment that came on the subflow at hand.
    pub(crate) largest_segment: u64,
    /// What is left of the windows offered so far, on all subflows.
    pub(crate) offered: u64,
    /// The most that the subflow at hand may offer, and the smallest step of what it can say.
    pub(crate) limit: u64,
    pub(crate) step: u64,
}

/// A host's rules for one connection's window. Sizes are bytes of data.
#[derive(Debug)]
pub(crate) enum WindowHost {
    Rfc,
    #[cfg(feature = "host-linux")]
    Linux(Box<Shares>),
    #[cfg(feature = "host-mptcp-org")]
    MptcpOrg,
}

impl WindowHost {
    pub(crate) fn new(host: &Host, setting: &WindowSetting) -> Self {
        match host {
            #[cfg(feature = "host-linux")]
            Host::Linux => WindowHost::Linux(Box::new(Shares::new(setting))),
            #[cfg(feature = "host-mptcp-org")]
            Host::MptcpOrg => WindowHost::MptcpOrg,
            Host::Rfc => WindowHost::Rfc,
        }
    }

    /// Gives back the memory that is kept for what may come.
    pub(crate) fn shrink(&mut self) {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.shrink(),
            _ => {}
        }
    }

    /// The window of a SYN.
    pub(crate) fn of_syn(&self, buffer: u64) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.of_syn(buffer),
            _ => buffer,
        }
    }

    /// What a subflow may offer at first.
    pub(crate) fn first(&self, buffer: u64) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.first(buffer),
            _ => buffer,
        }
    }

    /// What is read in the first round trip is nothing new up to this.
    pub(crate) fn first_space(&self, setting: &WindowSetting) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.first_space(setting),
            _ => 10 * setting.full_segment,
        }
    }

    /// A subflow's own limit after a segment has arrived on it, which may grow to `clamp`. `occupied` bytes wait in `buffer`.
    #[inline]
    pub(crate) fn opened(&self, buffer: u64, limit: u64, clamp: u64, arrived: &Arrived, occupied: u64) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.opened(buffer, limit, clamp, arrived, occupied),
            _ => buffer,
        }
    }

    /// The window that could be offered. Asked several times for each segment.
    #[inline]
    pub(crate) fn possible(&self, room: &Room) -> u64 {
        match self {
            WindowHost::Rfc => rfc::window(room),
            #[cfg(feature = "host-linux")]
            _ => self.possible_in_kernel(room),
        }
    }

    #[cfg(feature = "host-linux")]
    #[inline(never)]
    fn possible_in_kernel(&self, room: &Room) -> u64 {
        let free = self.offered_of(room.buffer.saturating_sub(room.occupied));
        window::possible(room, self.offered_of(room.buffer), free)
    }

    /// Whether acknowledging each segment at once ends where `occupied` bytes of `buffer` are taken.
    pub(crate) fn ends_quick_acks(&self, buffer: u64, occupied: u64) -> bool {
        match self {
            WindowHost::Rfc => false,
            #[cfg(feature = "host-linux")]
            _ => self.offered_of(buffer.saturating_sub(occupied)) < self.offered_of(buffer) / 2,
        }
    }

    /// Whether the connection's window is so much more than `told`, which the peer was told last, that subflows may tell it.
    #[inline]
    pub(crate) fn is_news(&self, told: u64, possible: impl FnOnce() -> u64, mptcp: bool) -> bool {
        match self {
            WindowHost::Rfc => true,
            #[cfg(feature = "host-linux")]
            _ => window::is_news(told, possible(), mptcp),
        }
    }

    /// Whether a subflow tells the peer at once that the window is `possible`, where `left` is what it still has of the last one
    /// and `largest_segment` came on it.
    pub(crate) fn tells(&self, buffer: u64, largest_segment: u64, left: u64, possible: u64) -> bool {
        match self {
            WindowHost::Rfc => rfc::tells(buffer, largest_segment, left, possible),
            #[cfg(feature = "host-linux")]
            _ => window::tells(buffer, left, possible),
        }
    }

    /// The part of `bytes` of the buffer that may be offered.
    #[cfg(feature = "host-linux")]
    #[inline]
    fn offered_of(&self, bytes: u64) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.offered_of(bytes),
            _ => bytes,
        }
    }

    /// New data of the stream has arrived.
    #[inline]
    pub(crate) fn received(&mut self, buffer: u64, at: DataSeq, len: u64) {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.received(buffer, at, len),
            _ => {}
        }
    }

    /// All before `position` has been read.
    #[inline]
    pub(crate) fn read_to(&mut self, position: DataSeq) {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.read_to(position),
            _ => {}
        }
    }

    /// What of `buffer` is taken where `bytes` of the stream are unread or wait for earlier ones, and `held` wait for a hole
    /// of the subflow that looks at it.
    #[inline]
    pub(crate) fn occupied(&self, buffer: u64, bytes: u64, held: u64, mptcp: bool) -> u64 {
        match self {
            WindowHost::Rfc => bytes + held,
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.occupied(buffer, bytes, held, mptcp),
            #[cfg(feature = "host-mptcp-org")]
            WindowHost::MptcpOrg => mptcp_org::taken(bytes + held, mptcp),
        }
    }

    /// Whether a subflow on which no full segment has come yet makes the window smaller.
    #[inline]
    pub(crate) fn distrusts_new_subflows(&self) -> bool {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(_) => true,
            _ => false,
        }
    }

    /// `distrusted`: there is such a subflow.
    #[inline]
    pub(crate) fn note_new_subflows(&mut self, distrusted: bool) {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.set_cautious(distrusted),
            _ => {}
        }
    }

    /// The buffer of at most `max` bytes that is made for `wanted` bytes, and the window that subflows may open to.
    pub(crate) fn grown(&self, wanted: u64, max: u64) -> (u64, u64) {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(shares) => shares.grown(wanted, max),
            _ => (wanted, wanted),
        }
    }

    /// Whether the acknowledgement that a reader causes waits until it has read all that it can at once.
    #[inline]
    pub(crate) fn waits_for_rest(&self) -> bool {
        matches!(self, WindowHost::Rfc)
    }

    /// How long a reader takes until the acknowledgement that it causes leaves.
    #[inline]
    pub(crate) fn reading_takes(&self) -> Option<Duration> {
        match self {
            #[cfg(feature = "host-linux")]
            WindowHost::Linux(_) => Some(READING),
            _ => None,
        }
    }
}
