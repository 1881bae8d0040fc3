//! Links of the simulator in real time: two network namespaces, a client's and a server's, with a TUN device at each end of each
//! path, and this process between them. Whatever a device gives is sent through the network of a scenario and comes out
//! at the path's other end when its time has come.
//!
//! The namespaces have no names. They belong to threads of this process and to the commands in them, which end with it, so nothing
//! is left behind, whatever ends it.

mod link;
mod namespace;
mod nap;
mod series;

pub use link::{Carried, Ends, LATE, Report, forward};
#[cfg(test)]
pub(crate) use namespace::move_into_new_namespace;
pub use namespace::{MOST_PATHS, Namespace, PathEnds, Side, Started, addresses};
pub use series::{Sample, Series};
