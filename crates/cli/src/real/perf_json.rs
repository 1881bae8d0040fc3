//! `pathweave perf --json`: a document in the format of iperf3, for programs that read iperf3's output. Its streams are
//! the subflows. The kernel tells only an administrator which subflows belong to a connection; with `--kernel`, others
//! see the first one alone.
//!
//! Bytes that were sent are bytes of data that the peer has acknowledged, and each is counted once. A stream's bytes are
//! the subflow's share of the connection's, in proportion to what the subflow sent or received at the client, so that
//! the streams add up to the sum. `sent_bytes` and `received_bytes` of an interval's stream are the subflow's own counts,
//! which include retransmissions. If a measurement is not complete, the document has `error`, as iperf3's has, beside
//! the figures so far.

use super::args::PerfOptions;
use pathweave_tun::perf::{
    Amount, Interval, Measurement, PIECE_BYTES, Request, SubflowFigures, Totals, cookie, rate, system,
};
use pathweave_units::Duration;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration as StdDuration, SystemTime};

/// The whole document.
pub(crate) fn json(options: &PerfOptions, request: &Request, outcome: &Measurement, error: Option<&str>) -> Value {
    let mut start = start(options, request);
    let date = SystemTime::UNIX_EPOCH + StdDuration::from_secs(outcome.began);
    start["timestamp"] = json!({ "time": httpdate::fmt_http_date(date), "timesecs": outcome.began });
    start["connected"] = outcome.addresses.iter().enumerate().map(|(i, ends)| connected(i, *ends)).collect();
    let first = outcome.intervals.iter().flat_map(|interval| &interval.subflows).next();
    if let Some(subflow) = first {
        start["tcp_mss_default"] = json!(subflow.segment_bytes);
    }
    let mut document = json!({
        "start": start,
        "intervals": outcome.intervals.iter().map(|i| interval(i, request)).collect::<Vec<_>>(),
        "end": end(request, outcome),
        "multipath": outcome.multipath,
        "verified": outcome.server.filter(|_| request.verify).map(|server| outcome.client.agree_with(&server)),
        "client": totals(&outcome.client),
        "server": outcome.server.as_ref().map(totals),
    });
    if let Some(error) = error {
        document["error"] = json!(error);
    } else if let Some(trouble) = &outcome.trouble {
        document["warning"] = json!(trouble);
    }
    document
}

/// The document of a measurement that failed to start.
pub(crate) fn nothing(options: &PerfOptions, request: &Request, error: &str) -> Value {
    json!({ "start": start(options, request), "intervals": [], "end": {}, "error": error })
}

/// Whether the main direction is the client's data. It is the server's with `--reverse`, as in iperf3.
fn is_up(request: &Request) -> bool {
    request.up || request.echo
}

fn start(options: &PerfOptions, request: &Request) -> Value {
    let duration = match request.amount {
        Amount::Time(time) => time.as_secs_f64(),
        Amount::Bytes(_) => 0.0,
    };
    let bytes = if let Amount::Bytes(bytes) = request.amount { bytes } else { 0 };
    json!({
        "connected": [],
        "version": concat!("pathweave ", env!("CARGO_PKG_VERSION")),
        "system_info": system(),
        "connecting_to": { "host": options.client, "port": options.port },
        "cookie": cookie(),
        "test_start": {
            "protocol": "TCP",
            "multipath": !options.plain,
            "num_streams": 1,
            "blksize": options.ping.unwrap_or(PIECE_BYTES),
            "omit": whole(request.omit.as_secs_f64()),
            "duration": whole(duration),
            "bytes": bytes,
            "blocks": 0,
            "reverse": u8::from(request.down && !request.up),
            "bidir": u8::from(request.down && request.up),
            "tos": 0,
        },
    })
}

/// Seconds as iperf3 writes them: without a fraction if there is none.
fn whole(seconds: f64) -> Value {
    if seconds.fract() == 0.0 { json!(seconds as u64) } else { json!(seconds) }
}

fn connected(index: usize, (local, remote): (SocketAddr, SocketAddr)) -> Value {
    json!({
        "socket": index + 1,
        "local_host": local.ip().to_string(), "local_port": local.port(),
        "remote_host": remote.ip().to_string(), "remote_port": remote.port(),
    })
}

