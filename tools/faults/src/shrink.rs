//! Simplifies a failing case: removes one thing after the other, as long as the same rule stays broken.

use crate::apps::Reader;
use crate::case::{Case, Kind};
use crate::paths::Direction;
use crate::run::{Fault, Outcome, Rule, run};
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, TcpConfig};
use pathweave_proto::host::Host;
use pathweave_units::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A step that simplifies a case. By the names of its steps, a simplified case can be made again from its seed.
pub struct Step {
    /// The name that `--without` takes.
    pub name: &'static str,
    change: fn(&mut Case),
}

/// All steps, beginning with those that remove most. Some remove a half, and can be taken several times.
pub const STEPS: [Step; 21] = [
    Step { name: "last-path", change: last_path },
    Step { name: "attackers", change: |case| case.attackers.clear() },
    Step { name: "last-attacker", change: |case| drop(case.attackers.pop()) },
    Step {
        name: "half-of-attacks",
        change: |case| case.attackers.iter_mut().for_each(|a| a.packets = a.packets.div_ceil(2)),
    },
    Step { name: "middleboxes", change: middleboxes },
    Step { name: "outages", change: |case| case.paths.iter_mut().for_each(|path| path.outages.clear()) },
    Step { name: "loss", change: |case| directions(case, |d| d.loss = 0.0) },
    Step { name: "reordering", change: |case| directions(case, |d| d.reorder = 0.0) },
    Step { name: "duplicates", change: |case| directions(case, |d| d.duplicate = 0.0) },
    Step { name: "ghosts", change: |case| directions(case, |d| d.ghost = 0.0) },
    Step { name: "corruption", change: |case| directions(case, |d| d.corrupt = 0.0) },
    Step { name: "jitter", change: |case| case.paths.iter_mut().for_each(|path| path.jitter = Duration::ZERO) },
    Step { name: "hosts", change: |case| configs(case, |c| c.host = Host::Rfc) },
    Step { name: "tcp-settings", change: |case| configs(case, |c| c.tcp = TcpConfig::default()) },
    Step { name: "algorithms", change: algorithms },
    Step { name: "checksums", change: |case| configs(case, |c| c.checksum = false) },
    Step { name: "keep-alive", change: |case| configs(case, |c| c.keep_alive = Duration::ZERO) },
    Step { name: "slow-readers", change: |case| case.plans.iter_mut().for_each(|plan| plan.reader = Reader::AtOnce) },
    Step { name: "client-bytes", change: |case| case.plans[0].bytes = 0 },
    Step { name: "server-bytes", change: |case| case.plans[1].bytes = 0 },
    Step { name: "half-of-bytes", change: |case| case.plans.iter_mut().for_each(|plan| plan.bytes /= 2) },
];

fn last_path(case: &mut Case) {
    if case.paths.len() > 1 {
        case.paths.pop();
    }
}

fn middleboxes(case: &mut Case) {
    case.paths.iter_mut().for_each(|path| path.renumbers = false);
    directions(case, |d| d.tampering.clear());
}

fn directions(case: &mut Case, change: impl Fn(&mut Direction)) {
    case.paths.iter_mut().flat_map(|path| &mut path.directions).for_each(change);
}

fn configs(case: &mut Case, change: impl Fn(&mut ConnectionConfig)) {
    case.configs.iter_mut().for_each(change);
}

fn algorithms(case: &mut Case) {
    let registry = Registry::builtin();
    let choose = || (registry.choose_scheduler("minrtt", &[]), registry.choose_controller("cubic", &[]));
    for config in &mut case.configs {
        if let (Ok(scheduler), Ok(congestion)) = choose() {
            *config = config.clone().with_algorithms(scheduler, congestion);
        }
    }
}

/// Takes the steps with these names, one after the other.
///
/// # Errors
/// If no step has one of the names.
pub fn simplify(case: &mut Case, names: &[&str]) -> Result<(), String> {
    for name in names {
        let step = STEPS.iter().find(|s| s.name == *name).ok_or_else(|| format!("no step is called `{name}`"))?;
        (step.change)(case);
    }
    Ok(())
}

/// Makes a run. A panic counts as a broken rule; its message is printed when it happens.
pub fn run_caught(case: &Case) -> Result<Outcome, Fault> {
    catch_unwind(AssertUnwindSafe(|| run(case, false))).map_err(|_| Fault { rule: Rule::Panic, what: "a panic".into() })
}

fn broken(case: &Case) -> Option<Rule> {
    run_caught(case).map_or_else(Some, |outcome| outcome.fault).map(|fault| fault.rule)
}

/// At most `most` steps after which the case still breaks the same rule.
pub fn shrink(seed: u64, rule: Rule, most: usize) -> Vec<&'static str> {
    let mut case = Case::draw(seed);
    let mut taken = Vec::new();
    loop {
        let before = taken.len();
        for step in &STEPS {
            let mut simpler = case.clone();
            (step.change)(&mut simpler);
            let says = format!("{simpler:?}");
            if taken.len() < most && says != format!("{case:?}") && broken(&simpler) == Some(rule) {
                case = simpler;
                taken.push(step.name);
            }
        }
        if taken.len() == before || case.kind == Kind::Siege && case.attackers.is_empty() {
            return taken;
        }
    }
}
