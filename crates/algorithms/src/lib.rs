//! Packet schedulers and congestion controllers for the engine of `pathweave-proto`, and the [`Registry`] that finds
//! them by name.
//!
//! A scheduler decides which subflow carries which bytes of the stream ([`schedulers`]); a controller sets a subflow's
//! congestion window ([`controllers`]). Each is one file: its module documentation says what the rule does, where it
//! comes from, and where the code deviates from that source. A [`Registry`] with your own algorithms is a value like
//! any other; nothing has to be forked.
//!
//! ```
//! use pathweave_algorithms::Registry;
//! use pathweave_proto::config::ConnectionConfig;
//!
//! let registry = Registry::builtin();
//! let scheduler = registry.choose_scheduler("blest", &[("delta".into(), "0.02".into())])?;
//! let controller = registry.choose_controller("lia", &[])?;
//! let config = ConnectionConfig::new(scheduler, controller);
//!
//! // An unknown name, parameter or value is an error that says what is allowed.
//! assert!(registry.choose_scheduler("fastest", &[]).is_err());
//! # drop(config);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod controllers;
mod nearest;
mod registry;
pub mod schedulers;

pub use nearest::{did_you_mean, meant, names_in_words, nearest};
pub use registry::Registry;
