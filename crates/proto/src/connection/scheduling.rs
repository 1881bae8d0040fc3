//! A connection's scheduler, and the state of asking it.

use crate::sender::dispatch::{HeldBy, ScheduleError};
use pathweave_scheduler::{Scheduler, SubflowView};
use pathweave_units::Instant;

/// The scheduler, and the state of asking it.
pub(super) struct Scheduling {
    pub(super) scheduler: Box<dyn Scheduler>,
    /// Time at which the scheduler asked to be asked again.
    pub(super) wake: Option<Instant>,
    /// Error of the last decision that could not be carried out.
    pub(super) error: Option<ScheduleError>,
    /// Number of the last decision whose segment was held back, and what held it. Two fields, because an idle connection
    /// keeps them: an option of both would be larger.
    pub(super) held_decision: u64,
    pub(super) held_by: Option<HeldBy>,
    /// `corked`: the stream's short tail waits for more data (`set_cork`). `more_follows`: the current write announced
    /// more (`write_more`).
    pub(super) corked: bool,
    pub(super) more_follows: bool,
    /// Reused, so that no segment needs an allocation.
    pub(super) views: Vec<SubflowView>,
}

impl Scheduling {
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Scheduling {
            scheduler,
            wake: None,
            error: None,
            held_decision: 0,
            held_by: None,
            corked: false,
            more_follows: false,
            views: Vec::new(),
        }
    }
}
