//! One stream's scheduler, and what programs report to it.

use crate::accept;
use crate::answer;
use crate::pointers::Given;
use crate::state::{self, State};
use crate::status::{Fault, Status};
use crate::types::{Action, Decision as DecisionInC, NO_PATH, Range as RangeInC, UNKNOWN};
use core::ops::Range;
use core::panic::AssertUnwindSafe;
use pathweave_scheduler::{
    Assign, Blocked, ClippedBy, DataSeq, Decision, Event, LossKind, Reason, Scheduler, SubflowId, WindowUse,
};
use pathweave_units::Duration;
use std::panic::catch_unwind;

/// The scheduler of one stream, with the stream's map. Made by `pathweave_scheduler_new`. One thread at a time may use
/// it.
pub struct Handle {
    scheduler: Box<dyn Scheduler>,
    /// Whether the scheduler sends bytes twice by design. If so, it is asked even if all data has a path.
    duplicates: bool,
    state: State,
    blocked: Option<Blocked>,
    /// The last decision to send: its path, its range, and the limit that shortened it.
    offer: Option<(SubflowId, Range<DataSeq>, Option<ClippedBy>)>,
    reason: Option<Reason>,
    /// The ranges of the present call.
    ranges: Vec<Range<DataSeq>>,
    error: String,
    poisoned: bool,
}

impl core::fmt::Debug for Handle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Handle").field("state", &self.state).field("poisoned", &self.poisoned).finish_non_exhaustive()
    }
}

/// Carries out a call. A panic does not leave it, and ends the use of the handle.
pub(crate) fn guarded(handle: Option<&mut Handle>, call: impl FnOnce(&mut Handle) -> Result<(), Fault>) -> Status {
    let Some(handle) = handle else { return Status::NullPointer };
    if handle.poisoned {
        return Status::Poisoned;
    }
    let result = match catch_unwind(AssertUnwindSafe(|| call(handle))) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(fault)) => fault,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text");
            Fault::new(Status::Poisoned, format!("a mistake of the library: {text}"))
        }
    };
    handle.poisoned = result.status == Status::Poisoned;
    handle.error = result.text;
    result.status
}

impl Handle {
    pub(crate) fn new(scheduler: Box<dyn Scheduler>, duplicates: bool) -> Self {
        Handle {
            scheduler,
            duplicates,
            state: State::default(),
            blocked: None,
            offer: None,
            reason: None,
            ranges: Vec::new(),
            error: String::new(),
            poisoned: false,
        }
    }

    fn tell(&mut self, event: &Event<'_>) {
        if self.scheduler.wants_events() {
            self.scheduler.on_event(event, &self.state.view());
        }
    }

    pub(crate) fn path_up(&mut self, given: &Given<'_>, path: u32) -> Result<(), Fault> {
        let (id, up) = (accept::number(path)?, self.state.up());
        if up.contains(id) {
            return Err(Fault::new(Status::PathTwice, format!("path {path} is up already")));
        }
        self.state.see(given, up.with(id))?;
        self.tell(&Event::SubflowUp(id));
        Ok(())
    }

    pub(crate) fn path_down(&mut self, given: &Given<'_>, path: u32) -> Result<(), Fault> {
        let id = self.state.known(path)?;
        self.state.see(given, self.state.up().without(id))?;
        self.state.withdraw_all(id);
        self.tell(&Event::SubflowDown(id));
        Ok(())
    }

    pub(crate) fn written(&mut self, given: &Given<'_>, bytes: u64) -> Result<(), Fault> {
        self.state.check_write(bytes)?;
        self.state.see(given, self.state.up())?;
        if bytes > 0 {
            let range = self.state.write(bytes);
            self.tell(&Event::DataWritten(range));
        }
        Ok(())
    }

    pub(crate) fn decide(&mut self, given: &Given<'_>) -> Result<DecisionInC, Fault> {
        self.state.see(given, self.state.up())?;
        self.note_blocking();
        let view = self.state.view();
        let may_repeat = self.duplicates && view.bytes_in_flight() > 0;
        let (decision, clipped_by) = if view.subflows.is_empty() {
            (Decision::wait("no path is up"), None)
        } else if view.sendable().is_none() && !may_repeat {
            (Decision::nothing_to_send(), None)
        } else {
            answer::possible(&view, self.scheduler.decide(&view))
        };
        Ok(self.keep(decision, clipped_by))
    }

