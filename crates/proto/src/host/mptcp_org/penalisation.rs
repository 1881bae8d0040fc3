//! Opportunistic retransmission and penalisation as in the kernel (`mptcp_rcv_buf_optimization` of `mptcp_sched.c`, 0.89 to 0.95).
//!
//! The kernel's differ from those of the paper that describes them (NSDI 2012 §4.2) in four ways. They act also where the send
//! buffer is full, not only the receive window. A subflow is penalised only in the state Open, and one in slow start keeps its
//! threshold. The guard between penalisations is the round trip of the subflow that has room. And a segment goes out again only where
//! the subflow that holds it has more than four times that round trip, or a window of at most four segments.

use crate::congestion::Window;
use crate::host::Carrier;
use crate::host::unblocking::Obstacle;
use pathweave_units::{Duration, Instant};

/// The holder of the first segment has to be this many times slower for that to go out again, or have a window this small.
const RATIO: u64 = 4;
const SMALL_WINDOW: u32 = 4;

/// Whether the first holder is penalised. `helper.penalised_at` is when the helper made some other subflow be penalised.
pub(super) fn penalises(now: Instant, obstacle: Obstacle, helper: &Carrier, holder: &Carrier) -> bool {
    let guarded = helper.penalised_at.is_some_and(|last| now.since(last) < helper.srtt);
    obstacle != (Obstacle::SendBuffer { full: false }) && !guarded && helper.srtt < holder.srtt && holder.open
}

/// The window is halved, and so is the threshold, but not in slow start.
pub(super) fn halve(window: &mut Window) {
    if !window.in_slow_start() {
        window.ssthresh = (window.ssthresh / 2).max(2);
    }
    window.cwnd = (window.cwnd / 2).max(1);
}

/// Whether the first segment goes out again on a subflow that does not hold it and has the round trip `fast`: the first of its
/// `holders` that has a small window, or is not slow enough, decides.
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
    use crate::seq::SubflowId;

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
