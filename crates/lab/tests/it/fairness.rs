//! The aim of coupled congestion control (RFC 6356 §2): at a shared bottleneck, the two subflows of a connection take
//! together about as much as one TCP flow. Uncoupled, they take twice as much.
//!
//! `cargo xtask fairness` prints the table of all seeds; the ordinary tests take fewer.

use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Document, NoFiles, Variant};
use pathweave_units::random::Random;

const SCENARIO: &str = include_str!("fairness/shared-bottleneck.toml");

/// Controllers, with the limits of the median over the seeds of the connection's rate relative to the TCP flow's.
const BANDS: [(&str, f64, f64); 4] = [("lia", 0.8, 1.2), ("olia", 0.8, 1.2), ("balia", 0.8, 1.2), ("reno", 1.7, 2.3)];

/// The latest start of a flow.
const LATEST_START_MS: u64 = 5_000;

/// The connection's goodput relative to the TCP flow's. The flows start at random times.
fn ratio(controller: &str, seed: u64) -> f64 {
    let mut document = Document::parse("shared-bottleneck.toml", SCENARIO).expect("it is TOML");
    let mut random = Random::substream(seed, "starts");
    for flow in ["mptcp", "tcp"] {
        let start = random.below(LATEST_START_MS);
        document.set(&format!("connection.{flow}.start"), &format!("{start}ms")).expect("it is a setting");
    }
    document.set("connection.mptcp.congestion", controller).expect("it is a setting");
    let result = pathweave_lab::run(&document, &Variant::AsWritten, seed, &Registry::builtin(), &NoFiles);
    let rates: Vec<f64> = result.expect("it runs").metrics.per_path.iter().map(|p| p.goodput_mbps).collect();
    assert!(rates.iter().sum::<f64>() > 8.5, "the bottleneck is used: {rates:?}");
    (rates[0] + rates[1]) / rates[2]
}

/// Ratios of the seeds from 1, in ascending order.
fn ratios(controller: &str, seeds: u64) -> Vec<f64> {
    let mut all: Vec<f64> = (1..=seeds).map(|seed| ratio(controller, seed)).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

fn all_are_in_their_bands(seeds: u64) {
    println!("Rate of two subflows over the rate of one TCP flow (Reno) at a shared bottleneck, {seeds} seeds\n");
    println!("{:<12} {:>6} {:>6} {:>6}  wanted median", "controller", "least", "median", "most");
    let mut missed = Vec::new();
    for (controller, least, most) in BANDS {
        let all = ratios(controller, seeds);
        let median = median(&all);
        println!("{controller:<12} {:>6.2} {median:>6.2} {:>6.2}  {least} to {most}", all[0], all[all.len() - 1]);
        if !(least..=most).contains(&median) {
            missed.push(format!("{controller}: {median:.2} is not in {least} to {most}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("; "));
}

#[test]
fn coupled_controllers_share_a_bottleneck_with_tcp() {
    all_are_in_their_bands(7);
}

#[test]
#[ignore = "80 runs of two minutes; cargo xtask fairness"]
fn of_all_seeds() {
    all_are_in_their_bands(20);
}
