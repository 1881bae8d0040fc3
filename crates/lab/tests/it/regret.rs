//! The cost for `weave` when a path becomes worse than `weave` assumes: the sum in docs/weave.md, over whole runs.

use pathweave_algorithms::Registry;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};

/// Seconds: the end of the run with one change, and the time of the second path's change, from which on is measured.
const END: f64 = 8.0;
const CHANGE: f64 = 3.0;
/// Rate of the first path in bytes/s, and one-way delays of both paths, s.
const RATE: f64 = 20e6 / 8.0;
const THERE: [f64; 2] = [0.01, 0.04];
/// Time for which a path's old rate may be assumed after it fell, s: longer than the slow path takes to show a queue.
const BELIEVED: f64 = 2.0;

/// Bytes that arrive in order after [`CHANGE`] until `end`. `changes` are those of the second path, which has `mbps`.
fn delivered(scheduler: &str, mbps: f64, changes: &str, window_kb: u64, end: f64, seed: u64) -> f64 {
    let text = format!(
        "format = 1\nname = \"regret\"\nduration = \"{end}s\"\nmeasure_from = \"{CHANGE}s\"\n\
         [[path]]\nrate = \"20Mbps\"\ndelay = \"10ms\"\njitter = \"uniform:amplitude=0.1ms\"\n\
         [[path]]\nrate = \"{mbps}Mbps\"\ndelay = \"40ms\"\njitter = \"uniform:amplitude=0.1ms\"\n{changes}\
         [[connection]]\nname = \"bulk\"\nworkload = \"bulk\"\ndirection = \"upload\"\nsend_buffer = \"16MiB\"\n\
         receive_buffer = \"{window_kb}KB\"\nfailure_detection = \"fast\"\n"
    );
    let document = Document::parse("regret.toml", &text).expect("a scenario");
    let variant = Variant::Scheduler(SchedulerSpec::parse(scheduler).expect("a scheduler"));
    let result = run(&document, &variant, seed, &Registry::builtin(), &NoFiles).expect("it runs");
    result.metrics.goodput_mbps * 1e6 / 8.0 * (end - CHANGE)
}

fn change(at: f64, what: &str) -> String {
    format!("[[path.change]]\nat = \"{at}s\"\n{what}\n")
}

/// The bytes that `scheduler` delivers less than the first path alone, and its limit: Σ r_j·(T + D + RTT_i + o_j) + W,
/// where D is at most the time that the window takes on the first path, plus the second path's delay.
fn regret(scheduler: &str, change: &str, wrong: f64, window_kb: u64, seed: u64) -> (f64, f64) {
    let delivered = |name: &str| delivered(name, 20.0, &self::change(CHANGE, change), window_kb, END, seed);
    let window = window_kb as f64 * 1e3;
    let horizon = f64::max(THERE[1], window / RATE);
    let most = RATE * (wrong + horizon + 2.0 * THERE[1] + THERE[0]) + window;
    (delivered("single:path=0") - delivered(scheduler), most)
}

const WINDOWS_KB: [u64; 3] = [156, 311, 622];

#[test]
fn a_path_that_dies_costs_weave_no_more_than_the_bound() {
    for window in WINDOWS_KB {
        for seed in 1..=3 {
            // The path gets data until its cap is reached, which takes at most the horizon and the path's way back.
            let wrong = f64::max(THERE[1], window as f64 * 1e3 / RATE) + THERE[1];
            let (lost, most) = regret("weave", "up = false", wrong, window, seed);
            assert!(lost <= most, "{window} KB, seed {seed}: {lost} bytes, at most {most}");
        }
    }
}

#[test]
fn a_path_that_becomes_slow_costs_weave_no_more_than_the_bound() {
    for rate in ["2Mbps", "500kbps"] {
        for window in WINDOWS_KB {
            for seed in 1..=3 {
                let (lost, most) = regret("weave", &format!("rate = \"{rate}\""), BELIEVED, window, seed);
                assert!(lost <= most, "{rate}, {window} KB, seed {seed}: {lost} bytes, at most {most}");
            }
        }
    }
}

#[test]
fn a_scheduler_that_trusts_the_path_exceeds_the_bound() {
    let (lost, most) = regret("roundrobin", "rate = \"500kbps\"", BELIEVED, 311, 1);
    assert!(lost > most, "{lost} bytes, at most {most}");
}

/// The bytes that `scheduler` delivers less than the first path alone, beside a path of 1 Mbit/s that stops again and
/// again for 1.5 s; and its limit: what the first path delivers in each such wait.
fn regret_of_standing_still(scheduler: &str, window_kb: u64, seed: u64) -> (f64, f64) {
    let (still, cycles) = (1.5, 10);
    let end = CHANGE + 2.0 * still * f64::from(cycles);
    let starts = (0..cycles).map(|n| CHANGE + 2.0 * still * f64::from(n));
    let changes = starts.map(|at| change(at, "rate = \"20kbps\"") + &change(at + still, "rate = \"1Mbps\""));
    let changes: String = changes.collect();
    let delivered = |name: &str| delivered(name, 1.0, &changes, window_kb, end, seed);
    let most = f64::from(cycles) * RATE * (still + 2.0 * THERE[1]);
    (delivered("single:path=0") - delivered(scheduler), most)
}

#[test]
fn a_path_that_stands_still_again_and_again_costs_weave_no_more_than_a_wait_each_time() {
    for window in WINDOWS_KB {
        for seed in 1..=2 {
            let (lost, most) = regret_of_standing_still("weave", window, seed);
            assert!(lost <= most, "{window} KB, seed {seed}: {lost} bytes, at most {most}");
        }
    }
    let (lost, most) = regret_of_standing_still("minrtt", 311, 1);
    assert!(lost > most, "minrtt trusts it: {lost} bytes, at most {most}");
}
