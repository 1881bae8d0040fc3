//! The kernel's Multipath TCP as client and as server: the peer that the engine is measured against.

use super::stream::totals;
use super::{Interval, Outcome, Processor, Request, Sink, Source, Totals};
use crate::Clock;
use pathweave_units::Duration;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, listen, socket_with, sockopt};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration as StdDuration;

const BACKLOG: i32 = 128;
const READ_BYTES: usize = 256 << 10;

/// How sockets are made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Plain TCP instead of Multipath TCP.
    pub plain: bool,
    /// Name of the congestion controller; the system's default otherwise.
    pub congestion: Option<String>,
}

fn socket(options: &Options, ipv4: bool) -> io::Result<OwnedFd> {
    let family = if ipv4 { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol = if options.plain { ipproto::TCP } else { ipproto::MPTCP };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(protocol))?;
    if let Some(name) = &options.congestion {
        sockopt::set_tcp_congestion(&socket, name)?;
    }
    Ok(socket)
}

/// A socket of IPv6 also where the server's address is one of IPv4: others could not join over IPv6.
fn connected(options: &Options, remote: SocketAddr) -> io::Result<OwnedFd> {
    let mapped = match remote.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let (socket, remote) = match socket(options, false) {
        Ok(socket) => (socket, SocketAddr::new(mapped.into(), remote.port())),
        Err(_) => (socket(options, remote.is_ipv4())?, remote),
    };
    rustix::net::connect(&socket, &remote)?;
    Ok(socket)
}

/// What is sent and received so far, for whoever looks.
#[derive(Default)]
struct Progress {
    sent: AtomicU64,
    received: AtomicU64,
}

fn write_all(mut stream: &TcpStream, source: &mut Source, clock: &Clock, progress: &Progress) -> io::Result<()> {
    while let Some(piece) = source.next(clock.now()) {
        stream.write_all(&piece)?;
        progress.sent.store(source.sent, Relaxed);
    }
    Ok(())
}

fn read_all(mut stream: &TcpStream, sink: &mut Sink, clock: &Clock, progress: &Progress) -> io::Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => sink.take(clock.now(), &buffer[..n]),
        }
        progress.received.store(sink.received, Relaxed);
    }
}

/// Connects to a server and does what `request` says, as [`super::engine::client`].
///
/// # Errors
/// Where the connection fails, or the server does not answer as it should.
pub fn client(
    options: &Options,
    remote: SocketAddr,
    request: Request,
    echo: Option<(usize, u64)>,
    on_interval: &mut dyn FnMut(&Interval),
) -> io::Result<Outcome> {
    let socket = connected(options, remote)?;
    let mut stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    let (clock, processor) = (Clock::start(), Processor::now());
    stream.write_all(&request.bytes())?;
    let mut source = request.source(request.up, clock.now());
    let mut sink = request.sink(Totals::BYTES);
    let mut round_trips = Vec::new();
    if let Some((size, count)) = echo.filter(|_| request.echo) {
        let mut message = vec![7; size];
        for _ in 0..count {
            let asked = clock.now();
            stream.write_all(&message)?;
            stream.read_exact(&mut message)?;
            round_trips.push(clock.now().since(asked));
            source.sent += size as u64;
            sink.received += size as u64;
        }
    }
    let sends = request.client_sends();
    let (progress, intervals) = transfer(&stream, sends, &mut source, &mut sink, &clock, on_interval);
    progress?;
    let duration = clock.now().since(pathweave_units::Instant::ZERO);
    let Some(tail) = sink.tail().first_chunk() else {
        return Err(io::Error::other("the server ended without its totals"));
    };
    let server = Totals::read(tail);
    round_trips.sort_unstable();
    Ok(Outcome {
        multipath: None,
        client: totals(&source, &sink),
        server,
        duration,
        processor: Duration::from_nanos(Processor::now().nanoseconds - processor.nanoseconds),
        intervals,
        round_trips,
    })
}

