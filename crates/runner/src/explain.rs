//! The decisions of one run of an opened scenario, for `pathweave explain`.

use crate::failure::Failure;
use crate::made_by::version;
use crate::plan::Traces;
use crate::plan::{Source, check};
use pathweave_algorithms::Registry;
use pathweave_lab::explain::{Explanation, explain};
use pathweave_lab::scenario::{Scenario, ScenarioError, SchedulerSpec, Variant, did_you_mean};
use pathweave_report::alike_in_words;
use pathweave_scheduler::parameter::parse_time;
use pathweave_units::{Duration, Instant};

/// The time that is shown if no end is given.
const DEFAULT_SPAN: Duration = Duration::from_millis(200);

/// The run and the time whose decisions are explained.
#[derive(Clone, Debug)]
pub struct Explained<'a> {
    /// The scheduler, with parameters after colons.
    pub scheduler: &'a str,
    /// The run's seed.
    pub seed: u64,
    /// The first time, such as `2s`; by default the start of the run.
    pub from: Option<&'a str>,
    /// The last time; by default 200 ms after the first.
    pub to: Option<&'a str>,
    /// The one connection whose decisions are shown; by default all measured connections.
    pub connection: Option<&'a str>,
}

/// Makes the run, and returns every decision between the two times.
///
/// # Errors
/// If the scheduler, the scenario or the times are wrong, or if there is no decision between the times.
pub fn explanation(source: &Source, what: &Explained<'_>, registry: &Registry) -> Result<Explanation, Failure> {
    let spec = SchedulerSpec::parse(what.scheduler).and_then(|spec| spec.check(registry).map(|()| spec));
    let spec = spec.map_err(|error| ScenarioError { file: "--scheduler".into(), ..error })?;
    let variant = Variant::Scheduler(spec);
    let Source { document, folder, .. } = source;
    let scenario = document.scenario(registry, &variant)?;
    let (from, to) = span(what.from, what.to, &scenario)?;
    if let Some(name) = what.connection {
        measured(name, &scenario)?;
    }
    let mut traces = Traces::new(folder.as_deref());
    traces.load(&scenario).map_err(|(name, reason)| document.trace_error(&name, &reason))?;
    check(&scenario, document, registry, &traces)?;
    let mut explanation = explain(document, &variant, what.seed, (from, to), what.connection, registry, &traces)
        .map_err(|e| Failure::Input(e.to_string()))?;
    explanation.version = version().into();
    if !explanation.entries.iter().any(|e| e.what.is_decision()) {
        return Err(Failure::Input(nothing(&explanation)));
    }
    Ok(explanation)
}

/// Checks that a measured connection has this name.
fn measured(name: &str, scenario: &Scenario) -> Result<(), Failure> {
    let names = || scenario.connections.iter().filter(|c| c.measured).map(|c| c.name.as_str());
    if names().any(|known| known == name) {
        return Ok(());
    }
    let groups = scenario.alike();
    let measured = groups.iter().filter(|group| group.iter().any(|c| c.measured));
    let groups: Vec<String> =
        measured.map(|group| alike_in_words(&group.iter().map(|c| c.name.as_str()).collect::<Vec<_>>())).collect();
    let (title, list) = (&scenario.name, groups.join("; "));
    let list = match names().count() {
        1 => format!("the measured connection of {title} is {list}"),
        _ => format!("the measured connections of {title} are {list}"),
    };
    let hint = did_you_mean(name, names(), &list);
    Err(Failure::Input(format!("--connection: unknown connection `{name}`; {hint}")))
}

/// The requested times, after checks.
fn span(from: Option<&str>, to: Option<&str>, scenario: &Scenario) -> Result<(Instant, Instant), Failure> {
    let time = |name: &str, text: Option<&str>| match text {
        None => Ok(None),
        Some(text) => match parse_time(text) {
            Some(t) => Ok(Some(Instant::ZERO + t)),
            None => Err(Failure::Input(format!("--{name} = {text} is not a time; write 2s, 2.2s or 150ms"))),
        },
    };
    let duration = scenario.duration.as_secs_f64();
    let from = time("from", from)?.unwrap_or(Instant::ZERO);
    let end = Instant::ZERO + scenario.duration;
    let to = time("to", to)?;
    let shown = |t: Instant| format!("{} s", t.as_secs_f64());
    if from >= end {
        return Err(Failure::Input(format!(
            "--from = {} is too late: it must be less than {duration} s, the duration of {}",
            shown(from),
            scenario.name
        )));
    }
    match to {
        Some(to) if to < from => {
            let (from, to) = (shown(from), shown(to));
            Err(Failure::Input(format!("--from = {from} is later than --to = {to}")))
        }
        Some(to) if to == from => {
            Err(Failure::Input(format!("--from and --to are both {}; choose a span that is not empty", shown(to))))
        }
        Some(to) if to > end => Err(Failure::Input(format!(
            "--to = {} is too late: it may be at most {duration} s, the duration of {}",
            shown(to),
            scenario.name
        ))),
        Some(to) => Ok((from, to)),
        None => Ok((from, (from + DEFAULT_SPAN).min(end))),
    }
}

/// The message for a span without a decision.
fn nothing(explanation: &Explanation) -> String {
    let Explanation { scheduler, scenario, seed, from_s, to_s, before_s, after_s, alike, .. } = explanation;
    let of = match &alike.concat()[..] {
        [one] if explanation.connections > 1 => format!(" of {one}"),
        _ => String::new(),
    };
    let nearest = match (before_s, after_s) {
        (None, None) => "there are none in the whole run".into(),
        (Some(t), None) => format!("the last one is at {t} s"),
        (None, Some(t)) => format!("the first one is at {t} s"),
        (Some(a), Some(b)) => format!("the nearest ones are at {a} s and {b} s"),
    };
    format!(
        "{scheduler} on {scenario}, seed {seed}: there is no decision{of} between {from_s} s and {to_s} s; {nearest}"
    )
}
