//! Random loss: independent (Bernoulli) and in bursts (Gilbert–Elliott).
//!
//! The Gilbert–Elliott chain is the one of E. O. Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels",
//! Bell System Technical Journal 42 (1963), with one step per packet, as in Linux's netem (`loss gemodel p r 1-h 1-k`).

use pathweave_units::Probability;
use pathweave_units::random::Random;

/// The model of random loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// No loss.
    #[default]
    None,
    /// Each packet is lost with this probability, independently of the others.
    Bernoulli(Probability),
    /// Loss in bursts: a Markov chain of a good and a bad state that takes one step after each packet.
    GilbertElliott(GilbertElliott),
}

impl Loss {
    /// The fraction of packets lost in the long run.
    pub fn share(&self) -> f64 {
        match self {
            Loss::None => 0.0,
            Loss::Bernoulli(p) => p.get(),
            Loss::GilbertElliott(chain) => chain.stationary_loss(),
        }
    }
}

/// Parameters of the Gilbert–Elliott chain. It starts in the good state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GilbertElliott {
    /// Probability per packet to go from good to bad (netem: `p`).
    pub to_bad: Probability,
    /// Probability per packet to go from bad to good (netem: `r`). Its inverse is the mean length of a bad period in
    /// packets.
    pub to_good: Probability,
    /// Loss probability in the good state (netem: `1-k`).
    pub loss_good: Probability,
    /// Loss probability in the bad state (netem: `1-h`).
    pub loss_bad: Probability,
}

impl GilbertElliott {
    /// The fraction of packets lost in the long run. If `to_bad` is zero, this is the loss of the good state.
    pub fn stationary_loss(&self) -> f64 {
        let (p, r) = (self.to_bad.get(), self.to_good.get());
        let bad = if p > 0.0 { p / (p + r) } else { 0.0 };
        (1.0 - bad) * self.loss_good.get() + bad * self.loss_bad.get()
    }
}

/// A loss model and its state.
#[derive(Clone, Debug)]
pub(crate) struct LossState {
    model: Loss,
    bad: bool,
}

impl LossState {
    pub(crate) fn new(model: Loss) -> Self {
        LossState { model, bad: false }
    }
    pub(crate) fn is_none(&self) -> bool {
        matches!(self.model, Loss::None)
    }
    /// Whether the next packet is lost.
    pub(crate) fn loses(&mut self, random: &mut Random) -> bool {
        match self.model {
            Loss::None => false,
            Loss::Bernoulli(p) => random.chance(p.get()),
            Loss::GilbertElliott(ge) => {
                let (loss, leave) = if self.bad { (ge.loss_bad, ge.to_good) } else { (ge.loss_good, ge.to_bad) };
                let lost = random.chance(loss.get());
                if random.chance(leave.get()) {
                    self.bad = !self.bad;
                }
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(p: f64) -> Probability {
        Probability::new(p).expect("from 0 to 1")
    }

    fn losses(model: Loss, packets: u32) -> Vec<bool> {
        let mut random = Random::substream(3, "loss");
        let mut state = LossState::new(model);
        (0..packets).map(|_| state.loses(&mut random)).collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|&&lost| lost).count() as f64 / losses.len() as f64
    }

    #[test]
    fn no_model_loses_nothing() {
        assert_eq!(share(&losses(Loss::None, 1000)), 0.0);
    }

    #[test]
    fn bernoulli_loses_its_share() {
        let n = 200_000;
        // Standard error √(0.02 · 0.98 / n) = 0.0003.
        assert!((share(&losses(Loss::Bernoulli(probability(0.02)), n)) - 0.02).abs() < 0.0013);
    }

    #[test]
    fn gilbert_elliott_loses_its_stationary_share() {
        let ge = GilbertElliott {
            to_bad: probability(0.01),
            to_good: probability(0.25),
            loss_good: probability(0.001),
            loss_bad: probability(0.6),
        };
        // 1/26 of the packets in the bad state.
        let expected = 25.0 / 26.0 * 0.001 + 1.0 / 26.0 * 0.6;
        assert!((ge.stationary_loss() - expected).abs() < 1e-12);
        // Bursts correlate losses, with a factor e = 1 - p - r = 0.74 per packet: the variance of the mean is at most
        // (1 + e) / (1 - e) = 6.7 times that of independent losses. n = 400,000: a standard error of 0.0006.
        assert!((share(&losses(Loss::GilbertElliott(ge), 400_000)) - expected).abs() < 0.0025);
    }

    #[test]
    fn gilbert_elliott_bursts_have_their_mean_length() {
        let ge = GilbertElliott {
            to_bad: probability(0.02),
            to_good: probability(0.2),
            loss_good: Probability::ZERO,
            loss_bad: probability(1.0),
        };
        let losses = losses(Loss::GilbertElliott(ge), 200_000);
        let lost = losses.iter().filter(|&&lost| lost).count() as f64;
        let bursts = losses.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        // Geometric of mean 5; about 3600 bursts: a standard error of 0.075.
        assert!((lost / bursts - 5.0).abs() < 0.3);
    }

    #[test]
    fn a_chain_that_never_leaves_good_keeps_its_loss() {
        let ge = GilbertElliott { loss_good: probability(0.5), loss_bad: probability(1.0), ..Default::default() };
        assert_eq!(ge.stationary_loss(), 0.5);
    }
}
