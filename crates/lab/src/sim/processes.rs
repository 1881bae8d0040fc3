//! The applications as the driver runs them, and what is measured where they read.

use super::Noted;
use super::app::Apps;
use super::meter::Meter;
use pathweave_driver::Applications;
use pathweave_proto::Endpoint;
use pathweave_units::Instant;
use std::collections::VecDeque;

/// All applications of a run, and who measures them.
pub(super) struct Processes {
    pub(super) apps: Apps,
    pub(super) meter: Meter,
    /// What was recorded at the measured senders, where anything is.
    pub(super) noted: Option<VecDeque<Noted>>,
}

impl Applications for Processes {
    #[inline]
    fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
        self.apps.serve(now, host, endpoint, &mut self.meter)
    }

    #[inline]
    fn quiet(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) {
        self.meter.observe(now, host, endpoint, &self.apps);
        if let Some(noted) = &mut self.noted {
            self.apps.collect_observations(host, endpoint, noted);
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.apps.poll_timeout()
    }

    #[inline]
    fn handle_timeout(&mut self, now: Instant, endpoints: &mut [Endpoint]) -> Option<usize> {
        self.apps.handle_timeout(now, endpoints)
    }
}
