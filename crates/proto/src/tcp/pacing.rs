//! Pacing: segments leave spread out at the subflow's rate instead of in bursts (RFC 9002 §7.7).
//!
//! A segment is given out, with its departure, when its departure has come, or earlier by up to the setting's horizon.
//! So a driver whose device holds packets until their departure (Linux's `fq` and `ETF` with `SO_TXTIME`) gets them
//! early and in batches. Any other driver uses no horizon and sends each segment when it gets it.
//!
//! The rate is the controller's, if it has one
//! ([`Controller::pacing_rate`](crate::congestion::Controller::pacing_rate)), otherwise the host's, and never more than
//! the setting's limit. Only data is paced. A driver that wakes late may catch up by the time it was late, but by no
//! more than one segment's time or [`CATCH_UP`], whichever is longer. A sender that had nothing to send has nothing to
//! catch up.

use super::Tcp;
use crate::config::Pacing;
use pathweave_units::{Bitrate, Duration, Instant};

/// Lateness of a driver that does not lower the rate: two ticks of a coarse clock.
const CATCH_UP: Duration = Duration::from_millis(2);

/// The pacer, which holds data back although the windows have room.
#[derive(Debug)]
pub(super) struct Pacer {
    setting: Pacing,
    /// The controller's own rate, bytes per second.
    own_rate: Option<f64>,
    /// Earliest departure of the next segment.
    next: Instant,
    /// When a waiting segment is to be given out; the far future if none waits.
    wake: Instant,
    /// Whether pacing alone has held data back since the last segment.
    busy: bool,
    /// Departure of the last segment that was given out.
    departure: Instant,
}

impl Pacer {
    pub(super) fn new(setting: Pacing) -> Self {
        let (next, departure) = (Instant::ZERO, Instant::ZERO);
        Pacer { setting, own_rate: None, next, wake: Instant::FAR_FUTURE, busy: false, departure }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.setting != Pacing::Off
    }

    /// When a waiting segment is to be given out.
    #[inline]
    pub(super) fn wake(&self) -> Instant {
        self.wake
    }

    /// Ends the wait, because the segment is due or must be asked for again.
    #[inline]
    pub(super) fn stop_waiting(&mut self) {
        self.wake = Instant::FAR_FUTURE;
    }

    /// Notes that pacing holds nothing back: windows are full, or there is no data.
    fn rest(&mut self) {
        self.stop_waiting();
        self.busy = false;
    }

    /// Whether the next segment must still wait.
    fn holds(&mut self, now: Instant) -> bool {
        let Pacing::On { horizon, .. } = self.setting else { return false };
        let early = now + horizon < self.next;
        self.wake = if early { self.next - horizon } else { Instant::FAR_FUTURE };
        self.busy |= early;
        early
    }

    /// Notes that a segment with this many bytes of data is given out. `rate` is in bytes per second; 0: not known.
    fn sent(&mut self, now: Instant, bytes: u32, rate: f64) {
        self.departure = self.next.max(now);
        if rate <= 0.0 {
            return;
        }
        let gap = Duration::from_secs_f64(f64::from(bytes) / rate);
        let missed = if self.busy { gap.max(CATCH_UP) } else { Duration::ZERO };
        self.next = self.next.max(now - missed) + gap;
    }

    /// The rate in bytes per second, if `host` is the host's rate.
    fn rate(&self, host: f64) -> f64 {
        let rate = self.own_rate.unwrap_or(host);
        match self.setting {
            Pacing::On { limit: Some(limit), .. } => {
                let limit = limit.as_bps() as f64 / 8.0;
                if rate > 0.0 { rate.min(limit) } else { limit }
            }
            _ => rate,
        }
    }
}

impl Tcp {
    /// The rate at which data is paced, or would be, bytes per second; 0 before the first round trip was measured.
    pub(crate) fn pacing_rate(&self) -> f64 {
        self.pacer.rate(self.host.pacing_rate())
    }

    /// Departure of the last data segment that was given out.
    pub(crate) fn departure(&self) -> Instant {
        self.pacer.departure
    }

    /// Changes the setting. A waiting segment is asked for again.
    pub(crate) fn set_pacing(&mut self, setting: Pacing) {
        self.pacer.setting = setting;
        self.pacer.rest();
    }

    /// Sets the controller's own rate, after each acknowledgement.
    pub(super) fn set_own_pacing_rate(&mut self, rate: Option<Bitrate>) {
        self.pacer.own_rate = rate.map(|rate| rate.as_bps() as f64 / 8.0);
    }

