//! Figures of the engine's connection for each second.

use super::{Interval, SubflowFigures};
use pathweave_proto::connection::SubflowSnapshot;
use pathweave_proto::{ConnectionHandle, Endpoint};
use pathweave_units::{Duration, Instant};
use std::net::SocketAddr;

/// Time between two sets of figures.
const INTERVAL: Duration = Duration::from_secs(1);

/// A subflow's addresses, and its counts so far: bytes sent, bytes received, segments retransmitted.
type Counts = (SocketAddr, SocketAddr, [u64; 3]);

/// Takes figures of a connection every second.
pub(super) struct Meter {
    start: Instant,
    last: Instant,
    /// Counts at the last set of figures: bytes sent, bytes received, and those of each subflow.
    before: (u64, u64, Vec<Counts>),
    pub(super) intervals: Vec<Interval>,
    pub(super) multipath: bool,
    /// Bytes of the stream that were written, request included, and how many of them are acknowledged.
    pub(super) written: u64,
    pub(super) acknowledged: u64,
}

impl Meter {
    pub(super) fn new(start: Instant) -> Self {
        Meter {
            start,
            last: start,
            before: (0, 0, Vec::new()),
            intervals: Vec::new(),
            multipath: false,
            written: 0,
            acknowledged: 0,
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        now.since(self.last) >= INTERVAL
    }

    pub(super) fn measure(&mut self, now: Instant, endpoint: &Endpoint, connection: ConnectionHandle) {
        let Some(connection) = endpoint.connection(connection) else { return };
        let state = connection.snapshot();
        let (sent, received) = (state.sending.acked_bytes, state.receiving.in_order_bytes);
        let subflows: Vec<SubflowSnapshot> = connection.subflows().collect();
        let figures = subflows.iter().map(|subflow| self.figures(subflow, state.sending.window_bytes)).collect();
        self.intervals.push(Interval {
            from: self.last.since(self.start),
            to: now.since(self.start),
            sent_bytes: sent.saturating_sub(self.before.0),
            received_bytes: received.saturating_sub(self.before.1),
            subflows: figures,
        });
        self.before = (sent, received, subflows.iter().map(|s| (s.local, s.remote, counts(s))).collect());
        self.last = now;
        self.multipath = state.multipath;
        (self.written, self.acknowledged) = (state.sending.written_bytes, sent);
    }

    fn figures(&self, subflow: &SubflowSnapshot, offered_bytes: u64) -> SubflowFigures {
        let same = |b: &&Counts| (b.0, b.1) == (subflow.local, subflow.remote);
        let before = self.before.2.iter().find(same).map_or([0; 3], |b| b.2);
        let now = counts(subflow);
        SubflowFigures {
            local: subflow.local,
            remote: subflow.remote,
            sent_bytes: now[0].saturating_sub(before[0]),
            received_bytes: now[1].saturating_sub(before[1]),
            retransmitted_segments: now[2].saturating_sub(before[2]),
            window_bytes: u64::from(subflow.window.cwnd) * u64::from(subflow.mss),
            offered_bytes,
            round_trip: subflow.rtt.smoothed_or_zero(),
            round_trip_variation: subflow.rtt.variation,
            segment_bytes: subflow.mss,
            path_mtu: subflow.path_mtu,
        }
    }
}

fn counts(subflow: &SubflowSnapshot) -> [u64; 3] {
    [subflow.counters.data_bytes_sent, subflow.first_bytes, subflow.counters.retransmitted_segments]
}
