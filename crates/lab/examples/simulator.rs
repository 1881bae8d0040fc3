//! The work of the example `flow` in `pathweave-benches`, with all that the simulator adds to engine and network:
//! a scenario, metrics, and the digest of every packet. `simulator [tcp|mptcp] [SECONDS] [TIMES]`.

use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Document, NoFiles, Variant};
use pathweave_lab::sim::Simulation;
use pathweave_units::Instant;

const PATH: &str = r#"
[[path]]
rate = "100Mbps"
delay = "10ms"
queue = "100packets"
"#;

/// Processor time of this process so far, in seconds.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Fields count from after the program's name, which may hold anything: utime and stime are numbers 14 and 15 of proc(5).
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?) / 100.0)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize, default: &str| arguments.get(i).map_or(default.to_owned(), Clone::clone);
    let (work, seconds) = (argument(0, "tcp"), argument(1, "100"));
    let times: u32 = argument(2, "1").parse().unwrap_or_else(|e| panic!("TIMES: {e}"));
    let (mptcp, paths) = if work == "mptcp" { (true, 2) } else { (false, 1) };
    let text = format!(
        "format = 1\nname = \"{work}\"\nduration = \"{seconds}s\"\n{}\n[[connection]]\nmptcp = {mptcp}\n\
         scheduler = \"minrtt\"\ncongestion = \"reno\"\n",
        PATH.repeat(paths)
    );
    let registry = Registry::builtin();
    let document = Document::parse("flow.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let scenario = document.scenario(&registry, &Variant::AsWritten).unwrap_or_else(|e| panic!("{e}"));
    let before = cpu_seconds();
    let mut segments = 0;
    for _ in 0..times {
        let mut simulation = Simulation::new(&scenario, 1, &registry, &NoFiles).unwrap_or_else(|e| panic!("{e}"));
        simulation.run_until(Instant::FAR_FUTURE);
        segments += simulation.data_segments_received();
    }
    print!("{segments} segments");
    if let (Some(before), Some(after)) = (before, cpu_seconds()) {
        print!(", {:.2} CPU s, {:.0} segments per CPU s", after - before, segments as f64 / (after - before));
    }
    println!();
}
