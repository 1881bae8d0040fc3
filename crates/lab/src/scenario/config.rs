//! From a scenario's connection to the engine's settings.

use super::data::{Connection, PathMode};
use super::spec;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{Chosen, ConnectionConfig, FailureDetection};
use pathweave_proto::host::Host;
use pathweave_proto::host::linux::LinuxHost;
use pathweave_proto::parameter::{Parameter, ParameterError, Values};
use std::collections::BTreeMap;

impl Connection {
    /// The engine's settings; both ends have the same.
    ///
    /// # Errors
    /// Where the registry is not the one that the scenario was read with.
    pub fn config(&self, registry: &Registry) -> Result<ConnectionConfig, ParameterError> {
        let scheduler = spec::scheduler(&self.scheduler.name, registry)?;
        let values = Values::parse(scheduler.parameters, &self.scheduler.given)?;
        let (congestion, congestion_values) = spec::controller(&self.congestion, registry)?;
        Ok(ConnectionConfig {
            mptcp: self.mptcp,
            tcp: self.tcp.clone(),
            scheduler: Chosen { entry: *scheduler, values },
            congestion: Chosen { entry: *congestion, values: congestion_values },
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            nagle: self.nagle,
            host: self.host(),
            single_path: self.path_mode == PathMode::Single,
            pr: self.pr,
            failure_detection: self.failure_detection,
            path_manager: self.path_manager,
            join_initial_address: self.join_initial_address,
            protect_initial_address: self.protect_initial_address,
            checksum: self.checksum,
            keep_alive: self.keep_alive,
            close_timeout: self.close_timeout,
            max_subflows: u8::try_from(self.max_subflows).unwrap_or(u8::MAX),
        })
    }

    /// The host that has the kernel's habits which are set.
    fn host(&self) -> Host {
        let linux = LinuxHost {
            // A host that detects failures as Linux does is taken for Linux in this too.
            kernel_windows: self.failure_detection == FailureDetection::Linux,
            send_buffer_tuning: self.send_buffer_tuning,
            timer_tick: self.timer_tick,
        };
        if linux == LinuxHost::NO_HABIT { Host::Rfc } else { Host::Linux(linux) }
    }

    /// Every parameter of its scheduler with its value as written, defaults included.
    pub fn scheduler_parameters(&self, registry: &Registry) -> BTreeMap<String, String> {
        let declared = registry.scheduler(&self.scheduler.name).map_or(&[][..], |entry| entry.parameters);
        let given = &self.scheduler.given;
        let value = |p: &Parameter| match given.iter().find(|(key, _)| key == p.name) {
            Some((_, value)) => value.clone(),
            None => p.default.to_owned(),
        };
        declared.iter().map(|p| (p.name.to_owned(), value(p))).collect()
    }
}
