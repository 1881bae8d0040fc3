//! When the receiving half acknowledges: delayed and immediate acknowledgements (RFC 9293 §3.8.6.3, RFC 5681 §4.2).

use super::receive::{Received, SubflowReceiver};
use crate::config::TcpConfig;
use crate::host::{AckHost, Host, Surroundings};
use pathweave_units::{Duration, Instant};

/// Full segments of one instant for which one acknowledgement can wait for a reader that reads at once. More would hold
/// back a sender that grows its window by at most this much per acknowledgement (RFC 9406 §4.2).
const MOST_AT_ONCE: u64 = 4;

/// When an acknowledgement is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckDue {
    No,
    At(Instant),
    Now,
}

/// The timing of the next acknowledgement.
#[derive(Debug)]
pub(super) struct Acks {
    pub(super) host: AckHost,
    due: AckDue,
    /// Segments that are still acknowledged at once, at the start and when the host starts again.
    quick: u32,
    /// Whether the segment just received enlarged the window that may be offered.
    grew: bool,
    started: bool,
    /// Whether a segment came with PSH, or short: its sender has no more data for now.
    pushed: bool,
    /// When data or a FIN last came; time zero before the first.
    last_data: Instant,
    /// The segment that [`SubflowReceiver::decide_ack`] is to decide on.
    noted: Option<(Received, bool, u32)>,
    /// The next expected sequence number when the last acknowledgement was sent, and the window that it offered.
    pub(super) acked_next: u64,
    offered: u64,
}

impl Acks {
    pub(super) fn new(host: &Host, longest_delay: Duration) -> Self {
        Acks {
            host: AckHost::new(host, longest_delay),
            due: AckDue::No,
            quick: 0,
            grew: false,
            started: false,
            pushed: false,
            last_data: Instant::ZERO,
            noted: None,
            acked_next: 0,
            offered: 0,
        }
    }
}

/// The peer's timestamps.
#[derive(Debug, Default)]
pub(crate) struct PeerClock {
    /// The newest timestamp, to be echoed, and when it came.
    pub(crate) recent: u32,
    pub(crate) recent_at: Instant,
    /// Round-trip time that the receiver measures from echoes of our timestamps.
    rtt: Option<Duration>,
    last_echo: u32,
}

