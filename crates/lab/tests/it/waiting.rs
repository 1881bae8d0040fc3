//! A scheduler that waits without a reason causes a warning.

use pathweave_algorithms::Registry;
use pathweave_lab::results::RunResult;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};
use pathweave_proto::scheduler::{Decision, Scheduler, SchedulerEntry, View};

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

fn result(scheduler: &str) -> RunResult {
    let text = "format = 1\nname = \"two\"\nduration = \"5s\"\n[[path]]\nrate = \"8Mbps\"\ndelay = \"10ms\"\n\
                [[path]]\nrate = \"2Mbps\"\ndelay = \"40ms\"\n";
    let document = Document::parse("test.toml", text).expect("it is TOML");
    let spec = SchedulerSpec::parse(scheduler).expect("it is a name");
    let registry = Registry::builtin().with_scheduler(IDLE);
    run(&document, &Variant::Scheduler(spec), 1, &registry, &NoFiles).expect("it runs")
}

#[test]
fn a_scheduler_that_always_waits_is_warned_about() {
    let idle = result("idle");
    assert!(idle.metrics.time.scheduler_waits_s > 2.5, "{:?}", idle.metrics.time);
    let [warning] = &idle.warnings[..] else { panic!("{:?}", idle.warnings) };
    assert!(warning.starts_with("the scheduler waited for "), "{warning}");
}

#[test]
fn no_built_in_scheduler_is_warned_about_on_plain_paths() {
    for factory in Registry::builtin().schedulers().iter().filter(|factory| factory.name() != "single") {
        let r = result(factory.name());
        assert!(r.warnings.is_empty(), "{}: {:?}", factory.name(), r.warnings);
    }
}
