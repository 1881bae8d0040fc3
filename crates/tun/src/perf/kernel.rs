//! The kernel's Multipath TCP as client and as server: the peer that the engine is measured against.

use super::kernel_figures::{self, Watch};
use super::measurement::unix_seconds;
use super::patient::{Patient, Progress};
use super::stream::totals;
use super::{Interval, Measurement, Processor, Request, STOPPED, Served, Sink, Source, Totals, no_connection};
use crate::Clock;
use pathweave_units::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, listen, socket_with, sockopt};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration as StdDuration;

const BACKLOG: i32 = 128;
const READ_BYTES: usize = 256 << 10;
/// How long an interval is.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often a client looks whether it is stopped.
const LOOK: StdDuration = StdDuration::from_millis(50);

/// Kind of socket to use.
#[derive(Clone, Debug, Default)]
pub struct KernelOptions {
    /// Whether the socket is plain TCP instead of Multipath TCP.
    pub plain: bool,
    /// Name of the congestion controller. `None` means the system's default.
    pub congestion: Option<String>,
}

fn socket(options: &KernelOptions, ipv4: bool) -> io::Result<OwnedFd> {
    let family = if ipv4 { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol = if options.plain { ipproto::TCP } else { ipproto::MPTCP };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(protocol))?;
    if let Some(name) = &options.congestion {
        sockopt::set_tcp_congestion(&socket, name)?;
    }
    Ok(socket)
}

/// A connected socket. It is an IPv6 socket even for an IPv4 server, because an IPv4 socket cannot get subflows over
/// IPv6.
///
/// # Errors
/// If the server cannot be connected to, or `is_stopped` before it answers.
fn connected(options: &KernelOptions, remote: SocketAddr, is_stopped: &dyn Fn() -> bool) -> io::Result<TcpStream> {
    let mapped = match remote.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let (socket, remote) = match socket(options, false) {
        Ok(socket) => (socket, SocketAddr::new(mapped.into(), remote.port())),
        Err(_) => (socket(options, remote.is_ipv4())?, remote),
    };
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(true)?;
    match rustix::net::connect(&stream, &remote) {
        Err(Errno::INPROGRESS) => {
            let look = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
            loop {
                match poll(&mut [PollFd::new(&stream, PollFlags::OUT)], Some(&look)) {
                    Ok(0) | Err(Errno::INTR) if is_stopped() => return Err(io::Error::other(STOPPED)),
                    Ok(0) | Err(Errno::INTR) => {}
                    answered => break answered.map(drop)?,
                }
            }
            sockopt::socket_error(&stream)??;
        }
        result => result?,
    }
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn write_all(socket: Patient<'_>, source: &mut Source, clock: &Clock) -> io::Result<()> {
    while let Some(piece) = source.next(clock.now()) {
        socket.write_all(&piece)?;
    }
    Ok(())
}

fn read_all(socket: Patient<'_>, sink: &mut Sink, clock: &Clock) -> io::Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match socket.read(&mut buffer)? {
            0 => return Ok(()),
            n => sink.take(clock.now(), &buffer[..n]),
        }
    }
}

/// Sends `count` messages of `size` bytes, each after the answer to the previous one, and records the round-trip times.
fn ping(
    socket: Patient<'_>,
    (size, count): (usize, u64),
    clock: &Clock,
    (source, sink): (&mut Source, &mut Sink),
    round_trips: &mut Vec<Duration>,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut message = vec![7; size];
    for _ in (0..count).take_while(|_| !is_stopped()) {
        let asked = clock.now();
        source.count(&message);
        socket.write_all(&message)?;
        socket.read_exact(is_stopped, &mut message)?;
        round_trips.push(clock.now().since(asked));
        sink.take(clock.now(), &message);
    }
    Ok(())
}

