//! Scenarios, simulated runs and their metrics.
//!
//! A scenario is a TOML text: paths, connections, workloads, changes over time ([`scenario`]). [`run()`] simulates one
//! variant of it with one seed and returns its metrics ([`results`]). A run is a pure function of scenario, seed and
//! the files that the scenario names (ARCHITECTURE.md, contract 7): the same inputs give the same bytes on every
//! machine. [`sim`] has the simulator itself, for programs that look into a run; [`validation`] compares runs with
//! measurements of Linux.
//!
//! ```
//! use pathweave_algorithms::Registry;
//! use pathweave_lab::scenario::{Document, NoFiles, Variant};
//!
//! let text = r#"
//!     format = 1
//!     name = "two-paths"
//!     duration = "5s"
//!     [[path]]
//!     rate = "20Mbps"
//!     delay = "10ms"
//!     queue = "50packets"
//!     [[path]]
//!     rate = "10Mbps"
//!     delay = "30ms"
//!     queue = "50packets"
//!     [[connection]]
//!     scheduler = "minrtt"
//!     congestion = "lia"
//! "#;
//! let registry = Registry::builtin();
//! let document = Document::parse("two-paths.toml", text)?;
//! let result = pathweave_lab::run(&document, &Variant::AsWritten, 1, &registry, &NoFiles)?;
//! // More than either path could carry alone.
//! assert!(result.metrics.goodput_mbps > 20.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod benefit;
pub mod bound;
pub mod explain;
pub mod metric;
pub mod middlebox;
pub mod results;
mod run;
pub mod scenario;
pub mod sim;
pub mod validation;
mod value_parser;

pub use run::{RunError, run, run_watched};
