//! Detection of lost segments: RACK (RFC 8985) on SACK, counting SACKs (RFC 6675), NewReno (RFC 6582).

use super::Tcp;
use super::recovery::{Delivered, Recovery, RecoveryState};
use super::timestamp::timestamp;
use crate::config::LossRecovery;
use crate::send_queue::SentSegment;
use pathweave_units::{Duration, Instant};

const DUPLICATE_THRESHOLD: u32 = 3;
/// Linux: `tcp_max_reordering`.
const MOST_REORDERING: u32 = 300;
/// Recoveries after which a wider reordering window becomes narrow again (RFC 8985 §6.2 step 4).
//= RFC 8985 §6.2: "RACK.reo_wnd_persist = 16"
//= tests: rack::the_reordering_window_is_wider_for_sixteen_recoveries
const WIDER_FOR: u32 = 16;

/// The latest transmission that was delivered, and how far segments are reordered.
#[derive(Debug)]
pub(crate) struct Rack {
    transmission: u64,
    pub(super) rtt: Duration,
    pub(super) advanced: bool,
    /// Acknowledgements that showed reordering, and the most segments by which one was late.
    pub(super) reordering_events: u32,
    pub(super) reordering: u32,
    reordering_steps: u32,
    reordering_round: u64,
    /// Recoveries that are left until the reordering window is as narrow as at first.
    wider_for: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            transmission: 0,
            rtt: Duration::ZERO,
            advanced: false,
            reordering_events: 0,
            reordering: DUPLICATE_THRESHOLD,
            reordering_steps: 1,
            reordering_round: 0,
            wider_for: 0,
        }
    }
}

impl Recovery {
    /// Notes that a segment was delivered (RFC 8985 §6.2 step 2). `echoed`: the time of our clock that the
    /// acknowledgement echoes, if echoes count on this host.
    //= RFC 8985 §6.2: "To avoid spurious inferences, ignore a segment as invalid if any of its sequence range has been retransmitted
    //= before and if either of two conditions is true"
    //= tests: detection::an_echo_of_the_original_says_nothing_of_its_retransmission
    pub(crate) fn rack_delivered(
        &mut self,
        s: &SentSegment,
        now: Instant,
        min_rtt: Option<Duration>,
        echoed: Option<u32>,
    ) {
        let rtt = now.since(s.last_sent);
        if s.ever_retransmitted {
            // An acknowledgement this soon after a retransmission is for the original, and so is one that echoes an
            // older timestamp.
            let too_soon = min_rtt.is_some_and(|min| rtt < min);
            let older = |echo: u32| (echo.wrapping_sub(timestamp(s.last_sent)) as i32) < 0;
            if too_soon || echoed.is_some_and(older) {
                return;
            }
        }
        self.rack.advanced = true;
        self.rack.rtt = rtt;
        self.rack.transmission = self.rack.transmission.max(s.transmission);
    }

    /// Notes that the current acknowledgement shows reordering.
    pub(crate) fn note_reordering(&mut self) {
        self.rack.reordering_events = self.rack.reordering_events.saturating_add(1);
    }

    /// Notes that a segment without retransmission was delivered after one above it. It begins `segments` segments
    /// before the end of that one.
    //= RFC 8985 §6.2: "If a never-retransmitted segment that's below RACK.fack is (selectively or cumulatively) acknowledged,
    //= it has been delivered out of order. The sender sets RACK.reordering_seen to TRUE if such a segment is identified"
    //= tests: loss_recovery::slight_reordering_repeats_nothing
    pub(super) fn note_late(&mut self, segments: u64) {
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        self.rack.reordering = self.rack.reordering.max(segments.min(MOST_REORDERING));
    }

    /// Widens the reordering window because the peer got data twice: once a round trip and, as in Linux, only if
    /// reordering was seen.
    pub(super) fn widen_reordering_window(&mut self, una: u64, nxt: u64) {
        let rack = &mut self.rack;
        if rack.reordering_events > 0 && una >= rack.reordering_round {
            rack.reordering_steps = (rack.reordering_steps + 1).min(255);
            rack.reordering_round = nxt;
            rack.wider_for = WIDER_FOR;
        }
    }

