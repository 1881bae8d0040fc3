//! Runs one variant of a built-in scenario: `try SCENARIO SCHEDULER|tcpN SEED [KEY=VALUE ...]`.
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant, builtin};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut d: Document = builtin(&a[1]).expect("a scenario");
    for kv in &a[4..] {
        let (k, v) = kv.split_once('=').unwrap();
        d.set(k, v).unwrap();
    }
    let v = match a[2].strip_prefix("tcp") {
        Some(n) => Variant::PlainTcp(n.parse().unwrap()),
        None => Variant::Scheduler(SchedulerSpec::parse(&a[2]).unwrap()),
    };
    let r = pathweave_lab::run(&d, &v, a[3].parse().unwrap(), &pathweave_proto::Registry::builtin(), &NoFiles).unwrap();
    println!(
        "{} {:?} {:?} {} {}",
        r.scheduler,
        r.status,
        r.reason,
        r.digest,
        serde_json::to_string(&r.metrics).unwrap()
    );
    println!(
        "{:?}",
        r.series
            .goodput_mbps
            .chunks((1.0 / r.series.step_s) as usize)
            .map(|c| (c.iter().sum::<f64>() / c.len() as f64 * 1000.0).round() / 1000.0)
            .collect::<Vec<_>>()
    );
}
