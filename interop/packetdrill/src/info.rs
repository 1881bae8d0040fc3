//! TCP_INFO: the engine's snapshots in the form of Linux's `struct tcp_info`.

use pathweave_proto::Connection;
use pathweave_proto::connection::{RecoveryState, TcpState};
use pathweave_units::{Duration, Instant};

/// The struct's bytes, one field after the other as C lays them out.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn byte(&mut self, value: u32) {
        self.0.push(u8::try_from(value).unwrap_or(u8::MAX));
    }
    fn words(&mut self, values: &[u64]) {
        for value in values {
            self.0.extend_from_slice(&u32::try_from(*value).unwrap_or(u32::MAX).to_ne_bytes());
        }
    }
    fn longs(&mut self, values: &[u64]) {
        for value in values {
            self.0.extend_from_slice(&value.to_ne_bytes());
        }
    }
}

fn state(state: TcpState) -> u32 {
    match state {
        TcpState::Established => 1,
        TcpState::SynSent => 2,
        TcpState::SynReceived => 3,
        TcpState::FinWait1 => 4,
        TcpState::FinWait2 => 5,
        TcpState::TimeWait => 6,
        TcpState::Closed => 7,
        TcpState::CloseWait => 8,
        TcpState::LastAck => 9,
        TcpState::Closing => 11,
    }
}

fn recovery(state: RecoveryState) -> u32 {
    match state {
        RecoveryState::Open => 0,
        RecoveryState::Disorder => 1,
        RecoveryState::Reduction => 2,
        RecoveryState::Recovery => 3,
        RecoveryState::Loss => 4,
    }
}

fn micros(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| time.as_micros())
}

/// The result of `getsockopt(TCP_INFO)` for a connection's first subflow. Values that the engine does not keep are 0.
/// `opened` is the time at which the connection was opened.
pub(crate) fn tcp_info(connection: &Connection, now: Instant, opened: Instant) -> Vec<u8> {
    let Some(subflow) = connection.subflows().next() else { return Vec::new() };
    let (snapshot, time, tcp) = (connection.snapshot(), connection.sending_time(now), subflow.tcp);
    let counters = subflow.counters;
    let since = |at: Option<Instant>| at.map_or(0, |at| now.since(at).as_nanos() / 1_000_000);
    let mut fields = Fields::default();
    fields.byte(state(tcp.state));
    fields.byte(recovery(tcp.recovery));
    fields.byte(tcp.timeouts_in_a_row);
    fields.byte(0);
    fields.byte(tcp.backoff);
    let scaled = tcp.window_shift > 0 || tcp.peer_window_shift > 0;
    let options = [(tcp.timestamps, 1), (tcp.sack, 2), (scaled, 4), (tcp.ecn, 8)];
    fields.byte(options.iter().map(|(on, bit)| if *on { *bit } else { 0 }).sum());
    fields.byte(u32::from(tcp.peer_window_shift & 15) | u32::from(tcp.window_shift) << 4);
    fields.byte(u32::from(subflow.window.app_limited));
    let mss = u64::from(subflow.mss);
    // tcpi_rto to tcpi_fackets
    fields.words(&[subflow.rto.as_micros(), 0, mss, tcp.largest_received.into()]);
    fields.words(&[subflow.window.unacked, tcp.sacked, tcp.lost, tcp.retransmitted, 0].map(u64::from));
    // tcpi_last_data_sent to tcpi_last_ack_recv
    fields.words(&[since(subflow.delivery.last_sent), 0, since(tcp.last_data_received.or(Some(opened))), 0]);
    // tcpi_pmtu to tcpi_reordering
    fields.words(&[subflow.path_mtu.into(), 0, micros(subflow.rtt.smoothed), subflow.rtt.variation.as_micros()]);
    let threshold = subflow.window.ssthresh.min(i32::MAX as u32);
    fields.words(&[threshold, subflow.window.cwnd, tcp.offered_mss, tcp.reordering].map(u64::from));
    // tcpi_rcv_rtt to tcpi_total_retrans
    fields.words(&[0, 0, counters.retransmitted_segments]);
    let received = snapshot.receiving.in_order_bytes;
    let rate = subflow.delivery.pacing_rate as u64;
    // tcpi_pacing_rate, which C aligns, to tcpi_bytes_received
    fields.0.resize(fields.0.len().next_multiple_of(8), 0);
    fields.longs(&[rate, u64::MAX, snapshot.sending.acked_bytes, received]);
    // tcpi_segs_out to tcpi_data_segs_out
    let unsent = snapshot.sending.unassigned_bytes + u64::from(subflow.queue.unsent) * mss;
    fields.words(&[counters.data_segments_sent, counters.data_segments_received, unsent, micros(subflow.rtt.min)]);
    fields.words(&[counters.data_segments_received, counters.data_segments_sent]);
    // tcpi_delivery_rate to tcpi_sndbuf_limited
    fields.longs(&[subflow.delivery.rate as u64]);
    fields.longs(&[time.busy, time.window_limited, time.send_buffer_limited].map(|t| t.as_micros()));
    // tcpi_delivered, tcpi_delivered_ce
    fields.words(&[counters.delivered_segments, 0]);
    fields.longs(&[counters.data_bytes_sent, 0]);
    // tcpi_dsack_dups, tcpi_reord_seen, tcpi_rcv_ooopack, tcpi_snd_wnd
    fields.words(&[0, tcp.reordering_events.into(), 0, tcp.peer_window]);
    fields.0
}
