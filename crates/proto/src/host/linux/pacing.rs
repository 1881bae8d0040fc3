//! The kernel's pacing rate (`tcp_update_pacing_rate`), which its schedulers and the size of its bursts go by.

use core::cell::Cell;
use pathweave_units::Duration;

/// The window over the round trip, doubled in slow start, 1.2-fold after: `sk_pacing_rate`.
#[derive(Debug)]
pub(crate) struct PacingRate {
    /// Data bytes of a full segment of plain TCP, with which the kernel counts.
    plain_mss: u32,
    /// Segments, factor and round trip when it was last updated.
    from: Option<(u32, f64, Duration)>,
    /// Divided out where it is asked for, and then known until it changes.
    known: Cell<Option<f64>>,
}

impl PacingRate {
    pub(crate) fn new(plain_mss: u32) -> Self {
        PacingRate { plain_mss, from: None, known: Cell::new(None) }
    }

    pub(crate) fn plain_mss(&self) -> u32 {
        self.plain_mss
    }

    pub(crate) fn set_plain_mss(&mut self, bytes: u32) {
        self.plain_mss = bytes;
    }

    /// After each acknowledgement.
    pub(crate) fn update(&mut self, cwnd: u32, ssthresh: u32, packets_out: u32, srtt: Option<Duration>) {
        let Some(srtt) = srtt else { return };
        let factor = if cwnd < ssthresh / 2 { 2.0 } else { 1.2 };
        self.from = Some((cwnd.max(packets_out), factor, srtt));
        self.known.set(None);
    }

    /// 0 before the first round trip was measured.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        self.known.get().unwrap_or_else(|| {
            let rate = self.from.map_or(0.0, |(segments, factor, srtt)| {
                f64::from(segments) * f64::from(self.plain_mss) * factor / srtt.as_secs_f64().max(1e-6)
            });
            self.known.set(Some(rate));
            rate
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/notes/linux-6.12-mptcp-scheduler-and-push.md`: "rate = 2*cwnd*mss/srtt" in slow start.
    #[test]
    fn slow_start_is_paced_at_twice_the_window_and_what_follows_at_six_fifths() {
        let mut pacing = PacingRate::new(536);
        assert_eq!(pacing.bytes_per_second(), 0.0);
        pacing.set_plain_mss(1448);
        pacing.update(54, u32::MAX, 50, Some(Duration::from_millis(40)));
        assert!((pacing.bytes_per_second() * 0.04 - 2.0 * 54.0 * 1448.0).abs() < 1e-6);
        pacing.update(54, 80, 50, Some(Duration::from_millis(40)));
        assert!((pacing.bytes_per_second() * 0.04 - 1.2 * 54.0 * 1448.0).abs() < 1e-6);
        // More is out than the window after it was reduced.
        pacing.update(27, 27, 50, Some(Duration::from_millis(40)));
        assert!((pacing.bytes_per_second() * 0.04 - 1.2 * 50.0 * 1448.0).abs() < 1e-6);
    }
}
