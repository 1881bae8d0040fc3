//! Every scheduler and congestion controller by name.
//!
//! The registry is a value: code outside of this crate adds its own with [`Registry::with_scheduler`], no fork needed. The line in
//! [`Registry::builtin`] alone makes an algorithm appear in the command, in the docs and in the generic tests.

use crate::congestion::{self, Controller};
use crate::parameter::{Parameter, ParameterError, Values};
use crate::scheduler::{self, Scheduler};

/// Pathweave's own schedulers, in the order of listings and of `all`. The baseline is the last.
const SCHEDULERS: &[SchedulerEntry] = &[
    scheduler::minrtt::ENTRY,
    scheduler::roundrobin::ENTRY,
    scheduler::blind_roundrobin::ENTRY,
    scheduler::weighted_roundrobin::ENTRY,
    scheduler::bas::ENTRY,
    scheduler::edpf::ENTRY,
    scheduler::redundant::ENTRY,
    scheduler::daps::ENTRY,
    scheduler::daps_two_path::ENTRY,
    scheduler::otias::ENTRY,
    scheduler::otias_kernel::ENTRY,
    scheduler::blest::ENTRY,
    scheduler::blest_kernel::ENTRY,
    scheduler::cp::ENTRY,
    scheduler::fps::ENTRY,
    scheduler::fps_daf::ENTRY,
    scheduler::fpdps::ENTRY,
    scheduler::dpsaf::ENTRY,
    scheduler::rems::ENTRY,
    scheduler::ecf::ENTRY,
    scheduler::ecf_kernel::ENTRY,
    scheduler::lamps::ENTRY,
    scheduler::dems::ENTRY,
    scheduler::hsr::ENTRY,
    scheduler::lws::ENTRY,
    scheduler::lts::ENTRY,
    scheduler::linux::ENTRY,
    scheduler::linux_early::ENTRY,
    scheduler::single::ENTRY,
];

/// Pathweave's own congestion controllers, in the order of listings.
const CONTROLLERS: &[ControllerEntry] = &[
    congestion::reno::ENTRY,
    congestion::cubic::ENTRY,
    congestion::lia::ENTRY,
    congestion::olia::ENTRY,
    congestion::balia::ENTRY,
    congestion::wvegas::ENTRY,
    congestion::vegas::ENTRY,
    congestion::ewtcp::ENTRY,
    congestion::semicoupled::ENTRY,
    congestion::coupled::ENTRY,
    congestion::dlia::ENTRY,
    congestion::mveno::ENTRY,
    congestion::mpveno::ENTRY,
    congestion::mptcp_pw::ENTRY,
];

/// A scheduler and all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerEntry {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// Paper and equation, or the stack it is from.
    pub source: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// It assigns beyond congestion windows by design.
    pub queues: bool,
    /// It sends bytes on more than one subflow by design, so it is also asked while nothing is unassigned.
    pub duplicates: bool,
    /// Makes one.
    pub build: fn(&Values) -> Result<Box<dyn Scheduler>, ParameterError>,
}

/// A congestion controller and all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct ControllerEntry {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// RFC or paper.
    pub source: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// It looks at the connection's other subflows.
    pub coupled: bool,
    /// Makes one for a new subflow.
    pub build: fn(&Values) -> Result<Box<dyn Controller>, ParameterError>,
}

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
