//! Debts: paths that cost more than they bring.
//!
//! While a byte is late, the data behind it can be sent only until the window is full. Suppose that nothing new can be
//! sent although other paths have room, and that the first missing byte of the stream is late by a round trip. Then the
//! others lose what they would deliver, and the path that carries the byte is charged that many bytes. It pays with the
//! bytes that it brings, of which at most a window counts. A path that was charged more than it has brought is in debt:
//! it carries nothing new until the debt is paid off, at the rate that it is believed to have. With the objective
//! `Cost` there are no debts: a cheap path is used, whatever it costs in time.

use super::lanes::Lanes;
use super::{Objective, Rule, Weave};
use pathweave_proto::scheduler::View;
use pathweave_proto::{DataSeq, SubflowId};
use pathweave_units::{Duration, Instant};

/// A path for which other paths wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blame {
    /// The path that is waited for.
    id: SubflowId,
    /// The byte that is waited for.
    head: DataSeq,
    /// The time from which the wait is charged: the last decision, but not before the byte is late by a round trip.
    from: Instant,
    /// The rate at which the waiting paths would deliver, bytes/s.
    rate: f64,
}

impl Weave {
    /// Charges the path that others waited for since the last decision with the bytes that they could not send.
    pub(super) fn charge(&mut self, now: Instant) {
        // Usually no path waits.
        let Some(blame) = &self.blame else { return };
        if now > blame.from {
            let (id, bytes) = (blame.id, blame.rate * now.since(blame.from).as_secs_f64());
            let window = self.window;
            self.path(id).charge(bytes, window);
        }
        self.blame = None;
    }

    /// Ends the wait if its byte has been acknowledged, or if its path has gone down.
    pub(super) fn end_wait(&mut self, now: Instant, first_unacked: DataSeq, down: Option<SubflowId>) {
        let Some(blame) = &self.blame else { return };
        if blame.head < first_unacked {
            self.charge(now);
        } else if Some(blame.id) == down {
            self.blame = None;
        }
    }

    /// The path to blame if nothing new can be sent although other paths have room: the path that carries the first
    /// missing byte. The charge begins once that byte is late by a round trip.
    pub(super) fn blame(
        &self,
        view: &View<'_>,
        lanes: &Lanes,
        head_arrives: Option<(Instant, SubflowId)>,
    ) -> Option<Blame> {
        let waits = !lanes.takers.is_empty() && view.queue.unassigned_bytes() > 0;
        if !waits || self.objective == Objective::Cost || self.without.leaves_out(Rule::Debts) {
            return None;
        }
        let (due, holder) = head_arrives?;
        let holder = lanes.all.iter().find(|l| l.id == holder)?;
        let others = lanes.used().iter().filter(|l| l.id != holder.id && l.room > 0);
        let rate = others.map(|l| l.rate).sum::<f64>();
        let from = view.now.max(due + Duration::from_secs_f64(holder.rtt));
        (rate > 0.0).then_some(Blame { id: holder.id, head: view.first_unacked(), from, rate })
    }
}