/// Connects to a server and does what `request` says, as [`super::engine::client`] does.
///
/// # Errors
/// If the server cannot be connected to.
pub fn client(
    options: &KernelOptions,
    remote: SocketAddr,
    request: Request,
    echo: Option<(usize, u64)>,
    on_interval: &mut dyn FnMut(&Interval),
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<Measurement> {
    let stream = connected(options, remote, is_stopped)
        .map_err(|error| io::Error::new(error.kind(), no_connection(remote, &error.to_string())))?;
    let (clock, processor, began) = (Clock::start(), Processor::now(), unix_seconds());
    let progress = Progress::default();
    let socket = Patient::new(&stream, &clock, &progress)?;
    let (near, far) = (plain(stream.local_addr()?), plain(stream.peer_addr()?));
    let mut watch = Watch::start(near, far);
    let mut source = request.source(request.up, clock.now());
    let mut sink = request.sink(Totals::BYTES);
    let mut round_trips = Vec::new();
    let mut asked = socket.write_all(&request.bytes());
    if let Some(echo) = echo.filter(|_| request.echo && asked.is_ok()) {
        asked = ping(socket, echo, &clock, (&mut source, &mut sink), &mut round_trips, is_stopped);
    }
    let sends = request.client_sends();
    watch.look();
    let (result, mut intervals) = match asked {
        Ok(()) => transfer(socket, sends, (&mut source, &mut sink), &mut watch, &clock, on_interval, is_stopped),
        Err(error) => (Err(error), Vec::new()),
    };
    let duration = clock.now().since(pathweave_units::Instant::ZERO);
    let server = sink.tail().first_chunk().and_then(Totals::read);
    let why = match &result {
        Ok(()) => "the server ended the connection too early".to_owned(),
        Err(error) => format!("the connection failed: {error}"),
    };
    let trouble = match server {
        // The measurement is complete, however the connection ended afterwards.
        Some(_) => result.err().map(|_| why),
        None if is_stopped() => Some(STOPPED.to_owned()),
        None => Some(format!("{why}; the server's figures are missing")),
    };
    let client = totals(&source, &sink);
    // What came back has arrived.
    let echoed = request.echo.then_some(sink.received);
    let mut acknowledged = watch.acknowledged.max(echoed).map(|bytes| bytes.min(client.written));
    if server.is_some() {
        // The socket may have ended before the last look at it.
        let rest = client.written.saturating_sub(acknowledged.unwrap_or(client.written));
        intervals.last_mut().into_iter().for_each(|last| last.sent_bytes += rest);
        acknowledged = Some(client.written);
    }
    round_trips.sort_unstable();
    Ok(Measurement {
        began,
        addresses: vec![(near, far)],
        multipath: None,
        client,
        server,
        acknowledged,
        trouble,
        duration,
        processor: Processor::now().since(processor),
        intervals,
        round_trips,
    })
}

/// The IPv4 address inside an IPv4-mapped one.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Moves data in both directions at once and takes figures every second. If `sends`, this side ends its stream after
/// its own data, else after the peer has ended.
fn transfer(
    socket: Patient<'_>,
    sends: bool,
    (source, sink): (&mut Source, &mut Sink),
    watch: &mut Watch,
    clock: &Clock,
    on_interval: &mut dyn FnMut(&Interval),
    is_stopped: &dyn Fn() -> bool,
) -> (io::Result<()>, Vec<Interval>) {
    let mut intervals: Vec<Interval> = Vec::new();
    let Patient { stream, progress, .. } = socket;
    let (done, wait) = channel();
    let result = std::thread::scope(|scope| {
        let written = scope.spawn(|| {
            let result = write_all(socket, source, clock);
            if result.is_err() {
                // Ends the reader too.
                let _ = stream.shutdown(Shutdown::Both);
            } else if sends {
                let _ = stream.shutdown(Shutdown::Write);
            }
            result
        });
        let read = scope.spawn(|| {
            let result = read_all(socket, sink, clock);
            if !sends {
                let _ = stream.shutdown(Shutdown::Write);
            }
            let _ = done.send(());
            result
        });
        // If the system does not report acknowledgements, written bytes count.
        let moved = |watch: &Watch| {
            let (written, received) = progress.all();
            (watch.acknowledged.unwrap_or(written), received)
        };
        let mut subflows_before = Vec::new();
        let (mut from, mut before) = (clock.now(), moved(watch));
        let start = from;
        loop {
            let ended = !matches!(wait.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout));
            watch.look();
            if is_stopped() {
                // Ends the reader and the writer.
                let _ = stream.shutdown(Shutdown::Both);
            }
            let (to, now) = (clock.now(), moved(watch));
            if !ended && to.since(from) < INTERVAL {
                continue;
            }
            intervals.push(Interval {
                from: super::measurement::since(start, from),
                to: super::measurement::since(start, to),
                sent_bytes: now.0.saturating_sub(before.0),
                received_bytes: now.1 - before.1,
                subflows: kernel_figures::since(&watch.subflows, &subflows_before),
            });
            if ended {
                break;
            }
            intervals.last().into_iter().for_each(&mut *on_interval);
            (from, before) = (to, now);
            subflows_before.clone_from(&watch.subflows);
        }
        let written = written.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        let read = read.join().unwrap_or_else(|_| Err(io::Error::other("the reader panicked")));
        written.and(read)
    });
    (result, intervals)
}