    /// Notes the end of a recovery that was necessary.
    pub(super) fn outlast_recovery(&mut self) {
        self.rack.wider_for = self.rack.wider_for.saturating_sub(1);
        if self.rack.wider_for == 0 {
            self.rack.reordering_steps = 1;
        }
    }

    pub(super) fn reordering_seen(&self) -> bool {
        self.rack.reordering_events > 0
    }
}

/// Time to wait for reordered segments: `steps` quarters of the smallest round trip, at most one average round trip.
//= RFC 8985 §3.3.2: "Otherwise, the reordering window SHOULD start from a small fraction of the round-trip time or zero if no
//= round-trip time estimate is available"
//= tests: detection::what_may_be_reordered_is_given_quarters_of_a_round_trip_up_to_a_whole_one, rack::a_loss_that_few_later_segments_tell_of_is_found_a_quarter_of_a_round_trip_later
//= RFC 8985 §3.3.2: "The RACK reordering window MUST be bounded, and this bound SHOULD be SRTT"
//= tests: detection::what_may_be_reordered_is_given_quarters_of_a_round_trip_up_to_a_whole_one
fn wait_for_reordered(min_rtt: Option<Duration>, steps: u32, srtt: Option<Duration>) -> Duration {
    let quarter = min_rtt.unwrap_or(Duration::ZERO).div(4);
    let window = quarter.saturating_mul(u64::from(steps));
    srtt.map_or(window, |srtt| window.min(srtt))
}

impl Tcp {
    /// The reordering window of RACK (RFC 8985 §6.2 step 4).
    //= RFC 8985 §3.3.2: "The reordering window SHOULD be set to zero if no reordering has been observed on the connection so
    //= far, and either (a) three segments have been SACKed since the last recovery or (b) the sender is already in fast or RTO
    //= recovery"
    //= tests: loss_recovery::an_acknowledgement_that_waited_for_a_hole_is_no_sign_of_reordering, rack::in_recovery_nothing_waits_for_what_may_only_be_late
    pub(super) fn reordering_window(&self) -> Duration {
        if !self.recovery.reordering_seen() {
            if matches!(self.recovery.state, RecoveryState::Recovery | RecoveryState::Loss) {
                return Duration::ZERO;
            }
            if self.queue.sacked_out.max(self.recovery.duplicate_acks) >= DUPLICATE_THRESHOLD {
                return Duration::ZERO;
            }
        }
        wait_for_reordered(self.rtt.min(), self.recovery.rack.reordering_steps, self.rtt.srtt())
    }

    pub(super) fn lose(&mut self, name: u64) {
        if self.queue.mark_lost(name) {
            self.recovery.newly_lost += 1;
            self.delivery.loss_estimate += (1.0 - self.delivery.loss_estimate) / 128.0;
        }
    }

    /// Marks segments as lost that were sent long enough before a delivered one. Returns after what time to look again.
    //= RFC 8985 §4: "For each data segment sent, the sender MUST store its most recent transmission time with a timestamp whose
    //= granularity is finer than 1/4 of the minimum RTT of the connection"
    //= tests: rack::how_long_ago_a_segment_was_sent_is_known_to_less_than_a_quarter_of_a_round_trip
    pub(crate) fn rack_detect(&mut self, now: Instant) -> Option<Duration> {
        let window = self.reordering_window();
        let (delivered, rtt) = (self.recovery.rack.transmission, self.recovery.rack.rtt);
        while let Some(name) = self.queue.oldest_transmission() {
            let Some(&SentSegment { last_sent, transmission, .. }) = self.queue.get(name) else { break };
            if transmission >= delivered {
                return None;
            }
            if last_sent + rtt + window > now {
                // Segments that were sent later may have to wait longer.
                let last = self.queue.last_transmission_before(delivered)?;
                return Some((last.last_sent + rtt + window).since(now));
            }
            self.lose(name);
        }
        None
    }

