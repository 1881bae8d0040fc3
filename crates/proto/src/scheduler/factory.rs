//! What is known of a scheduler before there is one.

use super::Scheduler;
use crate::parameter::{Parameter, ParameterError, Values};

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
