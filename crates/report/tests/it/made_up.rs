//! Made-up results that look like those of runs.

use pathweave_lab::benefit::fill_aggregation_benefit;
use pathweave_lab::results::{
    Manifest, Metrics, OutOfOrder, PathInfo, PathMetrics, RunResult, SCHEMA_VERSION, Series, Status,
};

/// For each scheduler: its goodput over WLAN and 3G, the fraction on the first path, and the out-of-order bytes.
const SHAPES: [(&str, f64, f64, f64); 8] = [
    ("minrtt", 6.6, 0.71, 310e3),
    ("roundrobin", 4.1, 0.52, 640e3),
    ("redundant", 7.1, 0.51, 12e3),
    ("blest", 9.4, 0.86, 85e3),
    ("linux", 8.3, 0.80, 150e3),
    ("single", 7.5, 1.0, 9e3),
    ("tcp-path0", 7.6, 1.0, 8e3),
    ("tcp-path1", 2.9, 0.0, 3e3),
];

struct Noise(u64);

impl Noise {
    /// A random number from −1 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    }
}

/// Results of eight schedulers with `seeds` seeds, `seconds` long in steps of 100 ms.
pub(crate) fn results(scenario: &str, seeds: u64, seconds: f64, sized: bool) -> Vec<RunResult> {
    let mut all = Vec::new();
    for (i, (scheduler, goodput, first, queue)) in SHAPES.into_iter().enumerate() {
        for seed in 1..=seeds {
            let mut noise = Noise(seed * 1000 + i as u64);
            let level = goodput * (1.0 + 0.06 * noise.next());
            let seconds = if sized { seconds * 6.0 / level } else { seconds };
            let steps = (seconds * 10.0) as usize;
            let wave = |t: usize| ((t / 17 % 3) as f64 - 1.0) * 0.1;
            let goodput_mbps: Vec<f64> =
                (0..steps).map(|t| level * (t as f64 / 8.0).min(1.0) * (1.0 + wave(t) + 0.12 * noise.next())).collect();
            let out_of_order_bytes: Vec<u64> = (0..steps)
                .map(|t| {
                    (queue * (t as f64 / 12.0).min(1.0) * (0.5 + wave(t) * 3.0 + 0.4 * noise.next()).max(0.0)) as u64
                })
                .collect();
            let mean = goodput_mbps.iter().sum::<f64>() / steps as f64;
            let bytes = mean * 1e6 / 8.0 * seconds;
            let mut sorted = out_of_order_bytes.clone();
            sorted.sort_unstable();
            all.push(RunResult {
                schema_version: SCHEMA_VERSION,
                scenario: scenario.into(),
                scheduler: scheduler.into(),
                congestion: "reno".into(),
                seed,
                status: Status::Completed,
                reason: None,
                digest: format!("{:032x}", u128::from(seed) << 64 | i as u128),
                metrics: Metrics {
                    goodput_mbps: mean,
                    completion_s: sized.then_some(seconds),
                    retransmitted_segments: (30.0 + 20.0 * noise.next()) as u64,
                    reinjected_segments: if scheduler == "linux" { 12 + seed } else { 0 },
                    head_of_line_blocked_s: queue / 1e5,
                    window_limited_s: queue / 4e5,
                    out_of_order_bytes: OutOfOrder {
                        mean: sorted.iter().sum::<u64>() as f64 / steps as f64,
                        p95: sorted[steps * 95 / 100],
                        max: sorted[steps - 1],
                        looked_at: 0.0,
                    },
                    per_path: [first, 1.0 - first]
                        .map(|part| PathMetrics {
                            sent_bytes: (bytes * part) as u64,
                            goodput_mbps: mean * part,
                            ..PathMetrics::default()
                        })
                        .into(),
                    ..Metrics::default()
                },
                series: Series {
                    step_s: 0.1,
                    per_path_mbps: [first, 1.0 - first].map(|p| goodput_mbps.iter().map(|g| g * p).collect()).into(),
                    goodput_mbps,
                    out_of_order_bytes,
                    ..Series::default()
                },
                paths: ["wlan", "3g"].map(|name| PathInfo { name: name.into(), backup: false }).into(),
                manifest: Manifest {
                    version: "0.1.0".into(),
                    scenario_hash: format!("{:032x}", 0x9ed5_u128 << 100 | 0x17),
                    overrides: [("connection.receive_buffer".to_owned(), "60KB".to_owned())].into(),
                    scheduler_parameters: match scheduler {
                        "blest" => [("lambda", "1"), ("delta", "0.05")].map(|(k, v)| (k.into(), v.into())).into(),
                        _ => Default::default(),
                    },
                    ..Manifest::default()
                },
                ..RunResult::default()
            });
        }
    }
    fill_aggregation_benefit(&mut all);
    all
}