    /// Finds losses after an acknowledgement, by the configured rule.
    //= RFC 5681 §3.2: "The TCP sender SHOULD use the "fast retransmit" algorithm to detect and repair loss, based on incoming
    //= duplicate ACKs"
    //= tests: loss_recovery::any_one_segment_is_repaired_without_a_timeout
    //= RFC 5681 §3.2: "The lost segment starting at SND.UNA MUST be retransmitted"
    //= tests: congestion::the_first_two_duplicates_let_one_new_segment_out_each_and_the_window_stays
    //= RFC 5681 §4.3: "We RECOMMEND that TCP implementors employ some form of advanced loss recovery that can cope with
    //= multiple losses in a window of data"
    //= tests: loss_recovery::any_two_segments_are_repaired
    //= RFC 8985 §4: "The connection MUST use selective acknowledgment (SACK) options [RFC2018], and the sender MUST keep SACK
    //= scoreboard information on a per-connection basis"
    //= tests: rack::without_sack_from_the_peer_duplicates_are_counted_and_nothing_is_probed
    //= RFC 8985 §9.2: "Therefore, the algorithm [RFC6675] MUST NOT be used with RACK-TLP; instead, a modified recovery algorithm
    //= that carefully addresses such a case is needed"
    //= tests: rack::a_retransmission_that_is_lost_goes_out_again_without_a_timeout
    pub(super) fn identify_losses(&mut self, now: Instant, delivered: &Delivered) {
        if !self.agreed.sack || self.config.recovery == LossRecovery::NewReno {
            self.newreno_losses(delivered);
        } else if self.config.recovery == LossRecovery::Sack {
            self.sack_losses();
        } else if self.recovery.rack.advanced {
            self.recovery.rack.advanced = false;
            if let Some(wait) = self.rack_detect(now) {
                self.arm_reordering_timer(now, wait + self.host.timer_slack());
            }
        }
    }

    /// RFC 6582: the first segment is lost after three duplicates, and after each partial acknowledgement.
    pub(super) fn newreno_losses(&mut self, delivered: &Delivered) {
        let partial = self.recovery.state == RecoveryState::Recovery && delivered.una_advanced;
        if partial
            || (self.recovery.state < RecoveryState::Recovery && self.recovery.duplicate_acks >= DUPLICATE_THRESHOLD)
        {
            let head = self.queue.sent_names().start;
            if self.queue.get(head).is_some_and(|s| !s.lost) {
                self.lose(head);
            }
        }
    }

    /// RFC 6675 IsLost(): a segment is lost if three segments above it were SACKed.
    pub(super) fn sack_losses(&mut self) {
        if self.queue.sacked_out < DUPLICATE_THRESHOLD {
            return;
        }
        let Some(name) = self.queue.below_sacked(DUPLICATE_THRESHOLD.into()) else { return };
        for name in self.queue.names_to_lose(name) {
            if self.queue.get(name).is_some_and(|s| !s.sacked && !s.lost) {
                self.lose(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::DataSeq;

    #[test]
    fn what_may_be_reordered_is_given_quarters_of_a_round_trip_up_to_a_whole_one() {
        let ms = Duration::from_millis;
        let of = |steps| wait_for_reordered(Some(ms(100)), steps, Some(ms(110)));
        assert_eq!([of(1), of(2), of(4), of(5), of(255)], [ms(25), ms(50), ms(100), ms(110), ms(110)]);
        assert_eq!(wait_for_reordered(None, 3, None), Duration::ZERO);
    }

    #[test]
    fn an_echo_of_the_original_says_nothing_of_its_retransmission() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let repeated = SentSegment {
            ssn: 1,
            len: 1000,
            fin: false,
            sacked: false,
            lost: true,
            starts_buffer: true,
            pushed: false,
            ends_record: false,
            psh: false,
            retransmitted: true,
            ever_retransmitted: true,
            dsn: DataSeq(0),
            last_sent: at(200),
            transmission: 7,
            delivered: 0,
            delivered_at: at(0),
        };
        let min_rtt = Some(Duration::from_millis(100));
        // Longer after the retransmission than the shortest round trip.
        for (echo, believed) in [(Some(at(90)), false), (Some(at(199)), false), (Some(at(200)), true), (None, true)] {
            let mut recovery = Recovery::new();
            recovery.rack_delivered(&repeated, at(320), min_rtt, echo.map(timestamp));
            assert_eq!(recovery.rack.advanced, believed, "{echo:?}");
        }
        let mut recovery = Recovery::new();
        recovery.rack_delivered(&repeated, at(290), min_rtt, Some(timestamp(at(200))));
        assert!(!recovery.rack.advanced, "sooner than any round trip");
    }
}
