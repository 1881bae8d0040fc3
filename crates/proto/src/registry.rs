//! Every scheduler and congestion controller by name.
//!
//! The registry is a value: code outside of this crate adds its own with [`Registry::with_scheduler`], no fork needed. The line in
//! [`Registry::builtin`] alone makes an algorithm appear in the command, in the docs and in the generic tests.

use crate::congestion::Controller;
use crate::parameter::{Parameter, ParameterError, Values};
use crate::scheduler::Scheduler;

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
        Registry::empty()
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
