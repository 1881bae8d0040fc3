//! Web pages, messages at random times, several connections of one table, and UDP traffic.

use pathweave_algorithms::Registry;
use pathweave_lab::results::{RunResult, Status};
use pathweave_lab::scenario::{Document, NoFiles, Variant};
use pathweave_lab::{RunError, run};

/// The result of a scenario with two paths and the rest given.
fn result(rest: &str, seed: u64) -> RunResult {
    try_result(rest, seed).expect("a run")
}

fn try_result(rest: &str, seed: u64) -> Result<RunResult, RunError> {
    let text = format!(
        "format = 1\nname = \"x\"\nduration = \"30s\"\n[[path]]\nname = \"a\"\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
         [[path]]\nname = \"b\"\nrate = \"5Mbps\"\ndelay = \"40ms\"\n{rest}"
    );
    let document = Document::parse("test.toml", &text).expect("TOML");
    run(&document, &Variant::AsWritten, seed, &Registry::builtin(), &NoFiles)
}

fn message(error: Result<RunResult, RunError>) -> String {
    match error {
        Err(error) => error.to_string(),
        Ok(_) => panic!("a mistake was taken"),
    }
}

const PAGE: &str = "[[connection]]\nname = \"page\"\nworkload = \"web:objects=54:size=1024KiB\"\n";

#[test]
fn a_pages_connections_load_all_of_its_objects_together() {
    let result = result(PAGE, 1);
    assert_eq!(result.status, Status::Completed, "{:?}", result.reason);
    assert_eq!(result.connections.len(), 6, "a browser's six connections");
    let names: Vec<&str> = result.connections.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["page-1", "page-2", "page-3", "page-4", "page-5", "page-6"]);
    let received: Vec<u64> = result.connections.iter().map(|c| c.received_bytes).collect();
    assert_eq!(received.iter().sum::<u64>(), 1024 << 10, "{received:?}");
    assert!(received.iter().all(|r| *r > 0), "every connection took a part: {received:?}");
    let delays = result.metrics.message_delay_ms.expect("each object's delay");
    assert_eq!(delays.count, 54);
    // A request and its answer take at least a round trip of the faster path; the handshake is before them.
    assert!(delays.p50 > 40.0 && delays.p50 <= delays.p95 && delays.p95 <= delays.max, "{delays:?}");
    let completion = result.metrics.completion_s.expect("the page is complete");
    assert!(completion * 1e3 >= delays.max && completion < 5.0, "{completion} s, {delays:?}");
}

#[test]
fn a_page_with_fewer_objects_than_connections_is_complete_too() {
    let result = result("[[connection]]\nworkload = \"web:objects=2:size=10KB\"\n", 1);
    assert_eq!(result.status, Status::Completed, "{:?}", result.reason);
    assert_eq!(result.connections.iter().filter(|c| c.received_bytes > 0).count(), 2);
    assert!(result.connections.iter().all(|c| c.completion_s.is_some()), "all six have ended");
}

#[test]
fn the_result_says_how_to_make_the_run_again() {
    let text = format!(
        "{PAGE}[[connection]]\nname = \"flow\"\ncount = 3\nworkload = \"web:objects=1:size=30KB:connections=1\"\n\
        [[traffic]]\npath = \"b\"\npattern = \"onoff:rate=1Mbps:packet=1000B:on=1s:off=1s\"\nstop = \"2s\"\n"
    );
    let first = result(&text, 4);
    assert_eq!(first.connections.len(), 9);
    let document = Document::parse("again.toml", &first.manifest.scenario).expect("TOML");
    let again = run(&document, &Variant::AsWritten, 4, &Registry::builtin(), &NoFiles).expect("a run");
    assert_eq!(again.digest, first.digest);
    assert_eq!(again.manifest.scenario_hash, first.manifest.scenario_hash);
}

