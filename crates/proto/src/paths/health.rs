//! Whether a path works, as far as its subflow's connection can tell.
//!
//! ```text
//! Opening -> Working -> Late -> Stale -> Down
//! ```
//!
//! An answer takes a path from `Late` or `Stale` back to `Working`. A timeout makes it `Stale`, whether it was late before or not.
//! When its subflow ends, it is `Down`, whatever it was before.

use crate::subflow_state::PathHealth;
use pathweave_units::Duration;

/// A subflow on a dark path is probed at least this often with failure detection `fast`.
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Mainline takes a subflow for stale after this many connection-level timeouts without an answer (`stale_loss_cnt`).
const STALE_AFTER: u32 = 4;

/// The health of one subflow's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    /// It cannot carry data yet. Neither the scheduler nor the application knows of it.
    #[default]
    Opening,
    /// It answers.
    Working,
    /// An answer is overdue. Other subflows send again what this one carries.
    Late,
    /// There has been no sign of life since a timeout. It gets no new data while another subflow is alive. `late`: with each
    /// DATA_ACK, others still send more of what it carries.
    Stale { late: bool },
    /// The subflow is over. `late`: as for a stale one, until the subflow's name is given to another.
    Down { late: bool },
}

impl Health {
    /// The subflow can carry data. Returns whether that is news.
    #[inline]
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

    /// A timeout without a sign of life. A path that has not carried data yet stays `Opening`.
    pub(crate) fn time_out(&mut self) {
        if let Health::Working | Health::Late = *self {
            *self = Health::Stale { late: self.is_late() };
        }
    }

    /// The path has answered. Returns whether it was stale.
    #[inline]
    pub(crate) fn answer(&mut self) -> bool {
        let was_stale = self.is_stale();
        *self = match *self {
            Health::Opening => Health::Opening,
            Health::Working | Health::Late | Health::Stale { .. } => Health::Working,
            Health::Down { .. } => Health::Down { late: false },
        };
        was_stale
    }

    /// The subflow is over. Returns whether the scheduler and the application knew of it.
    pub(crate) fn end(&mut self) -> bool {
        let was_up = !matches!(self, Health::Opening | Health::Down { .. });
        *self = Health::Down { late: self.is_late() };
        was_up
    }

    /// Others send again what it carries.
    #[inline]
    pub(crate) fn is_late(self) -> bool {
        matches!(self, Health::Late | Health::Stale { late: true } | Health::Down { late: true })
    }

    /// It gets no new data while another subflow is alive.
    #[inline]
    pub(crate) fn is_stale(self) -> bool {
        matches!(self, Health::Stale { .. })
    }

    /// For observers and snapshots.
    pub(crate) fn shown(self) -> PathHealth {
        match self {
            Health::Opening => PathHealth::Opening,
            Health::Working => PathHealth::Working,
            Health::Late => PathHealth::Late,
            Health::Stale { .. } => PathHealth::Stale,
            Health::Down { .. } => PathHealth::Down,
        }
    }

    /// The subflow is over.
    #[inline]
    pub(crate) fn is_down(self) -> bool {
        matches!(self, Health::Down { .. })
    }
}

/// Counts connection-level timeouts during which nothing was acknowledged on a subflow (failure detection `linux`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    timeouts: u32,
    /// Bytes acknowledged on the subflow when the last of them came.
    acked: u64,
}

impl Silence {
    /// A connection-level timeout came while data was out on the subflow; `acked` bytes have been acknowledged there so far.
    /// Returns whether the silence is now so long that the path counts as dark.
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