/// Serves clients on `port` at all addresses, as [`super::engine::server`] does.
///
/// # Errors
/// If the port cannot be listened on.
pub fn server(
    options: &KernelOptions,
    port: u16,
    most: Option<u64>,
    on_served: &(dyn Fn(&Served<'_>) + Sync),
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
            scope.spawn(move || {
                let (totals, result) = serve(&stream);
                let error = result.err().map(|error| error.to_string());
                on_served(&Served { totals: &totals, error: error.as_deref() });
            });
        }
        Ok(())
    })
}

/// Does what one client asks for. Returns the totals up to the end of the connection, or up to its failure.
fn serve(stream: &TcpStream) -> (Totals, io::Result<()>) {
    let (clock, processor, progress) = (Clock::start(), Processor::now(), Progress::default());
    let asked = Patient::new(stream, &clock, &progress).and_then(|socket| Ok((socket, read_request(socket)?)));
    let (socket, request) = match asked {
        Ok(asked) => asked,
        Err(error) => return (Totals::default(), Err(error)),
    };
    let mut source = request.source(request.down, clock.now());
    let mut sink = request.sink(0);
    let mut result = exchange(socket, &request, &mut source, &mut sink, &clock);
    let totals = Totals { processor: Processor::now().since(processor), ..totals(&source, &sink) };
    if result.is_ok() {
        result = socket.write_all(&totals.bytes());
        let _ = stream.shutdown(Shutdown::Write);
        // Closing with anything unread would reset the connection.
        while result.is_ok() && socket.read(&mut [0; Request::BYTES]).is_ok_and(|n| n > 0) {}
    }
    (totals, result)
}

fn read_request(socket: Patient<'_>) -> io::Result<Request> {
    let mut bytes = [0; Request::BYTES];
    socket.read_exact(&|| false, &mut bytes)?;
    let request = Request::read(&bytes);
    request.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "the client's first bytes are no request"))
}

/// Sends and receives all data in both directions.
fn exchange(
    socket: Patient<'_>,
    request: &Request,
    source: &mut Source,
    sink: &mut Sink,
    clock: &Clock,
) -> io::Result<()> {
    if request.echo {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match socket.read(&mut buffer)? {
                0 => return Ok(()),
                n => {
                    sink.take(clock.now(), &buffer[..n]);
                    socket.write_all(&buffer[..n])?;
                    source.count(&buffer[..n]);
                }
            }
        }
    }
    if !request.client_sends() {
        return write_all(socket, source, clock);
    }
    std::thread::scope(|scope| {
        let written = scope.spawn(|| write_all(socket, source, clock));
        let read = read_all(socket, sink, clock);
        let written = written.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        read.and(written)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::Amount;

    #[test]
    fn a_client_that_is_stopped_has_its_figures_so_far() {
        for plain in [true, false] {
            stop(&KernelOptions { plain, congestion: None });
        }
    }

    fn stop(options: &KernelOptions) {
        let free = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).and_then(|l| l.local_addr()).expect("a free port");
        for up in [true, false] {
            let (ready, is_ready) = channel();
            let serving = options.clone();
            let served = std::thread::spawn(move || {
                server(&serving, free.port(), Some(1), &|_| {}, &mut || {
                    let _ = ready.send(());
                })
            });
            is_ready.recv().expect("the server listens");
            let amount = Amount::Time(Duration::from_secs(60));
            let omit = Duration::ZERO;
            let request = Request { up, down: !up, verify: false, echo: false, amount, omit };
            let clock = Clock::start();
            let time = || clock.now().since(pathweave_units::Instant::ZERO);
            let is_stopped = || time() > Duration::from_millis(1500);
            let outcome = client(options, free, request, None, &mut |_| {}, &is_stopped).expect("an outcome");
            assert!(time() < Duration::from_secs(20), "it stops long before its minute is over");
            assert_eq!((outcome.trouble.as_deref(), outcome.server.is_none()), (Some(STOPPED), true), "up: {up}");
            // What arrived last may be the server's totals, so it is not counted.
            let last = Totals::BYTES as u64;
            let moved = if up { outcome.acknowledged } else { Some(outcome.client.counted + last) };
            assert!(moved > Some(0), "up: {up}");
            assert!(outcome.acknowledged <= Some(outcome.client.written), "{outcome:?}");
            let sum: u64 = outcome.intervals.iter().map(|i| if up { i.sent_bytes } else { i.received_bytes }).sum();
            let end = outcome.intervals.last().map(|i| i.to);
            assert!(
                Some(sum) <= moved && sum > 0 && end > Some(Duration::from_secs(1)),
                "up: {up}: {:?}",
                outcome.intervals
            );
            served.join().expect("the server ends").expect("it served");
        }
    }
}
