use super::*;
use Kind::{Array, Number, Object, Text, Truth, Whole};
use clap::Parser;
use pathweave_tun::perf::Processor;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Whole,
    Number,
    Text,
    Truth,
    Object,
    Array,
}

impl Kind {
    fn is_of(self, value: &Value) -> bool {
        match self {
            Whole => value.is_u64(),
            Number => value.is_number(),
            Text => value.is_string(),
            Truth => value.is_boolean(),
            Object => value.is_object(),
            Array => value.is_array(),
        }
    }
}

/// Keys that the package iperf3 0.1.11 of PyPI (`TestResult`) reads, and keys that iperf 3.12 prints beside them for
/// TCP.
const READ: &[(&str, Kind)] = &[
    ("/start/timestamp/time", Text),
    ("/start/timestamp/timesecs", Whole),
    ("/start/system_info", Text),
    ("/start/version", Text),
    ("/start/cookie", Text),
    ("/start/connecting_to/host", Text),
    ("/start/connecting_to/port", Whole),
    ("/start/connected/0/socket", Whole),
    ("/start/connected/0/local_host", Text),
    ("/start/connected/0/local_port", Whole),
    ("/start/connected/0/remote_host", Text),
    ("/start/connected/0/remote_port", Whole),
    ("/start/test_start/protocol", Text),
    ("/start/test_start/num_streams", Whole),
    ("/start/test_start/blksize", Whole),
    ("/start/test_start/omit", Whole),
    ("/start/test_start/duration", Whole),
    ("/start/test_start/bytes", Whole),
    ("/start/test_start/blocks", Whole),
    ("/start/test_start/reverse", Whole),
    ("/start/test_start/tos", Whole),
    ("/intervals/0/streams/0/socket", Whole),
    ("/intervals/0/streams/0/start", Number),
    ("/intervals/0/streams/0/end", Number),
    ("/intervals/0/streams/0/seconds", Number),
    ("/intervals/0/streams/0/bytes", Whole),
    ("/intervals/0/streams/0/bits_per_second", Number),
    ("/intervals/0/streams/0/omitted", Truth),
    ("/intervals/0/streams/0/sender", Truth),
    ("/intervals/0/sum/start", Number),
    ("/intervals/0/sum/end", Number),
    ("/intervals/0/sum/seconds", Number),
    ("/intervals/0/sum/bytes", Whole),
    ("/intervals/0/sum/bits_per_second", Number),
    ("/intervals/0/sum/omitted", Truth),
    ("/intervals/0/sum/sender", Truth),
    ("/end/streams", Array),
    ("/end/streams/0/sender", Object),
    ("/end/streams/0/sender/socket", Whole),
    ("/end/streams/0/sender/bytes", Whole),
    ("/end/streams/0/sender/bits_per_second", Number),
    ("/end/streams/0/sender/sender", Truth),
    ("/end/streams/0/receiver", Object),
    ("/end/streams/0/receiver/socket", Whole),
    ("/end/streams/0/receiver/bytes", Whole),
    ("/end/streams/0/receiver/bits_per_second", Number),
    ("/end/streams/0/receiver/sender", Truth),
    ("/end/sum_sent/start", Number),
    ("/end/sum_sent/end", Number),
    ("/end/sum_sent/seconds", Number),
    ("/end/sum_sent/bytes", Whole),
    ("/end/sum_sent/bits_per_second", Number),
    ("/end/sum_received/bytes", Whole),
    ("/end/sum_received/bits_per_second", Number),
    ("/end/cpu_utilization_percent/host_total", Number),
    ("/end/cpu_utilization_percent/host_user", Number),
    ("/end/cpu_utilization_percent/host_system", Number),
    ("/end/cpu_utilization_percent/remote_total", Number),
    ("/end/cpu_utilization_percent/remote_user", Number),
    ("/end/cpu_utilization_percent/remote_system", Number),
];

