//! Random results: few seeds, ties, failures, stalls, interruptions, completions, delays, dark paths, one scheduler.

use pathweave_lab::benefit::plain_tcp_path;
use pathweave_lab::results::{
    ConnectionResult, Delays, Intervals, Metrics, PathInfo, PathMetrics, RunResult, STARTS_AFTER_THE_END, Status,
    TimeSpent,
};
use pathweave_report::Planned;
use proptest::prelude::*;

pub(super) const PATHS: [&str; 2] = ["wlan", "3g"];
const SCHEDULERS: [&str; 6] = ["minrtt", "linux", "blest", "weave", "cp", "single"];
/// A few levels, so that there are ties, differences below 1 %, and clear differences.
const LEVELS: [f64; 8] = [10.0, 10.03, 10.06, 9.85, 9.6, 7.5, 3.25, 24.0];

/// The workload of the scenario's connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bulk,
    Transfer,
    Messages,
}

/// A random run.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    present: bool,
    status: Status,
    level: usize,
    noise: usize,
    undelivered: u64,
    gap: f64,
    parts: [u8; 5],
}

/// The results of one scenario, and the runs that were asked for.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) planned: Planned,
    pub(super) results: Vec<RunResult>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let status = prop_oneof![12 => Just(Status::Completed), 1 => Just(Status::Stalled), 1 => Just(Status::Failed)];
    let undelivered = prop_oneof![6 => Just(0_u64), 1 => Just(4), 1 => Just(300)];
    let gap = prop_oneof![Just(40.0), Just(90.0), Just(7000.0)];
    (0..12_u8, status, 0..LEVELS.len(), 0..3_usize, undelivered, gap, any::<[u8; 5]>()).prop_map(
        |(absent, status, level, noise, undelivered, gap, parts)| Drawn {
            present: absent > 0,
            status,
            level,
            noise,
            undelivered,
            gap,
            parts,
        },
    )
}

/// The behaviour of a scheduler over all seeds.
#[derive(Clone, Copy, Debug)]
struct Habit {
    /// Whether all its runs fail.
    fails: bool,
    /// Whether none of its runs was made.
    never: bool,
    /// Whether it has the runs of the scheduler before it.
    twin: bool,
    /// Its level with every seed, if that is fixed.
    level: Option<usize>,
    /// Whether no data arrives.
    dark: bool,
    /// All arrives before the measured time.
    early: bool,
    sent: [u64; 2],
}

fn habit() -> impl Strategy<Value = Habit> {
    let sent = prop_oneof![5 => Just([60, 40]), 1 => Just([100, 0]), 1 => Just([0, 100]), 1 => Just([998, 2])];
    let level = prop_oneof![1 => Just(None), 2 => (0..LEVELS.len()).prop_map(Some)];
    let rare = || 0..12_u8;
    let all = (rare(), rare(), 0..6_u8, level, rare(), rare(), sent);
    all.prop_map(|(fails, never, twin, level, dark, early, sent)| Habit {
        fails: fails == 0,
        never: never == 0,
        twin: twin == 0,
        level,
        dark: dark == 0,
        early: early == 0,
        sent,
    })
}

