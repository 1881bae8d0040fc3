//! One TCP connection of a leg: its socket, its unacknowledged pieces, and the scheduler's view of both.

use crate::carried::Carried;
use crate::frame::{Acknowledgement, HEAD, head, newest};
use crate::tcp_info::TcpInfo;
use core::ops::Range;
use pathweave_scheduler::{
    DataSeq, Delivery, Duration, Instant, PathTerms, Phase, QueueState, RoundTrip, SubflowId, SubflowView, WindowState,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Most bytes that a connection takes although they cannot leave yet. Schedulers that respect the congestion window
/// never fill this queue.
const QUEUE: u64 = 1 << 20;
/// On a fast path, the data of this time counts as one segment, because timers and wake-ups of a program are not exact.
/// `weave` lets ten segments wait at a bottleneck, which then keep the path busy for 2 ms.
const GRAIN_S: f64 = 0.0002;
/// Retransmission timeouts without an answer after which a connection shows no sign of life.
const STALE_TIMEOUTS: u8 = 2;

/// What a connection has learned since it was last looked at.
#[derive(Debug)]
pub(crate) struct News {
    /// The receiver's newest acknowledgement of the stream, if one came.
    pub(crate) acknowledgement: Option<Acknowledgement>,
    /// The pieces that the peer's TCP has acknowledged.
    pub(crate) acked: Vec<Range<DataSeq>>,
    /// Whether the peer's TCP has data behind a gap.
    pub(crate) has_sack: bool,
    /// The latest round trip, from the write of a piece to its acknowledgement.
    pub(crate) round_trip: Option<Duration>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    /// Bytes that the socket has not taken yet.
    out: Vec<u8>,
    /// Bytes of an acknowledgement that has not arrived completely.
    input: Vec<u8>,
    info: TcpInfo,
    /// All bytes that the connection was given, heads included, and the `bytes_acked` of the handshake: a client's SYN
    /// counts as a byte.
    given: u64,
    acked_before: u64,
    carried: Carried,
    /// Whether the stream's end was sent.
    pub(crate) has_end: bool,
}

impl Connection {
    /// An established connection that has carried nothing.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        let info = TcpInfo::of(&stream)?;
        Ok(Connection {
            stream,
            out: Vec::new(),
            input: Vec::new(),
            info,
            given: 0,
            acked_before: info.bytes_acked,
            carried: Carried::default(),
            has_end: false,
        })
    }

    /// Gives the connection a piece of the stream; `bytes` are its bytes. An empty range is the stream's end.
    pub(crate) fn send(&mut self, now: Instant, range: Range<DataSeq>, bytes: impl Iterator<Item = u8>) {
        let length = range.end.since(range.start);
        self.out.extend(head(range.start.0, length as usize));
        self.out.extend(bytes);
        self.given += HEAD as u64 + length;
        self.carried.add(now, range, self.given);
    }

    /// Writes as much as the socket takes, and asks the kernel for the connection's state.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(written) => drop(self.out.drain(..written)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        self.info = TcpInfo::of(&self.stream)?;
        Ok(())
    }

    /// Reads all that has come, and finds out which pieces are acknowledged.
    pub(crate) fn service(&mut self, now: Instant) -> io::Result<News> {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.input.extend_from_slice(&buffer[..read]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        self.flush()?;
        let acked = self.carried.acknowledge(now, self.info.bytes_acked - self.acked_before);
        let (acknowledgement, round_trip) = (newest(&mut self.input), self.carried.latest);
        Ok(News { acknowledgement, acked, has_sack: self.info.sacked > 0, round_trip })
    }

    /// Whether the connection shows no sign of life: the kernel had two retransmission timeouts without an answer.
    pub(crate) fn is_stale(&self) -> bool {
        self.info.retransmits >= STALE_TIMEOUTS
    }

    /// The pieces that are not acknowledged.
    pub(crate) fn unacknowledged(&self) -> impl Iterator<Item = Range<DataSeq>> + '_ {
        self.carried.ranges()
    }

    /// Whether bytes wait for room in the socket.
    pub(crate) fn is_full(&self) -> bool {
        !self.out.is_empty()
    }

    /// Data bytes of a piece: with its head, a piece fills a TCP segment.
    pub(crate) fn piece(&self) -> u64 {
        u64::from(self.info.snd_mss).saturating_sub(HEAD as u64).max(1)
    }

    /// TCP segments that count as one in the view, as a kernel's large segments do (TSO).
    fn grain(&self) -> u32 {
        (self.carried.rate * GRAIN_S / self.piece() as f64).clamp(1.0, 16.0) as u32
    }

    /// The connection as a scheduler sees it. `is_limited`: whether there is nothing more to send.
    pub(crate) fn view(&self, id: SubflowId, is_limited: bool) -> SubflowView {
        let info = &self.info;
        let measured = |us: u32| (us > 0 && us < u32::MAX).then(|| Duration::from_micros(us.into()));
        let unsent = u64::from(info.notsent_bytes) + self.out.len() as u64;
        let grain = self.grain();
        let (cwnd, ssthresh) = (info.snd_cwnd / grain, info.snd_ssthresh / grain);
        SubflowView {
            id,
            backup: false,
            stale: self.is_stale(),
            mss: self.piece() as u32 * grain,
            path: PathTerms::default(),
            rtt: RoundTrip {
                smoothed: measured(info.rtt),
                variation: Duration::from_micros(info.rttvar.into()),
                min: measured(info.min_rtt),
                max: self.carried.longest,
                latest: self.carried.latest,
            },
            window: WindowState {
                cwnd,
                ssthresh,
                in_flight: info.in_flight().div_ceil(grain),
                unacked: info.unacked.div_ceil(grain),
                app_limited: is_limited,
                phase: match info.ca_state {
                    4 => Phase::Loss,
                    2 | 3 => Phase::Recovery,
                    _ if cwnd < ssthresh => Phase::SlowStart,
                    _ => Phase::Avoidance,
                },
                ..WindowState::default()
            },
            queue: QueueState {
                unsent: unsent.div_ceil(u64::from(info.snd_mss.max(1) * grain)) as u32,
                bytes: self.carried.bytes,
                memory: self.carried.bytes,
                space: QUEUE.saturating_sub(unsent),
            },
            delivery: Delivery {
                loss: f64::from(info.total_retrans) / f64::from(info.data_segs_out.max(1)),
                rate: self.carried.rate,
                pacing_rate: info.pacing_rate as f64,
                round_start: self.carried.round_start,
                last_sent: self.carried.last_sent,
            },
        }
    }
}
