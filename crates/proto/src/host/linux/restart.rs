//! What a kernel does to the window after an idle time (RFC 2861, `tcp_cwnd_restart`).

use crate::congestion::Window;
use pathweave_units::Duration;

/// The window halves for each timeout that passed, down to `least`, and the threshold remembers three quarters of it. The kernel
/// looks at this for each of the `buffers` that are queued while nothing is out.
pub(crate) fn halve(window: &mut Window, least: u32, (idle, rto): (Duration, Duration), buffers: u32) {
    for _ in 0..buffers {
        window.ssthresh = window.ssthresh.max(window.cwnd - window.cwnd / 4);
        let mut idle = idle;
        while idle > rto && window.cwnd > least {
            idle -= rto;
            window.cwnd = (window.cwnd / 2).max(least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_timeout_of_idle_time_halves_the_window() {
        let ms = Duration::from_millis;
        let mut window = Window { cwnd: 100, ssthresh: 20 };
        halve(&mut window, 10, (ms(500), ms(200)), 1);
        assert_eq!(window, Window { cwnd: 25, ssthresh: 75 });
        halve(&mut window, 10, (ms(2000), ms(200)), 1);
        assert_eq!(window, Window { cwnd: 10, ssthresh: 75 });
    }
}
