//! Verdicts of made-up values.

use super::{Found, Judged, Verdict, verdicts};
use crate::record::Record;
use crate::results::Results;
use crate::runs::Sweep;
use crate::testing;
use pathweave_lab::results::Status;

/// A plan with two schedulers, three buffers and a value that is left open, and this comparison.
fn sweep(comparison: &str) -> Sweep {
    testing::sweep(&plan(comparison))
}

fn plan(comparison: &str) -> String {
    format!(
        r#"
format = 1
name = "made-up"
scenarios = ["cp-asymmetric"]
schedulers = ["minrtt", "blest"]
baselines = false
seeds = 3
[[parameter]]
name = "buffer"
values = [40, 100, 400]
set = {{ "connection.receive_buffer" = "{{}}KB" }}
[[parameter]]
name = "send"
values = ["1MB", "2MB"]
open = true
set = {{ "connection.send_buffer" = "{{}}" }}
[[claim]]
id = "c"
says = "c"
source = "here"
[[claim.compare]]
left = "minrtt"
right = "blest"
{comparison}
"#
    )
}

/// The verdict where a run has the goodput that `goodput` says for scheduler, buffer, send buffer and seed.
fn verdict(
    comparison: &str,
    goodput: impl Fn(&str, f64, &str, f64) -> f64,
) -> (Verdict, usize, Option<(usize, usize)>) {
    judge(comparison, goodput, |judged| (judged.verdict, judged.atoms.len(), judged.open))
}

