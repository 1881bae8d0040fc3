//! Opening a connection, by our SYN or by answering the peer's.

use super::fallback_state::Fallback;
use super::handshake::capable;
use super::lifecycle::Lifecycle;
use super::mode::Mode;
use super::observation::News;
use super::scheduling::Scheduling;
use super::{Connection, ConnectionCounters, Role, Shared};
use crate::config::ConnectionConfig;
use crate::host::ConnectionHost;
use crate::paths::addresses::{AddressBook, NumberedAddress};
use crate::paths::joins::{JoinPlan, NewSubflow};
use crate::paths::subflow::{Join, Subflow};
use crate::paths::table::SubflowTable;
use crate::rate_limiter::RateLimiter;
use crate::receiver::StreamReceiver;
use crate::receiver::window::ReceiveWindow;
use crate::sender::Sender;
use crate::tcp::Tcp;
use core::net::SocketAddr;
use pathweave_scheduler::SubflowId;
use pathweave_scheduler::parameter::ParameterError;
use pathweave_units::{Duration, Instant};
use pathweave_wire::Segment;
use pathweave_wire::mptcp::{CapableContent, Key};
use std::collections::VecDeque;
use std::sync::Arc;

/// RFC 5961 §7: "in any 5 second window, no more than 10 challenge ACKs should be sent".
const CHALLENGES: u32 = 10;
const CHALLENGE_PERIOD: Duration = Duration::from_secs(5);

impl Connection {
    fn new(
        config: Arc<ConnectionConfig>,
        role: Role,
        mode: Mode,
        addresses: AddressBook,
        now: Instant,
        new: &NewSubflow,
    ) -> Result<Self, ParameterError> {
        let scheduler = config.scheduler.build()?;
        let mtu = new.mtu.unwrap_or(config.tcp.mtu);
        let segments = config.tcp.segments(mtu, addresses.initial_local().is_ipv4());
        let asked = (config.mptcp, role == Role::Client);
        let window = ReceiveWindow::new(config.receive_buffer, asked, &config.host, segments);
        let receiver = StreamReceiver::new(window, config.tcp.packet_memory);
        let shared = Shared {
            role,
            mode,
            checksum: false,
            life: Lifecycle::new(now),
            addresses,
            joins: JoinPlan::default(),
            sender: Sender::new(now),
            scheduling: Scheduling::new(scheduler),
            receiver,
            fallback: Fallback::default(),
            host: ConnectionHost::new(&config.host, config.tcp.send_buffer_tuning),
            challenges: RateLimiter::new(CHALLENGES, CHALLENGE_PERIOD),
            control: VecDeque::new(),
            next_output: SubflowId(0),
            news: News::default(),
            counters: ConnectionCounters::default(),
            changes: None,
            paths: Vec::new(),
            config,
        };
        Ok(Connection { subflows: SubflowTable::default(), shared })
    }

    /// Opens a connection; the SYN of the first subflow will leave.
    pub(crate) fn connect(
        now: Instant,
        config: Arc<ConnectionConfig>,
        key: Key,
        new: NewSubflow,
        addresses: (SocketAddr, SocketAddr),
        local: &[NumberedAddress],
    ) -> Result<Self, ParameterError> {
        let mode = if config.mptcp { Mode::Negotiating { local: key } } else { Mode::Plain };
        let book = AddressBook::new(local, addresses.0, addresses.1, config.accepted_addresses);
        let mut c = Connection::new(config, Role::Client, mode, book, now, &new)?;
        let controller = c.shared.config.congestion.build()?;
        let tcp = Tcp::connect(
            c.shared.tcp_config(&new),
            c.shared.config.host,
            controller,
            addresses,
            new.origin,
            c.shared.receiver.window.largest(),
        );
        let meta = c.shared.addresses.meta_of(addresses.0.ip());
        c.subflows.insert(Subflow::new(SubflowId(0), tcp, Join::Initial, meta));
        Ok(c)
    }

    /// Opens a connection to answer a SYN without MP_JOIN.
    pub(crate) fn accept(
        now: Instant,
        config: Arc<ConnectionConfig>,
        key: Key,
        new: NewSubflow,
        syn: &Segment,
        local: &[NumberedAddress],
    ) -> Result<Self, ParameterError> {
        //= RFC 8684 §3.1: "If a SYN does not contain an MP_CAPABLE option, the SYN/ACK MUST NOT contain one in response"
        //= tests: mp_capable::a_client_that_does_not_speak_it_gets_plain_tcp
        let mptcp = config.mptcp && capable(syn).is_some_and(|c| c.content == CapableContent::Syn);
        let mode = if mptcp { Mode::Negotiating { local: key } } else { Mode::Plain };
        let book = AddressBook::new(local, syn.dst, syn.src, config.accepted_addresses);
        let mut c = Connection::new(config, Role::Server, mode, book, now, &new)?;
        c.shared.checksum = c.shared.config.checksum || capable(syn).is_some_and(|o| o.flags.checksum_required);
        let controller = c.shared.config.congestion.build()?;
        let largest = c.shared.receiver.window.largest();
        let tcp =
            Tcp::accept(now, c.shared.tcp_config(&new), c.shared.config.host, controller, syn, new.origin, largest);
        let meta = c.shared.addresses.meta_of(syn.dst.ip());
        c.subflows.insert(Subflow::new(SubflowId(0), tcp, Join::Initial, meta));
        Ok(c)
    }
}

impl Shared {
    /// The TCP settings of a new subflow.
    pub(super) fn tcp_config(&self, new: &NewSubflow) -> crate::config::TcpConfig {
        let mut tcp = self.config.tcp.clone();
        tcp.mtu = new.mtu.unwrap_or(tcp.mtu);
        if self.config.mptcp && self.fast_detection() {
            // A dark path is probed as long as the connection lives, because it may work again.
            tcp.max_retransmissions = u32::MAX;
        }
        tcp
    }
}
