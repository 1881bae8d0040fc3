//! Random traces that resemble a cellular link, generated from a seed.
//!
//! The rate is a random walk that returns to its mean, with outages. The model follows the link model that Sprout
//! infers from recordings (K. Winstein, A. Sivaraman, H. Balakrishnan, "Stochastic Forecasts Achieve High Throughput
//! and Low Delay over Cellular Networks", NSDI 2013, §3.1: a rate in Brownian motion, in steps of 20 ms, with sticky
//! outages). Two things differ:
//!
//! - The walk is in the logarithm of the rate, with a pull to its mean (an Ornstein–Uhlenbeck process). So the
//!   variability stays bounded and can be a parameter.
//! - Opportunities are spread evenly within a step instead of by a Poisson process, because the schedulers of base
//!   stations are regular at that time scale.
//!
//! Each step of 20 ms computes `x ← a·x + σ·√(1-a²)·N(0,1)` with `a = exp(-20 ms / τ)`. The rate is proportional to
//! `exp(x)`, and zero in an outage. The times between outages and the lengths of outages are exponentially distributed.
//! Finally all rates are scaled so that the whole trace has the requested mean rate up to one opportunity: seeds then
//! differ in the course of the rate, not in capacity.

use super::{OPPORTUNITY_BYTES, Trace, TraceError};
use crate::random::{exponential, standard_normal};
use pathweave_units::random::Random;
use pathweave_units::{Bitrate, Duration};
use thiserror::Error;

/// Time between two changes of the rate, in milliseconds.
const STEP_MS: u32 = 20;

/// The most opportunities that a generated trace may have: 1 Gbit/s for 20 minutes.
const MAX_OPPORTUNITIES: f64 = 1e8;

/// Parameters of a generated trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cellular {
    /// Mean rate over the whole trace, outages included.
    pub mean_rate: Bitrate,
    /// Standard deviation σ of the natural logarithm of the rate. With 0 the rate is constant; with 0.5 it is mostly
    /// between 0.6 and 1.6 times the median; with 1 mostly between 0.4 and 2.7 times.
    pub variability: f64,
    /// Time constant τ of the correlation between the rate now and the rate later.
    pub correlation_time: Duration,
    /// Mean time from the end of an outage to the next outage; zero means no outages.
    pub outage_interval: Duration,
    /// Mean length of an outage.
    pub outage_duration: Duration,
    /// Length of the trace, which is also its period; rounded down to whole milliseconds.
    pub length: Duration,
}

impl Default for Cellular {
    /// Ten minutes of 10 Mbit/s with moderate variability, and an outage of half a second every half minute.
    fn default() -> Self {
        Cellular {
            mean_rate: Bitrate::from_mbps(10),
            variability: 0.5,
            correlation_time: Duration::from_secs(2),
            outage_interval: Duration::from_secs(30),
            outage_duration: Duration::from_millis(500),
            length: Duration::from_secs(600),
        }
    }
}

/// Why no trace can be generated from the parameters.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CellularError {
    /// The variability is out of range.
    #[error("variability {0} is not allowed; expected a number from 0 to 5")]
    Variability(f64),
    /// The length is out of range.
    #[error("length {0} is not allowed; expected at least 20ms and at most 49 days")]
    Length(Duration),
    /// The mean rate over the length gives less than one opportunity, or too many.
    #[error("{rate} over {length} are {opportunities:.1} opportunities of 1500 bytes; expected from 1 to 100 million")]
    Rate {
        /// The mean rate.
        rate: Bitrate,
        /// The length.
        length: Duration,
        /// The number of opportunities that they give.
        opportunities: f64,
    },
    /// The generated times are not a valid trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl Cellular {
    /// Generates a trace from a random substream. The same substream gives the same trace on every target.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn generate(&self, random: &mut Random) -> Result<Trace, CellularError> {
        if !(0.0..=5.0).contains(&self.variability) {
            return Err(CellularError::Variability(self.variability));
        }
        let millis = u32::try_from(self.length.as_millis())
            .ok()
            .filter(|&millis| millis >= STEP_MS)
            .ok_or(CellularError::Length(self.length))?;
        let bytes = self.mean_rate.as_bps() as f64 / 8.0 * f64::from(millis) / 1e3;
        let opportunities = bytes / OPPORTUNITY_BYTES as f64;
        if !(1.0..=MAX_OPPORTUNITIES).contains(&opportunities) {
            return Err(CellularError::Rate { rate: self.mean_rate, length: self.length, opportunities });
        }
        let rates = self.rates(millis.div_ceil(STEP_MS), random);
        Ok(Trace::from_millis(place(&rates, millis, opportunities))?)
    }

    /// The relative rate of each step; at least one is above zero.
    fn rates(&self, steps: u32, random: &mut Random) -> Vec<f64> {
        let step = f64::from(STEP_MS) / 1e3;
        let memory = match self.correlation_time.as_secs_f64() {
            tau if tau > 0.0 => libm::exp(-step / tau),
            _ => 0.0,
        };
        let noise = self.variability * (1.0 - memory * memory).sqrt();
        let mut x = self.variability * standard_normal(random);
        let mut outage = false;
        // Seconds until the next outage begins or the current one ends.
        let mut left = self.outage_interval.as_secs_f64();
        if left > 0.0 {
            left = exponential(random, left).max(step);
        } else {
            left = f64::INFINITY;
        }
        let mut rates = Vec::with_capacity(steps as usize);
        for _ in 0..steps {
            // `up` becomes the part of the step without outage, in seconds.
            let mut rest = step;
            let mut up = 0.0;
            while rest > 0.0 {
                let span = rest.min(left);
                up += if outage { 0.0 } else { span };
                rest -= span;
                left -= span;
                if left <= 0.0 {
                    outage = !outage;
                    let mean = if outage { self.outage_duration } else { self.outage_interval };
                    left = exponential(random, mean.as_secs_f64()).max(1e-3);
                }
            }
            rates.push(libm::exp(x) * up / step);
            x = memory * x + noise * standard_normal(random);
        }
        rates
    }
}

