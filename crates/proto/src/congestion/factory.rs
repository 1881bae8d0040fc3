//! What is known of a congestion controller before there is one.

use super::Controller;
use crate::parameter::{Parameter, ParameterError, Values};

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
