//! The settings of a link. Each of them can change while the link runs.

use crate::{Jitter, Loss, Queue, QueueLimit, Reorder, Shaper, Trace};
use pathweave_units::{Bitrate, Duration, Probability};

/// Where on a link packets are lost at random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPosition {
    /// Before the queue: a lost packet takes no capacity, as with Linux's netem in front of a shaper, and in the
    /// papers' simulations.
    BeforeQueue,
    /// After transmission: a lost packet has taken its time on the link, as on a radio link.
    #[default]
    AfterQueue,
}

/// What happens to the packets that wait in a link when it goes down. Packets that have been sent already still arrive;
/// packets that enter while the link is down are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDown {
    /// The packets stay and are sent when the link is up again. An interrupted transmission continues where it stopped.
    Hold,
    /// The packets are dropped.
    #[default]
    Drop,
}

/// Declares each setting once: `field: Type = default, Change` makes a field of [`LinkConfig`] and a variant of
/// [`LinkChange`].
macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $default:expr, $(#[$change_doc:meta])* $change:ident;)+) => {
        /// All settings of a link. The default is an ideal link: unlimited, without delay, lossless, and up.
        ///
        /// `T` is the type of a trace: [`Trace`] in a link that runs; in a description whose traces have not been read
        /// yet, a file name for example (see [`LinkConfig::try_map_trace`]).
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
            /// Rate limit. A trace or a token bucket starts anew. A frame in transmission continues at the new rate.
            Shaper(Shaper<T>),
            $($(#[$change_doc])* $change($type),)+
        }

        impl<T> LinkConfig<T> {
            /// The same settings, with the trace replaced by what `read` makes of it.
            ///
            /// # Errors
            /// If `read` fails.
            pub fn try_map_trace<U, E>(self, read: impl FnOnce(T) -> Result<U, E>) -> Result<LinkConfig<U>, E> {
                Ok(LinkConfig { shaper: self.shaper.try_map_trace(read)?, $($field: self.$field,)+ })
            }
        }

        impl<T> LinkChange<T> {
            /// Writes the new value into `config`.
            pub fn apply_to(self, config: &mut LinkConfig<T>) {
                match self {
                    LinkChange::Shaper(shaper) => config.shaper = shaper,
                    $(LinkChange::$change(value) => config.$field = value,)+
                }
            }

            /// The same change, with the trace replaced by what `read` makes of it.
            ///
            /// # Errors
            /// If `read` fails.
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
    /// Bytes that each packet takes on the link in addition to its [`Packet::len_bytes`](crate::Packet::len_bytes).
    /// Ethernet's preamble, check sequence and gap are 24 bytes; -14 leaves the Ethernet header out. Queue limits in
    /// bytes do not count the overhead.
    overhead_bytes: i32 = 0,
    /// Overhead per packet, bytes. Packets whose transmission has begun keep the old one.
    Overhead;

    /// The queue of packets that wait for transmission.
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

    /// Whether packets keep their order despite jitter or a shorter delay: a packet then arrives no earlier than the
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
    /// Loss model, which starts in its initial state.
    Loss;

    /// Where on the link random loss happens.
    loss_position: LossPosition = LossPosition::default(),
    /// Where on the link random loss happens.
    LossPosition;

    /// Probability that a packet arrives twice.
    duplicate: Probability = Probability::ZERO,
    /// Probability of duplication.
    Duplicate;

    /// Probability that a packet arrives damaged.
    corrupt: Probability = Probability::ZERO,
    /// Probability of corruption.
    Corrupt;

    /// Whether the link is up. A link that is down transmits nothing.
    up: bool = true,
    /// Up or down.
    Up;

    /// What happens to waiting packets when the link goes down.
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
