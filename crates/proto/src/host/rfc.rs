//! The plain host: the default rules, and the simplest version of each rule that has no default.

use super::HostRules;
use super::acks::AckRules;
use super::connection::ConnectionRules;
use super::rtt::RttRules;
use super::subflow::SubflowRules;
use super::window::{WindowRules, WindowSetting};
use pathweave_units::Duration;

/// Size of a subflow's queue in units of its largest congestion window so far: one window in flight, one behind it.
const WINDOWS: u64 = 2;
/// RFC 9002 §7.7: "Using a value for "N" that is small, but at least 1 (for example, 1.25) ensures that variations in RTT do
/// not result in underutilization of the congestion window."
const PACING_FACTOR: f64 = 1.25;

/// The plain host.
pub(crate) struct Rfc;

impl HostRules for Rfc {
    type Subflow = RfcSubflow;
    type Acks = RfcAcks;
    type Rtt = RfcRtt;
    type Connection = RfcConnection;
    type Window = RfcWindow;

    fn subflow(_tunes: bool, cwnd: u32, mss: u32) -> RfcSubflow {
        RfcSubflow::new(cwnd, mss)
    }
    fn acks(_longest_delay: Duration) -> RfcAcks {
        RfcAcks
    }
    fn rtt() -> RfcRtt {
        RfcRtt::default()
    }
    fn connection(tunes: bool) -> RfcConnection {
        RfcConnection { tunes }
    }
    fn window(_setting: &WindowSetting) -> RfcWindow {
        RfcWindow
    }
}

/// The default rules, without any state.
#[derive(Debug)]
pub(crate) struct RfcAcks;

impl AckRules for RfcAcks {}

/// The default rules, without any state.
#[derive(Debug)]
pub(crate) struct RfcWindow;

impl WindowRules for RfcWindow {}

/// The default rules. The send buffer grows only if `tunes` is set; otherwise its size is fixed.
#[derive(Debug)]
pub(crate) struct RfcConnection {
    tunes: bool,
}

impl ConnectionRules for RfcConnection {
    #[inline]
    fn counts_memory(&self) -> bool {
        self.tunes
    }
}

/// RTTVAR, the estimated variance of round trips (RFC 6298).
#[derive(Debug, Default)]
pub(crate) struct RfcRtt(Duration);

impl RttRules for RfcRtt {
    //= RFC 6298 §2.2: "RTTVAR <- R/2"
    //= tests: rfc::the_variance_is_that_of_rfc_6298
    fn first(&mut self, rtt: Duration, _nxt: u64, _least: Duration) {
        self.0 = rtt.div(2);
    }

    //= RFC 6298 §2.3: "RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|"
    //= tests: rfc::the_variance_is_that_of_rfc_6298
    #[inline]
    fn sample(&mut self, srtt: Duration, rtt: Duration, _una: u64, _nxt: u64, _least: Duration) {
        let deviation = srtt.as_nanos().abs_diff(rtt.as_nanos());
        let old = self.0.as_nanos();
        self.0 = Duration::from_nanos(old - old / 4 + deviation / 4);
    }

    #[inline]
    fn variance(&self) -> Duration {
        self.0
    }

    //= RFC 6298 §2.3: "RTO <- SRTT + max (G, K*RTTVAR)"
    //= tests: rfc::the_variance_is_that_of_rfc_6298
    #[inline]
    fn margin(&self) -> Duration {
        self.0.saturating_mul(4)
    }
}

/// State of the plain host for one subflow.
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
    pub(super) fn new(cwnd: u32, mss: u32) -> Self {
        RfcSubflow { mss, largest_cwnd: cwnd, cwnd, srtt: None }
    }
}

impl SubflowRules for RfcSubflow {
    fn set_plain_mss(&mut self, bytes: u32) {
        self.mss = bytes;
    }

    #[inline]
    fn update_pacing(&mut self, cwnd: u32, _ssthresh: u32, _packets_out: u32, srtt: Option<Duration>) {
        (self.cwnd, self.srtt) = (cwnd, srtt);
    }

    /// 1.25 congestion windows per round trip (RFC 9002 §7.7).
    #[inline]
    fn pacing_rate(&self) -> f64 {
        let window = f64::from(self.cwnd) * f64::from(self.mss);
        self.srtt.map_or(0.0, |srtt| PACING_FACTOR * window / srtt.as_secs_f64().max(1e-6))
    }

    #[inline]
    fn acknowledged(&mut self, cwnd: u32) {
        self.largest_cwnd = self.largest_cwnd.max(cwnd);
    }

    /// Twice the largest congestion window so far.
    #[inline]
    fn send_buffer(&self, max: u64) -> u64 {
        (WINDOWS * u64::from(self.largest_cwnd) * u64::from(self.mss)).min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subflow_queues_two_of_its_largest_windows() {
        let mut subflow = RfcSubflow::new(10, 536);
        subflow.set_plain_mss(1000);
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
        subflow.update_pacing(20, 10, 20, Some(Duration::from_millis(100)));
        assert!((subflow.pacing_rate() * 0.08 - 20_000.0).abs() < 1e-6);
    }
    #[test]
    fn the_variance_is_that_of_rfc_6298() {
        let ms = Duration::from_millis;
        let mut rtt = RfcRtt::default();
        rtt.first(ms(80), 1, ms(200));
        assert_eq!((rtt.variance(), rtt.margin()), (ms(40), ms(160)));
        // 3/4 · 40 + 1/4 · 20, whichever way the sample lies.
        rtt.sample(ms(80), ms(100), 1, 2, ms(200));
        assert_eq!(rtt.variance(), ms(35));
        rtt.sample(ms(80), ms(60), 2, 3, ms(200));
        assert_eq!(rtt.variance(), Duration::from_micros(31_250));
    }
}
