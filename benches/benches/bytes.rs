//! Real bytes with one segment in a packet, and with several as one: the sender's and the receiver's time for a
//! megabyte.
//!
//! `cargo bench -p pathweave-benches --bench bytes`. Criterion measures each case by itself. Then rounds that alternate
//! between the cases give the ratios, as medians. Only the ratios can be compared between machines.
#![expect(clippy::disallowed_methods, reason = "a benchmark reads a clock")]

use criterion::{Criterion, Throughput};
use pathweave_benches::{Transfer, TransferSetup};
use std::time::{Duration, Instant};

const MEGABYTE: u64 = 1_000_000;
const ROUNDS: usize = 11;
const MEGABYTES_PER_ROUND: u64 = 300;

/// The time that each end has used.
#[derive(Clone, Copy, Default)]
struct Times {
    sent: Duration,
    received: Duration,
}

/// Moves this many more megabytes.
fn run(transfer: &mut Transfer, megabytes: u64) -> Times {
    let (mut times, end) = (Times::default(), transfer.received() + megabytes * MEGABYTE);
    while transfer.received() < end {
        let start = Instant::now();
        transfer.receive();
        let between = Instant::now();
        transfer.send();
        times.received += between - start;
        times.sent += between.elapsed();
    }
    times
}

fn started(setup: TransferSetup) -> Transfer {
    let mut transfer = Transfer::new(setup);
    transfer.run_until_received(10 * MEGABYTE);
    transfer
}

fn cases() -> [(&'static str, TransferSetup); 2] {
    [("one by one", TransferSetup::one_by_one()), ("several as one", TransferSetup::several_as_one())]
}

fn measure(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bytes");
    group.throughput(Throughput::Bytes(MEGABYTE));
    for (name, setup) in cases() {
        // Checks the work first: every byte of a first run is compared.
        Transfer::new(TransferSetup { compares: true, ..setup }).run_until_received(20 * MEGABYTE);
        let mut transfer = started(setup);
        group.bench_function(format!("{name}, sent"), |b| b.iter_custom(|n| run(&mut transfer, n).sent));
        group.bench_function(format!("{name}, received"), |b| b.iter_custom(|n| run(&mut transfer, n).received));
    }
    group.finish();
}

/// Measures in alternation how many times faster several segments as one are, and prints the ratios.
fn print_ratios() {
    let mut transfers = cases().map(|(_, setup)| started(setup));
    let mut ratios = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        let [one, several] = [0, 1].map(|i| run(&mut transfers[i], MEGABYTES_PER_ROUND));
        let of = |time: fn(&Times) -> Duration| time(&one).as_secs_f64() / time(&several).as_secs_f64();
        for (ratios, ratio) in ratios.iter_mut().zip([of(|t| t.sent), of(|t| t.received), of(|t| t.sent + t.received)])
        {
            ratios.push(ratio);
        }
    }
    let [sent, received, both] = ratios.map(|mut ratios| {
        ratios.sort_by(f64::total_cmp);
        ratios[ROUNDS / 2]
    });
    println!("several as one are {sent:.2} times as fast when sent, {received:.2} when received, {both:.2} in all");
    println!("(medians of {ROUNDS} rounds of {MEGABYTES_PER_ROUND} MB each)");
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    measure(&mut criterion);
    criterion.final_summary();
    // `cargo test` only sees whether it runs.
    if std::env::args().any(|argument| argument == "--bench") {
        print_ratios();
    }
}
