//! Asking the scheduler, on a host that may let its data wait for more room on the picked subflow.

use super::{DataFin, Shared};
use crate::host::Picked;
use crate::paths::table::SubflowTable;
use arrayvec::ArrayVec;
use pathweave_scheduler::{Assign, Decision, Scheduler, SubflowId, SubflowView, WindowUse};
use pathweave_units::Instant;

impl Shared {
    /// Asks the scheduler. If the host lets the data wait for more room on the picked subflow, the scheduler is asked
    /// again, and sees this subflow without room. With such a host, data that does not wait takes all the room of its
    /// subflow.
    pub(super) fn decide(
        &mut self,
        now: Instant,
        views: &mut [SubflowView],
        scheduler: &mut dyn Scheduler,
        subflows: &SubflowTable,
    ) -> Decision {
        self.counters.decisions += 1;
        let mut decision = scheduler.decide(&self.view(now, views, subflows));
        if !self.host.defers() {
            return decision;
        }
        // The subflows for which the data waits, and their room.
        let mut waiting = ArrayVec::<(SubflowId, u64), { SubflowId::MAX_SUBFLOWS }>::new();
        while let Decision::Assign(assign) = &mut decision {
            let Some(picked) = self.picked(assign, views, subflows) else { break };
            if let Some(end) = self.host.leaving(now, &picked) {
                assign.range.end = end;
                break;
            }
            let Some(view) = views.iter_mut().find(|v| v.id == assign.subflow && v.queue.space > 0) else {
                decision = Decision::wait("the data waits for more room in the window of its subflow");
                break;
            };
            waiting.push((view.id, core::mem::replace(&mut view.queue.space, 0)));
            self.counters.decisions += 1;
            decision = scheduler.decide(&self.view(now, views, subflows));
        }
        for (id, space) in waiting {
            views.iter_mut().filter(|v| v.id == id).for_each(|v| v.queue.space = space);
        }
        decision
    }

    /// The state on which it depends whether an assignment's data waits; `None` if such data never waits.
    fn picked(&self, assign: &Assign, views: &[SubflowView], subflows: &SubflowTable) -> Option<Picked> {
        let start = self.sender.map.first_unassigned()?.start;
        let view = views.iter().find(|v| v.id == assign.subflow)?;
        let space = view.window_space();
        let is_new = assign.range.start == start && assign.window == WindowUse::Respect;
        let peer = &self.sender.peer;
        (is_new && space > 0).then_some(Picked {
            mss: u64::from(view.mss),
            space,
            cwnd: view.window.cwnd,
            in_flight: view.queue.bytes,
            window: peer.size,
            largest_window: peer.largest,
            open: subflows.get(assign.subflow)?.tcp.is_open(),
            start,
            written_end: self.sender.map.written_end(),
            ended: self.life.data_fin != DataFin::NotRequested,
        })
    }
}
