//! Changes of a link's settings while the link runs.

use super::Link;
use crate::loss::LossState;
use crate::queue::CodelState;
use crate::serializer::Serializer;
use crate::{Fate, LinkChange, OnDown, Packet, Queue, Shaper};
use pathweave_units::Instant;

impl<P: Packet + Clone> Link<P> {
    /// Changes one setting at `now`. Everything up to `now` happens with the old value.
    pub fn apply(&mut self, now: Instant, change: LinkChange) {
        self.advance(now);
        match change {
            LinkChange::Shaper(shaper) => return self.set_shaper(shaper),
            LinkChange::Up(up) => return self.set_up(up),
            LinkChange::Queue(queue) => self.set_codel(queue),
            LinkChange::Loss(loss) => self.loss = LossState::new(loss),
            _ => {}
        }
        change.apply_to(&mut self.config);
        self.settings_changed();
    }

    fn set_shaper(&mut self, shaper: Shaper) {
        let now = self.clock;
        let before = core::mem::replace(&mut self.serializer, Serializer::new(&shaper, now));
        self.config.shaper = shaper;
        self.waits_for_old_tokens = false;
        self.settings_changed();
        if let Some(service) = &mut self.service
            && self.config.up
        {
            // The kernel fills the bucket (`tbf_change`), but does not move the timer of the frame that waits for tokens.
            if let (Serializer::Bucket(_), Serializer::Bucket(bucket)) = (&before, &self.serializer)
                && bucket.rate > 0
                && service.head.done < Instant::FAR_FUTURE
            {
                self.waits_for_old_tokens = true;
                return;
            }
            before.pause(&mut service.head, now);
        }
        if self.config.up {
            self.go_on(now);
        }
    }

    fn set_up(&mut self, up: bool) {
        let now = self.clock;
        if up == self.config.up {
            return;
        }
        self.config.up = up;
        if up {
            return self.go_on(now);
        }
        if let Some(service) = &mut self.service {
            self.serializer.pause(&mut service.head, now);
        }
        if self.config.on_down == OnDown::Drop {
            if let Some(service) = self.service.take() {
                self.drop_entry(now, service.entry, Fate::LinkDown);
            }
            while let Some(entry) = self.queue.pop() {
                self.drop_entry(now, entry, Fate::LinkDown);
            }
        }
    }

    /// Resumes transmission at `now`, with the interrupted frame or the next waiting one.
    fn go_on(&mut self, now: Instant) {
        if let Serializer::Trace(cursor) = &mut self.serializer {
            return cursor.skip_past(now);
        }
        match &mut self.service {
            Some(service) => self.serializer.resume(&mut service.head, now),
            None => self.start_next(now),
        }
        self.transmit(now);
    }

    fn set_codel(&mut self, queue: Queue) {
        match (&mut self.codel, queue.codel) {
            (Some(state), Some(codel)) => state.set(codel),
            (state, codel) => *state = codel.map(CodelState::new),
        }
    }
}
