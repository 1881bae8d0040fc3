//! From a scenario's connection to the engine's settings.

use super::data::{Connection, HostModel, PathMode};
use super::spec;
use pathweave_algorithms::Registry;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::host::Host;
use pathweave_proto::host::linux::LinuxHost;
use pathweave_proto::host::mptcp_org::MptcpOrgHost;
use pathweave_proto::parameter::{Parameter, ParameterError};
use std::collections::BTreeMap;

impl Connection {
    /// The engine's settings; both ends have the same.
    ///
    /// # Errors
    /// If the registry is not the one that the scenario was read with.
    pub fn config(&self, registry: &Registry) -> Result<ConnectionConfig, ParameterError> {
        let scheduler = registry.choose_scheduler(&self.engine.scheduler.name, &self.engine.scheduler.given)?;
        let congestion = spec::controller(&self.engine.congestion, registry)?;
        let single_path = self.path_mode == PathMode::Single;
        Ok(ConnectionConfig {
            host: self.host(),
            single_path,
            ..self.engine.clone().with_algorithms(scheduler, congestion)
        })
    }

    /// The host. One that follows the RFCs can still have a habit of Linux hosts that is a setting of its own.
    fn host(&self) -> Host {
        if self.host == HostModel::MptcpOrg {
            return Host::MptcpOrg(MptcpOrgHost {
                send_buffer_tuning: self.send_buffer_tuning,
                timer_tick: self.timer_tick,
            });
        }
        let linux = LinuxHost {
            other_habits: self.host == HostModel::Linux,
            send_buffer_tuning: self.send_buffer_tuning,
            timer_tick: self.timer_tick,
        };
        if linux == LinuxHost::NO_HABIT { Host::Rfc } else { Host::Linux(linux) }
    }

    /// Every parameter of its scheduler with its value as written, defaults included.
    pub fn scheduler_parameters(&self, registry: &Registry) -> BTreeMap<String, String> {
        let factory = registry.scheduler(&self.engine.scheduler.name);
        let declared = factory.map(|factory| factory.parameters()).unwrap_or_default();
        let given = &self.engine.scheduler.given;
        let value = |p: &Parameter<'_>| match given.iter().find(|(key, _)| key == p.name) {
            Some((_, value)) => value.clone(),
            None => p.default.to_owned(),
        };
        declared.iter().map(|p| (p.name.to_owned(), value(p))).collect()
    }
}
