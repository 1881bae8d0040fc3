//! The health of a path, as far as its connection can tell.
//!
//! ```text
//! Opening -> Working -> Late -> Stale -> Down
//! ```
//!
//! An answer takes a path from `Late` or `Stale` back to `Working`. A timeout makes a working or late path `Stale`. The
//! end of its subflow makes any path `Down`.

use pathweave_units::Duration;

/// Longest time between two probes on a dark path with failure detection `fast`.
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Connection-level timeouts without an answer after which mainline Linux considers a subflow stale (`stale_loss_cnt`).
const STALE_AFTER: u32 = 4;

/// The connection's judgement of a subflow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHealth {
    /// The handshake is not complete; the path carries no data yet.
    Opening,
    /// The peer answers.
    Working,
    /// An answer is overdue. Other subflows send this one's data again.
    Late,
    /// There was no sign of life since a timeout. The subflow gets no new data while another one is alive.
    Stale,
    /// The subflow has ended.
    Down,
}

/// The health of one subflow's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    /// The path cannot carry data yet. Neither the scheduler nor the application knows of it.
    #[default]
    Opening,
    /// The peer answers.
    Working,
    /// An answer is overdue. Other subflows send this one's data again.
    Late,
    /// There was no sign of life since a timeout. The subflow gets no new data while another one is alive. `late`:
    /// whether other subflows still send more of its data with each DATA_ACK.
    Stale { late: bool },
    /// The subflow has ended. `late`: as for `Stale`, until another subflow gets this one's name.
    Down { late: bool },
}

impl Health {
    /// Notes that the subflow can carry data. Returns whether it could not before.
    #[inline]
    pub(crate) fn open(&mut self) -> bool {
        let is_new = *self == Health::Opening;
        if is_new {
            *self = Health::Working;
        }
        is_new
    }

    /// Notes that an answer is overdue.
    pub(crate) fn miss_answer(&mut self) {
        *self = match *self {
            Health::Opening => Health::Opening,
            Health::Working | Health::Late => Health::Late,
            Health::Stale { .. } => Health::Stale { late: true },
            Health::Down { .. } => Health::Down { late: true },
        }
    }

    /// Notes a timeout without a sign of life. A path that cannot carry data yet stays `Opening`.
    pub(crate) fn time_out(&mut self) {
        if let Health::Working | Health::Late = *self {
            *self = Health::Stale { late: self.is_late() };
        }
    }

    /// Notes that the peer has answered on this path. Returns whether the path was stale.
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

    /// Notes that the subflow has ended. Returns whether the scheduler and the application knew of the subflow.
    pub(crate) fn end(&mut self) -> bool {
        let was_up = !matches!(self, Health::Opening | Health::Down { .. });
        *self = Health::Down { late: self.is_late() };
        was_up
    }

    /// Whether other subflows send this one's data again.
    #[inline]
    pub(crate) fn is_late(self) -> bool {
        matches!(self, Health::Late | Health::Stale { late: true } | Health::Down { late: true })
    }

    /// Whether the subflow gets no new data while another one is alive.
    #[inline]
    pub(crate) fn is_stale(self) -> bool {
        matches!(self, Health::Stale { .. })
    }

    /// The state as observers and snapshots see it.
    pub(crate) fn shown(self) -> PathHealth {
        match self {
            Health::Opening => PathHealth::Opening,
            Health::Working => PathHealth::Working,
            Health::Late => PathHealth::Late,
            Health::Stale { .. } => PathHealth::Stale,
            Health::Down { .. } => PathHealth::Down,
        }
    }

    /// Whether the subflow has ended.
    #[inline]
    pub(crate) fn is_down(self) -> bool {
        matches!(self, Health::Down { .. })
    }
}

/// Counts connection-level timeouts during which no data was acknowledged on a subflow (failure detection `linux`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnansweredTimeouts {
    timeouts: u32,
    /// Bytes acknowledged on the subflow at the last of these timeouts.
    acked: u64,
}

impl UnansweredTimeouts {
    /// Counts a connection-level timeout that passed while data was in flight on the subflow. `acked`: bytes
    /// acknowledged on it so far. Returns whether the path counts as dark now.
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
        let mut silence = UnansweredTimeouts::default();
        let long: Vec<bool> = [0, 0, 0, 10, 10, 10, 10, 10].map(|acked| silence.time_out(acked)).to_vec();
        assert_eq!(long, [false, false, false, false, false, false, false, true]);
    }
}
