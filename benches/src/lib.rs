//! Two hosts with the engine and the network between them, and nothing else: what is measured here is the engine's and the
//! network's own cost.
//!
//! [`World`] has no bytes of data, [`Transfer`] has them, and a wire in memory instead of the network. The loop is the driver's, as in the simulator of `pathweave-lab`, which adds scenarios, metrics and the digest.

mod cost;
mod transfer;
mod world;

pub use cost::{cpu_seconds, peak_resident_bytes};
pub use transfer::{Transfer, TransferSetup};
pub use world::{Setup, World, minrtt_and_reno};
