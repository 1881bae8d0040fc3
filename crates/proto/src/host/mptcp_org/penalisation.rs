//! Opportunistic retransmission and penalisation as in the kernel (`mptcp_rcv_buf_optimization` of `mptcp_sched.c`,
//! 0.89 to 0.95).
//!
//! The kernel differs in four ways from the paper that describes both (NSDI 2012 §4.2):
//!
//! - It acts also if the send buffer is full, not only if the receive window is.
//! - It penalises a subflow only in the state Open. A subflow in slow start keeps its threshold.
//! - The least time between two penalisations is the round trip of the subflow that has room.
//! - It sends a segment again only if the subflow that holds it has more than four times that round trip, or a
//!   congestion window of at most four segments.

use crate::congestion::Window;
use crate::host::Carrier;
use crate::host::unblocking::Obstacle;
use pathweave_units::{Duration, Instant};

/// The first segment is sent again if the round trip of its holder is more than this many times that of the helper.
const RATIO: u64 = 4;
/// The first segment is also sent again if the window of its holder has at most this many segments.
const SMALL_WINDOW: u32 = 4;

/// Whether the first holder is penalised. `helper.penalised_at`: the last time that a subflow was penalised for the
/// helper.
pub(super) fn penalises(now: Instant, obstacle: Obstacle, helper: &Carrier, holder: &Carrier) -> bool {
    let guarded = helper.penalised_at.is_some_and(|last| now.since(last) < helper.srtt);
    obstacle != (Obstacle::SendBuffer { full: false }) && !guarded && helper.srtt < holder.srtt && holder.open
}

/// Halves the window, and outside slow start also the threshold.
pub(super) fn halve(window: &mut Window) {
    if !window.in_slow_start() {
        window.ssthresh = (window.ssthresh / 2).max(2);
    }
    window.cwnd = (window.cwnd / 2).max(1);
}

/// Whether the first segment is sent again on a subflow that does not hold it. `fast`: the round trip of this subflow.
/// The first of the `holders` that has a small window, or is not slow enough, decides.
pub(super) fn resends(fast: Duration, holders: &[Carrier]) -> bool {
    let mut resends = false;
    for holder in holders {
        if holder.cwnd <= SMALL_WINDOW {
            return true;
        }
        if fast.saturating_mul(RATIO) >= holder.srtt {
            return false;
        }
        resends = true;
    }
    resends
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::SubflowId;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(at: u64) -> Instant {
        Instant::ZERO + ms(at)
    }

    fn holder(srtt: u64, cwnd: u32) -> Carrier {
        Carrier { id: SubflowId(0), srtt: ms(srtt), cwnd, usable: true, open: true, penalised_at: None }
    }

    /// A subflow with a round trip of 20 ms, which made some other one be penalised at this time.
    fn helper(penalised_at: Option<Instant>) -> Carrier {
        Carrier { penalised_at, ..holder(20, 10) }
    }

    #[test]
    fn a_slower_open_subflow_is_penalised_once_in_a_round_trip_of_the_faster() {
        let window = Obstacle::ReceiveWindow;
        assert!(penalises(at(100), window, &helper(None), &holder(21, 10)));
        assert!(!penalises(at(100), window, &helper(None), &holder(20, 10)), "not slower");
        assert!(!penalises(at(100), window, &helper(None), &Carrier { open: false, ..holder(90, 10) }));
        assert!(!penalises(at(100), window, &helper(Some(at(81))), &holder(90, 10)), "the guard is 20 ms");
        assert!(penalises(at(100), window, &helper(Some(at(80))), &holder(90, 10)));
    }

    #[test]
    fn a_send_buffer_without_any_room_penalises_and_one_with_some_does_not() {
        let penalises = |obstacle| penalises(at(100), obstacle, &helper(None), &holder(90, 10));
        assert!(penalises(Obstacle::SendBuffer { full: true }));
        assert!(!penalises(Obstacle::SendBuffer { full: false }));
    }

    #[test]
    fn slow_start_keeps_its_threshold() {
        let mut window = Window { cwnd: 20, ssthresh: 15 };
        halve(&mut window);
        assert_eq!(window, Window { cwnd: 10, ssthresh: 7 });
        let mut window = Window { cwnd: 20, ssthresh: 21 };
        halve(&mut window);
        assert_eq!(window, Window { cwnd: 10, ssthresh: 21 });
        let mut window = Window { cwnd: 1, ssthresh: 1 };
        halve(&mut window);
        assert_eq!(window, Window { cwnd: 1, ssthresh: 2 });
    }

    #[test]
    fn a_segment_goes_out_again_where_its_holder_is_four_times_slower_or_has_a_small_window() {
        let resends = |holders: &[Carrier]| resends(ms(20), holders);
        assert!(resends(&[holder(81, 10)]));
        assert!(!resends(&[holder(80, 10)]));
        assert!(resends(&[holder(30, 4)]));
        assert!(!resends(&[holder(30, 5)]));
        assert!(!resends(&[]));
        assert!(!resends(&[holder(81, 10), holder(80, 10)]), "the second one is fast");
        assert!(resends(&[holder(81, 10), holder(80, 4)]));
    }
}