fn end(request: &Request, outcome: &Measurement) -> Value {
    let Measurement { client, server, .. } = outcome;
    let seconds = outcome.duration.as_secs_f64();
    let omit = request.omit.as_secs_f64();
    let up = is_up(request);
    let arrived_up = match server {
        Some(server) => Some((server.counted, server.counted_seconds())),
        None => outcome.acknowledged.map(|bytes| (bytes, seconds)),
    };
    let arrived_down = (client.counted, client.counted_seconds());
    let sent_up = server.map(|_| client.written).or(outcome.acknowledged);
    let sent_down = server.as_ref().map(|server| server.written);
    let (sent, arrived) = if up { (sent_up, arrived_up) } else { (sent_down, Some(arrived_down)) };
    let mut end = json!({
        "streams": streams(outcome, request, sent, arrived.map(|(bytes, _)| bytes)),
        "cpu_utilization_percent": processor(outcome),
    });
    let retransmits = sums(outcome).iter().map(|sum| sum.figures.retransmitted_segments).reduce(|a, b| a + b);
    if let Some(sent) = sent {
        end["sum_sent"] = with_retransmits(sum(sent, 0.0, seconds, up), retransmits.filter(|_| up));
    }
    if let Some((bytes, seconds)) = arrived {
        end["sum_received"] = sum(bytes, omit, omit + seconds, up);
    }
    if request.up && request.down {
        if let Some(sent) = sent_down {
            end["sum_sent_bidir_reverse"] = sum(sent, 0.0, seconds, false);
        }
        end["sum_received_bidir_reverse"] = sum(arrived_down.0, omit, omit + arrived_down.1, false);
    }
    if let [first, .., last] = outcome.round_trips[..] {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let at = |part: usize| micros(outcome.round_trips[outcome.round_trips.len() * part / 100]);
        end["round_trips_us"] = json!({ "min": micros(first), "p50": at(50), "p99": at(99), "max": micros(last) });
    }
    end
}

fn processor(outcome: &Measurement) -> Value {
    let percent = |nanoseconds: u64| match outcome.duration.as_nanos() {
        0 => 0.0,
        whole => 100.0 * nanoseconds as f64 / whole as f64,
    };
    let here = outcome.processor;
    let there = outcome.server.map(|server| server.processor);
    json!({
        "host_total": percent(here.nanoseconds),
        "host_user": percent(here.user_nanoseconds()),
        "host_system": percent(here.system_nanoseconds),
        "remote_total": there.map(|there| percent(there.nanoseconds)),
        "remote_user": there.map(|there| percent(there.user_nanoseconds())),
        "remote_system": there.map(|there| percent(there.system_nanoseconds)),
    })
}

fn sum(bytes: u64, start: f64, end: f64, sender: bool) -> Value {
    json!({
        "start": start, "end": end, "seconds": end - start, "bytes": bytes, "bits_per_second": rate(bytes, end - start),
        "sender": sender,
    })
}

fn with_retransmits(mut value: Value, retransmits: Option<u64>) -> Value {
    if let Some(retransmits) = retransmits {
        value["retransmits"] = json!(retransmits);
    }
    value
}

fn interval(interval: &Interval, request: &Request) -> Value {
    let (start, end, up) = (interval.from.as_secs_f64(), interval.to.as_secs_f64(), is_up(request));
    let omitted = interval.from < request.omit;
    let bytes = if up { interval.sent_bytes } else { interval.received_bytes };
    let retransmits = interval.subflows.iter().map(|s| s.retransmitted_segments).reduce(|a, b| a + b);
    let mut all = with_retransmits(sum(bytes, start, end, up), retransmits.filter(|_| up));
    all["omitted"] = json!(omitted);
    let parts = shares(bytes, interval.subflows.iter().map(|subflow| own(subflow, up)));
    let streams = interval.subflows.iter().zip(parts).enumerate();
    let mut streams: Vec<Value> = streams.map(|(i, (s, bytes))| stream(i, s, bytes, (start, end), up)).collect();
    if streams.is_empty() {
        let mut only = all.clone();
        only["socket"] = json!(1);
        streams.push(only);
    }
    streams.iter_mut().for_each(|stream| stream["omitted"] = json!(omitted));
    let mut value = json!({ "streams": streams, "sum": all });
    if request.up && request.down {
        value["sum_bidir_reverse"] = sum(interval.received_bytes, start, end, false);
    }
    value
}

/// Bytes that a subflow sent or received in the main direction, by the subflow's own count.
fn own(subflow: &SubflowFigures, up: bool) -> u64 {
    if up { subflow.sent_bytes } else { subflow.received_bytes }
}

/// Divides bytes of the connection in proportion to the subflows' own counts, or equally if these are all zero. The
/// parts add up to the whole.
fn shares(bytes: u64, own: impl Iterator<Item = u64> + Clone) -> Vec<u64> {
    let all: u64 = own.clone().sum();
    let weights = own.map(|own| if all == 0 { 1 } else { own });
    let whole = u128::from(weights.clone().sum::<u64>().max(1));
    let (mut so_far, mut given) = (0, 0);
    let part = |weight: u64| {
        so_far += u128::from(weight);
        let part = u128::from(bytes) * so_far / whole - given;
        given += part;
        part as u64
    };
    weights.map(part).collect()
}

