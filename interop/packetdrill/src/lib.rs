//! The engine as the stack that packetdrill tests, loaded by its option `--so_filename` (`cargo xtask packetdrill`).
//!
//! packetdrill asks a shared library for sockets, for packets in both directions and for the time. [`abi`] is its C
//! interface, and with `calls` and `waiting` the only place with `unsafe`. `stack` has packets and a clock of its own.
//! The clock moves when packetdrill sleeps or waits for a packet, so that a script of minutes takes milliseconds.
//! `sockets`, `options`, `info` and `epoll` are the calls on the other side. `settings` reads the kernel settings for
//! which scripts ask with `sysctl` and `ip`.

pub mod abi;
mod calls;
mod epoll;
mod info;
mod options;
mod settings;
mod sockets;
mod stack;
mod waiting;
