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
//!
//! ```no_run
//! use pathweave_algorithms::Registry;
//! use pathweave_proto::config::ConnectionConfig;
//! use pathweave_tun::Interface;
//! use pathweave_tun::perf::engine::{EngineOptions, client};
//! use pathweave_tun::perf::{Amount, PORT, Request};
//! use pathweave_units::Duration;
//!
//! // Sends for ten seconds over two paths to a server that `pathweave perf --server --kernel` runs on this machine.
//! let interface = |name: &str, ours: &str, machines: &str| Interface {
//!     name: name.into(),
//!     ours: ours.parse().unwrap(),
//!     machines: machines.parse().unwrap(),
//!     mtu: 1500,
//!     public: None,
//! };
//! let registry = Registry::builtin();
//! let (scheduler, controller) = (registry.choose_scheduler("minrtt", &[])?, registry.choose_controller("cubic", &[])?);
//! let options = EngineOptions {
//!     interfaces: vec![interface("pw0", "10.1.0.2", "10.1.0.1"), interface("pw1", "10.2.0.2", "10.2.0.1")],
//!     backups: false,
//!     uplinks: None,
//!     offload: true,
//!     config: ConnectionConfig::new(scheduler, controller),
//!     pcap: None,
//! };
//! let amount = Amount::Time(Duration::from_secs(10));
//! let request = Request { up: true, down: false, verify: false, echo: false, amount, omit: Duration::ZERO };
//! let server = format!("10.1.0.1:{PORT}").parse()?;
//! let is_stopped = || false;
//! let outcome = client(&options, server, request, None, &mut |_| {}, &is_stopped)?;
//! assert!(outcome.is_right());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
