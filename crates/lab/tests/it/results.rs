//! Contents of a result beside its metrics; a result can be run again from itself.

use pathweave_algorithms::Registry;
use pathweave_lab::results::RunResult;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, Files, HostModel, NoFiles, SchedulerSpec, Variant};

const TWO: &str = r#"
format = 1
name = "two"
duration = "4s"

[[path]]
name = "fast"
rate = "8Mbps"
delay = "10ms"
down = { rate = "unlimited" }

[[path]]
name = "slow"
rate = "1Mbps"
delay = "80ms"
queue = "300packets"
down = { rate = "unlimited" }

[[connection]]
receive_buffer = "100KB"
"#;

struct Trace;

impl Files for Trace {
    fn read(&self, _: &str) -> Result<String, String> {
        // A second at 12 Mbit/s and a second at 1.2 Mbit/s in turn.
        Ok((0..1000).chain((1000..=2000).step_by(10)).map(|t| format!("{t}\n")).collect())
    }
}

fn result(text: &str, variant: &Variant, seed: u64, files: &dyn Files) -> RunResult {
    let document = Document::parse("test.toml", text).expect("it is TOML");
    run(&document, variant, seed, &Registry::builtin(), files).expect("it runs")
}

fn scheduler(name: &str) -> Variant {
    Variant::Scheduler(SchedulerSpec::parse(name).expect("it is a name"))
}

#[test]
fn a_result_holds_the_scenario_that_gives_it_again() {
    for variant in [scheduler("blest:lambda=1.5"), scheduler("linux"), Variant::PlainTcp(1)] {
        let first = result(TWO, &variant, 3, &NoFiles);
        let again = result(&first.manifest.scenario, &Variant::AsWritten, 3, &NoFiles);
        assert_eq!((again.digest, again.metrics), (first.digest, first.metrics), "{variant:?}");
    }
}

#[test]
fn a_result_names_its_host_and_runs_again_on_it() {
    let on_linux = TWO.to_owned() + "\n[scheduler.minrtt]\nhost = \"linux\"\n";
    let first = result(&on_linux, &scheduler("minrtt"), 3, &NoFiles);
    assert_eq!(first.host, HostModel::Linux);
    let again = result(&first.manifest.scenario, &Variant::AsWritten, 3, &NoFiles);
    assert_eq!((again.host, &again.digest), (HostModel::Linux, &first.digest));
    let rfc = result(TWO, &scheduler("minrtt"), 3, &NoFiles);
    assert_eq!(rfc.host, HostModel::Rfc);
    assert_eq!(serde_json::to_value(HostModel::MptcpOrg).expect("a word"), "mptcp-0.9x");
    assert_ne!(rfc.digest, first.digest, "the host can be seen on the wire");
}

#[test]
fn the_time_adds_up_and_names_the_path_that_blocks() {
    let text = TWO.replace("duration = \"4s\"", "duration = \"4s\"\nmeasure_from = \"1s\"");
    let time = result(&text, &scheduler("roundrobin"), 1, &NoFiles).metrics.time;
    assert!((time.total_s() - 3.0).abs() < 1e-6, "not 3 s: {time:?}");
    // A window of 100 KB is full while its first byte crawls through the slow path's queue.
    assert!(time.window_full_s > 1.0, "{time:?}");
    assert!(time.window_full_by_path_s[1] > 0.8 * time.window_full_s, "{time:?}");
    assert!(time.blocked_by_path_s[1] > 10.0 * time.blocked_by_path_s[0], "{time:?}");
}

#[test]
fn goodput_by_path_adds_up_to_the_goodput() {
    let metrics = result(TWO, &scheduler("roundrobin"), 1, &NoFiles).metrics;
    let sum: f64 = metrics.per_path.iter().map(|p| p.goodput_mbps).sum();
    assert!((sum - metrics.goodput_mbps).abs() < 1e-9, "{sum} of {}", metrics.goodput_mbps);
    assert!(metrics.per_path.iter().all(|p| p.goodput_mbps > 0.0));
}

#[test]
fn series_of_subflows_and_links_show_what_the_scenario_says() {
    let r = result(TWO, &scheduler("roundrobin"), 1, &NoFiles);
    let names: Vec<_> = r.paths.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["fast", "slow"]);
    let steps = r.series.goodput_mbps.len();
    assert_eq!((steps, r.series.subflows.len(), r.series.links.len()), (40, 2, 2));
    for s in &r.series.subflows {
        assert_eq!((s.cwnd_segments.len(), s.srtt_ms.len(), s.in_flight_segments.len()), (steps, steps, steps));
        assert!(s.cwnd_segments[20] >= s.in_flight_segments[20], "{s:?}");
    }
    // The round trip of the slow path is its propagation delay and the wait in its queue.
    assert!(r.series.subflows[1].srtt_ms[39] > 80.0);
    assert_eq!(r.series.links[1].link, "slow.up");
    assert_eq!(r.series.links[1].capacity_mbps, vec![1.0; steps]);
    assert!(r.series.links[1].queue_bytes.iter().any(|q| *q > 1514));
}

#[test]
fn a_recorded_trace_starts_somewhere_else_with_each_seed() {
    let text = TWO.replace("rate = \"8Mbps\"", "trace = \"lte.down\"");
    let goodput = |text: &str, seed| result(text, &scheduler("minrtt"), seed, &Trace).digest;
    assert_eq!(goodput(&text, 1), goodput(&text, 1));
    assert_ne!(goodput(&text, 1), goodput(&text, 2));
    let fixed = text.replace("duration = ", "trace_start = \"beginning\"\nduration = ");
    let (one, two) = (result(&fixed, &scheduler("minrtt"), 1, &Trace), result(&fixed, &scheduler("minrtt"), 2, &Trace));
    assert_eq!(one.metrics, two.metrics, "nothing else in it is random");
    // The capacity that is shown is the trace's own: 12 Mbit/s, then 1.2.
    let capacity = &one.series.links[0].capacity_mbps;
    assert!((capacity[5] - 12.0).abs() < 0.2 && (capacity[15] - 1.2).abs() < 0.2, "{capacity:?}");
}

#[test]
fn two_connections_are_two_results_with_a_fairness() {
    let text = format!("{TWO}name = \"a\"\n\n[[connection]]\nname = \"b\"\nmptcp = false\npaths = [\"fast\"]\n");
    let r = result(&text, &scheduler("minrtt"), 1, &NoFiles);
    let [a, b] = &r.connections[..] else { panic!("{:?}", r.connections) };
    assert_eq!((a.name.as_str(), a.measured, a.mptcp), ("a", true, true));
    assert_eq!((b.name.as_str(), b.measured, b.mptcp), ("b", false, false));
    assert!((a.goodput_mbps - r.metrics.goodput_mbps).abs() < 1e-9, "the metrics are of the measured one alone");
    assert!(b.goodput_mbps > 0.5, "{b:?}");
    let fairness = r.metrics.fairness.expect("there are two");
    let (x, y) = (a.goodput_mbps, b.goodput_mbps);
    let expected = (x + y) * (x + y) / (2.0 * (x * x + y * y));
    assert!((fairness - expected).abs() < 1e-12);
}
