//! The loop between endpoints, the applications behind them, and the device that carries their packets.
//!
//! The engine (`pathweave-proto`) does no input or output. A program around it has to take packets from a device and
//! give them to an [`Endpoint`](pathweave_proto::Endpoint), send the endpoint's answers, run the applications, and come
//! back when a timer is due. The order of these steps affects what the engine does. [`Driver`] does all this in one
//! fixed order. It does no input or output itself: the device is a [`PacketIo`], the applications are an
//! [`Applications`], and the time is an argument. The simulator, the benchmarks, the fuzzers and the engine's own tests
//! all use it, so a real device gets the same order as they do.
//!
//! # A program
//!
//! Copy this one and replace `Memory` with your device. Here it joins two hosts, so that the example can run by itself;
//! a program with a TUN device or a UDP socket has one endpoint, whose number is 0 everywhere.
//!
//! ```
//! use bytes::Bytes;
//! use pathweave_algorithms::Registry;
//! use pathweave_driver::{Applications, Driver, PacketIo, Received};
//! use pathweave_proto::config::ConnectionConfig;
//! use pathweave_proto::{ConnectionEvent, Endpoint, LocalAddress, PacketTooBig, ReadError, Secrets, WriteError};
//! use pathweave_units::{Duration, Instant};
//! use pathweave_wire::codec::{DecodeError, EncodeError, decode_into, decode_packet_too_big, encode};
//! use pathweave_wire::{Ecn, Segment};
//! use std::collections::VecDeque;
//!
//! const CLIENT: usize = 0;
//! const SERVER: usize = 1;
//!
//! /// The device: IP packets on their way from one host to the other, each with the time of its arrival.
//! #[derive(Default)]
//! struct Memory {
//!     packets: VecDeque<(Instant, usize, Bytes)>,
//!     /// Messages from routers about packets that were too large. The driver fetches them after each batch of packets.
//!     messages: VecDeque<(usize, PacketTooBig)>,
//!     /// All packets are read into this segment and written from it, so that none allocates its own.
//!     segment: Segment,
//! }
//!
//! impl PacketIo for Memory {
//!     type Error = EncodeError;
//!
//!     fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, EncodeError> {
//!         // A real device hands out the packets of a batch one by one, then returns `None`, so that the applications
//!         // act. The next call reads the next batch into memory; if there is nothing to read, it returns `None` too.
//!         while self.packets.front().is_some_and(|(at, ..)| *at <= now) {
//!             let Some((_, host, packet)) = self.packets.pop_front() else { break };
//!             // The segment's data shares the packet's memory, so it is not copied. Packets that are damaged, or that
//!             // hold neither TCP nor a message about TCP, are dropped, as any host does.
//!             match decode_into(&packet, 0..packet.len(), &mut self.segment) {
//!                 Ok(ecn) => return Ok(Some(Received { host, ecn, segment: &self.segment })),
//!                 Err(DecodeError::Protocol) => {
//!                     self.messages.extend(decode_packet_too_big(&packet).ok().map(|message| (host, message)));
//!                 }
//!                 Err(_) => {}
//!             }
//!         }
//!         Ok(None)
//!     }
//!
//!     fn receive_packet_too_big(&mut self, _now: Instant) -> Option<(usize, PacketTooBig)> {
//!         self.messages.pop_front()
//!     }
//!
//!     fn send(
//!         &mut self,
//!         now: Instant,
//!         host: usize,
//!         fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
//!     ) -> Result<bool, EncodeError> {
//!         let Some(ecn) = fill(&mut self.segment) else { return Ok(false) };
//!         // A real device writes the result of `encode_header` and then the payload's slices, without copying the data.
//!         let mut packet = Vec::new();
//!         encode(&self.segment, ecn, &mut packet)?;
//!         self.packets.push_back((now + Duration::from_millis(10), 1 - host, packet.into()));
//!         Ok(true)
//!     }
//!
//!     /// Real devices leave this method out, because they do not know when packets come.
//!     fn poll_timeout(&self) -> Option<Instant> {
//!         self.packets.front().map(|(at, ..)| *at)
//!     }
//! }
//!
//! /// The applications: the client sends a text that is in several pieces, the server collects it.
//! struct Programs {
//!     to_send: Vec<Bytes>,
//!     received: Vec<u8>,
//!     ended: bool,
//! }
//!
//! impl Applications for Programs {
//!     fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
//!         let mut acted = false;
//!         // A server that needs its connections later keeps these handles.
//!         while endpoint.poll_accept().is_some() {
//!             acted = true;
//!         }
//!         while let Some((connection, event)) = endpoint.poll_event() {
//!             acted = true;
//!             match event {
//!                 // `Writable` comes when there is room again after a write that was not accepted as a whole.
//!                 ConnectionEvent::Connected | ConnectionEvent::Writable if host == CLIENT => {
//!                     // The connection shares the pieces instead of copying them. The call removes the accepted bytes
//!                     // from `to_send`: accepted pieces become empty, a partly accepted one keeps its rest.
//!                     match endpoint.write_chunks(now, connection, &mut self.to_send) {
//!                         Ok(taken) => drop(self.to_send.drain(..taken.chunks)),
//!                         Err(WriteError::Blocked) => continue,
//!                         Err(error) => panic!("{error}"),
//!                     }
//!                     if self.to_send.is_empty() {
//!                         endpoint.close(now, connection).expect("it is open");
//!                     }
//!                 }
//!                 // Read until nothing is left: the next `Readable` comes only with new data, and unread data keeps the
//!                 // peer's window small.
//!                 ConnectionEvent::Readable => {
//!                     let mut chunks = [const { Bytes::new() }; 32];
//!                     let end = loop {
//!                         // Each chunk shares the memory of the packet that it came in.
//!                         match endpoint.read_chunks(now, connection, u64::MAX, &mut chunks) {
//!                             Ok(read) => self.received.extend(chunks[..read.chunks].iter().flatten()),
//!                             Err(end) => break end,
//!                         }
//!                     };
//!                     match end {
//!                         ReadError::Blocked => {}
//!                         ReadError::Finished => self.ended = true,
//!                         error => panic!("{error}"),
//!                     }
//!                 }
//!                 ConnectionEvent::Failed(error) => panic!("{error:?}"),
//!                 _ => {}
//!             }
//!         }
//!         acted
//!     }
//! }
//!
//! // 32 secret bytes. A real program takes them from the operating system's randomness, new ones at each start.
//! let mut endpoints = [[1; 32], [2; 32]].map(|seed| Endpoint::new(Secrets::new(seed)));
//! let registry = Registry::builtin();
//! let (scheduler, controller) = (registry.choose_scheduler("minrtt", &[])?, registry.choose_controller("cubic", &[])?);
//! let config = ConnectionConfig::new(scheduler, controller);
//! let ours = |address: &str| LocalAddress { address: address.parse().unwrap(), meta: Default::default() };
//! // A server that decides about each connection listens with `listen` and polls `poll_incoming`.
//! endpoints[SERVER].listen_and_accept("0.0.0.0:80".parse()?, config.clone(), &[ours("10.0.0.2")])?;
//!
//! let text = Bytes::from("Two paths, or one. ".repeat(1000));
//! let to_send = vec![text.slice(..7000), text.slice(7000..)];
//! let programs = Programs { to_send, received: Vec::new(), ended: false };
//! let mut driver = Driver::new(endpoints.into(), Memory::default(), programs);
//!
//! // Time is a number that only grows. A real program reads the nanoseconds since its start from a monotonic clock.
//! let mut now = Instant::ZERO;
//!
//! // After a command from outside of the loop, `drain` sends the packets that it has caused.
//! let (from, to) = ("10.0.0.1:0".parse()?, "10.0.0.2:80".parse()?);
//! driver.endpoints[CLIENT].connect(now, from, to, config, &[ours("10.0.0.1")])?;
//! driver.drain(now, CLIENT)?;
//!
//! while !driver.applications.ended {
//!     // Handles packets, timers and applications until nothing is left to do at this time.
//!     let next = driver.settle(now)?;
//!     // A device that collects packets would write them now as a batch: `driver.io.flush()`. Then a real program sleeps
//!     // until `next` or until its device has a packet, whichever is first, and reads its clock.
//!     now = next.expect("a connection that is open has timers or packets on their way");
//! }
//! assert_eq!(driver.applications.received, text);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod driver;
mod packet_io;

pub use driver::{Applications, Driver};
pub use packet_io::{HostPacket, Observed, Observer};
pub use packet_io::{PacketIo, Received};
