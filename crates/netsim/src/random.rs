//! A link's random substreams, and distributions over [`Random`] that are the same on every machine.

use core::f64::consts::TAU;
use pathweave_units::random::Random;

/// The random numbers of one link. Each impairment has a substream of its own, so that switching one on or off does not
/// change the numbers of the others.
#[derive(Debug)]
pub struct LinkRandom {
    pub(crate) loss: Random,
    pub(crate) jitter: Random,
    pub(crate) reorder: Random,
    pub(crate) duplicate: Random,
    pub(crate) corrupt: Random,
}

impl LinkRandom {
    /// The substreams `name/loss`, `name/jitter`, `name/reorder`, `name/duplicate` and `name/corrupt` of the run with
    /// seed `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        let substream = |part: &str| Random::substream(seed, &format!("{name}/{part}"));
        LinkRandom {
            loss: substream("loss"),
            jitter: substream("jitter"),
            reorder: substream("reorder"),
            duplicate: substream("duplicate"),
            corrupt: substream("corrupt"),
        }
    }
}

/// Draws from the standard normal distribution by the Box–Muller method. It takes two random numbers and uses only one
/// of the method's two results.
pub(crate) fn standard_normal(random: &mut Random) -> f64 {
    // 1 - u is from 0 (excluded) to 1 (included), so its logarithm is finite.
    let radius = (-2.0 * libm::log(1.0 - random.unit())).sqrt();
    radius * libm::cos(TAU * random.unit())
}

/// Draws from the exponential distribution with this mean.
pub(crate) fn exponential(random: &mut Random, mean: f64) -> f64 {
    -mean * libm::log(1.0 - random.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_normal_has_mean_zero_and_variance_one() {
        let mut random = Random::substream(1, "normal");
        let n = 100_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = standard_normal(&mut random);
            sum += x;
            squares += x * x;
        }
        // Standard errors: 1/√n = 0.003 and √(2/n) = 0.0045.
        assert!((sum / f64::from(n)).abs() < 0.013);
        assert!((squares / f64::from(n) - 1.0).abs() < 0.018);
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut random = Random::substream(1, "exponential");
        let n = 100_000;
        let sum: f64 = (0..n).map(|_| exponential(&mut random, 3.0)).sum();
        assert!((sum / f64::from(n) - 3.0).abs() < 0.04);
    }

    #[test]
    fn impairments_draw_from_substreams_of_their_own() {
        let mut random = LinkRandom::new(1, "link0");
        assert_ne!(random.loss.next_u64(), random.jitter.next_u64());
        assert_ne!(LinkRandom::new(1, "link0").loss.next_u64(), LinkRandom::new(1, "link1").loss.next_u64());
    }
}
