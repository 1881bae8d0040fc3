//! A simulated flow for the controllers' unit tests.

use pathweave_proto::congestion::{Ack, Context, Controller, Growth, PathState, Window};
use pathweave_units::{Duration, Instant};

/// One subflow with its controller, and the connection's other subflows as given.
pub(crate) struct Flow<C> {
    pub controller: C,
    pub window: Window,
    pub now: Instant,
    pub rtt: Duration,
    pub min_rtt: Duration,
    /// The other subflows. The flow's own subflow is always path 0.
    pub others: Vec<PathState>,
    pub bytes_since_loss: u64,
    pub bytes_between_losses: u64,
}

pub(crate) const MSS: u32 = 1448;

/// A path in congestion avoidance.
pub(crate) fn path(cwnd: u32, rtt_ms: u64) -> PathState {
    let rtt = Some(Duration::from_millis(rtt_ms));
    PathState {
        cwnd,
        in_slow_start: false,
        srtt: rtt,
        min_rtt: rtt,
        mss: MSS,
        bytes_since_loss: 0,
        bytes_between_losses: 0,
    }
}

#[allow(dead_code, reason = "each controller's tests use a part of it")]
impl<C: Controller> Flow<C> {
    /// A flow in slow start with a round trip of 100 ms.
    pub(crate) fn new(controller: C, cwnd: u32) -> Self {
        Flow {
            controller,
            window: Window { cwnd, ssthresh: Window::NO_THRESHOLD },
            now: Instant::from_secs(1),
            rtt: Duration::from_millis(100),
            min_rtt: Duration::from_millis(100),
            others: Vec::new(),
            bytes_since_loss: 0,
            bytes_between_losses: 0,
        }
    }

    pub(crate) fn threshold(mut self, ssthresh: u32) -> Self {
        self.window.ssthresh = ssthresh;
        self
    }

    pub(crate) fn rtt_ms(mut self, ms: u64) -> Self {
        self.rtt = Duration::from_millis(ms);
        self.min_rtt = self.rtt;
        self
    }

    pub(crate) fn with_path(mut self, other: PathState) -> Self {
        self.others.push(other);
        self
    }

    pub(crate) fn cwnd(&self) -> u32 {
        self.window.cwnd
    }

    /// Calls `f` with the controller and the current context.
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut C, &mut Context<'_>) -> R) -> R {
        let mut paths = vec![PathState {
            cwnd: self.window.cwnd,
            in_slow_start: self.window.in_slow_start(),
            srtt: Some(self.rtt),
            min_rtt: Some(self.min_rtt),
            mss: MSS,
            bytes_since_loss: self.bytes_since_loss,
            bytes_between_losses: self.bytes_between_losses,
        }];
        paths.extend(&self.others);
        let in_flight = self.window.cwnd;
        let mut cx = Context {
            now: self.now,
            window: &mut self.window,
            paths: &paths,
            own: 0,
            srtt: Some(self.rtt),
            min_rtt: Some(self.min_rtt),
            in_flight,
        };
        f(&mut self.controller, &mut cx)
    }

    fn deliver(&mut self, segments: u32, round_ended: bool) {
        self.min_rtt = self.min_rtt.min(self.rtt);
        let bytes = u64::from(segments) * u64::from(MSS);
        self.bytes_since_loss += bytes;
        let ack = Ack { segments, bytes, rtt: Some(self.rtt), round_ended };
        self.with(|c, cx| {
            c.on_sample(cx, &ack);
            c.on_ack(cx, &ack);
        });
    }

    /// Delivers one acknowledgement of `segments`, now, within a round.
    pub(crate) fn ack(&mut self, segments: u32) {
        self.deliver(segments, false);
    }

    /// Delivers one acknowledgement of `segments`, now, that begins a round.
    pub(crate) fn start_round(&mut self, segments: u32) {
        self.deliver(segments, true);
    }

    /// Acknowledges a whole window segment by segment, spread over one round trip.
    pub(crate) fn round(&mut self) {
        let n = self.window.cwnd;
        let step = self.rtt.div(u64::from(n.max(1)));
        for i in 0..n {
            self.now += step;
            self.deliver(1, i == 0);
        }
    }

    /// Reports a loss, sets the window to the new threshold, and returns that.
    pub(crate) fn lose(&mut self) -> u32 {
        let threshold = self.with(|c, cx| c.threshold_after_loss(cx));
        self.window = Window { cwnd: threshold, ssthresh: threshold };
        self.bytes_between_losses = self.bytes_since_loss;
        self.bytes_since_loss = 0;
        threshold
    }

    pub(crate) fn growth(&mut self) -> Growth {
        self.with(|c, cx| c.growth(cx))
    }

    /// The window's growth in a round, for controllers whose growth is [`Growth::PerRound`].
    #[track_caller]
    pub(crate) fn per_round(&mut self) -> f64 {
        match self.growth() {
            Growth::PerRound(x) => x,
            other => panic!("{other:?}"),
        }
    }
}
