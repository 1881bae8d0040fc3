//! 100 simulated seconds of one Reno flow over 100 Mbit/s, 10 ms and a queue of 100 packets, and of a Multipath TCP
//! connection over two such paths.
//!
//! Beside criterion's times, each prints data segments per second of processor time. The segments are those of the
//! sender's counters, retransmissions included. The time is this process's in `/proc/self/stat` (user and system),
//! which hardly depends on other programs.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Document, NoFiles, Scenario, Variant};
use pathweave_lab::sim::Simulation;
use pathweave_units::Instant;

const PATH: &str = r#"
[[path]]
rate = "100Mbps"
delay = "10ms"
queue = "100packets"
down = { rate = "unlimited" }
"#;

fn scenario(name: &str, paths: usize, mptcp: bool) -> Scenario {
    let (head, paths) = (format!("format = 1\nname = \"{name}\"\nduration = \"100s\"\n"), PATH.repeat(paths));
    let text =
        format!("{head}{paths}\n[[connection]]\nmptcp = {mptcp}\nscheduler = \"minrtt\"\ncongestion = \"reno\"\n");
    let document = Document::parse("bench.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    document.scenario(&Registry::builtin(), &Variant::AsWritten).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs the scenario and returns the number of data segments sent.
fn run(scenario: &Scenario) -> u64 {
    let mut simulation = Simulation::new(scenario, 1, &Registry::builtin(), &NoFiles).unwrap_or_else(|e| panic!("{e}"));
    simulation.run_until(Instant::FAR_FUTURE);
    simulation.data_segments_sent()
}

/// Processor time of this process so far, in hundredths of a second as Linux counts it; `None` on other systems.
fn ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // utime and stime are fields 14 and 15 of proc(5). Fields are split after the program's name (field 2), because the
    // name may contain spaces and brackets.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Repeats the run until two seconds of processor time have passed.
fn segments_per_cpu_second(scenario: &Scenario) -> Option<f64> {
    let start = ticks()?;
    let mut segments = 0;
    loop {
        segments += run(scenario);
        let spent = ticks()? - start;
        if spent >= 200 {
            return Some(segments as f64 / (spent as f64 / 100.0));
        }
    }
}

fn flows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("flow");
    group.sample_size(10);
    for scenario in [scenario("reno, one path", 1, false), scenario("minrtt and reno, two paths", 2, true)] {
        let segments = run(&scenario);
        match segments_per_cpu_second(&scenario) {
            Some(rate) => println!("{}: {segments} data segments, {rate:.0} per CPU second", scenario.name),
            None => println!("{}: {segments} data segments; no /proc/self/stat, so no CPU time", scenario.name),
        }
        group.throughput(Throughput::Elements(segments));
        group.bench_function(BenchmarkId::from_parameter(&scenario.name), |b| b.iter(|| run(&scenario)));
    }
    group.finish();
}

criterion_group!(benches, flows);
criterion_main!(benches);