#[test]
fn flows_of_one_table_load_pages_of_their_own() {
    let result = result(
        "[[connection]]\nname = \"flow\"\ncount = 20\nworkload = \"web:objects=1:size=30KB:connections=1\"\n",
        1,
    );
    assert_eq!(result.status, Status::Completed, "{:?}", result.reason);
    assert_eq!(result.connections.len(), 20);
    for flow in &result.connections {
        assert_eq!(flow.received_bytes, 30_000, "{}", flow.name);
        assert!(flow.completion_s.is_some(), "{}", flow.name);
    }
    assert_eq!(result.metrics.message_delay_ms.expect("delays").count, 20);
}

#[test]
fn messages_of_a_constant_rate_take_the_paths_delay() {
    let result = result("[[connection]]\nworkload = \"cbr:rate=1Mbps:message=5KiB\"\nscheduler = \"minrtt\"\n", 1);
    let delays = result.metrics.message_delay_ms.expect("each message's delay");
    // 30 s of 1 Mbit/s in messages of 5 KiB; the last ones are still on their way.
    assert!((728..=733).contains(&delays.count), "{delays:?}");
    // 5 KiB take 4 ms at 10 Mbit/s, and 20 ms to arrive.
    assert!((23.0..30.0).contains(&delays.p50), "{delays:?}");
    // The first message waits for the handshake.
    assert!(delays.max >= 60.0, "{delays:?}");
}

#[test]
fn a_discarded_start_discards_its_messages() {
    let text = "[[connection]]\nworkload = \"cbr:rate=1Mbps:message=5KiB\"\n";
    let document = |measure_from: &str| {
        let text = format!(
            "format = 1\nname = \"x\"\nduration = \"10s\"\n{measure_from}[[path]]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n{text}"
        );
        Document::parse("test.toml", &text).expect("TOML")
    };
    let count = |measure_from: &str| {
        let result =
            run(&document(measure_from), &Variant::AsWritten, 1, &Registry::builtin(), &NoFiles).expect("a run");
        result.metrics.message_delay_ms.expect("delays").count
    };
    let (all, later) = (count(""), count("measure_from = \"5s\"\n"));
    assert!((121..=123).contains(&later) && (243..=245).contains(&all), "{later} of {all}");
}

#[test]
fn messages_that_do_not_arrive_in_time_are_counted_unless_the_network_is_the_limit() {
    let undelivered = |workloads: &[&str]| {
        let table = |workload: &&str| format!("[[connection]]\nworkload = \"{workload}\"\n");
        result(&workloads.iter().map(table).collect::<String>(), 1).metrics.undelivered_messages
    };
    assert_eq!(undelivered(&["cbr:rate=1Mbps:message=5KiB"]), Some(0));
    assert_eq!(undelivered(&["web:objects=54:size=1024KiB"]), Some(0));
    // 29 s of 20 Mbit/s are 14,160 messages of 5 KiB. In 30 s the paths carry at most 10,986 messages, and fewer
    // because of headers.
    let left = undelivered(&["cbr:rate=20Mbps:message=5KiB"]).expect("its messages are counted");
    assert!((3174..4700).contains(&left), "{left}");
    assert_eq!(undelivered(&["bulk"]), None);
    assert_eq!(undelivered(&["cbr:rate=1Mbps:message=5KiB", "bulk"]), None, "one connection sends all it can");
}

#[test]
fn messages_at_random_times_have_the_rate_and_the_spread_of_a_poisson_process() {
    let of = |seed| {
        let result = result("[[connection]]\nworkload = \"poisson:rate=800kbps:message=1000B\"\n", seed);
        result.metrics.message_delay_ms.expect("delays").count as f64
    };
    let counts: Vec<f64> = (1..=40).map(of).collect();
    let mean = counts.iter().sum::<f64>() / 40.0;
    let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / 39.0;
    // 100 messages a second for 30 s: 3000, with a standard deviation of 55. The mean of 40 runs lies within 3.5 times 8.7 of it.
    assert!((2965.0..3030.0).contains(&mean), "{mean}");
    assert!((1500.0..5700.0).contains(&variance), "the variance of a Poisson count is its mean: {variance}");
}

