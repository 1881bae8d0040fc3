//! The engine with real packets, on Linux: TUN devices, and measurements against the kernel's Multipath TCP.
//!
//! [`Tunnels`] is the device of one host. Each address of the host has a TUN device, whose other end is the machine.
//! [`run`] is the loop around it. The same engine and the same driver run in the simulator.
//!
//! [`perf`] measures the throughput of a connection between two engines, two kernels, or one of each.
//!
//! [`uplinks`] follows the addresses and routes of the machine, so that connections start to use new ones and leave old
//! ones.
//!
//! [`emulate`] is a network of the simulator in real time, between two network namespaces.
//!
//! Everything here needs the rights to make network devices (root, or `CAP_NET_ADMIN` in a network namespace).
#![cfg(target_os = "linux")]

mod capture;
mod clock;
mod device;
pub mod emulate;
mod interface;
mod memory;
pub mod perf;
mod run;
mod steering;
mod tunnels;
pub mod uplinks;
mod vnet;

pub use capture::Capture;
pub use clock::Clock;
pub use device::Device;
pub use interface::{Interface, ip};
pub use run::{Io, run, run_beside, secrets};
pub use tunnels::{Counters, Tunnels};
