//! Settings that tests start from.

use super::secs;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{Chosen, ConnectionConfig, FailureDetection, PathManager, ReceiveBuffer, TcpConfig};
use pathweave_proto::host::Host;
use pathweave_proto::parameter::Values;

/// A connection's settings: `minrtt`, `reno`, large buffers, all else as by default.
pub(crate) fn config() -> ConnectionConfig {
    let registry = Registry::builtin();
    let scheduler = *registry.scheduler("minrtt").expect("minrtt is built in");
    let controller = *registry.controller("reno").expect("reno is built in");
    ConnectionConfig {
        mptcp: true,
        tcp: TcpConfig::default(),
        host: Host::Rfc,
        scheduler: Chosen { entry: scheduler, values: Values::parse(scheduler.parameters, &[]).expect("defaults") },
        congestion: Chosen { entry: controller, values: Values::parse(controller.parameters, &[]).expect("defaults") },
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
    }
}

/// The same without Multipath TCP.
pub(crate) fn tcp_config() -> ConnectionConfig {
    ConnectionConfig { mptcp: false, ..config() }
}

pub(crate) fn with_scheduler(config: ConnectionConfig, name: &str) -> ConnectionConfig {
    let entry = *Registry::builtin().scheduler(name).unwrap_or_else(|| panic!("no scheduler {name}"));
    let values = Values::parse(entry.parameters, &[]).expect("defaults");
    ConnectionConfig { scheduler: Chosen { entry, values }, ..config }
}
