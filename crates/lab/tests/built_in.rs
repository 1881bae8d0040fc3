//! What the built-in scenarios must show.

use pathweave_lab::results::{Metrics, Status};
use pathweave_lab::run;
use pathweave_lab::scenario::{NoFiles, SchedulerSpec, Variant, builtin};
use pathweave_proto::Registry;

fn metrics(scenario: &str, variant: &Variant, seed: u64, settings: &[(&str, &str)]) -> Metrics {
    let mut document = builtin(scenario).expect("a built-in scenario");
    for (key, value) in settings {
        document.set(key, value).expect("a right setting");
    }
    let result = run(&document, variant, seed, &Registry::builtin(), &NoFiles).expect("it runs");
    assert_eq!(result.status, Status::Completed, "{scenario} {}: {:?}", variant.label(), result.reason);
    result.metrics
}

fn scheduler(text: &str) -> Variant {
    Variant::Scheduler(SchedulerSpec::parse(text).expect("a scheduler"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

/// Linux 6.12 gets 7.643 Mbit/s in the first 20 s: 1448 of every 1514 bytes, less the start.
#[test]
fn plain_tcp_on_the_fast_path_fills_it_as_linux_does() {
    let ours = metrics("cp-asymmetric", &Variant::PlainTcp(0), 1, &[]).goodput_mbps;
    assert!((ours / 7.643 - 1.0).abs() < 0.005, "{ours}");
}

#[test]
fn over_wlan_and_3g_minrtt_and_blest_beat_the_best_plain_tcp() {
    let over_seeds = |v: &Variant| median((1..=20).map(|s| metrics("wlan-3g", v, s, &[]).goodput_mbps).collect());
    let best = over_seeds(&Variant::PlainTcp(0)).max(over_seeds(&Variant::PlainTcp(1)));
    for name in ["minrtt", "blest"] {
        let ours = over_seeds(&scheduler(name));
        assert!(ours > best, "{name}: {ours}, plain TCP {best}");
    }
}

/// CP Fig. 19, BLEST §II: a receive window that the slow path holds up is what the mechanism is for.
#[test]
fn opportunistic_retransmission_unblocks_a_window_that_the_slow_path_holds() {
    let small = [("connection.receive_buffer", "200KB")];
    let without = metrics("cp-asymmetric", &scheduler("minrtt"), 1, &small);
    assert!(without.window_limited_s > 10.0, "{}", without.window_limited_s);
    let with = metrics("cp-asymmetric", &scheduler("minrtt:pr=true"), 1, &small);
    assert!(with.opportunistic_retransmissions > 0 && with.penalisations > 0);
    assert!(with.goodput_mbps > 2.0 * without.goodput_mbps, "{} {}", with.goodput_mbps, without.goodput_mbps);
}

/// The kernel's dips under plain TCP with small receive windows, and their absence in between (measured: 2.96, 7.66, 7.81,
/// 3.74 and 4.13 Mbit/s).
#[test]
fn the_kernels_scheduler_dips_at_some_receive_windows() {
    let goodput = |buffer: &str| {
        metrics("cp-asymmetric", &scheduler("linux"), 1, &[("connection.receive_buffer", buffer)]).goodput_mbps
    };
    for buffer in ["39KB", "156KB", "311KB"] {
        assert!(goodput(buffer) < 5.0, "{buffer}: {}", goodput(buffer));
    }
    for buffer in ["58KB", "78KB"] {
        assert!(goodput(buffer) > 6.5, "{buffer}: {}", goodput(buffer));
    }
}
