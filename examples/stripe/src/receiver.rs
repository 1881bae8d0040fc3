//! The receiver: reads all legs, puts their pieces in order, and acknowledges on the leg on which a piece came.
//!
//! The receiver acknowledges every second piece of a leg, as TCP does. The kernel's acknowledgements travel with these.
//! With one for each piece, `weave` would see no queue: a round trip of a single segment may contain the receiver's timer.

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
/// The time without any piece after which single ones are acknowledged.
const QUIET: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Time for which the sender may be silent at the end: what a slow leg still carries has to pass.
const LAST_WAIT: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

/// A leg's connection.
struct Leg {
    stream: TcpStream,
    /// Bytes of a piece that is not whole yet.
    input: Vec<u8>,
    /// Pieces that are not acknowledged.
    unanswered: u32,
    /// Acknowledgements that the socket did not take yet.
    out: Vec<u8>,
}

/// One stream that comes over several legs.
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
    /// A receiver. At most `window` bytes wait for bytes before them.
    ///
    /// # Errors
    /// If the listener does not work.
    pub(crate) fn new(listener: TcpListener, window: u64) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Receiver { listener, legs: Vec::new(), reassembly: Reassembly::new(window), window })
    }

    /// Writes the whole stream to `out`. The stream's end is acknowledged by [`Receiver::linger`] alone. The window never shrinks: what is in order is written at once, and while that
    /// blocks, nothing is acknowledged.
    ///
    /// # Errors
    /// If `out` or a system call fails. A leg that fails ends alone.
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

    /// Acknowledges the end, and answers until the sender has closed all legs.
    ///
    /// # Errors
    /// If a system call fails.
    pub(crate) fn linger(&mut self) -> io::Result<()> {
        loop {
            self.service(true, &mut Vec::new());
            if self.legs.is_empty() || !self.wait(LAST_WAIT)? {
                return Ok(());
            }
        }
    }

    /// Waits until a leg comes or has something to read. Returns false if nothing happened for `time`.
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

    /// Reads and answers all legs. If the sender is quiet, single pieces are answered too.
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
        // The kernel's acknowledgements wait for those of this program.
        sockopt::set_tcp_quickack(&stream, false)?;
        let out = Acknowledgement { place: 0, window }.bytes().to_vec();
        Ok(Leg { stream, input: Vec::new(), unanswered: 0, out })
    }

    /// Reads and acknowledges. Appends the bytes that are in order now to `ready`.
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
        // The last acknowledgement ends the sender. So it waits until the stream was handed on.
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

/// The number of bytes; 0 if the socket would block.
fn unless_blocked(result: io::Result<usize>) -> Result<usize, String> {
    match result {
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
        other => other.map_err(|e| e.to_string()),
    }
}
