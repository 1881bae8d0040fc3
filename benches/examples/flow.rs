//! Runs connections over simulated paths and prints the cost: `flow [tcp|mptcp] [SECONDS] [TIMES]`.
//!
//! It links only the engine and the network. The output is one line: data segments delivered, processor seconds,
//! segments per processor second, peak resident memory.

use pathweave_benches::{Setup, World, cpu_seconds, peak_resident_bytes};
use pathweave_units::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let setup = match arguments.first().map(String::as_str) {
        None | Some("tcp") => Setup::tcp(),
        Some("mptcp") => Setup::mptcp(),
        Some(other) => panic!("{other} is neither tcp nor mptcp"),
    };
    let number = |i: usize, default: u64| {
        let given = arguments.get(i).map(|text| text.parse().unwrap_or_else(|e| panic!("{text}: {e}")));
        given.unwrap_or(default)
    };
    let (seconds, times) = (number(1, 100), number(2, 1));
    let before = cpu_seconds();
    let (mut segments, mut bytes) = (0, 0);
    for _ in 0..times {
        let mut world = World::new(&setup);
        world.run_until(Instant::ZERO + Duration::from_secs(seconds));
        segments += world.data_segments_received();
        bytes += world.received_bytes();
    }
    print!("{segments} segments, {:.2} Mbit/s", bytes as f64 * 8e-6 / (seconds * times) as f64);
    if let (Some(before), Some(after)) = (before, cpu_seconds()) {
        print!(", {:.2} CPU s, {:.0} segments per CPU s", after - before, segments as f64 / (after - before));
    }
    match peak_resident_bytes() {
        Some(bytes) => println!(", {:.1} MB", bytes as f64 / 1e6),
        None => println!(),
    }
}
