//! `pathweave perf --json`: the shape of iperf3's, whose streams are our subflows.

use super::args::PerfOptions;
use pathweave_tun::perf::{Amount, Interval, Outcome, Request, SubflowFigures, Totals, rate};
use pathweave_units::Duration;
use serde_json::{Value, json};

/// The whole document.
pub(crate) fn json(options: &PerfOptions, request: &Request, outcome: &Outcome) -> Value {
    let duration = match request.amount {
        Amount::Time(time) => time.as_secs_f64(),
        Amount::Bytes(_) => 0.0,
    };
    let bytes = if let Amount::Bytes(bytes) = request.amount { bytes } else { 0 };
    let (up_seconds, down_seconds) = outcome.receiver_seconds();
    let seconds = outcome.duration.as_secs_f64();
    let omit = request.omit.as_secs_f64();
    // iperf3's main direction is the client's, or with --reverse the server's.
    let main = match request.up || request.echo {
        true => (outcome.client.sent, outcome.server.counted, up_seconds),
        false => (outcome.server.sent, outcome.client.counted, down_seconds),
    };
    let mut end = json!({
        "streams": streams(outcome, request),
        "sum_sent": sum(main.0, 0.0, seconds, request.up),
        "sum_received": sum(main.1, omit, omit + main.2, request.up),
        "cpu_utilization_percent": { "host_total": percent(outcome.processor, outcome.duration) },
    });
    if request.up && request.down {
        end["sum_sent_bidir_reverse"] = sum(outcome.server.sent, 0.0, seconds, false);
        end["sum_received_bidir_reverse"] = sum(outcome.client.counted, omit, omit + down_seconds, false);
    }
    if let [first, .., last] = outcome.round_trips[..] {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let at = |part: usize| micros(outcome.round_trips[outcome.round_trips.len() * part / 100]);
        end["round_trips_us"] = json!({ "min": micros(first), "p50": at(50), "p99": at(99), "max": micros(last) });
    }
    json!({
        "start": {
            "version": concat!("pathweave ", env!("CARGO_PKG_VERSION")),
            "connecting_to": { "host": options.client, "port": options.port },
            "test_start": {
                "protocol": if options.plain { "TCP" } else { "MPTCP" },
                "num_streams": 1,
                "duration": duration,
                "bytes": bytes,
                "omit": omit,
                "reverse": u8::from(request.down && !request.up),
                "bidir": u8::from(request.down && request.up),
            },
        },
        "intervals": outcome.intervals.iter().map(|i| interval(i, request)).collect::<Vec<_>>(),
        "end": end,
        "multipath": outcome.multipath,
        "verified": request.verify.then(|| outcome.client.agree_with(&outcome.server)),
        "client": totals(&outcome.client),
        "server": totals(&outcome.server),
    })
}

fn percent(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { 100.0 * part.as_secs_f64() / whole.as_secs_f64() }
}

fn sum(bytes: u64, start: f64, end: f64, sender: bool) -> Value {
    json!({
        "start": start, "end": end, "seconds": end - start, "bytes": bytes, "bits_per_second": rate(bytes, end - start),
        "sender": sender,
    })
}

fn interval(interval: &Interval, request: &Request) -> Value {
    let (start, end) = (interval.from.as_secs_f64(), interval.to.as_secs_f64());
    let streams: Vec<Value> =
        interval.subflows.iter().enumerate().map(|(i, s)| stream(i, s, start, end, request)).collect();
    let (sent, received) = (interval.sent_bytes, interval.received_bytes);
    let mut value = json!({
        "streams": streams,
        "sum": sum(if request.up { sent } else { received }, start, end, request.up),
    });
    if request.up && request.down {
        value["sum_bidir_reverse"] = sum(received, start, end, false);
    }
    value
}

fn stream(index: usize, subflow: &SubflowFigures, start: f64, end: f64, request: &Request) -> Value {
    let bytes = if request.up { subflow.sent_bytes } else { subflow.received_bytes };
    json!({
        "socket": index + 1,
        "local": subflow.local.to_string(),
        "remote": subflow.remote.to_string(),
        "start": start, "end": end, "seconds": end - start, "bytes": bytes,
        "bits_per_second": rate(bytes, end - start),
        "sent_bytes": subflow.sent_bytes,
        "received_bytes": subflow.received_bytes,
        "retransmits": subflow.retransmitted_segments,
        "snd_cwnd": subflow.window_bytes,
        "snd_wnd": subflow.offered_bytes,
        "rtt": subflow.round_trip.as_micros(),
        "sender": request.up,
    })
}

/// All intervals of each subflow together.
fn streams(outcome: &Outcome, request: &Request) -> Vec<Value> {
    let mut sums: Vec<SubflowFigures> = Vec::new();
    for subflow in outcome.intervals.iter().flat_map(|i| &i.subflows) {
        match sums.iter_mut().find(|s| (s.local, s.remote) == (subflow.local, subflow.remote)) {
            Some(sum) => {
                sum.sent_bytes += subflow.sent_bytes;
                sum.received_bytes += subflow.received_bytes;
                sum.retransmitted_segments += subflow.retransmitted_segments;
                (sum.window_bytes, sum.round_trip) = (subflow.window_bytes, subflow.round_trip);
                sum.offered_bytes = sum.offered_bytes.max(subflow.offered_bytes);
            }
            None => sums.push(subflow.clone()),
        }
    }
    let seconds = outcome.duration.as_secs_f64();
    sums.iter().enumerate().map(|(i, s)| stream(i, s, 0.0, seconds, request)).collect()
}

fn totals(totals: &Totals) -> Value {
    let hex = |hash: &[u8; 32]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    json!({
        "sent": totals.sent, "received": totals.received, "nanoseconds": totals.nanoseconds,
        "longest_pause_nanoseconds": totals.longest_pause_nanoseconds,
        "sent_sha256": hex(&totals.sent_hash), "received_sha256": hex(&totals.received_hash),
    })
}
