//! How far a plan's baseline is from the source's: if the default scheduler already differs, so do the networks.

use crate::plan::{Condition, Printed};
use crate::results::Results;
use crate::runs::Sweep;
use pathweave_lab::metric;
use pathweave_report::short;

/// A baseline within this factor of the source's number is near it.
const FACTOR: f64 = 1.5;

/// A sentence for each number that the source has for its baseline; empty if there are no runs.
pub fn sentences(sweep: &Sweep, results: &Results) -> Vec<String> {
    let baselines = sweep.plan.printed.iter().filter(|printed| printed.calibrates);
    baselines.filter_map(|one| sentence(sweep, results, one)).collect()
}

fn sentence(sweep: &Sweep, results: &Results, one: &Printed) -> Option<String> {
    let plan = &sweep.plan;
    let places = (0..plan.scenarios.len()).flat_map(|s| (0..plan.points.len()).map(move |p| (s, p)));
    let places = places.filter(|(_, point)| one.is_of(plan, *point));
    let estimates = places.filter_map(|(s, point)| results.estimate(s, point, one.variant, &one.metric));
    let means: Vec<f64> = estimates.map(|e| e.mean).collect();
    let least = means.iter().copied().min_by(f64::total_cmp)?;
    let most = means.iter().copied().max_by(f64::total_cmp)?;
    let is_near = |mean: &&f64| **mean <= one.value * FACTOR && **mean >= one.value / FACTOR;
    let near = means.iter().filter(is_near).count();
    let range = if short(least) == short(most) { short(least) } else { format!("{} to {}", short(least), short(most)) };
    let unit = metric::unit(&one.metric).filter(|u| !u.is_empty()).map_or(String::new(), |u| format!(" {u}"));
    let verdict = match means.len() - near {
        0 => format!("within a factor of {FACTOR}"),
        far if near == 0 && far == 1 => format!("**not within a factor of {FACTOR}**"),
        far if near == 0 => format!("**not within a factor of {FACTOR}**, at any of {far} places"),
        _ => format!("within a factor of {FACTOR} at {near} of {} places", means.len()),
    };
    let (name, value, source) = (&sweep.variants[one.variant].name, short(one.value), &one.source);
    let condition = |(parameter, condition): &(usize, Condition)| {
        let name = &plan.parameters[*parameter].name;
        match condition {
            Condition::OneOf(values) => format!("{name} {}", values.join(", ")),
            Condition::Compared(word, than) => format!("{name} {word} {than}"),
        }
    };
    let only: Vec<String> = one.only.iter().map(condition).collect();
    let only = if only.is_empty() { String::new() } else { format!(" ({})", only.join(", ")) };
    Some(format!("Calibration{only}: {name} has {range}{unit} here and {value}{unit} in {source}: {verdict}."))
}

#[cfg(test)]
mod tests {
    use super::sentences;
    use crate::record::Record;
    use crate::results::Results;
    use crate::testing;
    use pathweave_lab::results::Status;

    const PLAN: &str = r#"
format = 1
name = "made-up"
scenarios = ["cp-asymmetric"]
schedulers = ["minrtt", "blest"]
baselines = false
seeds = 2
[[parameter]]
name = "buffer"
values = [40, 100]
set = { "connection.receive_buffer" = "{}KB" }
[[printed]]
variant = "minrtt"
value = 6
calibrates = true
source = "Table 1"
"#;

    /// The sentences if minrtt's goodput is this with each of the two buffers.
    fn said(first: f64, second: f64) -> Vec<String> {
        let sweep = testing::sweep(PLAN);
        let record = |run: usize| {
            let cell = sweep.run(run).0;
            let goodput = if cell.point == 0 { first } else { second };
            testing::record(&sweep, run, Status::Completed, if cell.variant == 0 { goodput } else { 100.0 })
        };
        let records: Vec<Record> = (0..sweep.len()).map(record).collect();
        sentences(&sweep, &Results::new(&sweep, &records))
    }

    #[test]
    fn a_baseline_that_is_far_from_the_sources_says_so() {
        let sentence = |range: &str, verdict: &str| {
            [format!("Calibration: minrtt has {range} Mbit/s here and 6.00 Mbit/s in Table 1: {verdict}.")]
        };
        assert_eq!(said(4.0, 9.0), sentence("4.00 to 9.00", "within a factor of 1.5"));
        assert_eq!(said(3.0, 6.0), sentence("3.00 to 6.00", "within a factor of 1.5 at 1 of 2 places"));
        assert_eq!(said(3.0, 12.0), sentence("3.00 to 12.0", "**not within a factor of 1.5**, at any of 2 places"));
    }
}