    /// Keeps a decision and its reason, and translates it.
    fn keep(&mut self, decision: Decision, clipped_by: Option<ClippedBy>) -> DecisionInC {
        let empty = DecisionInC {
            size: size_of::<DecisionInC>(),
            action: Action::Wait,
            path: NO_PATH,
            range: RangeInC::default(),
            wait_until_ns: 0,
            queue: 0,
            reserved: 0,
        };
        match decision {
            Decision::Assign(Assign { subflow, range, window, reason }) => {
                self.reason = Some(reason);
                self.offer = Some((subflow, range.clone(), clipped_by));
                DecisionInC {
                    action: Action::Send,
                    path: u32::from(subflow.0),
                    range: RangeInC { start: range.start.0, end: range.end.0 },
                    queue: u32::from(window == WindowUse::Queue),
                    ..empty
                }
            }
            Decision::Wait { until, for_subflow, reason } => {
                self.reason = Some(reason);
                self.offer = None;
                DecisionInC {
                    path: for_subflow.map_or(NO_PATH, |id| u32::from(id.0)),
                    wait_until_ns: until.map_or(0, |until| until.as_nanos()),
                    ..empty
                }
            }
        }
    }

    /// Tells the scheduler which limit holds data back, if that has changed.
    fn note_blocking(&mut self) {
        let blocked = self.state.blocked();
        if blocked == self.blocked {
            return;
        }
        self.blocked = blocked;
        self.tell(&Blocked::event(blocked));
    }

    pub(crate) fn assigned(&mut self, given: &Given<'_>, path: u32, start: u64, end: u64) -> Result<(), Fault> {
        let subflow = self.state.known(path)?;
        let range = state::range(&RangeInC { start, end }, self.state.map().written_end(), "written")?;
        self.state.see(given, self.state.up())?;
        let offer = self.offer.take().filter(|(id, offered, _)| *id == subflow && offered.start == range.start);
        let clipped_by = offer.and_then(|(_, offered, by)| match range.end < offered.end {
            // The program took less than the decision asked for.
            true => Some(ClippedBy::SendBuffer),
            false => by,
        });
        self.state.give(range.clone(), subflow);
        self.tell(&Event::Assigned { subflow, range, clipped_by });
        Ok(())
    }

    pub(crate) fn acknowledged(
        &mut self,
        given: &Given<'_>,
        path: u32,
        ranges: &[RangeInC],
        end: u64,
    ) -> Result<(), Fault> {
        let subflow = match path {
            NO_PATH => None,
            _ => Some(self.state.known(path)?),
        };
        let given_end = self.state.map().given_end();
        if end != UNKNOWN && DataSeq(end) > given_end {
            let text = format!("acknowledged_end is {end}; allowed: up to {given_end}, the end of the given data");
            return Err(Fault::new(Status::Range, text));
        }
        self.take_ranges(ranges)?;
        self.state.see(given, self.state.up())?;
        let mappings = core::mem::take(&mut self.ranges);
        let data_ack = self.state.acknowledge(&mappings, end);
        if let Some(subflow) = subflow {
            self.tell(&Event::Acked { subflow, mappings: &mappings, data_ack, has_sack: false });
        }
        self.ranges = mappings;
        Ok(())
    }

    /// Checks ranges of given data.
    fn take_ranges(&mut self, ranges: &[RangeInC]) -> Result<(), Fault> {
        let given_end = self.state.map().given_end();
        self.ranges.clear();
        for range in ranges {
            self.ranges.push(state::range(range, given_end, "given")?);
        }
        Ok(())
    }

    pub(crate) fn lost(&mut self, given: &Given<'_>, path: u32, ranges: &[RangeInC], loss: u32) -> Result<(), Fault> {
        let subflow = self.state.known(path)?;
        let kind = match loss {
            0 => LossKind::FastRecovery,
            1 => LossKind::Timeout,
            other => return Err(accept::wrong(format!("path {path}"), "loss", other, "a pathweave_loss")),
        };
        self.take_ranges(ranges)?;
        self.state.see(given, self.state.up())?;
        for range in self.ranges.drain(..) {
            self.state.withdraw(range, subflow);
        }
        self.tell(&Event::Lost { subflow, kind });
        Ok(())
    }

    pub(crate) fn rtt_sample(&mut self, given: &Given<'_>, path: u32, rtt_ns: u64) -> Result<(), Fault> {
        let subflow = self.state.known(path)?;
        if !(1..=accept::LONGEST).contains(&rtt_ns) {
            let allowed = format!("1 to {}", accept::LONGEST);
            return Err(accept::wrong(format!("path {path}"), "rtt_ns", rtt_ns, allowed));
        }
        self.state.see(given, self.state.up())?;
        self.tell(&Event::RttSample { subflow, rtt: Duration::from_nanos(rtt_ns) });
        Ok(())
    }

    /// End of what is acknowledged without a gap.
    pub(crate) fn acknowledged_end(&self) -> u64 {
        self.state.map().first_unacked().0
    }

    /// The reason of the last decision.
    pub(crate) fn reason(&self) -> String {
        self.reason.as_ref().map_or(String::new(), Reason::to_string)
    }

    /// The text of the last error.
    pub(crate) fn error(&self) -> &str {
        &self.error
    }
}
