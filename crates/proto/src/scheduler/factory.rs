//! What makes schedulers, and what is known of one before it is made.

use super::Scheduler;
use crate::parameter::{Described, Parameter, ParameterError, Values};
use std::sync::Arc;

/// Makes schedulers of one kind, one for each connection.
///
/// A rule that is written in Rust declares a constant [`SchedulerEntry`]. What comes to life while the program runs, such as a rule in
/// another language or one that plays back a script, implements this itself: its texts can be its own, and it can hold state that
/// its schedulers share.
pub trait SchedulerFactory: Described {
    /// It assigns beyond congestion windows by design.
    fn queues(&self) -> bool;

    /// It sends bytes on more than one subflow by design, so it is also asked while nothing is unassigned.
    fn duplicates(&self) -> bool;

    /// Makes one.
    ///
    /// # Errors
    /// Where a value is not possible, beyond what the parameter's kind says.
    fn build(&self, values: &Values) -> Result<Box<dyn Scheduler>, ParameterError>;
}

/// A scheduler that is known when the program is compiled, and all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerEntry {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// Paper and equation, or the stack it is from.
    pub source: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter<'static>],
    /// It assigns beyond congestion windows by design.
    pub queues: bool,
    /// It sends bytes on more than one subflow by design, so it is also asked while nothing is unassigned.
    pub duplicates: bool,
    /// Makes one.
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

/// A scheduler with the values of its parameters, as a connection's settings have it.
#[derive(Clone, Debug)]
pub struct ChosenScheduler {
    factory: Arc<dyn SchedulerFactory>,
    values: Values,
    // The connection looks at these for each segment.
    queues: bool,
    duplicates: bool,
}

impl ChosenScheduler {
    /// With its defaults, overridden by `given` (name and value as written).
    ///
    /// # Errors
    /// Where [`Values::parse`] finds one.
    pub fn new(factory: Arc<dyn SchedulerFactory>, given: &[(String, String)]) -> Result<Self, ParameterError> {
        let values = Values::parse(&factory.parameters(), given)?;
        let (queues, duplicates) = (factory.queues(), factory.duplicates());
        Ok(ChosenScheduler { factory, values, queues, duplicates })
    }

    /// What makes it.
    pub fn factory(&self) -> &dyn SchedulerFactory {
        self.factory.as_ref()
    }

    /// The values of its parameters.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// It assigns beyond congestion windows by design.
    pub fn queues(&self) -> bool {
        self.queues
    }

    /// It sends bytes on more than one subflow by design.
    pub fn duplicates(&self) -> bool {
        self.duplicates
    }

    /// Makes it.
    ///
    /// # Errors
    /// Where its factory does not take a value.
    pub fn build(&self) -> Result<Box<dyn Scheduler>, ParameterError> {
        self.factory.build(&self.values)
    }
}
