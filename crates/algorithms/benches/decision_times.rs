//! The time of a decision, with the scheduler's handling of the events in between, for each scheduler and connection.

mod world;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pathweave_algorithms::Registry;
use std::time::Duration;
use world::{CONNECTIONS, World};

/// The number of decisions in one measurement.
const DECISIONS: u64 = 2000;

fn decisions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decisions");
    group.sample_size(10).warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(300));
    group.throughput(Throughput::Elements(DECISIONS));
    for factory in Registry::builtin().schedulers() {
        for connection in &CONNECTIONS {
            let mut world = World::new(factory.as_ref(), connection);
            world.run(5000);
            group.bench_function(BenchmarkId::new(factory.name(), connection.name), |b| {
                b.iter(|| {
                    let end = world.decisions + DECISIONS;
                    world.run(end);
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
