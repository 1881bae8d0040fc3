//! Asks the scheduler, and carries out what it decides.

use crate::leg::Leg;
use crate::sender::{Clock, Sender};
use pathweave_scheduler::{Assign, ClippedBy, Decision, Event, Instant, WindowUse};

/// Most decisions before the legs are looked at again.
const DECISIONS: usize = 1000;

impl Sender {
    /// Asks the scheduler until it waits.
    pub(crate) fn schedule(&mut self, clock: &Clock) {
        self.until = None;
        for _ in 0..DECISIONS {
            let now = clock.now();
            let view = self.stream.view(now);
            if view.sendable().is_none() && !(self.duplicates && view.bytes_in_flight() > 0) {
                break;
            }
            match self.scheduler.decide(&view) {
                Decision::Wait { until, .. } => {
                    self.until = until;
                    break;
                }
                Decision::Assign(assign) => {
                    if !self.carry_out(now, &assign) {
                        break;
                    }
                }
            }
        }
        let now = clock.now();
        if let Some(event) = self.stream.blocked(now) {
            self.tell(now, &event);
        }
        if self.stream.has_end && self.stream.map.unassigned_bytes() == 0 {
            self.send_end(now);
        }
    }

    /// Sends what a decision says, as far as it is possible. Returns whether anything was sent.
    fn carry_out(&mut self, now: Instant, assign: &Assign) -> bool {
        let id = assign.subflow;
        let Some(leg) = self.legs.iter_mut().find(|leg| leg.id == id) else { return false };
        let Some(connection) = leg.connection_mut() else { return false };
        let Some(at) = self.stream.legs.iter().position(|seen| seen.id == id) else { return false };
        let seen = &self.stream.legs[at];
        let mss = u64::from(seen.mss);
        let (room, limit) = match assign.window {
            WindowUse::Respect => (u64::from(seen.window_space()) * mss, ClippedBy::CongestionWindow),
            WindowUse::Queue => (seen.queue.space, ClippedBy::SendBuffer),
        };
        let possible = self.stream.clip(assign.range.clone());
        let range = possible.start..possible.end.min(possible.start + room);
        let clipped_by = match range.end {
            end if end < possible.end => Some(limit),
            end if end < assign.range.end => Some(ClippedBy::SendWindow),
            _ => None,
        };
        if range.start >= range.end {
            return false;
        }
        let (mut start, longest) = (range.start, connection.piece());
        while start < range.end {
            let piece = start..range.end.min(start + longest);
            start = piece.end;
            connection.send(now, piece.clone(), self.stream.bytes(&piece));
        }
        // If this fails, the connection has died, and `Sender::service` will notice.
        let _ = connection.flush();
        self.stream.map.assign(range.clone(), id);
        self.stream.legs[at] = connection.view(id, self.stream.is_used_up());
        leg.given += range.end.since(range.start);
        self.tell(now, &Event::Assigned { subflow: id, range, clipped_by });
        true
    }

    /// Tells the receiver on every leg where the stream ends.
    fn send_end(&mut self, now: Instant) {
        let end = self.stream.map.written_end();
        for connection in self.legs.iter_mut().filter_map(Leg::connection_mut).filter(|c| !c.has_end) {
            connection.has_end = true;
            connection.send(now, end..end, std::iter::empty());
            let _ = connection.flush();
        }
    }
}