/// Keys that iperf 3.12 prints only if the printing side is the sender and the system reports its subflows.
const OF_SENDERS: &[(&str, Kind)] = &[
    ("/start/tcp_mss_default", Whole),
    ("/intervals/0/streams/0/retransmits", Whole),
    ("/intervals/0/streams/0/snd_cwnd", Whole),
    ("/intervals/0/streams/0/snd_wnd", Whole),
    ("/intervals/0/streams/0/rtt", Whole),
    ("/intervals/0/streams/0/rttvar", Whole),
    ("/intervals/0/streams/0/pmtu", Whole),
    ("/intervals/0/sum/retransmits", Whole),
    ("/end/streams/0/sender/retransmits", Whole),
    ("/end/streams/0/sender/max_snd_cwnd", Whole),
    ("/end/streams/0/sender/max_snd_wnd", Whole),
    ("/end/streams/0/sender/max_rtt", Whole),
    ("/end/streams/0/sender/min_rtt", Whole),
    ("/end/streams/0/sender/mean_rtt", Whole),
    ("/end/sum_sent/retransmits", Whole),
];

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: PerfOptions,
}

fn options(arguments: &str) -> PerfOptions {
    let arguments = format!("perf --client 10.1.0.1 {arguments}");
    Command::try_parse_from(arguments.split_whitespace()).expect("the arguments are right").options
}

fn request(up: bool, down: bool) -> Request {
    let amount = Amount::Time(Duration::from_secs(2));
    Request { up, down, verify: true, echo: false, amount, omit: Duration::ZERO }
}

fn subflow(path: u8, sent_bytes: u64, received_bytes: u64) -> SubflowFigures {
    SubflowFigures {
        local: SocketAddr::new([10, path, 0, 2].into(), 4000),
        remote: SocketAddr::new([10, path, 0, 1].into(), 5210),
        sent_bytes,
        received_bytes,
        retransmitted_segments: 3,
        window_bytes: 20_000,
        offered_bytes: 60_000,
        round_trip: Duration::from_millis(20),
        round_trip_variation: Duration::from_millis(2),
        segment_bytes: 1428,
        path_mtu: 1500,
    }
}

/// A measurement of two seconds over these subflows. Each side has sent 4000 bytes, and all have arrived.
fn outcome(subflows: &[SubflowFigures]) -> Measurement {
    let interval = |second| Interval {
        from: Duration::from_secs(second),
        to: Duration::from_secs(second + 1),
        sent_bytes: 2000,
        received_bytes: 2000,
        subflows: subflows.to_vec(),
    };
    let processor = Processor { nanoseconds: 500_000_000, system_nanoseconds: 300_000_000 };
    let totals = Totals {
        received: 4000,
        written: 4000,
        counted: 4000,
        counted_nanoseconds: 2_000_000_000,
        processor,
        ..Totals::default()
    };
    Measurement {
        // date --utc --date @1795803288
        began: 1_795_803_288,
        addresses: vec![(SocketAddr::new([10, 1, 0, 2].into(), 4000), SocketAddr::new([10, 1, 0, 1].into(), 5210))],
        multipath: Some(true),
        client: totals,
        server: Some(totals),
        acknowledged: Some(4000),
        trouble: None,
        duration: Duration::from_secs(2),
        processor,
        intervals: vec![interval(0), interval(1)],
        round_trips: Vec::new(),
    }
}

fn has(document: &Value, keys: &[(&str, Kind)]) {
    for (pointer, kind) in keys {
        let value = document.pointer(pointer).unwrap_or(&Value::Null);
        assert!(kind.is_of(value), "{pointer} is {value}, and {kind:?} is expected");
    }
}

