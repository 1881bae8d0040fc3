//! Claims of DPSAF §IV.A about random loss that hold here. The others are in `docs/notes/dpsaf-forward-prediction.md`.

use pathweave_algorithms::Registry;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};

/// DPSAF Fig. 8, whose delays are one-way; without its background traffic. The buffer of Figs. 9 to 11 is not stated.
const SCENARIO: &str = r#"
format = 1
name = "dpsaf"
duration = "300s"
[[path]]
name = "fast"
rate = "2Mbps"
delay = "70ms"
queue = "100packets"
[[path]]
name = "slow"
rate = "1Mbps"
delay = "220ms"
queue = "100packets"
loss = 0.001
[[connection]]
name = "c"
workload = "transfer:size=10MB"
direction = "upload"
congestion = "reno"
send_buffer = "16MiB"
receive_buffer = "64KiB"
share_data_acks = false
"#;

/// Median of ten seeds, Mbit/s.
fn goodput(scheduler: &str, loss: &str) -> f64 {
    let mut document = Document::parse("dpsaf.toml", SCENARIO).unwrap_or_else(|e| panic!("{e}"));
    document.set("path.fast.loss", loss).expect("a right setting");
    let variant = Variant::Scheduler(SchedulerSpec::parse(scheduler).expect("a scheduler"));
    let one =
        |seed| run(&document, &variant, seed, &Registry::builtin(), &NoFiles).expect("it runs").metrics.goodput_mbps;
    let mut all: Vec<f64> = (1..=10).map(one).collect();
    all.sort_by(f64::total_cmp);
    (all[4] + all[5]) / 2.0
}

/// Fig. 9. With 0.5 % of loss, `fpdps` and `fps` are a tie here.
#[test]
fn prediction_with_losses_beats_prediction_without_and_that_beats_round_robin() {
    for loss in ["0.01", "0.02"] {
        let [fpdps, fps, rr] = ["fpdps", "fps", "roundrobin:num_segments=window"].map(|s| goodput(s, loss));
        assert!(fpdps > fps && fps > rr, "at a loss of {loss}: fpdps {fpdps}, fps {fps}, round robin {rr}");
    }
}

/// Fig. 12's text: prediction that ignores losses may do worse than no prediction.
#[test]
fn with_much_loss_only_prediction_without_it_is_worse_than_round_robin() {
    let [fpdps, fps, rr] = ["fpdps", "fps", "roundrobin:num_segments=window"].map(|s| goodput(s, "0.05"));
    assert!(fpdps > rr && rr > fps, "fpdps {fpdps}, fps {fps}, round robin {rr}");
}
