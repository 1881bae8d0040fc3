//! The decisions of one run: the scheduler's input, its answer with the reason, and how the connection carried it out.
//!
//! An [`Entry`] is one line of JSON: plain numbers with their units in the names, times in seconds from the start of the
//! run, places in the stream in bytes from its start. Recording changes nothing in the run.

mod entry;

pub use entry::{
    DecisionEntry, DecisionOutcome, Entry, GivenEntry, Limit, Named, ReasonEntry, SawEntry, SubflowEntry, What,
};

use crate::run::RunError;
use crate::scenario::{Connection, Document, Files, Scenario, Variant};
use crate::sim::{Noted, Simulation};
use pathweave_algorithms::Registry;
use pathweave_proto::connection::{Carried, Decided, Given, Happening, HeldBy, Kinds, ScheduleError};
use pathweave_proto::scheduler::{BlockedBy, ClippedBy, Decision, Reason, SubflowView, WindowUse};
use pathweave_proto::{DataSeq, SubflowId, SubflowSet};
use pathweave_units::{Duration, Instant};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Simulated time after which the records so far are read.
const STEP: Duration = Duration::from_millis(100);

/// The decisions of one run between two times.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The scenario's name.
    pub scenario: String,
    /// The scheduler with its parameters as written.
    pub scheduler: String,
    /// The run's seed.
    pub seed: u64,
    /// Every setting that was overridden, as written.
    pub overrides: BTreeMap<String, String>,
    /// Pathweave's version.
    pub version: String,
    /// Start of the period that is shown, seconds.
    pub from_s: f64,
    /// End of the period that is shown, seconds.
    pub to_s: f64,
    /// Names of the scenario's paths.
    pub paths: Vec<String>,
    /// Number of measured connections. Entries name theirs if there are several.
    pub connections: usize,
    /// Names of the connections that are shown. Those of one group have equal settings.
    pub alike: Vec<Vec<String>>,
    /// Time of the last decision before the period, seconds.
    pub before_s: Option<f64>,
    /// Time of the first decision after the period, seconds. It is looked for only if the period has none.
    pub after_s: Option<f64>,
    /// The connections whose send window was full, as in [`What::WindowBlocked`], at the start of the period.
    pub blocked_before: BTreeSet<String>,
    /// The events in order of time.
    #[serde(skip)]
    pub entries: Vec<Entry>,
}

/// Runs one variant of a scenario with one seed and records the decisions of the measured connections' senders from
/// `from` to `to`. Both must lie within the scenario's duration, in this order. `only` names the one connection whose
/// decisions are recorded.
///
/// # Errors
/// If the scenario or a file that it names is wrong.
pub fn explain(
    document: &Document,
    variant: &Variant,
    seed: u64,
    (from, to): (Instant, Instant),
    only: Option<&str>,
    registry: &Registry,
    files: &dyn Files,
) -> Result<Explanation, RunError> {
    let scenario = document.scenario(registry, variant).map_err(|e| RunError::Scenario(Box::new(e)))?;
    let mut simulation = Simulation::new(&scenario, seed, registry, files).map_err(RunError::Build)?;
    simulation.observe(Kinds::CONNECTION.and(Kinds::DECISIONS));
    let connections = scenario.connections.iter().filter(|c| c.measured).count();
    let names = Names { scenario: &scenario, several: connections > 1 };
    let mut explanation = Explanation {
        scenario: scenario.name.clone(),
        scheduler: variant.label(),
        seed,
        overrides: document.overrides().iter().cloned().collect(),
        version: env!("CARGO_PKG_VERSION").into(),
        from_s: from.as_secs_f64(),
        to_s: to.as_secs_f64(),
        paths: scenario.paths.iter().map(|p| p.name.clone()).collect(),
        connections,
        alike: names.alike(only),
        before_s: None,
        after_s: None,
        blocked_before: BTreeSet::new(),
        entries: Vec::new(),
    };
    let mut blocked = LastBlocked::default();
    let mut end = Instant::ZERO;
    loop {
        end += STEP;
        let until = if end < to + STEP { end.min(to) } else { end };
        let goes_on = simulation.run_until(until);
        while let Some(noted) = simulation.poll_observation() {
            let at = noted.observation.at;
            let connection = names.of(&noted);
            if only.is_some_and(|name| name != connection) {
                continue;
            }
            let is_decision = matches!(noted.observation.what, Happening::Decision(_));
            let repeats = blocked.repeats(&noted);
            if at < from {
                match noted.observation.what {
                    Happening::Decision(_) => explanation.before_s = Some(at.as_secs_f64()),
                    Happening::WindowBlocked { .. } => {
                        explanation.blocked_before.insert(connection.to_owned());
                    }
                    Happening::WindowUnblocked => {
                        explanation.blocked_before.remove(connection);
                    }
                    _ => {}
                }
            } else if at <= to && !repeats {
                explanation.entries.extend(names.entry(noted));
            } else if is_decision {
                explanation.after_s.get_or_insert(at.as_secs_f64());
            }
        }
        let found = explanation.after_s.is_some() || explanation.entries.iter().any(|e| e.what.is_decision());
        if !goes_on || (until >= to && found) {
            return Ok(explanation);
        }
    }
}