#[test]
fn readers_of_iperf3_find_what_they_read_in_each_direction_over_the_engine_and_the_kernel() {
    let subflows = [subflow(1, 1500, 1500), subflow(2, 500, 500)];
    for (arguments, up, down) in [("", true, false), ("--reverse", false, true), ("--both", true, true)] {
        for subflows in [&subflows[..], &[]] {
            let document = json(&options(arguments), &request(up, down), &outcome(subflows), None);
            has(&document, READ);
            if up && !subflows.is_empty() {
                has(&document, OF_SENDERS);
            }
            assert_eq!(document["error"], Value::Null);
            assert_eq!(document["start"]["test_start"]["protocol"], "TCP");
            assert_eq!(document["start"]["timestamp"]["time"], "Fri, 27 Nov 2026 18:14:48 GMT");
            assert_eq!(document["start"]["cookie"].as_str().map(str::len), Some(36));
            let sum = |end: &str| -> u64 {
                let streams = document["end"]["streams"].as_array().into_iter().flatten();
                streams.filter_map(|stream| stream[end]["bytes"].as_u64()).sum()
            };
            assert_eq!((sum("sender"), sum("receiver")), (4000, 4000), "{arguments}");
            assert_eq!(document["end"]["sum_received"]["bits_per_second"], 16_000.0);
        }
    }
}

#[test]
fn a_measurement_that_is_not_complete_has_an_error_and_its_figures() {
    let whole = outcome(&[subflow(1, 1500, 0)]);
    let half = Measurement { server: None, acknowledged: Some(3000), trouble: Some("gone".into()), ..whole };
    let document = json(&options(""), &request(true, false), &half, Some("gone"));
    assert_eq!(document["error"], "gone");
    assert_eq!(document["end"]["sum_received"]["bytes"], 3000);
    assert_eq!(document["end"]["sum_sent"]["bytes"], 3000);
    assert_eq!(document["client"]["written"], 4000);
    assert_eq!(document["intervals"].as_array().map(Vec::len), Some(2));
    let document = nothing(&options(""), &request(true, false), "no connection");
    assert_eq!(document["error"], "no connection");
    assert_eq!(document["start"]["connecting_to"]["host"], "10.1.0.1");
}

/// Bytes of all streams at one end, or in an interval.
fn of_streams(streams: &Value, end: &str) -> u64 {
    streams.as_array().into_iter().flatten().filter_map(|stream| stream.pointer(end)?.as_u64()).sum()
}

#[test]
fn the_streams_add_up_to_the_sum_in_each_direction_complete_or_stopped() {
    // More than the data was sent, because some was lost, and the request and the totals are carried too.
    let whole = outcome(&[subflow(1, 1901, 1903), subflow(2, 700, 300), subflow(3, 0, 0)]);
    let stopped =
        Measurement { server: None, acknowledged: Some(3001), trouble: Some("interrupted".into()), ..whole.clone() };
    for (arguments, up, down) in [("", true, false), ("--reverse", false, true), ("--both", true, true)] {
        for (outcome, sent) in [(&whole, 4000), (&stopped, 3001)] {
            let document = json(&options(arguments), &request(up, down), outcome, outcome.trouble.as_deref());
            let end = &document["end"];
            for (side, sum) in [("/sender/bytes", "sum_sent"), ("/receiver/bytes", "sum_received")] {
                let all = end[sum]["bytes"].as_u64().unwrap_or(0);
                assert_eq!(of_streams(&end["streams"], side), all, "{arguments} {sum}: {end}");
            }
            if up {
                assert_eq!(end["sum_sent"]["bytes"], sent, "{arguments}");
            }
            for interval in document["intervals"].as_array().into_iter().flatten() {
                assert_eq!(interval["sum"]["bytes"], of_streams(&interval["streams"], "/bytes"), "{interval}");
            }
        }
    }
}

#[test]
fn the_parts_of_a_sum_add_up_to_it() {
    assert_eq!(shares(10, [1, 1, 1].into_iter()), [3, 3, 4]);
    assert_eq!(shares(10, [0, 3].into_iter()), [0, 10]);
    assert_eq!(shares(5, [0, 0].into_iter()), [2, 3]);
    assert_eq!(shares(5, [].into_iter()), [0; 0]);
}
