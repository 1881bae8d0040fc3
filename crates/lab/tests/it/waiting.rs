//! A scheduler that waits without a reason, or whose decisions are impossible, causes a warning.

use pathweave_algorithms::Registry;
use pathweave_lab::results::RunResult;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};
use pathweave_proto::scheduler::{Decision, Reason, Scheduler, SchedulerEntry, View};
use pathweave_units::Instant;

#[derive(Debug)]
struct Idle;

impl Scheduler for Idle {
    fn decide(&mut self, _: &View<'_>) -> Decision {
        Decision::no_space()
    }
}

const IDLE: SchedulerEntry = SchedulerEntry {
    name: "idle",
    source: "nobody",
    summary: "always waits",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(Idle)),
};

/// Waits until a time that has passed.
#[derive(Debug)]
struct Late;

impl Scheduler for Late {
    fn decide(&mut self, _: &View<'_>) -> Decision {
        Decision::Wait { until: Some(Instant::ZERO), for_subflow: None, reason: Reason::new("late") }
    }
}

const LATE: SchedulerEntry =
    SchedulerEntry { name: "late", summary: "waits until the past", build: |_| Ok(Box::new(Late)), ..IDLE };

fn result(scheduler: &str) -> RunResult {
    let text = "format = 1\nname = \"two\"\nduration = \"5s\"\n[[path]]\nrate = \"8Mbps\"\ndelay = \"10ms\"\n\
                [[path]]\nrate = \"2Mbps\"\ndelay = \"40ms\"\n";
    let document = Document::parse("test.toml", text).expect("it is TOML");
    let spec = SchedulerSpec::parse(scheduler).expect("it is a name");
    let registry = Registry::builtin().with_scheduler(IDLE).with_scheduler(LATE);
    run(&document, &Variant::Scheduler(spec), 1, &registry, &NoFiles).expect("it runs")
}

#[test]
fn a_scheduler_that_always_waits_is_warned_about() {
    let idle = result("idle");
    assert!(idle.metrics.time.scheduler_waits_s > 2.5, "{:?}", idle.metrics.time);
    let [waited, replaced] = &idle.warnings[..] else { panic!("{:?}", idle.warnings) };
    assert!(waited.starts_with("the scheduler waited for "), "{waited}");
    assert!(replaced.contains("(the last one: a wait without a time while no data is in flight)"), "{replaced}");
}

#[test]
fn impossible_decisions_are_warned_about() {
    let late = result("late");
    let [warning] = &late.warnings[..] else { panic!("{:?}", late.warnings) };
    let (invalid, rest) = warning.split_once(" of ").expect("two numbers");
    let (all, rest) = rest.split_once(' ').expect("two numbers");
    assert!(invalid == all && all.parse::<u64>().is_ok_and(|all| all > 100), "{warning}");
    assert_eq!(
        rest,
        "decisions of the scheduler could not be carried out (the last one: a wait until a time that has passed); the \
         default, the lowest round-trip time, decided there"
    );
}

#[test]
fn no_built_in_scheduler_is_warned_about_on_plain_paths() {
    for factory in Registry::builtin().schedulers().iter().filter(|factory| factory.name() != "single") {
        let r = result(factory.name());
        assert!(r.warnings.is_empty(), "{}: {:?}", factory.name(), r.warnings);
    }
}
