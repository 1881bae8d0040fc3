//! Segments that leave together (`tcp_tso_autosize`, `tcp_tso_should_defer`): the kernel hands its network card buffers of
//! several segments, and holds a buffer back where the next acknowledgement is near and makes it a full one. Their size, and the kernel's
//! schedulers, go by its pacing rate (`tcp_update_pacing_rate`).

use crate::host::Sending;
use crate::host::subflow::Left;
use core::cell::Cell;
use pathweave_units::{Duration, Instant};

/// The most bytes of one buffer.
pub(crate) const MAX_BURST_BYTES: u32 = 65_215;
/// A burst is held back only this soon after the last one, and when the next acknowledgement is this near.
const DEFER_WITHIN: Duration = Duration::from_millis(1);

/// The buffer that is being sent.
#[derive(Debug)]
pub(crate) struct Bursts {
    pub(crate) pacing: PacingRate,
    /// Segments left of it, and whether it has several.
    left: u32,
    is_long: bool,
    /// The next one was held back: until a segment, data or a timer comes to this subflow.
    deferred: bool,
    /// Its first segment has left and its last one has not.
    inside: bool,
}

impl Bursts {
    /// `mss`: data bytes of a full segment.
    pub(crate) fn new(mss: u32) -> Self {
        Bursts { pacing: PacingRate::new(mss), left: 0, is_long: false, deferred: false, inside: false }
    }

    /// Something came to this subflow: what was held back is looked at again.
    pub(crate) fn look_again(&mut self) {
        self.deferred = false;
    }

    /// All of the buffer at hand has left.
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The buffer that has just left had several segments.
    pub(crate) fn was_long(&self) -> bool {
        self.left == 0 && self.is_long
    }

    /// Begins a buffer with what is unsent, unless that is held back.
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

    /// A segment of it leaves.
    pub(crate) fn sent(&mut self) -> Left {
        let first = !self.inside;
        // What leaves without a burst, as a probe does, leaves alone.
        self.is_long &= self.left > 0;
        self.inside = self.left > 1;
        self.left = self.left.saturating_sub(1);
        Left { first, last: self.left == 0 }
    }
}

/// Segments that the kernel sends as one buffer: what the pacing rate sends in about a millisecond, at least two.
fn burst_segments(sending: &Sending<'_>, pacing: &PacingRate) -> u32 {
    let rtt_micros = sending.min_rtt.map_or(u64::MAX, |m| m.as_micros());
    let near = u32::try_from(rtt_micros >> 9).ok().and_then(|shift| MAX_BURST_BYTES.checked_shr(shift)).unwrap_or(0);
    let bytes = (pacing.bytes_per_second() / 1024.0) as u64 + u64::from(near);
    (bytes.min(u64::from(MAX_BURST_BYTES)) as u32 / sending.mss.max(1)).max(2)
}

/// Whether the kernel waits for the next acknowledgement, because that is near and makes the burst a full one.
fn defers(now: Instant, sending: &Sending<'_>, plain_mss: u32, burst_segments: impl FnOnce() -> u32) -> bool {
    let queue = sending.queue;
    let recently = sending.last_sent.is_some_and(|t| now.since(t) <= DEFER_WITHIN);
    if sending.recovering || !recently || sending.fin_queued {
        return false;
    }
    // A buffer with one segment has nothing to wait for, unless the stream goes on in it. Where data is queued only once
    // it may go, the stream's rest counts.
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
        // A buffer with others behind it gets no longer.
        return false;
    }
    let (Some(head), Some(srtt)) = (queue.head(), sending.srtt) else { return false };
    (head.last_sent + srtt).since(now) <= DEFER_WITHIN.min(srtt.div(2))
}

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