/// Both directions at once, with figures every second. One that `sends` ends its direction after what it sends, others with the peer's end.
fn transfer(
    stream: &TcpStream,
    sends: bool,
    source: &mut Source,
    sink: &mut Sink,
    clock: &Clock,
    on_interval: &mut dyn FnMut(&Interval),
) -> (io::Result<()>, Vec<Interval>) {
    let progress = Progress::default();
    let mut intervals: Vec<Interval> = Vec::new();
    let (done, wait) = channel();
    let result = std::thread::scope(|scope| {
        let written = scope.spawn(|| {
            let result = write_all(stream, source, clock, &progress);
            if sends {
                let _ = stream.shutdown(Shutdown::Write);
            }
            result
        });
        let read = scope.spawn(|| {
            let result = read_all(stream, sink, clock, &progress);
            if !sends {
                let _ = stream.shutdown(Shutdown::Write);
            }
            let _ = done.send(());
            result
        });
        let (mut from, mut before) = (clock.now(), (0, 0));
        let start = from;
        loop {
            let ended = !matches!(wait.recv_timeout(StdDuration::from_secs(1)), Err(RecvTimeoutError::Timeout));
            let (to, now) = (clock.now(), (progress.sent.load(Relaxed), progress.received.load(Relaxed)));
            intervals.push(Interval {
                from: super::outcome::since(start, from),
                to: super::outcome::since(start, to),
                sent_bytes: now.0 - before.0,
                received_bytes: now.1 - before.1,
                subflows: Vec::new(),
            });
            if ended {
                break;
            }
            intervals.last().into_iter().for_each(&mut *on_interval);
            (from, before) = (to, now);
        }
        let written = written.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        let read = read.join().unwrap_or_else(|_| Err(io::Error::other("the reader panicked")));
        read.and(written)
    });
    (result, intervals)
}

/// Serves clients on `port` at all addresses, as [`super::engine::server`].
///
/// # Errors
/// Where it cannot listen.
pub fn server(
    options: &Options,
    port: u16,
    most: Option<u64>,
    on_served: &(dyn Fn(&Totals, Option<&str>) + Sync),
    on_ready: &mut dyn FnMut(),
) -> io::Result<()> {
    let socket = socket(options, false)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port))?;
    listen(&socket, BACKLOG)?;
    let listener = TcpListener::from(socket);
    on_ready();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut accepted = 0;
        while !stop.load(Relaxed) && most.is_none_or(|most| accepted < most) {
            let (stream, _) = listener.accept()?;
            accepted += 1;
            scope.spawn(move || match serve(&stream) {
                Ok(totals) => on_served(&totals, None),
                Err(error) => on_served(&Totals::default(), Some(&error.to_string())),
            });
        }
        Ok(())
    })
}

fn serve(mut stream: &TcpStream) -> io::Result<Totals> {
    stream.set_nodelay(true)?;
    let clock = Clock::start();
    let mut bytes = [0; Request::BYTES];
    stream.read_exact(&mut bytes)?;
    let Some(request) = Request::read(&bytes) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the client's first bytes are no request"));
    };
    let mut source = request.source(request.down, clock.now());
    let mut sink = request.sink(0);
    let progress = Progress::default();
    if request.echo {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match stream.read(&mut buffer)? {
                0 => break,
                n => {
                    sink.take(clock.now(), &buffer[..n]);
                    stream.write_all(&buffer[..n])?;
                    source.sent += n as u64;
                }
            }
        }
    } else if !request.client_sends() {
        write_all(stream, &mut source, &clock, &progress)?;
    } else {
        std::thread::scope(|scope| {
            let written = scope.spawn(|| write_all(stream, &mut source, &clock, &progress));
            let read = read_all(stream, &mut sink, &clock, &progress);
            let written = written.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
            read.and(written)
        })?;
    }
    let totals = totals(&source, &sink);
    stream.write_all(&totals.bytes())?;
    stream.shutdown(Shutdown::Write)?;
    // Closing with anything unread would reset the connection.
    while stream.read(&mut bytes)? > 0 {}
    Ok(totals)
}
