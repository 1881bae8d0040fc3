//! Whether a path works, as far as its subflow's connection can tell.
//!
//! ```text
//! Opening -> Working -> Late -> Stale -> Down
//! ```
//!
//! An answer leads from `Late` and `Stale` back to `Working`; a timeout leads to `Stale`, whether the subflow was late or not; the
//! end of the subflow leads from everywhere to `Down`.

use pathweave_units::Duration;

/// A subflow on a dark path is probed at least this often with failure detection `fast`.
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Connection-level timeouts without an answer after which mainline takes a subflow for stale (`stale_loss_cnt`).
const STALE_AFTER: u32 = 4;

/// The health of one subflow's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    /// It cannot carry data yet: neither the scheduler nor the application knows of it.
    #[default]
    Opening,
    /// It answers.
    Working,
    /// An answer is overdue: others send what it carries once more.
    Late,
    /// No sign of life since a timeout: no new data goes there while another subflow lives. `late`: others still send what it
    /// carries once more with each DATA_ACK.
    Stale { late: bool },
    /// The subflow is over. `late`: as for a stale one; what it carried is still passed by until its name is given to another.
    Down { late: bool },
}

impl Health {
    /// The subflow can carry data. Returns whether that is news.
    pub(crate) fn open(&mut self) -> bool {
        let is_new = *self == Health::Opening;
        if is_new {
            *self = Health::Working;
        }
        is_new
    }

    /// An answer is overdue.
    pub(crate) fn miss_answer(&mut self) {
        *self = match *self {
            Health::Opening => Health::Opening,
            Health::Working | Health::Late => Health::Late,
            Health::Stale { .. } => Health::Stale { late: true },
            Health::Down { .. } => Health::Down { late: true },
        }
    }

    /// A timeout without a sign of life. One that was never told as usable stays what it is.
    pub(crate) fn time_out(&mut self) {
        if let Health::Working | Health::Late = *self {
            *self = Health::Stale { late: self.is_late() };
        }
    }

    /// The path has answered. Returns whether it was stale.
    pub(crate) fn answer(&mut self) -> bool {
        let was_stale = self.is_stale();
        *self = match *self {
            Health::Opening => Health::Opening,
            Health::Working | Health::Late | Health::Stale { .. } => Health::Working,
            Health::Down { .. } => Health::Down { late: false },
        };
        was_stale
    }

    /// The subflow is over. Returns whether it had been told as usable.
    pub(crate) fn end(&mut self) -> bool {
        let was_up = !matches!(self, Health::Opening | Health::Down { .. });
        *self = Health::Down { late: self.is_late() };
        was_up
    }

    /// Others send what it carries once more.
    pub(crate) fn is_late(self) -> bool {
        matches!(self, Health::Late | Health::Stale { late: true } | Health::Down { late: true })
    }

    /// No new data goes there while another subflow lives.
    pub(crate) fn is_stale(self) -> bool {
        matches!(self, Health::Stale { .. })
    }

    /// The subflow is over.
    pub(crate) fn is_down(self) -> bool {
        matches!(self, Health::Down { .. })
    }
}

/// Connection-level timeouts in which a subflow acknowledged nothing (failure detection `linux`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    timeouts: u32,
    /// What it had acknowledged at the last one, bytes.
    acked: u64,
}

impl Silence {
    /// A connection-level timeout while data is out on the subflow, of which `acked` bytes have been acknowledged in all. Returns
    /// whether the silence has become so long that the path counts as dark.
    pub(crate) fn time_out(&mut self, acked: u64) -> bool {
        self.timeouts = if self.acked == acked { self.timeouts + 1 } else { 0 };
        self.acked = acked;
        self.timeouts >= STALE_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_answers_again_works_and_what_is_over_stays_over() {
        let mut health = Health::default();
        health.time_out();
        assert!(health.open() && !health.open());
        health.miss_answer();
        health.time_out();
        assert_eq!(health, Health::Stale { late: true });
        assert!(health.answer(), "it was stale");
        assert_eq!(health, Health::Working);
        assert!(!health.answer());
        assert!(health.end(), "it had been told");
        assert!(!health.end());
        health.time_out();
        assert!(health.is_down() && !health.open());
    }

    #[test]
    fn four_silent_timeouts_in_a_row_are_a_dark_path() {
        let mut silence = Silence::default();
        let long: Vec<bool> = [0, 0, 0, 10, 10, 10, 10, 10].map(|acked| silence.time_out(acked)).to_vec();
        assert_eq!(long, [false, false, false, false, false, false, false, true]);
    }
}
