//! What the multipath flavours of TCP Veno share: the estimate of how much of the window waits in a queue; Fu and Liew, "TCP Veno:
//! TCP enhancement for transmission over wireless access networks", IEEE JSAC 2003.
//!
//! N = w·(rtt − base)/rtt segments, from the smallest sample of the round (Linux, `tcp_veno.c`). Losses while N is small are
//! taken for random ones: they cost a fifth of the window, others half (Fu & Liew §III).

use pathweave_proto::congestion::{Ack, Context};

/// What of a window is left after a loss that is taken for a random one, and after one by congestion.
pub(super) const LEFT_AFTER_RANDOM_LOSS: f64 = 0.8;
pub(super) const LEFT_AFTER_CONGESTION: f64 = 0.5;

/// The smallest round-trip time samples of this round and of the last, seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backlog {
    round_min: Option<f64>,
    last_min: Option<f64>,
}

impl Backlog {
    /// For [`Controller::on_sample`](pathweave_proto::congestion::Controller::on_sample).
    pub(super) fn sample(&mut self, ack: &Ack) {
        if ack.round_ended {
            self.last_min = self.round_min.take().or(self.last_min);
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64();
            self.round_min = Some(self.round_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// N, segments; nothing without samples.
    pub(super) fn segments(&self, cx: &Context<'_>) -> Option<f64> {
        let base = cx.min_rtt.map(|r| r.as_secs_f64())?;
        let rtt = self.round_min.or(self.last_min).filter(|rtt| *rtt > 0.0)?;
        Some(cx.cwnd() * (rtt - base).max(0.0) / rtt)
    }
}
