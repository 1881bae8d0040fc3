//! Every scheduler and congestion controller by name.
//!
//! The registry is a value: code outside of this crate adds its own with [`Registry::with_scheduler`], no fork needed. The line in
//! [`Registry::builtin`] alone makes an algorithm appear in the command, in the docs and in the generic tests.

use crate::{controllers, schedulers};
use pathweave_proto::congestion::{ChosenController, ControllerEntry, ControllerFactory};
use pathweave_proto::parameter::{Described, ParameterError};
use pathweave_proto::scheduler::{ChosenScheduler, SchedulerEntry, SchedulerFactory};
use std::sync::Arc;

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
    schedulers::weave::ENTRY,
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
    schedulers: Vec<Arc<dyn SchedulerFactory>>,
    controllers: Vec<Arc<dyn ControllerFactory>>,
}

impl Registry {
    /// Nothing at all.
    pub fn empty() -> Self {
        Registry::default()
    }

    /// All of Pathweave's own.
    pub fn builtin() -> Self {
        let registry = SCHEDULERS.iter().fold(Registry::empty(), |registry, entry| registry.with_scheduler(*entry));
        CONTROLLERS.iter().fold(registry, |registry, entry| registry.with_controller(*entry))
    }

    /// With one more scheduler; one of the same name is replaced.
    #[must_use]
    pub fn with_scheduler(mut self, factory: impl Into<Arc<dyn SchedulerFactory>>) -> Self {
        add(&mut self.schedulers, factory.into());
        self
    }

    /// With one more controller; one of the same name is replaced.
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
    /// Where there is none; the error lists all names.
    pub fn scheduler(&self, name: &str) -> Result<&Arc<dyn SchedulerFactory>, ParameterError> {
        named(&self.schedulers, "scheduler", name)
    }

    /// The controller called `name`.
    ///
    /// # Errors
    /// Where there is none; the error lists all names.
    pub fn controller(&self, name: &str) -> Result<&Arc<dyn ControllerFactory>, ParameterError> {
        named(&self.controllers, "congestion", name)
    }

    /// The scheduler called `name` with its defaults, overridden by `given` (name and value as written), for a connection's settings.
    ///
    /// # Errors
    /// Where there is none of that name, or it has no such parameter, or the parameter does not take the value.
    pub fn choose_scheduler(&self, name: &str, given: &[(String, String)]) -> Result<ChosenScheduler, ParameterError> {
        ChosenScheduler::new(Arc::clone(self.scheduler(name)?), given)
    }

    /// The controller called `name` with its defaults, overridden by `given` (name and value as written), for a connection's settings.
    ///
    /// # Errors
    /// Where there is none of that name, or it has no such parameter, or the parameter does not take the value.
    pub fn choose_controller(
        &self,
        name: &str,
        given: &[(String, String)],
    ) -> Result<ChosenController, ParameterError> {
        ChosenController::new(Arc::clone(self.controller(name)?), given)
    }
}

/// Replaces the one of the same name, if there is one.
fn add<F: Described + ?Sized>(factories: &mut Vec<Arc<F>>, factory: Arc<F>) {
    factories.retain(|other| other.name() != factory.name());
    factories.push(factory);
}

/// `setting` is what the name was given for.
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
