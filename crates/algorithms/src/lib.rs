//! Packet schedulers and congestion controllers for the engine of `pathweave-proto`, and the registry that knows them by name.

pub mod controllers;
mod registry;
pub mod schedulers;

pub use registry::Registry;
