//! Links as plain data: what each direction does to packets, and how that changes over time.

use pathweave_units::{Bitrate, Duration, Probability};

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// `NAME.up` or `NAME.down`; unique.
    pub name: String,
    /// Index of the node where packets enter.
    pub from: usize,
    /// Index of the node where they leave.
    pub to: usize,
    /// Settings at the start.
    pub settings: LinkSettings,
    /// Changes, by time; those of one time in the file's order.
    pub changes: Vec<Change>,
}

impl Link {
    /// Whether packets take time on it, at any time: they wait for their turn, or they are under way.
    pub(crate) fn takes_time(&self) -> bool {
        let mut rate = &self.settings.rate;
        let mut delay = self.settings.delay;
        let mut always = *rate != Rate::Unlimited || !delay.is_zero();
        for (i, change) in self.changes.iter().enumerate() {
            match &change.change {
                LinkChange::Rate(r) => rate = r,
                LinkChange::Delay(d) => delay = *d,
                _ => {}
            }
            // Changes of one time happen together.
            if self.changes.get(i + 1).is_none_or(|next| next.at > change.at) {
                always &= *rate != Rate::Unlimited || !delay.is_zero();
            }
        }
        always
    }
}

/// What one direction of a link does to packets.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// Rate limit.
    pub rate: Rate,
    /// Bytes that each packet takes on the link beyond its IP packet (Ethernet's header: 14).
    pub overhead: u32,
    /// Waiting room before the rate limit.
    pub queue: Queue,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// Jitter, and a shorter delay, let no packet overtake another.
    pub keep_order: bool,
    /// Explicit reordering.
    pub reorder: Reorder,
    /// Random loss.
    pub loss: Loss,
    /// Where random loss happens.
    pub loss_position: LossPosition,
    /// Probability that a packet arrives twice.
    pub duplicate: Probability,
    /// Probability that a packet arrives damaged, which its receiver notices.
    pub corrupt: Probability,
    /// Whether the link works.
    pub up: bool,
    /// What happens to waiting packets when it stops working.
    pub on_down: OnDown,
}

impl Default for LinkSettings {
    /// Unlimited and ideal but for Ethernet's header, with a queue of 100 packets.
    fn default() -> Self {
        LinkSettings {
            rate: Rate::Unlimited,
            overhead: 14,
            queue: Queue { limit: QueueLimit::Packets(100), codel: None },
            delay: Duration::ZERO,
            jitter: Jitter::None,
            keep_order: true,
            reorder: Reorder { probability: Probability::ZERO, extra: Duration::ZERO },
            loss: Loss::None,
            loss_position: LossPosition::After,
            duplicate: Probability::ZERO,
            corrupt: Probability::ZERO,
            up: true,
            on_down: OnDown::Drop,
        }
    }
}

/// A rate limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// None.
    Unlimited,
    /// One packet after the other. Zero stops the link; what waits, waits.
    Constant(Bitrate),
    /// A token bucket as Linux' tbf.
    TokenBucket {
        /// At which tokens come.
        rate: Bitrate,
        /// Depth, bytes.
        burst: u64,
    },
    /// Delivery opportunities of 1500 bytes from a file in mahimahi's format, named as the [`Files`](super::Files)
    /// know it.
    TraceFile(String),
    /// Delivery opportunities of a made-up cellular link.
    Cellular(Cellular),
}

/// A generator of cellular-like traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cellular {
    /// Mean rate over the whole trace, outages included.
    pub mean_rate: Bitrate,
    /// Standard deviation of the logarithm of the rate, from 0 (constant) to 5.
    pub variability: f64,
    /// Time in which the rate forgets its past.
    pub correlation_time: Duration,
    /// Mean time from the end of an outage to the next; zero: no outages.
    pub outage_interval: Duration,
    /// Mean time that an outage lasts.
    pub outage_duration: Duration,
    /// Length of the trace, after which it repeats.
    pub length: Duration,
    /// The trace's own seed. Nothing: it comes from the run's seed, so that every seed sees another trace.
    pub seed: Option<u32>,
}

/// A waiting room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// What fits.
    pub limit: QueueLimit,
    /// Active queue management beside the limit.
    pub codel: Option<Codel>,
}

/// How much waits at most; what does not fit is dropped on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Packets.
    Packets(u32),
    /// Bytes of frames.
    Bytes(u64),
    /// What the link sends in this time.
    Time(Duration),
}

/// Parameters of CoDel (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codel {
    /// Acceptable standing delay.
    pub target: Duration,
    /// Time over which the delay must stay above the target.
    pub interval: Duration,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Random variation of the delay, drawn for every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// None.
    None,
    /// Uniform, up to this much to either side.
    Uniform(Duration),
    /// Normal, with this standard deviation.
    Normal(Duration),
}

/// Explicit reordering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub probability: Probability,
    /// How much longer such a packet takes.
    pub extra: Duration,
}

/// Random loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// Each packet by itself.
    Bernoulli(Probability),
    /// In bursts: a chain of a good and a bad state, one step per packet.
    GilbertElliott {
        /// Probability per packet to go from good to bad.
        to_bad: Probability,
        /// Probability per packet to go from bad to good.
        to_good: Probability,
        /// Loss in the good state.
        loss_good: Probability,
        /// Loss in the bad state.
        loss_bad: Probability,
    },
}

/// Where random loss happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPosition {
    /// In front of the queue: a lost packet takes no capacity.
    Before,
    /// After transmission: a lost packet has taken its time on the link, as on a radio link.
    After,
}

/// What a link that goes down does with the packets that wait in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDown {
    /// They wait on.
    Hold,
    /// They are dropped.
    Drop,
}

/// A change of one setting of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When, from the start of the run.
    pub at: Duration,
    /// What.
    pub change: LinkChange,
}

/// A new value for one setting of a link; the fields of [`LinkSettings`].
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is documented as the field of LinkSettings")]
pub enum LinkChange {
    Rate(Rate),
    Overhead(u32),
    Queue(Queue),
    Delay(Duration),
    Jitter(Jitter),
    KeepOrder(bool),
    Reorder(Reorder),
    Loss(Loss),
    LossPosition(LossPosition),
    Duplicate(Probability),
    Corrupt(Probability),
    Up(bool),
    OnDown(OnDown),
}
