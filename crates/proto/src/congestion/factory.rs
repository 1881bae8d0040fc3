//! What makes congestion controllers, and what is known of one before it is made.

use super::Controller;
use crate::parameter::{Described, Parameter, ParameterError, Values};
use std::sync::Arc;

/// Makes controllers of one kind, one for each subflow.
///
/// A controller that is written in Rust declares a constant [`ControllerEntry`]. What comes to life while the program runs implements
/// this itself: its texts can be its own, and it can hold state that its controllers share.
pub trait ControllerFactory: Described {
    /// It looks at the connection's other subflows.
    fn coupled(&self) -> bool;

    /// Makes one for a new subflow.
    ///
    /// # Errors
    /// Where a value is not possible, beyond what the parameter's kind says.
    fn build(&self, values: &Values) -> Result<Box<dyn Controller>, ParameterError>;
}

/// A congestion controller that is known when the program is compiled, and all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct ControllerEntry {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// RFC or paper.
    pub source: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter<'static>],
    /// It looks at the connection's other subflows.
    pub coupled: bool,
    /// Makes one for a new subflow.
    pub build: fn(&Values) -> Result<Box<dyn Controller>, ParameterError>,
}

impl Described for ControllerEntry {
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

impl ControllerFactory for ControllerEntry {
    fn coupled(&self) -> bool {
        self.coupled
    }
    fn build(&self, values: &Values) -> Result<Box<dyn Controller>, ParameterError> {
        (self.build)(values)
    }
}

impl From<ControllerEntry> for Arc<dyn ControllerFactory> {
    fn from(entry: ControllerEntry) -> Self {
        Arc::new(entry)
    }
}

/// A congestion controller with the values of its parameters, as a connection's settings have it.
#[derive(Clone, Debug)]
pub struct ChosenController {
    factory: Arc<dyn ControllerFactory>,
    values: Values,
    // The connection looks at this for each acknowledgement.
    coupled: bool,
}

impl ChosenController {
    /// With its defaults, overridden by `given` (name and value as written).
    ///
    /// # Errors
    /// Where [`Values::parse`] finds one.
    pub fn new(factory: Arc<dyn ControllerFactory>, given: &[(String, String)]) -> Result<Self, ParameterError> {
        let values = Values::parse(&factory.parameters(), given)?;
        let coupled = factory.coupled();
        Ok(ChosenController { factory, values, coupled })
    }

    /// What makes it.
    pub fn factory(&self) -> &dyn ControllerFactory {
        self.factory.as_ref()
    }

    /// The values of its parameters.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// It looks at the connection's other subflows.
    pub fn coupled(&self) -> bool {
        self.coupled
    }

    /// Makes one for a new subflow.
    ///
    /// # Errors
    /// Where its factory does not take a value.
    pub fn build(&self) -> Result<Box<dyn Controller>, ParameterError> {
        self.factory.build(&self.values)
    }
}
