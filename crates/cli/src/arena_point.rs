//! `pathweave arena --point`: one point of the arena, with the runs of both schedulers and the second in which they part.

use crate::arena::{competition, plans};
use crate::args::ArenaOptions;
use crate::terminal::{self, Progress};
use pathweave_algorithms::Registry;
use pathweave_experiments::arena::settings;
use pathweave_experiments::runs::Sweep;
use pathweave_lab::results::{RunResult, Series};
use pathweave_report::{Comparison, explain_page_of_report, ranked, reasons};
use pathweave_runner::{
    Engine, Explained, Failure, Points, Request, RunOutcome, Source, execute, explanation, planned, write_pages,
};
use pathweave_units::counted;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// The folder of the pages, in the arena's.
const POINTS: &str = "points";

/// Makes the runs of the point that `wanted` names, shows them, and writes the page. With `--explain`, also shows the
/// decisions of the first two schedulers in the second in which they part.
pub(crate) fn point(options: &ArenaOptions, wanted: &str, registry: &Registry, engine: &Engine) -> Result<u8, Failure> {
    let competition = competition(options, registry)?;
    let names = &competition.schedulers;
    if options.explain && names.len() < 2 {
        let text = "--explain compares two schedulers; name two, such as weave,minrtt, or add --against";
        return Err(Failure::Input(text.into()));
    }
    let (place, number) = place(wanted)?;
    let mut arena = plans(options)?;
    arena.with_points(std::slice::from_ref(&place), "--point")?;
    let ready = arena.read(&place.plan, &competition, registry)?;
    let sweep = &ready.sweep;
    let (scenario, point) = found(sweep, wanted, (&place, number))?;
    let folder = options.out.join(POINTS);
    fs::create_dir_all(&folder).map_err(Failure::writing(folder.display()))?;
    let source = arena.source(&ready, (scenario, point), &competition, &folder)?;
    let (first, other) = (names[0].as_str(), names.get(1).map(String::as_str));
    let request = Request {
        schedulers: Some(names.join(",")),
        against: other.map(str::to_owned),
        why: Some(first.to_owned()),
        seeds: (1..=sweep.plan.seeds).collect(),
    };
    let run_plans = pathweave_runner::plans(&request, [Ok(source.clone())], registry)?;
    terminal::listen_for_interrupt();
    let progress = Progress::new(run_plans.iter().map(|p| p.variants.len() * p.seeds.len()).sum());
    let RunOutcome { results, planned: all } =
        execute(&run_plans, registry, engine, options.jobs.at_once, &progress, None, None)?;
    drop(progress);
    if results.len() < all {
        return Ok(terminal::INTERRUPTED);
    }
    let mut text = format!("{wanted}: {}\n\n", settings(&sweep.plan, point));
    for comparison in Comparison::all(&results, &planned(&run_plans), other) {
        text.push_str(&terminal::with_best_row(&ranked(&comparison, Some(first), terminal::columns())));
    }
    let stem = wanted.replace('/', "-");
    let page = folder.join(format!("{stem}.html"));
    write_pages(&page, &results, &run_plans, (other, Some(first)), registry)?;
    let _ = writeln!(text, "As a page: {}", page.display());
    if let (true, Some(other)) = (options.explain, other) {
        text.push_str(&parted(&source, &results, [first, other], (&folder, &stem), registry)?);
    }
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
    Ok(0)
}

/// The point that `wanted` names, with its number.
fn place(wanted: &str) -> Result<(Points, usize), Failure> {
    let text =
        || format!("--point = {wanted}: write FAMILY/N, such as bulk-evaluation/3; the arena's page names the points");
    let found = Points::parse(wanted).and_then(|points| Some((points.single()?, points)));
    found.map(|(number, points)| (points, number)).ok_or_else(|| Failure::Input(text()))
}

/// Indices of the scenario and the point in the plan.
fn found(sweep: &Sweep, wanted: &str, (place, number): (&Points, usize)) -> Result<(usize, usize), Failure> {
    let scenarios: Vec<&str> = sweep.plan.scenarios.iter().map(|s| s.name.as_str()).collect();
    let scenario = match &place.scenario {
        None if scenarios.len() == 1 => Some(0),
        None => None,
        Some(name) => scenarios.iter().position(|s| s == name),
    };
    let Some(scenario) = scenario else {
        let (plan, list) = (&place.plan, scenarios.join(", "));
        let text = format!("--point = {wanted}: write {plan}/SCENARIO/{number}; the plan's scenarios are {list}");
        return Err(Failure::Input(text));
    };
    match number {
        n if n <= sweep.plan.points.len() => Ok((scenario, n - 1)),
        _ => {
            let points = counted(sweep.plan.points.len(), "point");
            Err(Failure::Input(format!("--point = {wanted}: the plan has {points}")))
        }
    }
}