impl SubflowReceiver {
    /// Notes a received data segment or FIN. [`SubflowReceiver::decide_ack`] must follow once its data is in place.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        received: Received,
        fin: bool,
        pushed: bool,
        len: u32,
        echo: Option<u32>,
    ) {
        self.acks.host.note_arrival(now.since(self.acks.last_data));
        self.acks.last_data = now;
        self.acks.pushed |= pushed || len < self.full_segment;
        self.acks.noted = Some((received, fin, len));
        self.take_echo(now, len, echo);
    }

    /// Takes the echoed timestamp of a segment with `len` data bytes. Each timestamp gives one round trip at most.
    #[inline]
    pub(crate) fn take_echo(&mut self, now: Instant, len: u32, echo: Option<u32>) {
        let Some(echo) = echo.filter(|e| *e != 0 && *e != self.clock.last_echo) else { return };
        let full = len >= self.full_segment;
        if full || self.acks.host.counts_each_echo() {
            self.clock.last_echo = echo;
        }
        if full {
            self.sample_rtt(now, echo);
        }
    }

    /// Takes a round trip that the receiver measured by an echoed timestamp. A smaller value counts at once, a larger
    /// one slowly.
    fn sample_rtt(&mut self, now: Instant, echo: u32) {
        let ms = super::timestamp::timestamp(now).wrapping_sub(echo);
        if ms > i32::MAX as u32 {
            return;
        }
        let sample = Duration::from_millis(u64::from(ms.max(1)));
        self.clock.rtt = Some(match self.clock.rtt {
            Some(old) if sample > old => old + (sample - old).div(8),
            _ => sample,
        });
    }

    pub(crate) fn last_data(&self) -> Option<Instant> {
        Some(self.acks.last_data).filter(|at| *at > Instant::ZERO)
    }
    pub(crate) fn full_segment(&self) -> u32 {
        self.full_segment
    }

    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.clock.rtt
    }

    /// Data bytes of the segment just received, if it had new data, and whether they wait for a hole.
    pub(crate) fn noted_data(&self) -> Option<(u32, bool)> {
        let (received, _, len) = self.acks.noted?;
        (received != Received::Duplicate).then_some((len, received == Received::OutOfOrder))
    }

    /// Decides when the segment just received is acknowledged. `window` is the window that the acknowledgement would
    /// offer.
    //= RFC 9293 §3.8.6.3 (MUST-40): "an ACK should not be excessively delayed; in particular, the delay MUST be less than 0.5
    //= seconds"
    //= tests: delayed_ack::a_lone_segment_is_acknowledged_after_the_delay_at_most
    //= RFC 9293 §3.8.6.3 (SHLD-18): "A TCP endpoint SHOULD implement a delayed ACK"
    //= tests: delayed_ack::a_lone_segment_is_acknowledged_after_the_delay_at_most
    //= RFC 9293 §3.8.6.3 (SHLD-19): "An ACK SHOULD be generated for at least every second full-sized segment or 2*RMSS bytes of
    //= new data"
    //= tests: delayed_ack::every_second_full_segment_is_acknowledged
    //= RFC 5681 §3.2: "a TCP receiver SHOULD send an immediate ACK when the incoming segment fills in all or part of a gap in
    //= the sequence space"
    //= tests: delayed_ack::what_fills_a_hole_or_part_of_it_is_acknowledged_at_once
    //= RFC 5681 §4.2: "The delayed ACK algorithm specified in [RFC1122] SHOULD be used by a TCP receiver"
    //= tests: delayed_ack::a_lone_segment_is_acknowledged_after_the_delay_at_most
    //= RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second full-sized segment, and MUST be generated within
    //= 500 ms of the arrival of the first unacknowledged packet"
    //= tests: delayed_ack::every_second_full_segment_is_acknowledged, delayed_ack::a_lone_segment_is_acknowledged_after_the_delay_at_most
    //= RFC 5681 §4.2: "the receiver SHOULD send an immediate ACK when it receives a data segment that fills in all or part of a
    //= gap in the sequence space"
    //= tests: delayed_ack::what_fills_a_hole_or_part_of_it_is_acknowledged_at_once
    //= RFC 5681 §4.2: "a TCP receiver MUST NOT excessively delay acknowledgments"
    //= tests: delayed_ack::a_lone_segment_is_acknowledged_after_the_delay_at_most
    //= RFC 5681 §4.2: "an ACK MUST NOT be delayed for more than 500 ms waiting on a second full-sized segment to arrive"
    //= tests: delayed_ack::a_lone_segment_is_acknowledged_after_the_delay_at_most
    pub(crate) fn decide_ack(&mut self, now: Instant, window: u64, around: &Surroundings, config: &TcpConfig) {
        let Some((received, fin, _)) = self.acks.noted.take() else { return };
        self.renew_quick_if_due(received, window, around, config);
        let (unacked, full) = (self.next - self.acks.acked_next, u64::from(self.full_segment));
        let second = unacked > full;
        // Reading soon makes the window larger (RFC 1122 §4.2.3.2).
        let waits_for_reader = second
            && self.acks.host.waits_for_reader(window < self.acks.offered, unacked > MOST_AT_ONCE * full, around);
        let at_once = fin || self.is_urgent(received) || !config.delayed_ack || (second && !waits_for_reader);
        self.filled_hole = false;
        if at_once {
            self.acks.host.answers_at_once();
            self.acks.due = AckDue::Now;
        } else if self.acks.host.flushes(now, around) {
            self.acks.due = AckDue::Now;
        } else if !self.held.is_empty() {
            if !self.acks.host.waits_beyond_hole(now, self.next, around) {
                self.acks.due = AckDue::Now;
            }
        } else if waits_for_reader && self.acks.host.waits_an_instant() {
            self.ack_by(Some(now));
        } else if self.acks.due == AckDue::No {
            self.acks.due = AckDue::At(config.expiry(now, self.acks.host.delay(config.delayed_ack_timeout)));
        }
    }

    /// Whether the segment just received is acknowledged without any delay.
    fn is_urgent(&self, received: Received) -> bool {
        let is_repetition = received == Received::Duplicate && self.held.is_empty();
        is_repetition || self.filled_hole || self.acks.quick > 0
    }

    /// Acknowledges the next segments at once at the start, and when the host starts again.
    fn renew_quick_if_due(&mut self, received: Received, window: u64, around: &Surroundings, config: &TcpConfig) {
        if !self.acks.started {
            self.acks.started = true;
            self.renew_quick(window, config);
        } else if received == Received::InOrder && self.acks.host.starts_again(around.rto, config.delayed_ack_timeout) {
            self.renew_quick(window, config);
        }
        if core::mem::take(&mut self.acks.grew) {
            self.acks.quick |= 1;
        }
        if received == Received::Duplicate
            && self.duplicate.is_some_and(|d| d.1 <= self.next)
            && self.acks.host.starts_again_after_duplicate()
        {
            self.renew_quick(window, config);
        }
    }

    fn renew_quick(&mut self, window: u64, config: &TcpConfig) {
        self.acks.quick = self.acks.quick.max(self.acks.host.quick_acks(config.quick_acks, window, self.full_segment));
    }

    /// Notes that other subflows' data has waited for the segment just received. If its sender has no more data for
    /// now, it is acknowledged at once, because no second segment would cause an acknowledgement. Full segments are
    /// acknowledged as usual.
    pub(crate) fn fills_hole_of_stream(&mut self) {
        self.filled_hole |= self.acks.pushed && self.acks.host.answers_hole_of_stream();
    }

    /// Notes that the offered window grows, so that the sender is told at once.
    pub(crate) fn window_grew(&mut self) {
        self.acks.grew = true;
    }

    /// Notes that the application has read. If an acknowledgement is delayed, it may leave at `at`, or at once.
    /// `empty`: nothing is left to read, and nothing waits for earlier data.
    pub(crate) fn after_read(&mut self, at: Option<Instant>, empty: bool) {
        if let AckDue::At(_) = self.acks.due {
            let unacked = self.next - self.acks.acked_next;
            if self.acks.host.answers_reading(unacked > u64::from(self.full_segment), self.acks.pushed && empty) {
                self.ack_by(at);
            }
        }
    }

    /// Sets the window that the last acknowledgement offered, before the window scale rounded it down.
    pub(crate) fn set_offered(&mut self, window: u64) {
        self.acks.offered = window;
    }

    /// Unused part of the window that was last offered.
    pub(crate) fn window_left(&self) -> u64 {
        self.acks.offered.saturating_sub(self.next - self.acks.acked_next)
    }

    pub(crate) fn ack_now(&mut self) {
        self.acks.due = AckDue::Now;
    }
    pub(crate) fn ack_by(&mut self, at: Option<Instant>) {
        self.acks.due = match (self.acks.due, at) {
            (AckDue::Now, _) | (_, None) => AckDue::Now,
            (AckDue::At(sooner), Some(at)) => AckDue::At(sooner.min(at)),
            (AckDue::No, Some(at)) => AckDue::At(at),
        };
    }
    pub(crate) fn ack_is_due(&self) -> bool {
        self.acks.due == AckDue::Now
    }
    pub(crate) fn shares_data_acks(&self) -> bool {
        self.acks.host.shares_data_acks()
    }
    pub(crate) fn end_quick_acks(&mut self) {
        self.acks.quick = 0;
    }
    pub(crate) fn owes_ack(&self) -> bool {
        self.next > self.acks.acked_next
    }
    /// When a waiting acknowledgement leaves; the far future if there is none.
    #[inline]
    pub(crate) fn ack_timer(&self) -> Instant {
        let held_back = self.acks.host.timer();
        match self.acks.due {
            AckDue::At(delayed) => delayed.min(held_back),
            _ => held_back,
        }
    }
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.ack_timer() <= now {
            self.acks.due = AckDue::Now;
        }
    }
    /// Notes that an acknowledgement leaves.
    //= RFC 5681 §4.2: "A TCP receiver MUST NOT generate more than one ACK for every incoming segment, other than to update the
    //= offered window as the receiving application consumes new data"
    //= tests: delayed_ack::without_delay_each_segment_is_acknowledged
    pub(crate) fn ack_sent(&mut self, offered: u64) {
        if self.acks.due != AckDue::No {
            self.acks.quick = self.acks.quick.saturating_sub(1);
        }
        self.acks.pushed = false;
        self.acks.offered = offered;
        self.acks.due = AckDue::No;
        self.acks.host.acknowledged();
        self.acks.acked_next = self.next;
    }
    /// Notes that the last acknowledgement leaves again, with the next segment.
    pub(crate) fn repeat_ack(&mut self) {
        self.ack_sent(self.acks.offered);
    }
    pub(crate) fn stop_timer(&mut self) {
        self.acks.due = AckDue::No;
        self.acks.host.stop_timer();
    }
}

#[cfg(all(test, feature = "host-linux"))]
mod tests {
    use super::super::timestamp::timestamp;
    use super::*;

    /// `tcp_rcv_rtt_measure_ts`: the echo of an announcement takes the round trip from the data behind it.
    #[test]
    fn on_linux_an_empty_segment_uses_up_the_timestamp_that_it_echoes() {
        for (host, expected) in [(Host::Linux, 10), (Host::Rfc, 15)] {
            let mut receiver = SubflowReceiver::new(&TcpConfig::default(), &host);
            let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
            let echo = |at| Some(timestamp(ms(at)));
            let full = receiver.full_segment();
            receiver.take_echo(ms(110), full, echo(100));
            receiver.take_echo(ms(150), 0, echo(100));
            receiver.take_echo(ms(170), 0, echo(120));
            receiver.take_echo(ms(170), full, echo(120));
            assert_eq!(receiver.rtt(), Some(Duration::from_millis(expected)), "{host:?}");
        }
    }
}
