//! Factories of schedulers, and their descriptions.

use crate::Scheduler;
use crate::parameter::{Described, Parameter, ParameterError, Values};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Makes schedulers of one kind, one for each connection.
///
/// A rule written in Rust declares a constant [`SchedulerEntry`] instead. Implement this trait for a scheduler that is
/// only known while the program runs, such as a rule in another language or a script that is played back. Such a
/// factory can have texts of its own, and state that its schedulers share.
pub trait SchedulerFactory: Described {
    /// Whether the schedulers assign data beyond congestion windows by design.
    fn queues(&self) -> bool;

    /// Whether the schedulers send bytes on several subflows by design. If so, they are asked even if all data is
    /// assigned.
    fn duplicates(&self) -> bool;

    /// Makes a scheduler.
    ///
    /// # Errors
    /// If a value is not possible although the parameter's kind allows it.
    fn build(&self, values: &Values) -> Result<Box<dyn Scheduler>, ParameterError>;
}

/// A scheduler that is known at compile time, with its description.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerEntry {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// Paper and equation, or the network stack that the scheduler is from.
    pub source: &'static str,
    /// One line on what the scheduler does.
    pub summary: &'static str,
    /// The declared parameters.
    pub parameters: &'static [Parameter<'static>],
    /// Whether the scheduler assigns data beyond congestion windows by design.
    pub queues: bool,
    /// Whether the scheduler sends bytes on several subflows by design. If so, it is asked even if all data is
    /// assigned.
    pub duplicates: bool,
    /// Makes a scheduler.
    pub build: fn(&Values) -> Result<Box<dyn Scheduler>, ParameterError>,
}

impl Described for SchedulerEntry {
    fn name(&self) -> &str {
        self.name
    }
    fn source(&self) -> &str {
        self.source
    }
    fn summary(&self) -> &str {
        self.summary
    }
    fn parameters(&self) -> Vec<Parameter<'_>> {
        self.parameters.to_vec()
    }
}

impl SchedulerFactory for SchedulerEntry {
    fn queues(&self) -> bool {
        self.queues
    }
    fn duplicates(&self) -> bool {
        self.duplicates
    }
    fn build(&self, values: &Values) -> Result<Box<dyn Scheduler>, ParameterError> {
        (self.build)(values)
    }
}

impl From<SchedulerEntry> for Arc<dyn SchedulerFactory> {
    fn from(entry: SchedulerEntry) -> Self {
        Arc::new(entry)
    }
}

/// A scheduler and the values of its parameters, as a connection's settings hold them.
#[derive(Clone, Debug)]
pub struct ChosenScheduler {
    factory: Arc<dyn SchedulerFactory>,
    values: Values,
    // Copies, because the connection reads them for each segment.
    queues: bool,
    duplicates: bool,
}

impl ChosenScheduler {
    /// Chooses a scheduler with its default values, overridden by `given` (names and values as written).
    ///
    /// # Errors
    /// If [`Values::parse`] finds an error.
    pub fn new(factory: Arc<dyn SchedulerFactory>, given: &[(String, String)]) -> Result<Self, ParameterError> {
        let values = Values::parse(&factory.parameters(), given)?;
        let (queues, duplicates) = (factory.queues(), factory.duplicates());
        Ok(ChosenScheduler { factory, values, queues, duplicates })
    }

    /// The factory of the scheduler.
    pub fn factory(&self) -> &dyn SchedulerFactory {
        self.factory.as_ref()
    }

    /// The values of the parameters.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Whether the scheduler assigns data beyond congestion windows by design.
    pub fn queues(&self) -> bool {
        self.queues
    }

    /// Whether the scheduler sends bytes on several subflows by design.
    pub fn duplicates(&self) -> bool {
        self.duplicates
    }

    /// Makes the scheduler.
    ///
    /// # Errors
    /// If the factory rejects the value of a parameter.
    pub fn build(&self) -> Result<Box<dyn Scheduler>, ParameterError> {
        self.factory.build(&self.values)
    }
}