/// Spreads `opportunities` over `millis` milliseconds in proportion to the rates. The last one is at the very end, so
/// that the trace's period is its length.
fn place(rates: &[f64], millis: u32, opportunities: f64) -> Vec<u32> {
    let step_rate = |ms: u32| rates[(ms / STEP_MS) as usize];
    let sum: f64 = (0..millis).map(step_rate).sum();
    let scale = opportunities / sum;
    let mut times = Vec::with_capacity(opportunities as usize + 1);
    let mut credit = 0.0;
    for ms in 0..millis {
        credit += step_rate(ms) * scale;
        while credit >= 1.0 {
            credit -= 1.0;
            times.push(ms + 1);
        }
    }
    if times.last() != Some(&millis) {
        times.push(millis);
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generate(parameters: Cellular, seed: u64) -> Trace {
        parameters.generate(&mut Random::substream(seed, "trace")).expect("parameters in range")
    }

    /// Opportunities in each stretch of `window` milliseconds.
    fn counts(trace: &Trace, window: u32) -> Vec<u32> {
        let mut counts = vec![0; trace.period().as_millis().div_ceil(u64::from(window)) as usize];
        for &ms in trace.millis() {
            counts[((ms - 1) / window) as usize] += 1;
        }
        counts
    }

    #[test]
    fn the_mean_rate_and_the_length_are_those_asked_for() {
        for seed in 0..5 {
            for mbps in [1, 20, 150] {
                let parameters = Cellular { mean_rate: Bitrate::from_mbps(mbps), ..Cellular::default() };
                let trace = generate(parameters, seed);
                assert_eq!(trace.period(), parameters.length);
                let off = trace.mean_rate().as_mbps() / mbps as f64 - 1.0;
                // Two opportunities in ten minutes: 40 bit/s.
                assert!(off.abs() < 1e-4, "{off}");
            }
        }
    }

    #[test]
    fn a_seed_gives_one_trace_and_another_seed_another() {
        let parameters = Cellular::default();
        assert_eq!(generate(parameters, 1), generate(parameters, 1));
        assert_ne!(generate(parameters, 1), generate(parameters, 2));
    }

    #[test]
    fn a_generated_trace_is_the_same_on_every_target() {
        let trace = generate(Cellular { length: Duration::from_secs(60), ..Cellular::default() }, 42);
        let sum = trace.millis().iter().fold(0u64, |sum, &ms| sum.wrapping_mul(31).wrapping_add(u64::from(ms)));
        assert_eq!((trace.millis().len(), sum), (50_000, 6_848_297_149_002_061_049));
    }

    #[test]
    fn without_variability_and_outages_the_rate_is_constant() {
        let parameters = Cellular {
            mean_rate: Bitrate::from_mbps(12),
            variability: 0.0,
            outage_interval: Duration::ZERO,
            length: Duration::from_secs(1),
            ..Cellular::default()
        };
        assert!(counts(&generate(parameters, 1), 10).iter().all(|&count| (9..=11).contains(&count)));
    }

    #[test]
    fn variability_is_the_deviation_of_the_logarithm() {
        let parameters = Cellular {
            mean_rate: Bitrate::from_mbps(500),
            correlation_time: Duration::from_millis(200),
            outage_interval: Duration::ZERO,
            ..Cellular::default()
        };
        let logs: Vec<f64> =
            counts(&generate(parameters, 1), STEP_MS).iter().map(|&count| libm::log(f64::from(count))).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>() / logs.len() as f64;
        // 30,000 steps that forget in ten: a few thousand independent ones.
        assert!((variance.sqrt() - 0.5).abs() < 0.03, "{}", variance.sqrt());
    }

    #[test]
    fn outages_take_their_share_of_time() {
        let parameters = Cellular {
            mean_rate: Bitrate::from_mbps(20),
            variability: 0.2,
            outage_interval: Duration::from_secs(4),
            outage_duration: Duration::from_secs(1),
            length: Duration::from_secs(6000),
            ..Cellular::default()
        };
        let counts = counts(&generate(parameters, 3), STEP_MS);
        let dark = counts.iter().filter(|&&count| count == 0).count() as f64 / counts.len() as f64;
        // 1 s of 5 s, over about 1200 outages: a standard error of 0.006; steps at the edges are not all dark.
        assert!((dark - 0.2).abs() < 0.03, "{dark}");
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refuse = |parameters: Cellular| {
            parameters.generate(&mut Random::substream(1, "trace")).expect_err("out of range").to_string()
        };
        let base = Cellular::default();
        assert_eq!(
            refuse(Cellular { variability: -1.0, ..base }),
            "variability -1 is not allowed; expected a number from 0 to 5"
        );
        assert!(refuse(Cellular { variability: f64::NAN, ..base }).starts_with("variability NaN"));
        assert_eq!(
            refuse(Cellular { length: Duration::from_millis(5), ..base }),
            "length 5ms is not allowed; expected at least 20ms and at most 49 days"
        );
        assert!(refuse(Cellular { mean_rate: Bitrate::from_bps(0), ..base }).contains("0.0 opportunities"));
    }
}