/// The last report of each connection that is held back. A change of only the first unacknowledged byte is not reported
/// again.
#[derive(Default)]
struct LastBlocked(BTreeMap<usize, (BlockedBy, SubflowSet)>);

impl LastBlocked {
    /// Whether `noted` is nothing new for a reader.
    fn repeats(&mut self, noted: &Noted) -> bool {
        match noted.observation.what {
            Happening::WindowBlocked { by, holders } => {
                self.0.insert(noted.connection, (by, holders)) == Some((by, holders))
            }
            Happening::WindowUnblocked => {
                self.0.remove(&noted.connection);
                false
            }
            _ => false,
        }
    }
}

/// Names of objects that have only numbers in the engine.
struct Names<'a> {
    scenario: &'a Scenario,
    several: bool,
}

impl<'a> Names<'a> {
    /// The measured connections in groups that differ only in their names; with `only`, this one alone.
    fn alike(&self, only: Option<&str>) -> Vec<Vec<String>> {
        let shown = |c: &&Connection| c.measured && only.is_none_or(|name| name == c.name);
        let group = |group: &[Connection]| group.iter().filter(shown).map(|c| c.name.clone()).collect::<Vec<_>>();
        self.scenario.alike().into_iter().map(group).filter(|names| !names.is_empty()).collect()
    }

    /// The name of the connection in which something was noted.
    fn of(&self, noted: &Noted) -> &'a str {
        self.scenario.connections.get(noted.connection).map_or("?", |c| c.name.as_str())
    }

    /// The entry for an observation, if the observation is one to explain.
    fn entry(&self, noted: Noted) -> Option<Entry> {
        let Noted { connection, paths, observation } = noted;
        let named = |id: SubflowId| {
            let path = paths.iter().find(|(s, _)| *s == id).and_then(|(_, path)| self.scenario.paths.get(*path));
            Named { subflow: id.0, path: path.map_or_else(|| "?".into(), |p| p.name.clone()) }
        };
        let what = match observation.what {
            Happening::Decision(decided) => decision(*decided, &named),
            Happening::Reinjected { subflow, range, reason } => {
                What::Repeated { subflow: named(subflow), range: bytes(&range), reason: reason_entry(&reason) }
            }
            Happening::WindowBlocked { by, holders } => {
                let holders: Vec<Named> = holders.iter().map(named).collect();
                What::WindowBlocked { by: limit(by), holder: holders.first().cloned(), holders }
            }
            Happening::WindowUnblocked => What::WindowUnblocked,
            _ => return None,
        };
        let connection = self.scenario.connections.get(connection).filter(|_| self.several);
        Some(Entry { time_s: observation.at.as_secs_f64(), connection: connection.map(|c| c.name.clone()), what })
    }
}

