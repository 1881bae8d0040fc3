//! The engine as the stack that packetdrill tests, loaded by its option `--so_filename` (`cargo xtask packetdrill`).
//!
//! packetdrill asks a shared library for sockets, for packets in both directions and for the time. [`abi`] is its C interface and with `calls`
//! the only place with `unsafe`; `stack` has sockets and a clock of its own, which moves when packetdrill sleeps or waits for a packet,
//! so that a script of minutes takes milliseconds; `settings` reads what the scripts ask a kernel for with `sysctl` and `ip`.

pub mod abi;
mod calls;
mod settings;
mod stack;