/// What `tell` says of the judged claim.
fn judge<T>(comparison: &str, goodput: impl Fn(&str, f64, &str, f64) -> f64, tell: impl Fn(&Judged<'_>) -> T) -> T {
    judge_in(&sweep(comparison), goodput, tell)
}

fn judge_in<T>(sweep: &Sweep, goodput: impl Fn(&str, f64, &str, f64) -> f64, tell: impl Fn(&Judged<'_>) -> T) -> T {
    let record = |run: usize| {
        let (cell, seed) = sweep.run(run);
        let values = sweep.plan.values(cell.point);
        let buffer = values[0].parse().expect("a buffer is a number");
        let value = goodput(&sweep.variants[cell.variant].name, buffer, values[1], seed as f64);
        testing::record(sweep, run, Status::Completed, value)
    };
    let records: Vec<Record> = (0..sweep.len()).map(record).collect();
    let results = Results::new(sweep, &records);
    let judged = verdicts(sweep, &results).expect("the claim has values");
    tell(&judged[0])
}

#[test]
fn differences_are_of_the_same_seed() {
    // The seeds spread over 20, the differences over 0.2.
    let goodput = |scheduler: &str, _: f64, _: &str, seed: f64| {
        10.0 * seed + if scheduler == "minrtt" { 0.0 } else { 0.5 + 0.1 * seed }
    };
    assert_eq!(verdict("is = \"<\"", goodput), (Verdict::Holds, 6, Some((2, 2))));
    assert_eq!(verdict("is = \">\"", goodput), (Verdict::Fails, 6, Some((0, 2))));
}

#[test]
fn an_interval_that_contains_zero_decides_nothing() {
    let noisy = |scheduler: &str, _: f64, _: &str, seed: f64| if scheduler == "minrtt" { 5.0 } else { 4.0 + seed };
    assert_eq!(verdict("is = \"<\"", noisy).0, Verdict::Undecided);
    assert_eq!(verdict("is = \">\"", noisy).0, Verdict::Undecided);
    assert_eq!(verdict("is = \"=\"\nmargin = \"10%\"", noisy).0, Verdict::Undecided);
    assert_eq!(verdict("is = \"=\"\nmargin = \"60%\"", noisy).0, Verdict::Holds);
}

#[test]
fn open_values_are_decided_by_themselves() {
    let goodput = |scheduler: &str, _: f64, send: &str, _: f64| match (scheduler, send) {
        ("minrtt", "1MB") => 4.0,
        _ => 5.0,
    };
    assert_eq!(verdict("is = \"<\"", goodput), (Verdict::Partly, 6, Some((1, 2))));
}

#[test]
fn an_open_scenario_is_decided_by_itself() {
    let text = r#"
format = 1
name = "made-up"
schedulers = ["minrtt", "blest"]
baselines = false
seeds = 3
[[scenario]]
name = "first"
from = "cp-asymmetric"
open = true
[[scenario]]
name = "second"
from = "cp-asymmetric"
open = true
[[claim]]
id = "c"
says = "c"
source = "here"
[[claim.compare]]
left = "minrtt"
is = "<"
right = "blest"
"#;
    let sweep = testing::sweep(text);
    let record = |run: usize| {
        let cell = sweep.run(run).0;
        let below = cell.scenario == 0 && cell.variant == 0;
        testing::record(&sweep, run, Status::Completed, if below { 4.0 } else { 5.0 })
    };
    let records: Vec<Record> = (0..sweep.len()).map(record).collect();
    let judged = verdicts(&sweep, &Results::new(&sweep, &records)).expect("the claim has values");
    assert_eq!((judged[0].verdict, judged[0].open), (Verdict::Partly, Some((1, 2))));
}

#[test]
fn places_and_margins() {
    let goodput = |scheduler: &str, buffer: f64, _: &str, _: f64| match scheduler {
        "minrtt" if buffer < 100.0 => 4.0,
        "minrtt" => 4.95,
        _ => 5.0,
    };
    assert_eq!(verdict("is = \"<\"\nwhere = { buffer = \"< 100\" }", goodput), (Verdict::Holds, 2, Some((2, 2))));
    assert_eq!(verdict("is = \">=\"\nmargin = \"2%\"\nwhere = { buffer = [100, 400] }", goodput).0, Verdict::Holds);
    assert_eq!(verdict("is = \">=\"\nmargin = \"2%\"", goodput).0, Verdict::Partly);
    assert_eq!(verdict("is = \"<\"\nfactor = 0.9", goodput).0, Verdict::Partly);
    // The smallest buffer against the largest one, whatever else is compared.
    let (verdict, atoms, _) =
        verdict("is = \"<\"\nleft_at = { buffer = 40 }\nright_at = { buffer = 400 }", |_, buffer, _, _| buffer);
    assert_eq!((verdict, atoms), (Verdict::Holds, 2));
}

#[test]
fn all_points_together() {
    // Below 4.5 are one of minrtt's three points and none of blest's.
    let goodput = |scheduler: &str, buffer: f64, _: &str, _: f64| {
        if scheduler == "minrtt" && buffer < 100.0 { 4.0 } else { 5.0 }
    };
    assert_eq!(verdict("is = \">\"\nover = \"share below 4.5\"", goodput), (Verdict::Holds, 2, Some((2, 2))));
    assert_eq!(verdict("is = \"=\"\nover = \"median\"", goodput).0, Verdict::Holds);
    assert_eq!(verdict("is = \"<\"\nover = \"least\"", goodput).0, Verdict::Holds);
}

#[test]
fn the_points_can_be_the_sample() {
    // minrtt is lower at two of three buffers, with every seed.
    let goodput = |scheduler: &str, buffer: f64, _: &str, _: f64| match scheduler {
        "minrtt" if buffer < 400.0 => 4.0,
        _ => 5.0,
    };
    let over = |over: &str, sample: &str| format!("is = \"<\"\nover = \"{over}\"\nsample = \"{sample}\"");
    let ends = |judged: &Judged<'_>| (judged.verdict, judged.atoms[0].left, judged.atoms[0].difference.bounds());
    // With the seeds as the sample all differences are the same. The points' are -1, -1 and 0: the t quantile with two degrees of
    // freedom is 4.303, so the half width is 4.303 · 0.5774 / √3 = 1.434.
    assert_eq!(judge(&over("mean", "seeds"), goodput, ends).0, Verdict::Holds);
    let (verdict, left, bounds) = judge(&over("mean", "points"), goodput, ends);
    let (low, high) = bounds.expect("there are three points");
    assert_eq!((verdict, left), (Verdict::Undecided, 13.0 / 3.0));
    assert!((low + 2.0 / 3.0 + 1.434).abs() < 1e-3 && (high + 2.0 / 3.0 - 1.434).abs() < 1e-3, "{low} to {high}");
    let share = "is = \">\"\nover = \"share below 4.5\"\nsample = \"points\"";
    assert_eq!(judge(share, goodput, |judged| judged.atoms[0].left), 2.0 / 3.0);
}

/// The three ways in which a comparison does not support a claim, each at one buffer.
#[test]
fn what_contradicts_what_is_undecided_and_what_is_a_tie_are_told_apart() {
    let goodput = |scheduler: &str, buffer: f64, _: &str, seed: f64| match (scheduler, buffer as u32) {
        ("minrtt", 40) => 6.0,
        ("minrtt", 100) => 3.0 + seed,
        _ => 5.0,
    };
    let found = |judged: &Judged<'_>| {
        let counts = Found::ALL.map(|found| judged.count(found));
        (judged.verdict, counts)
    };
    assert_eq!(judge("is = \"<\"", goodput, found), (Verdict::Fails, [0, 2, 2, 2]));
    assert_eq!(judge("is = \">\"", goodput, found), (Verdict::Partly, [2, 0, 2, 2]));
    // Ties alone do not support a claim that two schedulers differ.
    let equal = |_: &str, _: f64, _: &str, seed: f64| seed;
    assert_eq!(judge("is = \"<\"", equal, found), (Verdict::Fails, [0, 0, 0, 6]));
    assert_eq!(judge("is = \"<=\"", equal, found), (Verdict::Holds, [6, 0, 0, 0]));
    // Beyond a margin on the wrong side.
    let above = |scheduler: &str, _: f64, _: &str, _: f64| if scheduler == "minrtt" { 5.0 } else { 4.0 };
    assert_eq!(judge("is = \"<=\"\nmargin = \"10%\"", above, found), (Verdict::Fails, [0, 6, 0, 0]));
    assert_eq!(judge("is = \"=\"\nmargin = \"10%\"", above, found), (Verdict::Fails, [0, 6, 0, 0]));
}

#[test]
fn a_claim_that_holds_partly_says_where() {
    let region = |judged: &Judged<'_>| judged.region.clone();
    let by_buffer = |scheduler: &str, buffer: f64, _: &str, _: f64| {
        if scheduler == "minrtt" && buffer > 50.0 { 4.0 } else { 5.0 }
    };
    assert_eq!(judge("is = \"<\"", by_buffer, region).as_deref(), Some("by buffer: 40 never, 100 and 400 always"));
    let by_send = |scheduler: &str, _: f64, send: &str, _: f64| {
        if scheduler == "minrtt" && send == "2MB" { 4.0 } else { 5.0 }
    };
    assert_eq!(judge("is = \"<\"", by_send, region).as_deref(), Some("by send: 1MB never, 2MB always"));
    let whole = |scheduler: &str, _: f64, _: &str, _: f64| if scheduler == "minrtt" { 4.0 } else { 5.0 };
    assert_eq!(judge("is = \"<\"", whole, region), None, "it holds everywhere");
    // Two of six, of which no parameter tells more than one buffer.
    let corner = |scheduler: &str, buffer: f64, send: &str, _: f64| {
        let is = (buffer == 40.0 && send == "1MB") || (buffer == 100.0 && send == "2MB");
        if scheduler == "minrtt" && is { 4.0 } else { 5.0 }
    };
    assert_eq!(judge("is = \"<\"", corner, region).as_deref(), Some("by buffer: 40 and 100 1 of 2, 400 never"));
}

#[test]
fn where_a_claim_holds_is_said_without_braces() {
    let by_send = |scheduler: &str, _: f64, send: &str, _: f64| {
        if scheduler == "minrtt" && send == "{buffer}KB" { 4.0 } else { 5.0 }
    };
    let text = plan("is = \"<\"").replace("\"2MB\"", "\"{buffer}KB\"");
    let region = judge_in(&testing::sweep(&text), by_send, |judged| judged.region.clone());
    assert_eq!(region.as_deref(), Some("by send: 1MB never, as buffer always"));
}
