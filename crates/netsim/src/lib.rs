//! Links, queues, loss models and a network of them: deterministic, sans IO, and ignorant of what packets carry.
//!
//! A [`Link`] is one direction of a path: `enqueue(now, packet)`, `poll(now)`, `poll_timeout()`. A simulator drives it
//! with simulated time, an emulator with real time. A [`Network`] connects links in a graph and merges their events into
//! one total order. Time and randomness are arguments: the same calls give the same results on every target.
//!
//! Where to add something: a loss model in `loss.rs`, a queue in `queue.rs`, a rate limit in
//! `serializer.rs`. A new setting is one entry in `config.rs`, which makes a field of [`LinkConfig`] and a [`LinkChange`].

mod config;
mod delay;
mod graph;
mod link;
mod loss;
mod network;
mod packet;
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
pub use queue::Codel;
pub use queue::{Queue, QueueLimit};
pub use random::LinkRandom;
pub use serializer::Shaper;
pub use timers::{ScheduledChange, Timeline};
pub use trace::Trace;
