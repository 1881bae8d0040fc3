//! Every scheduler and congestion controller by name.
//!
//! The registry is a value: code outside of this crate adds its own with [`Registry::with_scheduler`], no fork needed. The line in
//! [`Registry::builtin`] alone makes an algorithm appear in the command, in the docs and in the generic tests.

use crate::{controllers, schedulers};
use pathweave_proto::congestion::ControllerEntry;
use pathweave_proto::scheduler::SchedulerEntry;

/// Pathweave's own schedulers, in the order of listings and of `all`. The baseline is the last.
const SCHEDULERS: &[SchedulerEntry] = &[
    schedulers::minrtt::ENTRY,
    schedulers::roundrobin::ENTRY,
    schedulers::blind_roundrobin::ENTRY,
    schedulers::weighted_roundrobin::ENTRY,
    schedulers::bas::ENTRY,
    schedulers::edpf::ENTRY,
    schedulers::redundant::ENTRY,
    schedulers::daps::ENTRY,
    schedulers::daps_two_path::ENTRY,
    schedulers::otias::ENTRY,
    schedulers::otias_kernel::ENTRY,
    schedulers::blest::ENTRY,
    schedulers::blest_kernel::ENTRY,
    schedulers::cp::ENTRY,
    schedulers::fps::ENTRY,
    schedulers::fps_daf::ENTRY,
    schedulers::fpdps::ENTRY,
    schedulers::dpsaf::ENTRY,
    schedulers::rems::ENTRY,
    schedulers::ecf::ENTRY,
    schedulers::ecf_kernel::ENTRY,
    schedulers::lamps::ENTRY,
    schedulers::dems::ENTRY,
    schedulers::hsr::ENTRY,
    schedulers::lws::ENTRY,
    schedulers::lts::ENTRY,
    schedulers::linux::ENTRY,
    schedulers::linux_early::ENTRY,
    schedulers::single::ENTRY,
];

/// Pathweave's own congestion controllers, in the order of listings.
const CONTROLLERS: &[ControllerEntry] = &[
    controllers::reno::ENTRY,
    controllers::cubic::ENTRY,
    controllers::lia::ENTRY,
    controllers::olia::ENTRY,
    controllers::balia::ENTRY,
    controllers::wvegas::ENTRY,
    controllers::vegas::ENTRY,
    controllers::ewtcp::ENTRY,
    controllers::semicoupled::ENTRY,
    controllers::coupled::ENTRY,
    controllers::dlia::ENTRY,
    controllers::mveno::ENTRY,
    controllers::mpveno::ENTRY,
    controllers::mptcp_pw::ENTRY,
];

/// The schedulers and controllers that can be named.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    schedulers: Vec<SchedulerEntry>,
    controllers: Vec<ControllerEntry>,
}

impl Registry {
    /// Nothing at all.
    pub fn empty() -> Self {
        Registry::default()
    }

    /// All of Pathweave's own.
    pub fn builtin() -> Self {
        Registry { schedulers: SCHEDULERS.to_vec(), controllers: CONTROLLERS.to_vec() }
    }

    /// With one more scheduler; one of the same name is replaced.
    #[must_use]
    pub fn with_scheduler(mut self, entry: SchedulerEntry) -> Self {
        self.schedulers.retain(|e| e.name != entry.name);
        self.schedulers.push(entry);
        self
    }

    /// With one more controller; one of the same name is replaced.
    #[must_use]
    pub fn with_controller(mut self, entry: ControllerEntry) -> Self {
        self.controllers.retain(|e| e.name != entry.name);
        self.controllers.push(entry);
        self
    }

    /// All schedulers, in the order they were added.
    pub fn schedulers(&self) -> &[SchedulerEntry] {
        &self.schedulers
    }

    /// All controllers, in the order they were added.
    pub fn controllers(&self) -> &[ControllerEntry] {
        &self.controllers
    }

    /// The scheduler called `name`.
    pub fn scheduler(&self, name: &str) -> Option<&SchedulerEntry> {
        self.schedulers.iter().find(|e| e.name == name)
    }

    /// The controller called `name`.
    pub fn controller(&self, name: &str) -> Option<&ControllerEntry> {
        self.controllers.iter().find(|e| e.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_proto::parameter::Values;

    #[test]
    fn every_entry_has_its_own_name_and_builds_with_its_defaults() {
        let registry = Registry::builtin();
        for (i, e) in registry.schedulers().iter().enumerate() {
            assert!(registry.schedulers()[..i].iter().all(|o| o.name != e.name), "{} is there twice", e.name);
            let values = Values::parse(e.parameters, &[]).unwrap_or_else(|error| panic!("{}: {error}", e.name));
            assert!((e.build)(&values).is_ok(), "{}", e.name);
        }
        for (i, e) in registry.controllers().iter().enumerate() {
            assert!(registry.controllers()[..i].iter().all(|o| o.name != e.name), "{} is there twice", e.name);
            let values = Values::parse(e.parameters, &[]).unwrap_or_else(|error| panic!("{}: {error}", e.name));
            assert!((e.build)(&values).is_ok(), "{}", e.name);
        }
        assert_eq!(registry.schedulers().last().map(|e| e.name), Some("single"));
    }
}
