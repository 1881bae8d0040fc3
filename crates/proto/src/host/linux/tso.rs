//! Segments that leave together (`tcp_tso_autosize`, `tcp_tso_should_defer`). The kernel passes buffers of several
//! segments to the network card. It holds a buffer back if the next acknowledgement is near and will complete the
//! buffer. The size of the buffers follows the pacing rate (`tcp_update_pacing_rate`), which the kernel's schedulers
//! use too.

use crate::host::Sending;
use crate::host::subflow::Left;
use core::cell::Cell;
use pathweave_units::{Duration, Instant};

/// Largest size of one buffer, bytes.
pub(crate) const MAX_BURST_BYTES: u32 = 65_215;
/// A burst is held back only if the last one left at most this time ago, and the next acknowledgement is due within
/// this time.
const DEFER_WITHIN: Duration = Duration::from_millis(1);

/// The buffer that is being sent.
#[derive(Debug)]
pub(crate) struct Bursts {
    pub(crate) pacing: PacingRate,
    /// Segments of the buffer that have not left yet.
    left: u32,
    /// Whether the buffer has several segments.
    is_long: bool,
    /// Whether the next buffer is held back, until a segment, new data or a timer event comes to this subflow.
    deferred: bool,
    /// Whether the first segment of the buffer has left, but not the last one.
    inside: bool,
}

impl Bursts {
    /// `mss`: data bytes of a full segment.
    pub(crate) fn new(mss: u32) -> Self {
        Bursts { pacing: PacingRate::new(mss), left: 0, is_long: false, deferred: false, inside: false }
    }

    /// Reconsiders a buffer that was held back, after something came to this subflow.
    pub(crate) fn look_again(&mut self) {
        self.deferred = false;
    }

    /// Whether the whole buffer has left.
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Whether the last segment of a buffer with several segments has just left.
    pub(crate) fn was_long(&self) -> bool {
        self.left == 0 && self.is_long
    }

    /// Begins a buffer with the unsent data. Returns false if the buffer is held back.
    pub(crate) fn begin(&mut self, now: Instant, sending: &Sending<'_>) -> bool {
        let segments = || burst_segments(sending, &self.pacing);
        self.deferred = (sending.queues && self.deferred) || defers(now, sending, self.pacing.plain_mss(), segments);
        if self.deferred {
            return false;
        }
        let room = sending.cwnd.saturating_sub(sending.in_flight);
        let quota = (sending.cwnd / 2).max(1).min(room);
        let most = segments().min(quota);
        let queue = sending.queue;
        let unsent = if sending.queues { queue.unsent_in_buffer(most) } else { queue.unsent() };
        self.left = most.min(unsent).max(1);
        let tail = queue.last_queued().is_some_and(|s| s.len < sending.mss && !s.fin) && !sending.fin_queued;
        if self.left > 1 && self.left == queue.unsent() && tail && sending.nagle_holds {
            // A tail that Nagle's rule holds back gets a buffer of its own.
            self.left -= 1;
        }
        self.is_long = self.left > 1;
        true
    }

    /// Notes that a segment leaves. Returns its position in the burst.
    pub(crate) fn sent(&mut self) -> Left {
        let first = !self.inside;
        // A segment that leaves without a burst, such as a probe, leaves alone.
        self.is_long &= self.left > 0;
        self.inside = self.left > 1;
        self.left = self.left.saturating_sub(1);
        Left { first, last: self.left == 0 }
    }
}

/// Segments that the kernel sends as one buffer: those of about a millisecond at the pacing rate, but at least two.
fn burst_segments(sending: &Sending<'_>, pacing: &PacingRate) -> u32 {
    let rtt_micros = sending.min_rtt.map_or(u64::MAX, |m| m.as_micros());
    let near = u32::try_from(rtt_micros >> 9).ok().and_then(|shift| MAX_BURST_BYTES.checked_shr(shift)).unwrap_or(0);
    let bytes = (pacing.bytes_per_second() / 1024.0) as u64 + u64::from(near);
    (bytes.min(u64::from(MAX_BURST_BYTES)) as u32 / sending.mss.max(1)).max(2)
}

/// Whether the kernel waits for the next acknowledgement, because it is near and will complete the burst.
fn defers(now: Instant, sending: &Sending<'_>, plain_mss: u32, burst_segments: impl FnOnce() -> u32) -> bool {
    let queue = sending.queue;
    let recently = sending.last_sent.is_some_and(|t| now.since(t) <= DEFER_WITHIN);
    if sending.recovering || !recently || sending.fin_queued {
        return false;
    }
    // A buffer with one segment gains nothing from a wait, unless more of the stream joins it. If data is queued only
    // when it may leave, the unqueued rest of the stream counts.
    let several = match sending.queues {
        true => queue.unsent_in_buffer(2) > 1,
        false => sending.backlog,
    };
    if !several {
        return false;
    }
    let mss = u64::from(plain_mss);
    let cwnd = u64::from(sending.cwnd) * mss;
    let room = u64::from(sending.cwnd.saturating_sub(sending.in_flight)) * mss;
    let room = room.min(sending.offered);
    if room >= u64::from(burst_segments()) * mss || room >= cwnd.min(sending.peer_window) / 3 {
        return false;
    }
    if sending.queues && queue.is_sendable_before_others(room) {
        // A buffer that others follow cannot become longer.
        return false;
    }
    let (Some(head), Some(srtt)) = (queue.head(), sending.srtt) else { return false };
    (head.last_sent + srtt).since(now) <= DEFER_WITHIN.min(srtt.div(2))
}

/// The pacing rate (`sk_pacing_rate`): the window divided by the round trip, times 2 in slow start and times 1.2 after
/// it.
#[derive(Debug)]
pub(crate) struct PacingRate {
    /// Data bytes of a full segment of plain TCP, with which the kernel counts.
    plain_mss: u32,
    /// Segments, factor and round trip of the last update.
    from: Option<(u32, f64, Duration)>,
    /// The rate, computed at the first use after an update.
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

    /// Updates the rate after an acknowledgement.
    pub(crate) fn update(&mut self, cwnd: u32, ssthresh: u32, packets_out: u32, srtt: Option<Duration>) {
        let Some(srtt) = srtt else { return };
        let factor = if cwnd < ssthresh / 2 { 2.0 } else { 1.2 };
        self.from = Some((cwnd.max(packets_out), factor, srtt));
        self.known.set(None);
    }

    /// The rate, bytes/s; 0 before the first round trip was measured.
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
