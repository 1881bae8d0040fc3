//! The congestion controllers. To add one: a file in this folder, its `pub mod` here, and a line in
//! [`Registry::builtin`](crate::Registry::builtin).

pub mod increase;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod testing;

pub mod balia;
pub mod coupled;
pub mod cubic;
pub mod dlia;
pub mod ewtcp;
pub mod hystart;
pub mod lia;
pub mod mptcp_pw;
pub mod mpveno;
pub mod mveno;
pub mod olia;
pub mod reno;
pub mod semicoupled;
pub mod vegas;
pub mod wvegas;

pub use increase::{AdditiveIncrease, CoupledPath, FractionalIncrease, coupled_paths};
