//! Runs connections over simulated paths and says what that cost: `flow [tcp|mptcp] [SECONDS]`.
//!
//! It links the engine and the network only. One line comes out: data segments delivered, processor seconds, segments per
//! processor second, peak resident memory.

use pathweave_benches::{Setup, World, cpu_seconds, peak_resident_bytes};
use pathweave_units::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let setup = match arguments.first().map(String::as_str) {
        None | Some("tcp") => Setup::tcp(),
        Some("mptcp") => Setup::mptcp(),
        Some(other) => panic!("{other} is neither tcp nor mptcp"),
    };
    let seconds = arguments.get(1).map_or(100, |s| s.parse().unwrap_or_else(|e| panic!("seconds: {e}")));
    let before = cpu_seconds();
    let mut world = World::new(&setup);
    world.run_until(Instant::ZERO + Duration::from_secs(seconds));
    let segments = world.data_segments_received();
    let mbps = world.received_bytes() as f64 * 8e-6 / seconds as f64;
    print!("{segments} segments, {mbps:.2} Mbit/s");
    if let (Some(before), Some(after)) = (before, cpu_seconds()) {
        print!(", {:.2} CPU s, {:.0} segments per CPU s", after - before, segments as f64 / (after - before));
    }
    match peak_resident_bytes() {
        Some(bytes) => println!(", {:.1} MB", bytes as f64 / 1e6),
        None => println!(),
    }
}
