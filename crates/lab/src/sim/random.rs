//! Distributions of times.

use pathweave_units::Duration;
use pathweave_units::random::Random;

/// An exponentially distributed time with this mean.
pub(super) fn exponential(random: &mut Random, mean: Duration) -> Duration {
    // 1 - u is never 0.
    mean.mul_f64(-libm::log(1.0 - random.unit()))
}

/// A Pareto distributed time with this mean; `shape` is more than 1.
pub(super) fn pareto(random: &mut Random, mean: Duration, shape: f64) -> Duration {
    let least = mean.mul_f64((shape - 1.0) / shape);
    least.mul_f64(libm::pow(1.0 - random.unit(), -1.0 / shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_ms(draw: impl Fn(&mut Random) -> Duration) -> (f64, f64) {
        let mut random = Random::substream(1, "test");
        let all: Vec<f64> = (0..200_000).map(|_| draw(&mut random).as_secs_f64() * 1e3).collect();
        let least = all.iter().copied().fold(f64::MAX, f64::min);
        (all.iter().sum::<f64>() / all.len() as f64, least)
    }

    #[test]
    fn means_are_as_asked() {
        let mean = Duration::from_millis(10);
        let (got, least) = mean_ms(|r| exponential(r, mean));
        assert!((9.9..10.1).contains(&got) && least < 0.01, "{got} ms, at least {least}");
        let (got, least) = mean_ms(|r| pareto(r, mean, 2.5));
        assert!((9.8..10.2).contains(&got), "{got} ms");
        assert!((5.999..6.1).contains(&least), "no time is below the mean times (shape - 1) / shape: {least}");
    }
}
