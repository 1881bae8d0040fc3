//! What the subflows of a connection share: everything but the table of subflows. A step that handles one subflow takes
//! it and [`Shared`], so that it finds the subflow once.

use super::fallback_state::Fallback;
use super::lifecycle::Lifecycle;
use super::mode::Mode;
use super::observation::News;
use super::scheduling::Scheduling;
use super::{ConnectionCounters, Role};
use crate::config::{ConnectionConfig, FailureDetection};
use crate::congestion::PathState;
use crate::host::ConnectionHost;
use crate::paths::addresses::AddressBook;
use crate::paths::joins::JoinPlan;
use crate::rate_limiter::RateLimiter;
use crate::receiver::StreamReceiver;
use crate::sender::Sender;
use crate::tcp::Changes;
use core::net::SocketAddr;
use pathweave_scheduler::SubflowId;
use pathweave_wire::Segment;
use std::collections::VecDeque;
use std::sync::Arc;

/// All state of a connection but its subflows.
pub(super) struct Shared {
    pub(super) config: Arc<ConnectionConfig>,
    pub(super) role: Role,
    pub(super) mode: Mode,
    /// Whether DSS checksums are in use because either side asked for them.
    pub(super) checksum: bool,
    pub(super) life: Lifecycle,
    pub(super) addresses: AddressBook,
    pub(super) joins: JoinPlan,
    pub(super) sender: Sender,
    pub(super) scheduling: Scheduling,
    pub(super) receiver: StreamReceiver,
    pub(super) fallback: Fallback,
    /// State of the host's habits, beyond what the RFCs require.
    pub(super) host: ConnectionHost,
    pub(super) challenges: RateLimiter,
    /// Resets, which belong to no subflow's stream.
    pub(super) control: VecDeque<Segment>,
    /// The subflow that is asked first for the next segment.
    pub(super) next_output: SubflowId,
    pub(super) news: News,
    pub(super) counters: ConnectionCounters,

    // Reused, so that no segment needs an allocation.
    pub(super) changes: Option<Box<Changes>>,
    pub(super) paths: Vec<PathState>,
}

impl Shared {
    /// Whether Multipath TCP is in use; known after the handshake.
    pub(super) fn is_mptcp(&self) -> bool {
        self.mode.keys().is_some()
    }

    /// Whether plain TCP is in use, and will be until the end.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.mode, Mode::Plain)
    }

    /// The peer's address of the first subflow.
    pub(super) fn remote_address(&self) -> SocketAddr {
        self.addresses.remote()[0].address
    }

    /// Whether failures are detected by the rule `fast`.
    pub(super) fn fast_detection(&self) -> bool {
        self.config.failure_detection == FailureDetection::Fast
    }
}
