//! The phase of a connection, from its first handshake to its end.

use super::ConnectionError;
use pathweave_units::{Duration, Instant};

/// Progress of our DATA_FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataFin {
    NotRequested,
    /// The application has closed; data is still unassigned.
    Requested,
    /// Sent `times` times; sent again at `again` unless it is acknowledged.
    Sent {
        again: Instant,
        times: u32,
    },
    Acked,
}

/// Phase of a connection's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LifePhase {
    /// The first subflow's handshake is not complete.
    Connecting,
    Connected,
    /// Both directions have ended, and the application was told.
    Closed,
    /// The connection ended early. `abandoned`: the application knows, because it has closed or aborted the connection.
    Failed {
        error: ConnectionError,
        was_connected: bool,
        abandoned: bool,
    },
}

/// The phase of a connection, and the state of its end.
pub(super) struct Lifecycle {
    pub(super) phase: LifePhase,
    pub(super) data_fin: DataFin,
    /// When the peer last showed a sign of life while data was outstanding, or data became outstanding.
    pub(super) progress_at: Instant,
    /// When the peer last acknowledged something at the data level, had no room for more, or had nothing to
    /// acknowledge.
    pub(super) stream_moved_at: Instant,
    /// When the application left ([`super::Connection::leave`]), if it did. After that it reads no more.
    pub(super) left_at: Option<Instant>,
}

/// Close timeouts after which a connection that the application has left is given up, even if the peer still
/// acknowledges data.
const MOST_TIMEOUTS_AFTER_LEAVING: u64 = 60;

impl Lifecycle {
    pub(super) fn new(now: Instant) -> Self {
        Lifecycle {
            phase: LifePhase::Connecting,
            data_fin: DataFin::NotRequested,
            progress_at: now,
            stream_moved_at: now,
            left_at: None,
        }
    }

    /// Whether the first subflow's handshake was completed, even if the connection has ended since.
    #[inline]
    pub(super) fn is_connected(&self) -> bool {
        match self.phase {
            LifePhase::Connecting => false,
            LifePhase::Connected | LifePhase::Closed => true,
            LifePhase::Failed { was_connected, .. } => was_connected,
        }
    }

    /// Why the connection ended early, if it did.
    #[inline]
    pub(super) fn error(&self) -> Option<ConnectionError> {
        match self.phase {
            LifePhase::Failed { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Notes a sign of life of the peer without progress. It is ignored after the application has left: then only
    /// progress towards the connection's end extends the wait.
    #[inline]
    pub(super) fn note_answer(&mut self, now: Instant) {
        if self.left_at.is_none() {
            self.progress_at = now;
        }
    }

    /// When the connection is given up, unless it makes progress before.
    pub(super) fn end_of_wait(&self, close_timeout: Duration) -> Instant {
        let after_leaving = close_timeout.saturating_mul(MOST_TIMEOUTS_AFTER_LEAVING);
        let last = self.left_at.map_or(Instant::FAR_FUTURE, |left| left + after_leaving);
        (self.progress_at + close_timeout).min(last)
    }

    /// Marks a failed connection as acknowledged by the application.
    pub(super) fn abandon(&mut self) {
        if let LifePhase::Failed { abandoned, .. } = &mut self.phase {
            *abandoned = true;
        }
    }
}