    /// Whether data segments leave at their own times.
    pub(crate) fn is_paced(&self) -> bool {
        self.pacer.is_on()
    }

    /// Whether the next data, for which the windows have room, must wait for its departure.
    #[inline]
    pub(super) fn pacing_holds(&mut self, now: Instant) -> bool {
        self.pacer.is_on() && self.pacer.holds(now)
    }

    /// Whether a segment that the windows let out waits for its time.
    pub(crate) fn waits_for_its_time(&self) -> bool {
        self.pacer.wake() != Instant::FAR_FUTURE
    }

    /// Notes that no data can leave, for another reason than pacing.
    #[inline]
    pub(super) fn pacing_rests(&mut self) {
        if self.pacer.is_on() {
            self.pacer.rest();
        }
    }

    /// Departure of a segment that is given out now. Round trips count from there.
    #[inline]
    pub(super) fn leaves_at(&self, now: Instant) -> Instant {
        if self.pacer.is_on() { self.pacer.next.max(now) } else { now }
    }

    /// Notes that a segment with this many bytes of data is given out.
    #[inline]
    pub(super) fn pace(&mut self, now: Instant, bytes: u32) {
        if self.pacer.is_on() {
            let rate = self.pacing_rate();
            self.pacer.sent(now, bytes, rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 MB/s.
    const LIMIT: Option<Bitrate> = Some(Bitrate::from_mbps(8));

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// Departures of segments of 1000 bytes until `end`, if the driver wakes every `tick` µs.
    fn departures(tick: u64, horizon: Duration, end: u64) -> Vec<(Instant, Instant)> {
        let mut pacer = Pacer::new(Pacing::On { limit: LIMIT, horizon });
        let mut out = Vec::new();
        for now in (10_000..end).step_by(tick as usize).map(at) {
            while !pacer.holds(now) {
                let rate = pacer.rate(0.0);
                pacer.sent(now, 1000, rate);
                out.push((now, pacer.departure));
            }
        }
        out
    }

    #[test]
    fn the_rate_is_held_within_a_hundredth_also_by_a_driver_that_looks_late() {
        for tick in [10, 300, 999, 1000, 1500, 2000] {
            let n = departures(tick, Duration::ZERO, 1_010_000).len();
            assert!((990..=1010).contains(&n), "{n} segments in 1 s, looking every {tick} us");
        }
        let n = departures(10_000, Duration::ZERO, 1_010_000).len();
        assert!(n < 400, "a driver that is very late makes no large bursts: {n}");
    }

    #[test]
    fn a_horizon_gives_segments_out_early_with_their_times() {
        let out = departures(5000, Duration::from_millis(10), 1_010_000);
        for ((now, departure), (_, next)) in out.iter().zip(&out[1..]) {
            assert!(*departure >= *now && departure.since(*now) <= Duration::from_millis(10));
            assert_eq!(next.since(*departure), Duration::from_millis(1), "in steps of 1000 bytes at 1 MB/s");
        }
        assert!(out.len() > 990);
    }

    #[test]
    fn after_an_idle_time_there_is_nothing_to_catch_up() {
        let mut pacer = Pacer::new(Pacing::On { limit: LIMIT, horizon: Duration::ZERO });
        pacer.sent(at(10_000), 1000, 1e6);
        assert!(pacer.holds(at(10_001)));
        pacer.rest();
        assert!(!pacer.holds(at(900_000)));
        pacer.sent(at(900_000), 1000, 1e6);
        assert!(pacer.holds(at(900_999)));
        assert_eq!(pacer.wake(), at(901_000));
    }

    #[test]
    fn the_smaller_of_rate_and_limit_counts() {
        let mut pacer = Pacer::new(Pacing::On { limit: LIMIT, horizon: Duration::ZERO });
        assert_eq!(pacer.rate(2e6), 1e6);
        assert_eq!(pacer.rate(5e5), 5e5);
        assert_eq!(pacer.rate(0.0), 1e6, "before a round trip was measured");
        pacer.own_rate = Some(3e5);
        assert_eq!(pacer.rate(5e5), 3e5, "the controller's rate goes before the host's");
        pacer.setting = Pacing::On { limit: None, horizon: Duration::ZERO };
        pacer.own_rate = None;
        assert_eq!(pacer.rate(2e6), 2e6);
    }
}