fn decision(decided: Decided, named: &impl Fn(SubflowId) -> Named) -> What {
    let Decided { saw, decision, carried, .. } = decided;
    let given =
        |g: Given| GivenEntry { subflow: named(g.subflow), range: bytes(&g.range), clipped_by: g.clipped_by.map(clip) };
    let (verdict, reason) = match &decision {
        Decision::Assign(a) => {
            let queue = a.window == WindowUse::Queue;
            (DecisionEntry::Assign { subflow: named(a.subflow), range: bytes(&a.range), queue }, &a.reason)
        }
        Decision::Wait { until, for_subflow, reason } => {
            let until_s = until.map(Instant::as_secs_f64);
            (DecisionEntry::Wait { for_subflow: for_subflow.map(named), until_s }, reason)
        }
    };
    What::Decision {
        saw: SawEntry {
            subflows: saw.subflows.iter().map(|s| subflow(s, named)).collect(),
            send_window_bytes: saw.send_window,
            send_window_free_bytes: saw.send_window_free,
            first_unacked: saw.first_unacked.0,
            first_unassigned: saw.first_unassigned.map(|seq| seq.0),
            unassigned_bytes: saw.unassigned_bytes,
            in_flight_bytes: saw.bytes_in_flight,
        },
        verdict,
        reason: reason_entry(reason),
        outcome: match carried {
            Carried::Assigned(g) => DecisionOutcome::Assigned(given(g)),
            Carried::HeldBack(by) => DecisionOutcome::HeldBack { by: keeper(by) },
            Carried::Delegated => DecisionOutcome::Delegated,
            Carried::Waiting => DecisionOutcome::Waiting,
            Carried::Replaced { error, by } => DecisionOutcome::Replaced { why: why(error), by: by.map(given) },
        },
    }
}

fn subflow(s: &SubflowView, named: &impl Fn(SubflowId) -> Named) -> SubflowEntry {
    SubflowEntry {
        name: named(s.id),
        srtt_ms: s.rtt.smoothed.map(|r| r.as_secs_f64() * 1e3),
        cwnd_segments: s.window.cwnd,
        in_flight_segments: s.window.in_flight,
        unsent_segments: s.queue.unsent,
        window_space_segments: s.window_space(),
        queued_bytes: s.queue.bytes,
        send_buffer_space_bytes: s.queue.space,
        backup: s.backup,
        stale: s.stale,
    }
}

fn reason_entry(reason: &Reason) -> ReasonEntry {
    // JSON has no infinity.
    let terms = reason.terms.iter().filter(|(_, value)| value.is_finite());
    ReasonEntry {
        text: reason.to_string(),
        rule: reason.rule.into(),
        terms: terms.map(|(name, value)| ((*name).to_owned(), *value)).collect(),
    }
}

fn bytes(range: &Range<DataSeq>) -> [u64; 2] {
    [range.start.0, range.end.0]
}

fn limit(by: BlockedBy) -> Limit {
    match by {
        BlockedBy::SendWindow => Limit::SendWindow,
        BlockedBy::SendBuffer => Limit::SendBuffer,
    }
}

fn clip(by: ClippedBy) -> &'static str {
    match by {
        ClippedBy::CongestionWindow => "congestion window",
        ClippedBy::SendBuffer => "send buffer of the subflow",
        ClippedBy::SendWindow => "send window",
        ClippedBy::Data => "end of the data",
    }
}

fn keeper(by: HeldBy) -> &'static str {
    match by {
        HeldBy::Nagle => "Nagle's rule",
        HeldBy::Cork => "the application, which has more to come,",
        HeldBy::SillyWindow => "avoidance of silly windows",
    }
}

fn why(error: Option<ScheduleError>) -> String {
    match error {
        Some(error) => error.to_string(),
        None => "data is sent in order until the peer has confirmed Multipath TCP".into(),
    }
}

#[cfg(test)]
mod tests;
