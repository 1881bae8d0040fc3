//! Paths that cost more than they bring.
//!
//! What lies behind a late byte can be sent only until the window is full. While nothing new can go out although others have room, and the
//! byte where the stream stands is late by a round trip, the others lose what they would deliver: the path that was to bring it owes that
//! many bytes. It pays with what it brings, of which a window counts. A path that owes more than it has brought carries nothing new until
//! the debt is paid at the rate that it is believed to have. Where costs decide, a cheap path is used whatever it costs in time.

use super::lanes::Lanes;
use super::{Objective, Rule, Weave};
use pathweave_proto::scheduler::View;
use pathweave_proto::{DataSeq, SubflowId};
use pathweave_units::{Duration, Instant};

/// A path for which others wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blame {
    id: SubflowId,
    /// The byte for which they wait.
    head: DataSeq,
    /// From when on they wait: since the last decision, but not before its byte is late.
    from: Instant,
    /// What they would deliver, bytes/s.
    rate: f64,
}

impl Weave {
    /// Charges what others could not send since the last decision to the path for which they waited.
    pub(super) fn charge(&mut self, now: Instant) {
        // Mostly nobody waits.
        let Some(blame) = &self.blame else { return };
        if now > blame.from {
            let (id, bytes) = (blame.id, blame.rate * now.since(blame.from).as_secs_f64());
            let window = self.window;
            self.path(id).charge(bytes, window);
        }
        self.blame = None;
    }

    /// The wait ends when its byte is acknowledged, and with its path.
    pub(super) fn end_wait(&mut self, now: Instant, first_unacked: DataSeq, down: Option<SubflowId>) {
        let Some(blame) = &self.blame else { return };
        if blame.head < first_unacked {
            self.charge(now);
        } else if Some(blame.id) == down {
            self.blame = None;
        }
    }

    /// Who is to blame where nothing new can go out although others have room: the path that was to bring the first byte that is missing,
    /// once that is late by a round trip.
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