/// A subflow's figures during an interval, and the subflow's share of the connection's bytes.
fn stream(index: usize, subflow: &SubflowFigures, bytes: u64, (start, end): (f64, f64), up: bool) -> Value {
    let mut value = sum(bytes, start, end, up);
    value["socket"] = json!(index + 1);
    value["local"] = json!(subflow.local.to_string());
    value["remote"] = json!(subflow.remote.to_string());
    value["sent_bytes"] = json!(subflow.sent_bytes);
    value["received_bytes"] = json!(subflow.received_bytes);
    value["retransmits"] = json!(subflow.retransmitted_segments);
    value["snd_cwnd"] = json!(subflow.window_bytes);
    value["snd_wnd"] = json!(subflow.offered_bytes);
    value["rtt"] = json!(subflow.round_trip.as_micros());
    value["rttvar"] = json!(subflow.round_trip_variation.as_micros());
    value["pmtu"] = json!(subflow.path_mtu);
    value
}

/// The figures of a subflow over all intervals.
struct Sum {
    /// Sums of bytes and segments, and the largest windows.
    figures: SubflowFigures,
    /// Round-trip time at the end of each interval.
    round_trips: Vec<Duration>,
}

fn sums(outcome: &Measurement) -> Vec<Sum> {
    let mut sums: Vec<Sum> = Vec::new();
    for subflow in outcome.intervals.iter().flat_map(|i| &i.subflows) {
        match sums.iter_mut().find(|s| (s.figures.local, s.figures.remote) == (subflow.local, subflow.remote)) {
            Some(Sum { figures, round_trips }) => {
                figures.sent_bytes += subflow.sent_bytes;
                figures.received_bytes += subflow.received_bytes;
                figures.retransmitted_segments += subflow.retransmitted_segments;
                figures.window_bytes = figures.window_bytes.max(subflow.window_bytes);
                figures.offered_bytes = figures.offered_bytes.max(subflow.offered_bytes);
                round_trips.push(subflow.round_trip);
            }
            None => sums.push(Sum { figures: subflow.clone(), round_trips: vec![subflow.round_trip] }),
        }
    }
    sums
}

/// Bytes that each subflow sent and received, or those of the connection if subflows are not known.
fn streams(outcome: &Measurement, request: &Request, sent: Option<u64>, arrived: Option<u64>) -> Vec<Value> {
    let (seconds, up) = (outcome.duration.as_secs_f64(), is_up(request));
    let end = |socket: usize, bytes: u64| {
        let mut value = sum(bytes, 0.0, seconds, up);
        value["socket"] = json!(socket);
        value
    };
    let sums = sums(outcome);
    if sums.is_empty() {
        return vec![
            json!({ "sender": sent.map(|bytes| end(1, bytes)), "receiver": arrived.map(|bytes| end(1, bytes)) }),
        ];
    }
    let parts = |of: Option<u64>| {
        let parts = of.map(|bytes| shares(bytes, sums.iter().map(|sum| own(&sum.figures, up))));
        parts.map_or_else(|| vec![None; sums.len()], |parts| parts.into_iter().map(Some).collect())
    };
    let parts = parts(sent).into_iter().zip(parts(arrived));
    let stream = |socket: usize, Sum { figures, round_trips }: &Sum, sent: Option<u64>, arrived: Option<u64>| {
        let sender = sent.map(|bytes| {
            let micros = round_trips.iter().map(|time| time.as_micros());
            let mut value = end(socket, bytes);
            if up {
                value["retransmits"] = json!(figures.retransmitted_segments);
                value["max_snd_cwnd"] = json!(figures.window_bytes);
                value["max_snd_wnd"] = json!(figures.offered_bytes);
                value["max_rtt"] = json!(micros.clone().max());
                value["min_rtt"] = json!(micros.clone().min());
                value["mean_rtt"] = json!(micros.clone().sum::<u64>() / round_trips.len() as u64);
            }
            value
        });
        json!({
            "local": figures.local.to_string(), "remote": figures.remote.to_string(),
            "sender": sender, "receiver": arrived.map(|bytes| end(socket, bytes)),
        })
    };
    let numbered = (1..).zip(sums.iter().zip(parts));
    numbered.map(|(socket, (sum, (sent, arrived)))| stream(socket, sum, sent, arrived)).collect()
}

fn totals(totals: &Totals) -> Value {
    let hex = |hash: &[u8; 32]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    json!({
        "written": totals.written, "received": totals.received, "nanoseconds": totals.nanoseconds,
        "longest_pause_nanoseconds": totals.longest_pause_nanoseconds,
        "written_sha256": hex(&totals.written_hash), "received_sha256": hex(&totals.received_hash),
    })
}

#[cfg(test)]
#[path = "perf_json_tests.rs"]
mod tests;
