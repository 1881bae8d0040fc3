//! The engine as client and as server.

mod client;
mod server;

pub use client::client;
pub use server::server;

use super::{Sink, Source};
use crate::{Capture, Interface, Io, Tunnels, secrets, uplinks};
use bytes::Bytes;
use pathweave_driver::{Applications, Driver, Observed};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::connection::PathMeta;
use pathweave_proto::{ConnectionHandle, Endpoint, LocalAddress, ReadError, WriteError};
use pathweave_units::{Duration, Instant};
use std::io;
use std::path::PathBuf;

const HOST: usize = 0;
/// Longest time for the subflows' FIN exchanges after both streams have ended. A subflow whose path is dark never
/// completes its own.
const LONGEST_CLOSE: Duration = Duration::from_secs(5);
/// Time for which the engine answers packets after a connection's end. If its last acknowledgement was lost, the peer
/// retransmits.
const AFTER_THE_END: Duration = Duration::from_millis(500);
/// Round trips of the longest path for which the engine answers packets after a connection's end, if that is longer
/// than [`AFTER_THE_END`]. A retransmission may be lost too, and the next one comes after twice the time. The minimum
/// round trip of each subflow counts, because the queues are empty by then.
const ROUND_TRIPS_AFTER_THE_END: u64 = 20;
/// Most pieces that one call reads.
const READ_PIECES: usize = 64;

/// Addresses, devices and settings of the engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The engine's addresses and their devices.
    pub interfaces: Vec<Interface>,
    /// Whether all addresses after the first are backups, which carry data only if no other path works.
    pub backups: bool,
    /// If set, the machine's own addresses are used instead of `interfaces`, and followed as they change.
    pub uplinks: Option<uplinks::UplinkOptions>,
    /// Whether super-segments pass between kernel and engine.
    pub offload: bool,
    /// Settings of the connections.
    pub config: ConnectionConfig,
    /// The file for a capture.
    pub pcap: Option<PathBuf>,
}

/// The data of one side of a connection.
#[derive(Debug)]
struct Flow {
    source: Source,
    sink: Sink,
    /// Data to be written before anything else from the source.
    pending: Vec<Bytes>,
    /// Whether all received data is sent back.
    echo: bool,
    peer_has_ended: bool,
    closed: bool,
    error: Option<String>,
}

impl Flow {
    fn new(source: Source, sink: Sink) -> Self {
        Flow { source, sink, pending: Vec::new(), echo: false, peer_has_ended: false, closed: false, error: None }
    }

    /// Writes as much as there is room for. Returns true if everything is written and the source has ended.
    fn write(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) -> bool {
        loop {
            if self.pending.is_empty() {
                match self.source.next(now) {
                    Some(piece) => self.pending.push(piece),
                    None => return true,
                }
            }
            match endpoint.write_chunks(now, connection, &mut self.pending) {
                Ok(taken) => drop(self.pending.drain(..taken.chunks)),
                Err(WriteError::Blocked) => return false,
                Err(error) => {
                    self.error.get_or_insert_with(|| format!("writing: {error}"));
                    return false;
                }
            }
        }
    }

    /// Reads all data that has arrived.
    fn read(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) {
        let mut pieces = [const { Bytes::new() }; READ_PIECES];
        let end = loop {
            match endpoint.read_chunks(now, connection, u64::MAX, &mut pieces) {
                Ok(read) => {
                    for piece in &mut pieces[..read.chunks] {
                        let piece = std::mem::take(piece);
                        self.sink.take(now, &piece);
                        if self.echo {
                            self.pending.push(piece);
                        }
                    }
                }
                Err(end) => break end,
            }
        };
        match end {
            ReadError::Blocked => {}
            ReadError::Finished => self.peer_has_ended = true,
            error => {
                self.error.get_or_insert_with(|| format!("reading: {error}"));
            }
        }
    }

    fn close(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) {
        if !std::mem::replace(&mut self.closed, true) {
            let _ = endpoint.close(now, connection);
        }
    }
}

/// A driver with one endpoint on its TUN devices.
fn host<A: Applications>(
    options: &EngineOptions,
    interfaces: &[Interface],
    applications: A,
) -> io::Result<Driver<Io, A>> {
    let device = Tunnels::create(interfaces, options.offload)?;
    let capture = options.pcap.as_ref().map(|path| Capture::create(path, interfaces)).transpose()?;
    let endpoint = Endpoint::new(secrets()?);
    Ok(Driver::new(vec![endpoint], Observed { device, observer: capture }, applications))
}

fn addresses(options: &EngineOptions) -> Vec<LocalAddress> {
    let meta = |index| PathMeta { backup: options.backups && index > 0, ..PathMeta::default() };
    let interfaces = options.interfaces.iter().enumerate();
    interfaces.map(|(index, interface)| LocalAddress { address: interface.ours, meta: meta(index) }).collect()
}

fn finish_capture(io: &mut Io) -> io::Result<()> {
    io.observer.as_mut().map_or(Ok(()), Capture::finish)
}

/// Time for which packets are answered after the connection's end.
fn answers_for(endpoint: &Endpoint, connection: ConnectionHandle) -> Duration {
    let subflows = endpoint.connection(connection).into_iter().flat_map(|c| c.subflows());
    let longest = subflows.filter_map(|s| s.rtt.min).max().unwrap_or_default();
    AFTER_THE_END.max(longest.saturating_mul(ROUND_TRIPS_AFTER_THE_END))
}

/// If both streams have ended, lets the engine reset the subflows that have not ended within [`LONGEST_CLOSE`]. Returns whether both
/// streams have ended.
fn hurry_close(endpoint: &mut Endpoint, connection: ConnectionHandle) -> bool {
    let Some(state) = endpoint.connection(connection) else { return true };
    let has_ended = state.has_ended();
    if has_ended && state.config().close_timeout > LONGEST_CLOSE {
        let _ = endpoint.with(connection, |connection| connection.set_close_timeout(LONGEST_CLOSE));
    }
    has_ended
}
