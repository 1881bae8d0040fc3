//! Settings that tests start from.

use super::secs;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{
    ConnectionConfig, FailureDetection, LossRecovery, PathManager, ReceiveBuffer, TcpConfig,
};
use pathweave_proto::host::Host;
#[cfg(feature = "host-linux")]
use pathweave_proto::host::linux::LinuxHost;
#[cfg(feature = "host-mptcp-org")]
use pathweave_proto::host::mptcp_org::MptcpOrgHost;

/// A connection's settings: `minrtt`, `reno`, large buffers, all else as by default.
pub(crate) fn config() -> ConnectionConfig {
    let registry = Registry::builtin();
    ConnectionConfig {
        mptcp: true,
        tcp: TcpConfig::default(),
        host: Host::Rfc,
        scheduler: registry.choose_scheduler("minrtt", &[]).expect("minrtt is built in"),
        congestion: registry.choose_controller("reno", &[]).expect("reno is built in"),
        send_buffer: 4 << 20,
        receive_buffer: ReceiveBuffer::Fixed(1 << 20),
        nagle: false,
        pr: false,
        failure_detection: FailureDetection::Fast,
        path_manager: PathManager::Default,
        join_initial_address: true,
        protect_initial_address: false,
        keep_alive: pathweave_units::Duration::ZERO,
        single_path: false,
        checksum: false,
        close_timeout: secs(60),
        max_subflows: 8,
        accepted_addresses: 8,
        accept_priorities: true,
        accept_removals: true,
        share_data_acks: true,
    }
}

/// These settings with each host model that is compiled in.
pub(crate) fn on_each_host(config: ConnectionConfig) -> Vec<ConnectionConfig> {
    let hosts = [
        Host::Rfc,
        #[cfg(feature = "host-linux")]
        Host::Linux(LinuxHost::default()),
        #[cfg(feature = "host-mptcp-org")]
        Host::MptcpOrg(MptcpOrgHost::default()),
    ];
    hosts.into_iter().map(|host| ConnectionConfig { host, ..config.clone() }).collect()
}

/// The settings of [`config`] without Multipath TCP.
pub(crate) fn tcp_config() -> ConnectionConfig {
    ConnectionConfig { mptcp: false, ..config() }
}

/// Settings of plain TCP that finds losses in this way.
pub(crate) fn with_recovery(recovery: LossRecovery) -> ConnectionConfig {
    ConnectionConfig { tcp: TcpConfig { recovery, ..TcpConfig::default() }, ..tcp_config() }
}

pub(crate) fn with_scheduler(config: ConnectionConfig, name: &str) -> ConnectionConfig {
    let scheduler = Registry::builtin().choose_scheduler(name, &[]).unwrap_or_else(|error| panic!("{error}"));
    ConnectionConfig { scheduler, ..config }
}
