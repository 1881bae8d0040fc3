//! The plain host: what a host must decide where the RFCs leave it open, as simply as it can be decided.

use pathweave_units::Duration;

/// A subflow's queue takes this many of the largest windows so far: one that is out and one behind it.
const WINDOWS: u64 = 2;
/// RFC 9002 §7.7: "Using a value for "N" that is small, but at least 1 (for example, 1.25) ensures that variations in RTT do
/// not result in underutilization of the congestion window."
const PACING_FACTOR: f64 = 1.25;

/// What the plain host remembers of one subflow.
#[derive(Debug)]
pub(crate) struct RfcSubflow {
    /// Data bytes of a full segment of plain TCP.
    mss: u32,
    largest_cwnd: u32,
    /// The congestion window and the round trip at the last acknowledgement.
    cwnd: u32,
    srtt: Option<Duration>,
}

impl RfcSubflow {
    pub(crate) fn new(cwnd: u32, mss: u32) -> Self {
        RfcSubflow { mss, largest_cwnd: cwnd, cwnd, srtt: None }
    }

    pub(crate) fn set_mss(&mut self, bytes: u32) {
        self.mss = bytes;
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, cwnd: u32) {
        self.largest_cwnd = self.largest_cwnd.max(cwnd);
    }

    /// Bytes that may be queued, of at most `max`.
    #[inline]
    pub(crate) fn send_buffer(&self, max: u64) -> u64 {
        (WINDOWS * u64::from(self.largest_cwnd) * u64::from(self.mss)).min(max)
    }

    #[inline]
    pub(crate) fn update_pacing(&mut self, cwnd: u32, srtt: Option<Duration>) {
        (self.cwnd, self.srtt) = (cwnd, srtt);
    }

    /// Bytes per second (RFC 9002 §7.7); 0 before the first round trip was measured.
    #[inline]
    pub(crate) fn pacing_rate(&self) -> f64 {
        let window = f64::from(self.cwnd) * f64::from(self.mss);
        self.srtt.map_or(0.0, |srtt| PACING_FACTOR * window / srtt.as_secs_f64().max(1e-6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subflow_queues_two_of_its_largest_windows() {
        let mut subflow = RfcSubflow::new(10, 536);
        subflow.set_mss(1000);
        assert_eq!(subflow.send_buffer(1 << 20), 20_000);
        subflow.acknowledged(15);
        subflow.acknowledged(7);
        assert_eq!(subflow.send_buffer(1 << 20), 30_000);
        assert_eq!(subflow.send_buffer(25_000), 25_000);
    }

    #[test]
    fn a_window_is_paced_over_four_fifths_of_a_round_trip() {
        let mut subflow = RfcSubflow::new(10, 1000);
        assert_eq!(subflow.pacing_rate(), 0.0);
        subflow.update_pacing(20, Some(Duration::from_millis(100)));
        assert!((subflow.pacing_rate() * 0.08 - 20_000.0).abs() < 1e-6);
    }
}
