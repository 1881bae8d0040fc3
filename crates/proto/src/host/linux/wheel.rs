//! The timer wheel: timers fire on a clock with ticks, late ones on coarser steps (`calc_wheel_index`).

use pathweave_units::{Duration, Instant};

/// The least wait of a timer of RACK and TLP (`TCP_TIMEOUT_MIN`), which the kernel adds: two ticks.
pub(crate) const SLACK: Duration = Duration::from_millis(2);

/// When a timer fires that is set now for `wait`: a tick after its time, and on a coarser step, 8, 64, 512, ... ticks, from 63
/// of those of the level before on. A `tick` of zero is an exact clock.
pub(crate) fn expiry(tick: Duration, now: Instant, wait: Duration) -> Instant {
    let tick = tick.as_nanos();
    if tick == 0 {
        return now + wait;
    }
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

    #[test]
    fn without_a_tick_timers_are_exact() {
        let now = Instant::from_nanos(17);
        assert_eq!(expiry(Duration::ZERO, now, Duration::from_micros(5)), now + Duration::from_micros(5));
    }
}
