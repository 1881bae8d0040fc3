//! Factories of congestion controllers, and their descriptions.

use super::Controller;
use pathweave_scheduler::parameter::{Described, Parameter, ParameterError, Values};
use std::sync::Arc;

/// Makes congestion controllers of one kind, one for each subflow.
///
/// A controller written in Rust declares a constant [`ControllerEntry`] instead. Implement this trait for a controller
/// that is only known while the program runs. Such a factory can have texts of its own, and state that its controllers
/// share.
pub trait ControllerFactory: Described {
    /// Whether the controllers look at the connection's other subflows.
    fn coupled(&self) -> bool;

    /// Makes a controller for a new subflow.
    ///
    /// # Errors
    /// If a value is not possible although the parameter's kind allows it.
    fn build(&self, values: &Values) -> Result<Box<dyn Controller>, ParameterError>;
}

/// A congestion controller that is known at compile time, with its description.
#[derive(Clone, Copy, Debug)]
pub struct ControllerEntry {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// RFC or paper.
    pub source: &'static str,
    /// One line on what the controller does.
    pub summary: &'static str,
    /// The declared parameters.
    pub parameters: &'static [Parameter<'static>],
    /// Whether the controller looks at the connection's other subflows.
    pub coupled: bool,
    /// Makes a controller for a new subflow.
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

/// A congestion controller and the values of its parameters, as a connection's settings hold them.
#[derive(Clone, Debug)]
pub struct ChosenController {
    factory: Arc<dyn ControllerFactory>,
    values: Values,
    // A copy, because the connection reads it for each acknowledgement.
    coupled: bool,
}

impl ChosenController {
    /// Chooses a controller with its default values, overridden by `given` (names and values as written).
    ///
    /// # Errors
    /// If [`Values::parse`] finds an error.
    pub fn new(factory: Arc<dyn ControllerFactory>, given: &[(String, String)]) -> Result<Self, ParameterError> {
        let values = Values::parse(&factory.parameters(), given)?;
        let coupled = factory.coupled();
        Ok(ChosenController { factory, values, coupled })
    }

    /// The factory of the controllers.
    pub fn factory(&self) -> &dyn ControllerFactory {
        self.factory.as_ref()
    }

    /// The values of the parameters.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Whether the controller looks at the connection's other subflows.
    pub fn coupled(&self) -> bool {
        self.coupled
    }

    /// Makes a controller for a new subflow.
    ///
    /// # Errors
    /// If the factory rejects the value of a parameter.
    pub fn build(&self) -> Result<Box<dyn Controller>, ParameterError> {
        self.factory.build(&self.values)
    }
}
