//! From a scenario's connection to the engine's settings.

use super::data::Connection;
use super::spec;
use pathweave_proto::Registry;
use pathweave_proto::config::{Chosen, ConnectionConfig};
use pathweave_proto::parameter::{ParameterError, Values};

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
            nagle: true,
            join_initial_address: false,
            single_path: self.path_mode == super::data::PathMode::Single,
            pr: self.pr,
            failure_detection: self.failure_detection,
            path_manager: self.path_manager,
            checksum: self.checksum,
            close_timeout: self.close_timeout,
            max_subflows: u8::try_from(self.max_subflows).unwrap_or(u8::MAX),
        })
    }
}
