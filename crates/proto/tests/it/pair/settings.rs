//! Settings that tests start from.

#[cfg(feature = "host-linux")]
use super::ms;
use super::secs;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{
    ConnectionConfig, FailureDetection, LossRecovery, PathManager, ReceiveBuffer, TcpConfig,
};
use pathweave_proto::host::Host;

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

/// These settings with each host model that is compiled in; the kernels have the clocks that they come with.
pub(crate) fn on_each_host(config: ConnectionConfig) -> Vec<ConnectionConfig> {
    vec![
        ConnectionConfig { host: Host::Rfc, ..config.clone() },
        #[cfg(feature = "host-linux")]
        on_linux(config.clone()),
        #[cfg(feature = "host-mptcp-org")]
        ConnectionConfig { host: Host::MptcpOrg, tcp: TcpConfig { timer_tick: ms(1), ..config.tcp }, ..config.clone() },
        #[cfg(feature = "host-mptcp-org")]
        ConnectionConfig { host: Host::Mptcp088, tcp: TcpConfig { timer_tick: ms(1), ..config.tcp }, ..config },
    ]
}

/// Whether data waits on this host for a larger part of its subflow's window, and then leaves in bursts.
pub(crate) fn defers(config: &ConnectionConfig) -> bool {
    match config.host {
        #[cfg(feature = "host-mptcp-org")]
        Host::Mptcp088 => true,
        _ => false,
    }
}

/// These settings on a Linux host as it comes: with a clock of 1000 ticks a second, and a send buffer that follows the windows.
#[cfg(feature = "host-linux")]
pub(crate) fn on_linux(config: ConnectionConfig) -> ConnectionConfig {
    let tcp = TcpConfig { send_buffer_tuning: true, timer_tick: ms(1), ..config.tcp };
    ConnectionConfig { host: Host::Linux, tcp, ..config }
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
