//! The receiver: reads all legs, puts their pieces in order, and acknowledges each piece on the leg on which it came.
//!
//! The receiver acknowledges every second piece of a leg, as TCP does. The kernel's acknowledgements travel with the
//! receiver's. If each piece were acknowledged alone, `weave` would see no queue: a round trip of a single segment may
//! contain the receiver's timer, so `weave` does not take it as a sign of a queue.

use crate::frame::{Acknowledgement, piece};
use crate::reassembly::Reassembly;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt;
use sha2::{Digest, Sha256};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Most bytes read from a leg at once.
const READ: usize = 1 << 16;
/// Pieces of a leg that are acknowledged together.
const TOGETHER: u32 = 2;
/// If no leg brings anything for this time, single pieces are acknowledged too.
const QUIET: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Time for which [`Receiver::linger`] waits for a silent sender: a slow leg may still carry old pieces.
const LAST_WAIT: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

/// A leg's connection.
struct Leg {
    stream: TcpStream,
    /// Bytes of a piece that has not arrived completely.
    input: Vec<u8>,
    /// Pieces that are not acknowledged.
    unanswered: u32,
    /// Bytes of acknowledgements that the socket has not taken yet.
    out: Vec<u8>,
}

/// The receiver of one stream that comes over several legs.
pub(crate) struct Receiver {
    listener: TcpListener,
    legs: Vec<Leg>,
    reassembly: Reassembly,
    window: u64,
}

/// The received stream in figures.
pub(crate) struct Received {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl Receiver {
    /// A receiver that accepts legs from `listener`. Data at most `window` bytes ahead of the next missing byte is
    /// kept.
    ///
    /// # Errors
    /// If the listener cannot be set to non-blocking.
    pub(crate) fn new(listener: TcpListener, window: u64) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Receiver { listener, legs: Vec::new(), reassembly: Reassembly::new(window), window })
    }

    /// Writes the whole stream to `out`. [`Receiver::linger`] acknowledges the stream's end.
    ///
    /// Bytes that are in order are written at once, so they never take up the window. While a write blocks, nothing is
    /// read or acknowledged.
    ///
    /// # Errors
    /// If `out` or `poll` fails. If a leg fails, only that leg ends.
    pub(crate) fn receive(&mut self, out: &mut impl Write) -> io::Result<Received> {
        let (mut hash, mut bytes, mut ready) = (Sha256::new(), 0, Vec::new());
        while !self.reassembly.is_complete() {
            let is_quiet = !self.wait(QUIET)?;
            self.service(is_quiet, &mut ready);
            out.write_all(&ready)?;
            hash.update(&ready);
            bytes += ready.len() as u64;
            ready.clear();
        }
        out.flush()?;
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Received { bytes, sha256 })
    }

    /// Acknowledges the stream's end, and continues to answer until the sender has closed all legs or has been silent
    /// for 30 s.
    ///
    /// # Errors
    /// If `poll` fails.
    pub(crate) fn linger(&mut self) -> io::Result<()> {
        loop {
            self.service(true, &mut Vec::new());
            if self.legs.is_empty() || !self.wait(LAST_WAIT)? {
                return Ok(());
            }
        }
    }

    /// Waits until a new leg connects or a leg has something to read. Returns false if nothing happened for `time`.
    fn wait(&self, time: Timespec) -> io::Result<bool> {
        let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
        for leg in &self.legs {
            let out = if leg.out.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            fds.push(PollFd::new(&leg.stream, PollFlags::IN | out));
        }
        match poll(&mut fds, Some(&time)) {
            Err(Errno::INTR) => Ok(true),
            ready => Ok(ready? > 0),
        }
    }

    /// Accepts a new leg, and reads and answers all legs. If the sender is quiet, single pieces are answered too.
    fn service(&mut self, is_quiet: bool, ready: &mut Vec<u8>) {
        if let Ok((stream, _)) = self.listener.accept() {
            self.legs.extend(Leg::new(stream, self.window).ok());
        }
        let (reassembly, window) = (&mut self.reassembly, self.window);
        self.legs.retain_mut(|leg| match leg.service(reassembly, window, is_quiet, ready) {
            Ok(()) => true,
            Err(reason) => {
                eprintln!("a leg has ended: {reason}");
                false
            }
        });
    }
}

impl Leg {
    /// A new leg. The first acknowledgement tells the sender the window.
    fn new(stream: TcpStream, window: u64) -> io::Result<Leg> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        // The kernel's acknowledgements wait for data to travel with: this program's acknowledgements.
        sockopt::set_tcp_quickack(&stream, false)?;
        let out = Acknowledgement { place: 0, window }.bytes().to_vec();
        Ok(Leg { stream, input: Vec::new(), unanswered: 0, out })
    }

    /// Reads and acknowledges. Appends the bytes that have become in order to `ready`.
    ///
    /// # Errors
    /// If the sender has closed the leg, the leg fails, or a piece is too long or not inside the window.
    fn service(
        &mut self,
        reassembly: &mut Reassembly,
        window: u64,
        is_quiet: bool,
        ready: &mut Vec<u8>,
    ) -> Result<(), String> {
        let at = self.input.len();
        self.input.resize(at + READ, 0);
        let read = self.stream.read(&mut self.input[at..]);
        self.input.truncate(at + read.as_ref().map_or(0, |read| *read));
        if matches!(read, Ok(0)) {
            return Err("the sender has closed it".into());
        }
        unless_blocked(read)?;
        let mut rest = &self.input[..];
        while let Some((place, bytes)) = piece(&mut rest)? {
            reassembly.insert(place, bytes, ready)?;
            self.unanswered += 1;
        }
        let taken = self.input.len() - rest.len();
        self.input.drain(..taken);
        // The sender ends when the stream's end is acknowledged. So that acknowledgement waits until the whole stream was
        // written.
        let is_held = reassembly.is_complete() && !is_quiet;
        if !is_held && (self.unanswered >= TOGETHER || (self.unanswered > 0 && is_quiet)) {
            self.unanswered = 0;
            self.out.extend(Acknowledgement { place: reassembly.arrived(), window }.bytes());
        }
        if !self.out.is_empty() {
            let written = unless_blocked(self.stream.write(&self.out))?;
            self.out.drain(..written);
        }
        Ok(())
    }
}

/// The number of bytes that were read or written; 0 if the socket would block.
fn unless_blocked(result: io::Result<usize>) -> Result<usize, String> {
    match result {
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
        other => other.map_err(|e| e.to_string()),
    }
}
