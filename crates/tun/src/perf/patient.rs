//! A socket of the kernel that gives up if no data moves for a while.

use super::STOPPED;
use crate::Clock;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration as StdDuration;

/// A transfer in which no data moves for this long has failed, seconds. The kernel itself would retransmit for a
/// quarter of an hour, and wait for data without limit. The engine's `close_timeout` has the same length.
const STANDSTILL_SECONDS: f64 = 60.0;
/// Longest duration of one call.
const CALL: StdDuration = StdDuration::from_secs(1);

/// Bytes sent and received so far, readable from other threads.
#[derive(Default)]
pub(super) struct Progress {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Progress {
    /// Bytes sent and bytes received.
    pub(super) fn all(&self) -> (u64, u64) {
        (self.sent.load(Relaxed), self.received.load(Relaxed))
    }
}

/// A socket whose reads and writes fail if no data has moved in either direction for [`STANDSTILL_SECONDS`].
#[derive(Clone, Copy)]
pub(super) struct Patient<'a> {
    pub(super) stream: &'a TcpStream,
    clock: &'a Clock,
    pub(super) progress: &'a Progress,
}

impl<'a> Patient<'a> {
    pub(super) fn new(stream: &'a TcpStream, clock: &'a Clock, progress: &'a Progress) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(CALL))?;
        stream.set_write_timeout(Some(CALL))?;
        Ok(Patient { stream, clock, progress })
    }

    /// Repeats a call until data has moved, the stream has ended, `is_stopped`, or nothing has moved for
    /// [`STANDSTILL_SECONDS`].
    fn repeat(&self, is_stopped: &dyn Fn() -> bool, mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
        let (mut seen, mut since) = (self.progress.all(), self.clock.now());
        loop {
            match call() {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    let (now, all) = (self.clock.now(), self.progress.all());
                    if is_stopped() {
                        return Err(io::Error::other(STOPPED));
                    }
                    if all != seen {
                        (seen, since) = (all, now);
                    } else if now.since(since).as_secs_f64() >= STANDSTILL_SECONDS {
                        let message = format!("nothing has moved for {STANDSTILL_SECONDS} s");
                        return Err(io::Error::new(ErrorKind::TimedOut, message));
                    }
                }
                result => return result,
            }
        }
    }

    /// Reads available data. Returns 0 at the end of the stream.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_unless(&|| false, buffer)
    }

    fn read_unless(&self, is_stopped: &dyn Fn() -> bool, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        let n = self.repeat(is_stopped, || stream.read(buffer))?;
        self.progress.received.fetch_add(n as u64, Relaxed);
        Ok(n)
    }

    /// Fills the buffer, unless it `is_stopped`.
    pub(super) fn read_exact(&self, is_stopped: &dyn Fn() -> bool, buffer: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_unless(is_stopped, &mut buffer[filled..])? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                n => filled += n,
            }
        }
        Ok(())
    }

    /// Writes all bytes.
    pub(super) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream;
        let mut written = 0;
        while written < bytes.len() {
            let n = self.repeat(&|| false, || stream.write(&bytes[written..]))?;
            self.progress.sent.fetch_add(n as u64, Relaxed);
            written += n;
        }
        Ok(())
    }
}
