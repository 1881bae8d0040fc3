//! Verdicts of made-up values.

use super::{Verdict, verdicts};
use crate::record::Record;
use crate::results::Results;
use crate::runs::Sweep;
use crate::testing;
use pathweave_lab::results::Status;

/// A plan with two schedulers, three buffers and a value that is left open, and this comparison.
fn sweep(comparison: &str) -> Sweep {
    let text = format!(
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
    );
    testing::sweep(&text)
}

/// The verdict where a run has the goodput that `goodput` says for scheduler, buffer, send buffer and seed.
fn verdict(
    comparison: &str,
    goodput: impl Fn(&str, f64, &str, f64) -> f64,
) -> (Verdict, usize, Option<(usize, usize)>) {
    let sweep = sweep(comparison);
    let record = |run: usize| {
        let (cell, seed) = sweep.run(run);
        let values = sweep.plan.values(cell.point);
        let buffer = values[0].parse().expect("a buffer is a number");
        let value = goodput(&sweep.variants[cell.variant].name, buffer, values[1], seed as f64);
        testing::record(&sweep, run, Status::Completed, value)
    };
    let records: Vec<Record> = (0..sweep.len()).map(record).collect();
    let results = Results::new(&sweep, &records);
    let judged = verdicts(&sweep, &results).expect("the claim has values");
    (judged[0].verdict, judged[0].atoms.len(), judged[0].open)
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
    assert_eq!(verdict("is = \"<\"", noisy).0, Verdict::Fails);
    assert_eq!(verdict("is = \">\"", noisy).0, Verdict::Fails);
    assert_eq!(verdict("is = \"=\"\nmargin = \"10%\"", noisy).0, Verdict::Fails);
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
