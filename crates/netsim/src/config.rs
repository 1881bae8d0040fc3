//! What a link is: its settings, each of which can change while it runs.

use crate::{Codel, Jitter, Loss, QueueLimit, Reorder, Shaper};
use pathweave_units::{Bitrate, Duration, Probability};

/// Where the loss model stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPosition {
    /// Before the queue: a lost packet takes no capacity (as Linux' netem in front of a shaper, and the papers'
    /// simulations).
    BeforeQueue,
    /// After transmission: a lost packet has taken its time on the link (as on a radio link).
    #[default]
    AfterQueue,
}

/// What a link that goes down does with the packets that wait in it. What has been sent already arrives; what comes
/// while it is down is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDown {
    /// They stay, and go on when the link is up again; a transmission that was cut goes on where it stopped.
    Hold,
    /// They are dropped.
    #[default]
    Drop,
}

/// All settings of a link. The default is an ideal one: unlimited, without delay, lossless, and up.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Rate limit.
    pub shaper: Shaper,
    /// Bytes that each packet takes on the link beside its [`Packet::len_bytes`](crate::Packet::len_bytes): preamble,
    /// check sequence and gap of Ethernet are 24; -14 leaves the Ethernet header out. Queue limits in bytes do not
    /// count it.
    pub overhead_bytes: i32,
    /// Limit of the queue.
    pub queue: QueueLimit,
    /// CoDel on the queue, beside its limit.
    pub codel: Option<Codel>,
    /// Propagation delay: from the end of transmission to arrival.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// Whether jitter (or a shorter delay) lets no packet overtake another: a packet then arrives no earlier than the
    /// one before it. Explicit reordering is not affected.
    pub keep_order: bool,
    /// Explicit reordering.
    pub reorder: Reorder,
    /// Random loss.
    pub loss: Loss,
    /// Where loss happens.
    pub loss_position: LossPosition,
    /// Probability that a packet arrives twice.
    pub duplicate: Probability,
    /// Probability that a packet arrives damaged.
    pub corrupt: Probability,
    /// Whether the link works.
    pub up: bool,
    /// What happens to waiting packets when it stops working.
    pub on_down: OnDown,
}

impl Default for LinkConfig {
    fn default() -> Self {
        LinkConfig {
            shaper: Shaper::Unlimited,
            overhead_bytes: 0,
            queue: QueueLimit::Packets(u32::MAX),
            codel: None,
            delay: Duration::ZERO,
            jitter: Jitter::None,
            keep_order: true,
            reorder: Reorder::default(),
            loss: Loss::None,
            loss_position: LossPosition::default(),
            duplicate: Probability::ZERO,
            corrupt: Probability::ZERO,
            up: true,
            on_down: OnDown::default(),
        }
    }
}

impl LinkConfig {
    /// A link of constant rate with a drop-tail queue.
    pub fn constant(rate: Bitrate, delay: Duration, queue: QueueLimit) -> Self {
        LinkConfig { shaper: Shaper::Constant(rate), delay, queue, ..LinkConfig::default() }
    }
}

/// A new value for one setting of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkChange {
    /// Rate limit. A trace or a token bucket starts afresh; what is left of a frame in transmission goes on at the new
    /// rate.
    Shaper(Shaper),
    /// Bytes per packet on the link; packets whose transmission has begun keep theirs.
    Overhead(i32),
    /// Queue limit. A lower one drops nothing that waits already.
    Queue(QueueLimit),
    /// CoDel on, off, or with other parameters.
    Codel(Option<Codel>),
    /// Propagation delay of the packets sent from now on.
    Delay(Duration),
    /// Jitter of the packets sent from now on.
    Jitter(Jitter),
    /// Whether jitter and delay changes keep the order.
    KeepOrder(bool),
    /// Explicit reordering of the packets sent from now on.
    Reorder(Reorder),
    /// Loss model, which starts in its first state.
    Loss(Loss),
    /// Where loss happens.
    LossPosition(LossPosition),
    /// Probability of duplication.
    Duplicate(Probability),
    /// Probability of corruption.
    Corrupt(Probability),
    /// Up or down.
    Up(bool),
    /// What happens to waiting packets at the next going down.
    OnDown(OnDown),
}