/// Text about the second in which two schedulers part. Writes a page with the decisions of each in this second.
fn parted(
    source: &Source,
    results: &[RunResult],
    names: [&str; 2],
    (folder, stem): (&Path, &str),
    registry: &Registry,
) -> Result<String, Failure> {
    let run = |name: &str| results.iter().find(|r| r.seed == 1 && r.scheduler == name).map(|r| &r.series);
    let (Some(first), Some(other)) = (run(names[0]), run(names[1])) else { return Ok(String::new()) };
    let Some((second, delivered)) = parting(first, other) else {
        return Ok(format!("{} and {} deliver the same data at all times with seed 1.\n", names[0], names[1]));
    };
    let [own, its] = delivered.map(|mb| format!("{mb:.2} MB"));
    let mut text = format!(
        "\nWith seed 1 they part most from {second} s to {} s: {} delivers {own}, {} {its}.\n",
        second + 1,
        names[0],
        names[1]
    );
    let (from, to) = (format!("{second}s"), format!("{}s", second + 1));
    for name in names {
        let mut what = Explained { scheduler: name, seed: 1, from: Some(&from), to: Some(&to), connection: None };
        // The run may end within the second.
        let made = explanation(source, &what, registry).or_else(|_| {
            what.to = None;
            explanation(source, &what, registry)
        });
        match made {
            Ok(made) => {
                let clean = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-");
                let file = folder.join(format!("{stem}-{clean}-from-{second}s.html"));
                let page = explain_page_of_report(&made, &format!("./{stem}.html"));
                fs::write(&file, page).map_err(Failure::writing(file.display()))?;
                let _ = writeln!(text, "\n{}Each decision: {}", reasons(&made), file.display());
            }
            Err(failure) => {
                let _ = writeln!(text, "\n{name}: {failure}");
            }
        }
    }
    Ok(text)
}

/// The second of a run, counted from 0, in which the amounts of data that two runs deliver differ the most, and these
/// amounts in MB. `None` if they never differ.
fn parting(first: &Series, other: &Series) -> Option<(usize, [f64; 2])> {
    let by_second = |series: &Series| {
        let mut sums: Vec<f64> = Vec::new();
        for (step, mbps) in series.goodput_mbps.iter().enumerate() {
            // Half a step from its start, so that rounding moves no step into another second.
            let second = ((step as f64 + 0.5) * series.step_s) as usize;
            sums.resize(sums.len().max(second + 1), 0.0);
            sums[second] += mbps * series.step_s / 8.0;
        }
        sums
    };
    let (first, other) = (by_second(first), by_second(other));
    let at = |sums: &[f64], second: usize| sums.get(second).copied().unwrap_or(0.0);
    let seconds = (0..first.len().max(other.len())).map(|s| (s, [at(&first, s), at(&other, s)]));
    let far = |[a, b]: [f64; 2]| (a - b).abs();
    // The last of several largest ones is the first second, because the order is reversed.
    seconds.rev().max_by(|(_, a), (_, b)| far(*a).total_cmp(&far(*b))).filter(|(_, both)| far(*both) > 0.0)
}

#[cfg(test)]
mod tests {
    use super::{parting, place};
    use pathweave_lab::results::Series;

    #[test]
    fn runs_part_in_the_second_in_which_their_deliveries_differ_the_most() {
        let series = |mbps: [f64; 6]| Series { step_s: 0.5, goodput_mbps: mbps.into(), ..Series::default() };
        let steady = series([8.0; 6]);
        // 0.5 MB in half a second at 8 Mbit/s.
        let halted = series([8.0, 8.0, 8.0, 0.0, 0.0, 0.0]);
        assert_eq!(parting(&steady, &halted), Some((2, [1.0, 0.0])));
        assert_eq!(parting(&steady, &series([8.0, 0.0, 8.0, 0.0, 8.0, 8.0])), Some((0, [1.0, 0.5])));
        assert_eq!(parting(&steady, &steady), None);
    }

    #[test]
    fn a_point_is_a_family_and_a_number() {
        let read = |text: &str| place(text).ok().map(|(points, number)| (points.plan, points.scenario, number));
        assert_eq!(read("bulk-evaluation/3"), Some(("bulk-evaluation".into(), None, 3)));
        assert_eq!(read("web-tuning/six/12"), Some(("web-tuning".into(), Some("six".into()), 12)));
        assert_eq!([read("bulk-evaluation"), read("bulk-evaluation/0"), read("bulk/x")], [None, None, None]);
    }
}
