//! Changing a link while it runs.

use super::Link;
use crate::codel::CodelState;
use crate::loss::LossState;
use crate::serializer::Serializer;
use crate::{
    Codel, Fate, Jitter, LinkChange, LinkConfig, Loss, LossPosition, OnDown, Packet, QueueLimit, Reorder, Shaper,
};
use pathweave_units::{Duration, Instant, Probability};

/// Setters. Each takes effect at `now`; what happened before is worked out with the old value first.
impl<P: Packet + Clone> Link<P> {
    /// Changes one setting.
    pub fn apply(&mut self, now: Instant, change: LinkChange) {
        match change {
            LinkChange::Shaper(shaper) => self.set_shaper(now, shaper),
            LinkChange::Overhead(bytes) => self.set_overhead(now, bytes),
            LinkChange::Queue(limit) => self.set_queue(now, limit),
            LinkChange::Codel(codel) => self.set_codel(now, codel),
            LinkChange::Delay(delay) => self.set_delay(now, delay),
            LinkChange::Jitter(jitter) => self.set_jitter(now, jitter),
            LinkChange::KeepOrder(keep) => self.set_keep_order(now, keep),
            LinkChange::Reorder(reorder) => self.set_reorder(now, reorder),
            LinkChange::Loss(loss) => self.set_loss(now, loss),
            LinkChange::LossPosition(position) => self.set_loss_position(now, position),
            LinkChange::Duplicate(probability) => self.set_duplicate(now, probability),
            LinkChange::Corrupt(probability) => self.set_corrupt(now, probability),
            LinkChange::Up(up) => self.set_up(now, up),
            LinkChange::OnDown(on_down) => self.set_on_down(now, on_down),
        }
    }

    /// [`LinkChange::Shaper`].
    pub fn set_shaper(&mut self, now: Instant, shaper: Shaper) {
        self.advance(now);
        let now = self.clock;
        if let Some(service) = &mut self.service
            && self.config.up
        {
            self.serializer.pause(&mut service.head, now);
        }
        self.serializer = Serializer::new(&shaper, now);
        self.config.shaper = shaper;
        self.settings_changed();
        if self.config.up {
            self.go_on(now);
        }
    }

    /// [`LinkChange::Up`].
    pub fn set_up(&mut self, now: Instant, up: bool) {
        self.advance(now);
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

    /// Goes on with what waits, at `now`.
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

    /// [`LinkChange::Codel`].
    pub fn set_codel(&mut self, now: Instant, codel: Option<Codel>) {
        self.advance(now);
        self.config.codel = codel;
        match (&mut self.codel, codel) {
            (Some(state), Some(codel)) => state.set(codel),
            (state, codel) => *state = codel.map(CodelState::new),
        }
    }

    /// [`LinkChange::Loss`].
    pub fn set_loss(&mut self, now: Instant, loss: Loss) {
        self.advance(now);
        self.config.loss = loss;
        self.loss = LossState::new(loss);
        self.settings_changed();
    }

    fn set(&mut self, now: Instant, change: impl FnOnce(&mut LinkConfig)) {
        self.advance(now);
        change(&mut self.config);
        self.settings_changed();
    }

    /// [`LinkChange::Overhead`].
    pub fn set_overhead(&mut self, now: Instant, bytes: i32) {
        self.set(now, |config| config.overhead_bytes = bytes);
    }
    /// [`LinkChange::Queue`].
    pub fn set_queue(&mut self, now: Instant, limit: QueueLimit) {
        self.set(now, |config| config.queue = limit);
    }
    /// [`LinkChange::Delay`].
    pub fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.set(now, |config| config.delay = delay);
    }
    /// [`LinkChange::Jitter`].
    pub fn set_jitter(&mut self, now: Instant, jitter: Jitter) {
        self.set(now, |config| config.jitter = jitter);
    }
    /// [`LinkChange::KeepOrder`].
    pub fn set_keep_order(&mut self, now: Instant, keep: bool) {
        self.set(now, |config| config.keep_order = keep);
    }
    /// [`LinkChange::Reorder`].
    pub fn set_reorder(&mut self, now: Instant, reorder: Reorder) {
        self.set(now, |config| config.reorder = reorder);
    }
    /// [`LinkChange::LossPosition`].
    pub fn set_loss_position(&mut self, now: Instant, position: LossPosition) {
        self.set(now, |config| config.loss_position = position);
    }
    /// [`LinkChange::Duplicate`].
    pub fn set_duplicate(&mut self, now: Instant, probability: Probability) {
        self.set(now, |config| config.duplicate = probability);
    }
    /// [`LinkChange::Corrupt`].
    pub fn set_corrupt(&mut self, now: Instant, probability: Probability) {
        self.set(now, |config| config.corrupt = probability);
    }
    /// [`LinkChange::OnDown`].
    pub fn set_on_down(&mut self, now: Instant, on_down: OnDown) {
        self.set(now, |config| config.on_down = on_down);
    }
}
