//! The registry: every scheduler and congestion controller by name.
//!
//! The registry is a value. Code outside of this crate adds its own algorithms with [`Registry::with_scheduler`] and
//! [`Registry::with_controller`]. A built-in algorithm needs only its line in the list below: the command, the docs and
//! the generic tests take their algorithms from [`Registry::builtin`].

use crate::{controllers, schedulers};
use pathweave_proto::congestion::{ChosenController, ControllerEntry, ControllerFactory};
use pathweave_scheduler::parameter::{Described, ParameterError};
use pathweave_scheduler::{ChosenScheduler, SchedulerEntry, SchedulerFactory};
use std::sync::Arc;

/// The built-in schedulers, in the order in which listings and `all` show them. The baseline `single` is the last.
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
    schedulers::weave::ENTRY,
    schedulers::single::ENTRY,
];

/// The built-in congestion controllers, in the order in which listings show them.
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

/// The schedulers and controllers that can be chosen by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    schedulers: Vec<Arc<dyn SchedulerFactory>>,
    controllers: Vec<Arc<dyn ControllerFactory>>,
}

impl Registry {
    /// A registry without any algorithm.
    pub fn empty() -> Self {
        Registry::default()
    }

    /// A registry of all built-in algorithms.
    pub fn builtin() -> Self {
        let registry = SCHEDULERS.iter().fold(Registry::empty(), |registry, entry| registry.with_scheduler(*entry));
        CONTROLLERS.iter().fold(registry, |registry, entry| registry.with_controller(*entry))
    }

    /// Adds a scheduler. A scheduler of the same name is replaced.
    #[must_use]
    pub fn with_scheduler(mut self, factory: impl Into<Arc<dyn SchedulerFactory>>) -> Self {
        add(&mut self.schedulers, factory.into());
        self
    }

    /// Adds a controller. A controller of the same name is replaced.
    #[must_use]
    pub fn with_controller(mut self, factory: impl Into<Arc<dyn ControllerFactory>>) -> Self {
        add(&mut self.controllers, factory.into());
        self
    }

    /// All schedulers, in the order they were added.
    pub fn schedulers(&self) -> &[Arc<dyn SchedulerFactory>] {
        &self.schedulers
    }

    /// All controllers, in the order they were added.
    pub fn controllers(&self) -> &[Arc<dyn ControllerFactory>] {
        &self.controllers
    }

    /// The scheduler called `name`.
    ///
    /// # Errors
    /// If there is no scheduler of that name; the error lists all names.
    pub fn scheduler(&self, name: &str) -> Result<&Arc<dyn SchedulerFactory>, ParameterError> {
        named(&self.schedulers, "scheduler", name)
    }

    /// The controller called `name`.
    ///
    /// # Errors
    /// If there is no controller of that name; the error lists all names.
    pub fn controller(&self, name: &str) -> Result<&Arc<dyn ControllerFactory>, ParameterError> {
        named(&self.controllers, "congestion", name)
    }

    /// The scheduler called `name`, for a connection's settings. `given` has the parameters that differ from their
    /// defaults, as pairs of name and value.
    ///
    /// # Errors
    /// If there is no scheduler of that name, if it has no such parameter, or if a parameter does not allow the value.
    pub fn choose_scheduler(&self, name: &str, given: &[(String, String)]) -> Result<ChosenScheduler, ParameterError> {
        ChosenScheduler::new(Arc::clone(self.scheduler(name)?), given)
    }

    /// The controller called `name`, for a connection's settings. `given` has the parameters that differ from their
    /// defaults, as pairs of name and value.
    ///
    /// # Errors
    /// If there is no controller of that name, if it has no such parameter, or if a parameter does not allow the value.
    pub fn choose_controller(
        &self,
        name: &str,
        given: &[(String, String)],
    ) -> Result<ChosenController, ParameterError> {
        ChosenController::new(Arc::clone(self.controller(name)?), given)
    }
}

/// Adds a factory in place of the one with the same name, if there is one.
fn add<F: Described + ?Sized>(factories: &mut Vec<Arc<F>>, factory: Arc<F>) {
    factories.retain(|other| other.name() != factory.name());
    factories.push(factory);
}

/// Finds a factory by name. `setting` is the setting that the error names.
fn named<'a, F: Described + ?Sized>(
    factories: &'a [Arc<F>],
    setting: &str,
    name: &str,
) -> Result<&'a Arc<F>, ParameterError> {
    factories.iter().find(|factory| factory.name() == name).ok_or_else(|| {
        let names: Vec<_> = factories.iter().map(|factory| factory.name()).collect();
        ParameterError { name: setting.into(), value: name.into(), allowed: names.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_its_own_name_and_builds_with_its_defaults() {
        let registry = Registry::builtin();
        assert_eq!(registry.schedulers().len(), SCHEDULERS.len(), "two have one name");
        for factory in registry.schedulers() {
            let chosen = registry.choose_scheduler(factory.name(), &[]);
            chosen.and_then(|c| c.build().map(drop)).unwrap_or_else(|error| panic!("{}: {error}", factory.name()));
        }
        assert_eq!(registry.controllers().len(), CONTROLLERS.len(), "two have one name");
        for factory in registry.controllers() {
            let chosen = registry.choose_controller(factory.name(), &[]);
            chosen.and_then(|c| c.build().map(drop)).unwrap_or_else(|error| panic!("{}: {error}", factory.name()));
        }
        assert_eq!(registry.schedulers().last().map(|factory| factory.name()), Some("single"));
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_those_there_are() {
        let registry = Registry::empty().with_scheduler(SCHEDULERS[0]).with_controller(CONTROLLERS[0]);
        let error = registry.scheduler("fastest").expect_err("there is none").to_string();
        assert_eq!(error, "scheduler=fastest: allowed: minrtt");
        let error = registry.choose_controller("bbr", &[]).expect_err("there is none").to_string();
        assert_eq!(error, "congestion=bbr: allowed: reno");
    }
}