fn udp(pattern: &str, seed: u64) -> (u64, f64) {
    let text = format!(
        "[[connection]]\nworkload = \"cbr:rate=100kbps:message=1000B\"\n[[traffic]]\npath = \"b\"\npattern = \"{pattern}\"\n"
    );
    let result = result(&text, seed);
    assert_eq!(result.traffic.len(), 1);
    (result.traffic[0].sent_packets, result.traffic[0].goodput_mbps)
}

#[test]
fn udp_traffic_has_its_rate() {
    let (sent, mbps) = udp("constant:rate=1Mbps:packet=1000B", 1);
    assert_eq!(sent, 3751, "one every 8 ms, from the start to the end of 30 s");
    assert!((0.998..=1.001).contains(&mbps), "{mbps}");
    let mean = |pattern: &str| (1..=60).map(|seed| udp(pattern, seed).1).sum::<f64>() / 60.0;
    let poisson = mean("poisson:rate=1Mbps:packet=1000B");
    assert!((0.99..1.01).contains(&poisson), "{poisson}");
    // Pareto times of shape 2.5 have a finite variance, so the means of 60 runs agree with the requested mean.
    let onoff = mean("onoff:rate=1Mbps:packet=1000B:on=100ms:off=100ms:shape=2.5");
    assert!((0.96..1.04).contains(&onoff), "{onoff}");
}

#[test]
fn udp_traffic_starts_stops_and_takes_room() {
    let text = |traffic: &str| {
        format!("[[connection]]\npaths = [\"a\"]\nmptcp = false\nmeasured = true\nworkload = \"bulk\"\n{traffic}")
    };
    let alone = result(&text(""), 1);
    let loaded = result(
        &text(
            "[[traffic]]\npath = \"a\"\npattern = \"constant:rate=8Mbps:packet=1200B\"\nstart = \"10s\"\nstop = \"20s\"\n",
        ),
        1,
    );
    let mbps = |r: &RunResult, from: usize| r.series.goodput_mbps[from..from + 80].iter().sum::<f64>() / 80.0;
    for (from, least, most) in [(10, 9.0, 10.0), (110, 0.0, 2.6), (215, 8.5, 10.0)] {
        let (free, shared) = (mbps(&alone, from), mbps(&loaded, from));
        assert!(free > 9.0 && (least..most).contains(&shared), "from {from} on: {free} alone, {shared} beside UDP");
    }
    let traffic = &loaded.traffic[0];
    assert_eq!(traffic.sent_packets, 8334, "8 Mbit/s for 10 s in packets of 1200 bytes");
    assert!(traffic.delivered_packets < traffic.sent_packets, "the queue drops some");
}

#[test]
fn mistakes_in_workloads_and_traffic_name_their_line() {
    let cases = [
        ("[[connection]]\nworkload = \"web:objects=10:size=9B\"\n", "at least a byte for each of 10 objects"),
        ("[[connection]]\nworkload = \"web:objects=1:size=9B\"\ndirection = \"upload\"\n", "the server sends"),
        ("[[connection]]\nworkload = \"web:objects=1:size=9B:request=1MiB\"\n", "from 1B to 64KiB"),
        ("[[connection]]\ncount = 0\n", "from 1 to 1000"),
        ("[[connection]]\nname = \"x-2\"\n[[connection]]\nname = \"x\"\ncount = 3\n", "no connection is called x-2"),
        ("[[traffic]]\npath = \"a\"\n", "pattern"),
        ("[[traffic]]\npattern = \"constant:rate=1Mbps:packet=1000B\"\n", "a, b"),
        ("[[traffic]]\npath = \"c\"\npattern = \"constant:rate=1Mbps:packet=1000B\"\n", "a, b"),
        ("[[traffic]]\npath = \"a\"\npattern = \"constant:rate=1Mbps:packet=70000B\"\n", "65507B"),
        ("[[traffic]]\npath = \"a\"\npattern = \"onoff:rate=1Mbps:packet=1000B:on=1s:off=1s:shape=1\"\n", "above 1"),
        (
            "[[traffic]]\npath = \"a\"\npattern = \"constant:rate=1Mbps:packet=1000B\"\nstart = \"2s\"\nstop = \"1s\"\n",
            "after its start",
        ),
    ];
    for (text, expected) in cases {
        let error = message(try_result(text, 1));
        assert!(error.contains(expected) && error.contains("test.toml:"), "{text}: {error}");
    }
}

