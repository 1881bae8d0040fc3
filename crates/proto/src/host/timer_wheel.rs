//! The timer wheel of Linux (`calc_wheel_index`). A connection's timers run on it if `timer_tick` is set.

use pathweave_units::{Duration, Instant};

/// When a timer that is set now for `wait` fires: at least one tick late. A wait of 63 ticks or more ends on a
/// multiple of 8 ticks, one of 504 ticks or more on a multiple of 64 ticks, and so on: each level is 8 times as coarse
/// as the one before.
///
/// # Panics
/// If `tick` is zero.
#[inline(never)]
pub(crate) fn expiry(tick: Duration, now: Instant, wait: Duration) -> Instant {
    let tick = tick.as_nanos();
    let ticks = wait.as_nanos().div_ceil(tick);
    let (mut step, mut reach) = (1, 63);
    while ticks >= reach && step < 1 << 24 {
        (step, reach) = (step * 8, reach * 8);
    }
    let due = (now.as_nanos() / tick).saturating_add(ticks);
    Instant::from_nanos((due / step + 1).saturating_mul(step).saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/notes/` and the kernel's source: a tick late at least, on steps of 8 ticks from 63 ticks on, of 64 from 504 on.
    #[test]
    fn timers_fire_a_tick_late_and_long_ones_on_coarser_steps() {
        let ms = Duration::from_millis;
        let at = |now: u64, wait: u64| expiry(ms(1), Instant::ZERO + ms(now), ms(wait)).since(Instant::ZERO);
        assert_eq!(at(0, 1), ms(2));
        assert_eq!(at(5, 62), ms(68));
        assert_eq!(at(0, 63), ms(64));
        assert_eq!(at(1, 200), ms(208));
        assert_eq!(at(0, 504), ms(512));
        assert_eq!(at(0, 1000), ms(1024));
    }
}
