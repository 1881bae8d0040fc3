//! What a link is: its settings, each of which can change while it runs.

use crate::{Jitter, Loss, Queue, QueueLimit, Reorder, Shaper, Trace};
use pathweave_units::{Bitrate, Duration, Probability};

/// Where packets are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPosition {
    /// Before the queue: a lost packet takes no capacity (as with Linux's netem in front of a shaper, and in the
    /// papers' simulations).
    BeforeQueue,
    /// After transmission: a lost packet has taken its time on the link (as on a radio link).
    #[default]
    AfterQueue,
}

/// What a link that goes down does with the packets that wait in it. Packets that have been sent already arrive;
/// packets that come while the link is down are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDown {
    /// They stay, and go on when the link is up again. A transmission that was interrupted goes on where it stopped.
    Hold,
    /// They are dropped.
    #[default]
    Drop,
}

/// Declares each setting once: `field: Type = default, Change` makes a field of [`LinkConfig`] and a variant of [`LinkChange`].
macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $default:expr, $(#[$change_doc:meta])* $change:ident;)+) => {
        /// All settings of a link. The default is an ideal one: unlimited, without delay, lossless, and up.
        ///
        /// `T` stands for a trace: it is a [`Trace`] in a link that runs, and whatever leads to one in a description
        /// whose traces are not read yet (see [`LinkConfig::try_map_trace`]).
        #[derive(Clone, Debug, PartialEq)]
        pub struct LinkConfig<T = Trace> {
            /// Rate limit.
            pub shaper: Shaper<T>,
            $($(#[$doc])* pub $field: $type,)+
        }

        impl<T> Default for LinkConfig<T> {
            fn default() -> Self {
                LinkConfig { shaper: Shaper::Unlimited, $($field: $default,)+ }
            }
        }

        /// A new value for one setting of a link. `T` is as in [`LinkConfig`].
        #[derive(Clone, Debug, PartialEq)]
        pub enum LinkChange<T = Trace> {
            /// Rate limit. A trace or a token bucket starts afresh; the rest of a frame in transmission goes on at the
            /// new rate.
            Shaper(Shaper<T>),
            $($(#[$change_doc])* $change($type),)+
        }

        impl<T> LinkConfig<T> {
            /// The same settings with a trace from `read`.
            ///
            /// # Errors
            /// Those of `read`.
            pub fn try_map_trace<U, E>(self, read: impl FnOnce(T) -> Result<U, E>) -> Result<LinkConfig<U>, E> {
                Ok(LinkConfig { shaper: self.shaper.try_map_trace(read)?, $($field: self.$field,)+ })
            }
        }

        impl<T> LinkChange<T> {
            /// Writes the new value into settings.
            pub fn apply_to(self, config: &mut LinkConfig<T>) {
                match self {
                    LinkChange::Shaper(shaper) => config.shaper = shaper,
                    $(LinkChange::$change(value) => config.$field = value,)+
                }
            }

            /// The same change with a trace from `read`.
            ///
            /// # Errors
            /// Those of `read`.
            pub fn try_map_trace<U, E>(self, read: impl FnOnce(T) -> Result<U, E>) -> Result<LinkChange<U>, E> {
                Ok(match self {
                    LinkChange::Shaper(shaper) => LinkChange::Shaper(shaper.try_map_trace(read)?),
                    $(LinkChange::$change(value) => LinkChange::$change(value),)+
                })
            }
        }
    };
}

settings! {
    /// Bytes that each packet takes on the link beside its [`Packet::len_bytes`](crate::Packet::len_bytes): preamble,
    /// check sequence and gap of Ethernet are 24; -14 leaves the Ethernet header out. Queue limits in bytes do not
    /// count it.
    overhead_bytes: i32 = 0,
    /// Bytes per packet on the link; packets whose transmission has begun keep theirs.
    Overhead;

    /// The waiting room.
    queue: Queue = QueueLimit::Packets(u32::MAX).into(),
    /// Queue limit, and CoDel on, off or with other parameters. A lower limit drops no packet that already waits.
    Queue;

    /// Propagation delay: from the end of transmission to arrival.
    delay: Duration = Duration::ZERO,
    /// Propagation delay of the packets sent from now on.
    Delay;

    /// Variation of the delay.
    jitter: Jitter = Jitter::None,
    /// Jitter of the packets sent from now on.
    Jitter;

    /// Whether jitter (or a shorter delay) lets no packet overtake another: a packet then arrives no earlier than the
    /// one before it. Explicit reordering is not affected.
    keep_order: bool = true,
    /// Whether jitter and delay changes keep the order.
    KeepOrder;

    /// Explicit reordering.
    reorder: Reorder = Reorder::default(),
    /// Explicit reordering of the packets sent from now on.
    Reorder;

    /// Random loss.
    loss: Loss = Loss::None,
    /// Loss model. It starts in its first state.
    Loss;

    /// Where loss happens.
    loss_position: LossPosition = LossPosition::default(),
    /// Where loss happens.
    LossPosition;

    /// Probability that a packet arrives twice.
    duplicate: Probability = Probability::ZERO,
    /// Probability of duplication.
    Duplicate;

    /// Probability that a packet arrives damaged.
    corrupt: Probability = Probability::ZERO,
    /// Probability of corruption.
    Corrupt;

    /// Whether the link works.
    up: bool = true,
    /// Up or down.
    Up;

    /// What happens to waiting packets when it stops working.
    on_down: OnDown = OnDown::default(),
    /// What happens to waiting packets the next time the link goes down.
    OnDown;
}

impl LinkConfig {
    /// A link of constant rate with a drop-tail queue.
    pub fn constant(rate: Bitrate, delay: Duration, queue: QueueLimit) -> Self {
        LinkConfig { shaper: Shaper::Constant(rate), delay, queue: queue.into(), ..LinkConfig::default() }
    }
}