#[test]
fn round_trips_segments_in_flight_and_arrivals_are_measured() {
    let result = result(
        "[[connection]]\nworkload = \"cbr:rate=1Mbps:message=1400B\"\nscheduler = \"minrtt\"\ndelayed_ack = false\n",
        1,
    );
    let [a, b] = &result.metrics.per_path[..] else { panic!("two paths") };
    // Nearly everything goes over the faster path: a round trip of 40 ms and 1.2 ms of transmission.
    assert!((41.0..43.0).contains(&a.mean_rtt_ms), "{a:?}");
    // The slower path's only sample is that of its handshake: 80 ms and the transmission of a few bytes.
    assert!((80.0..82.0).contains(&b.mean_rtt_ms), "{b:?}");
    // A message of one segment every 11.2 ms, acknowledged after 41 ms: 3.7 in flight.
    let in_flight = result.metrics.unacknowledged_segments;
    assert!((3.4..4.0).contains(&in_flight), "{in_flight}");
    let arrivals = result.metrics.arrival_interval_ms;
    assert!((11.1..11.3).contains(&arrivals.mean), "{arrivals:?}");
    // The first message waits longest: for the handshake's round trip, its way of 20 ms and 1.2 ms of transmission.
    assert!((61.0..63.0).contains(&arrivals.max), "{arrivals:?}");
}

fn longest_wait_ms(text: &str) -> f64 {
    let document = Document::parse("test.toml", text).expect("TOML");
    let result = run(&document, &Variant::AsWritten, 1, &Registry::builtin(), &NoFiles).expect("a run");
    result.metrics.arrival_interval_ms.max
}

#[test]
fn a_standstill_at_the_end_is_the_longest_time_without_a_delivery() {
    let longest = longest_wait_ms(
        "format = 1\nname = \"x\"\nduration = \"10s\"\n[[path]]\nrate = \"20Mbps\"\ndelay = \"10ms\"\n\
         [[path.change]]\nat = \"5s\"\nup = false\n[[path]]\nrate = \"10Mbps\"\ndelay = \"30ms\"\n\
         [[path.change]]\nat = \"5s\"\nup = false\n[[connection]]\nworkload = \"cbr:rate=1Mbps:message=10KB\"\n",
    );
    // A message every 80 ms: the first that does not arrive is due at most 80 ms from the outage at 5 s.
    assert!((4_900.0..5_100.0).contains(&longest), "{longest}");
}

#[test]
fn time_in_which_nothing_is_due_is_no_wait() {
    // A message of 10 KB every 8 s, which takes 50 ms or so.
    let longest = longest_wait_ms(
        "format = 1\nname = \"x\"\nduration = \"20s\"\n[[path]]\nrate = \"20Mbps\"\ndelay = \"10ms\"\n\
         [[connection]]\nworkload = \"cbr:rate=10kbps:message=10KB\"\n",
    );
    assert!((20.0..500.0).contains(&longest), "{longest}");
}

#[test]
fn a_run_can_wait_for_its_competitors() {
    let text = |rest: &str| {
        format!(
            "format = 1\nname = \"x\"\n{rest}[[path]]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n[[connection]]\n\
             workload = \"transfer:size=100KB\"\n[[connection]]\nmptcp = false\nworkload = \"transfer:size=2MB\"\n"
        )
    };
    let run = |rest: &str| {
        let document = Document::parse("test.toml", &text(rest)).expect("TOML");
        run(&document, &Variant::AsWritten, 1, &Registry::builtin(), &NoFiles).expect("a run")
    };
    let (alone, all) = (run(""), run("ends_with = \"all\"\n"));
    assert!(alone.connections[1].completion_s.is_none(), "the run ends with the measured connection");
    assert!(all.connections[1].completion_s.is_some_and(|s| s > 1.6), "{:?}", all.connections[1]);
    assert_eq!(all.connections[0].completion_s, alone.connections[0].completion_s);
}
