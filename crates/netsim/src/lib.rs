//! Links with queues, rate limits, delay and loss, and a network of such links. It is deterministic, does no input or
//! output, and does not know what packets carry.
//!
//! A [`Link`] is one direction of a path: `enqueue(now, packet)`, `poll(now)`, `poll_timeout()`. A simulator drives it
//! with simulated time, an emulator with real time. A [`Network`] connects links in a graph and merges their events
//! into one total order. Time and randomness are arguments: the same calls give the same results on every target.
//!
//! A new loss model goes to `loss.rs`, a new queue to `queue.rs`, a new rate limit to `serializer.rs`. A new setting is
//! one entry in `config.rs`, which makes a field of [`LinkConfig`] and a variant of [`LinkChange`].
//!
//! ```
//! use pathweave_netsim::{Ecn, Fate, Link, LinkConfig, LinkRandom, QueueLimit, Tagged};
//! use pathweave_units::{Bitrate, Duration, Instant};
//!
//! // 8 Mbit/s, 10 ms of propagation, and room for one waiting packet.
//! let config =
//!     LinkConfig::constant(Bitrate::from_mbps(8), Duration::from_millis(10), QueueLimit::Packets(1));
//! let mut link = Link::new(config, LinkRandom::new(1, "link"));
//!
//! // Three packets of 1000 bytes at once: one is transmitted, one waits, one finds the queue full.
//! for tag in 0..3 {
//!     link.enqueue(Instant::ZERO, Tagged { tag, len_bytes: 1000, ecn: Ecn::NotEct, corrupted: false });
//! }
//! let mut seen = Vec::new();
//! while let Some(now) = link.poll_timeout() {
//!     while let Some(output) = link.poll(now) {
//!         seen.push((output.packet.tag, output.at, output.fate));
//!     }
//! }
//! assert_eq!(
//!     seen,
//!     [
//!         (2, Instant::ZERO, Fate::QueueFull),
//!         (0, Instant::from_millis(11), Fate::Delivered),
//!         (1, Instant::from_millis(12), Fate::Delivered),
//!     ]
//! );
//! ```

mod config;
mod delay;
mod graph;
mod link;
mod loss;
mod network;
mod packet;
mod pool;
#[cfg(test)]
mod properties;
mod queue;
mod random;
mod serializer;
#[cfg(test)]
mod testing;
mod timers;
pub mod trace;

pub use config::{LinkChange, LinkConfig, LossPosition, OnDown};
pub use delay::{Jitter, Reorder};
pub use graph::{Graph, GraphError, LinkId, NodeId, RouteId};
pub use link::{Link, LinkOutput};
pub use loss::{GilbertElliott, Loss};
pub use network::{NetEvent, Network, Tap};
pub use packet::LinkStats;
pub use packet::{Fate, Packet, Tagged};
pub use pathweave_units::Ecn;
pub use pool::Pool;
pub use queue::Codel;
pub use queue::{Queue, QueueLimit};
pub use random::LinkRandom;
pub use serializer::Shaper;
pub use timers::{ScheduledChange, Timeline};
pub use trace::Trace;