/// A scenario with up to six schedulers, with or without plain TCP, with one to four seeds, complete or stopped.
pub(super) fn case() -> impl Strategy<Value = Case> {
    let kind = prop_oneof![2 => Just(Kind::Bulk), 1 => Just(Kind::Transfer), 2 => Just(Kind::Messages)];
    let names = prop::sample::subsequence(&SCHEDULERS[..], 0..=SCHEDULERS.len());
    let tcp = prop_oneof![6 => Just(2_usize), 1 => Just(1), 1 => Just(0)];
    let stopped = prop_oneof![4 => Just(false), 1 => Just(true)];
    // Most scenarios are quiet: no stall, no failure, so that the sentences about differences are said too.
    (kind, names, tcp, 1..=4_u64, stopped, any::<bool>(), any::<bool>(), 0..8_u8, 0..40_u8)
        .prop_flat_map(|(kind, names, tcp, seeds, stopped, quiet, steady, backup, dim)| {
            let all: Vec<String> =
                names.iter().map(|n| (*n).to_owned()).chain((0..tcp).map(|p| format!("tcp-path{p}"))).collect();
            let runs = prop::collection::vec(drawn(), all.len() * seeds as usize);
            // Of a few scenarios no run has data, for a reason that all share.
            let everywhere = move |habit| Habit { dark: dim == 0 || dim == 1, early: dim == 2, ..habit };
            let habits =
                prop::collection::vec(habit().prop_map(move |h| if dim > 2 { h } else { everywhere(h) }), all.len());
            let late = dim == 0;
            (Just((kind, all, seeds, stopped, quiet, steady, (backup == 0, late, dim == 3))), habits, runs)
        })
        .prop_map(|((kind, all, seeds, stopped, quiet, steady, (backup, late, stalls)), habits, runs)| {
            let mut results: Vec<RunResult> = Vec::new();
            for (s, scheduler) in all.iter().enumerate() {
                for seed in 0..seeds {
                    let (habit, drawn) = (habits[s], runs[s * seeds as usize + seed as usize]);
                    let tcp = plain_tcp_path(scheduler);
                    let before = s.checked_sub(1).map(|b| all[b].as_str()).filter(|_| habit.twin && tcp.is_none());
                    let of_before = |r: &&RunResult| Some(r.scheduler.as_str()) == before && r.seed == seed + 1;
                    if let Some(same) = results.iter().find(of_before).cloned() {
                        results.push(RunResult { scheduler: scheduler.clone(), ..same });
                    } else if before.is_none() && (!stopped || (drawn.present && !habit.never)) {
                        let mut drawn = drawn;
                        if quiet {
                            (drawn.status, drawn.undelivered) = (Status::Completed, 0);
                        }
                        if habit.fails && !quiet {
                            drawn.status = Status::Failed;
                        }
                        drawn.level = habit.level.unwrap_or(drawn.level);
                        if stalls && drawn.status == Status::Completed {
                            drawn.status = Status::Stalled;
                        }
                        if steady {
                            drawn.noise = 0;
                        }
                        results.push(run(scheduler, seed + 1, kind, drawn, habit, (backup, late)));
                    }
                }
            }
            let planned = Planned { scenario: "two".into(), schedulers: all, seeds: seeds as usize, paths: Vec::new() };
            Case { planned, results }
        })
}

fn run(scheduler: &str, seed: u64, kind: Kind, drawn: Drawn, habit: Habit, (backup, late): (bool, bool)) -> RunResult {
    let Drawn { status, level, noise, undelivered, gap, parts, .. } = drawn;
    let plain_tcp = plain_tcp_path(scheduler);
    // A part that all schedulers share with a seed, and a part of this run alone.
    let level = LEVELS[level] + seed as f64 * 0.5 + noise as f64 * 0.4;
    let dark = habit.dark || habit.early || status == Status::Failed;
    let connection = ConnectionResult {
        measured: true,
        received_bytes: if habit.early || !dark { 1000 } else { 0 },
        ..ConnectionResult::default()
    };
    let goodput_mbps = if dark { 0.0 } else { level };
    let completed = status == Status::Completed && !dark;
    let sent = match plain_tcp {
        _ if dark => [0, 0],
        Some(0) => [100, 0],
        Some(_) => [0, 100],
        None => habit.sent,
    };
    let delays = Delays { count: 1000, p50: 200.0 / level, p99: 4000.0 / level, ..Delays::default() };
    let [a, b, c, d, e] = parts.map(f64::from);
    RunResult {
        scenario: "two".into(),
        scheduler: scheduler.into(),
        congestion: "reno".into(),
        seed,
        // Without data a run stalls.
        status: if dark && status != Status::Failed { Status::Stalled } else { status },
        reason: match status {
            Status::Failed => Some(format!("the scheduler {scheduler} failed: it divides by 0")),
            _ => late.then(|| STARTS_AFTER_THE_END.to_owned()),
        },
        connections: vec![connection],
        digest: format!("{scheduler} {seed}"),
        paths: [false, backup].iter().zip(PATHS).map(|(b, name)| PathInfo { name: name.into(), backup: *b }).collect(),
        plain_tcp,
        metrics: Metrics {
            goodput_mbps,
            completion_s: (kind == Kind::Transfer && completed).then_some(40.0 / level),
            message_delay_ms: (kind == Kind::Messages && !dark).then_some(delays),
            undelivered_messages: (kind == Kind::Messages).then_some(if dark { 1000 } else { undelivered }),
            arrival_interval_ms: Intervals { mean: 1.0, max: gap },
            per_path: sent.map(|sent_bytes| PathMetrics { sent_bytes, ..PathMetrics::default() }).into(),
            time: TimeSpent {
                no_data_s: a,
                window_full_s: b,
                congestion_windows_full_s: c,
                scheduler_waits_s: d,
                sending_s: e,
                window_full_by_path_s: vec![b * 0.25, b * 0.5],
                recovery_by_path_s: vec![c * 0.5, c * 0.25],
                ..TimeSpent::default()
            },
            ..Metrics::default()
        },
        ..RunResult::default()
    }
}
