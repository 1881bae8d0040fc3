//! Links of the simulator in real time. There are two network namespaces, a client's and a server's, with a TUN device
//! at each end of each path, and this process between them. A packet that a device sends passes through the network of
//! a scenario and arrives at the path's other end when the scenario says so.
//!
//! The namespaces have no names. They belong to threads of this process and to the commands that these threads start,
//! all of which end with the process. So nothing is left behind, however the process ends.

mod link;
mod namespace;
mod nap;
mod series;

pub use link::{Carried, Ends, LATE, Report, forward};
#[cfg(test)]
pub(crate) use namespace::move_into_new_namespace;
pub use namespace::{MOST_PATHS, Namespace, PathEnds, Side, Started, addresses};
pub use series::{Sample, Series};
