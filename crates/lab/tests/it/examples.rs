//! The examples in `scenarios/examples/` run, and show what their first lines say.

use pathweave_algorithms::Registry;
use pathweave_lab::results::{RunResult, Status};
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, Files, SchedulerSpec, Variant};
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/examples");

struct Beside;

impl Files for Beside {
    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(Path::new(FOLDER).join(name)).map_err(|e| e.to_string())
    }
}

fn result(name: &str, variant: &Variant, seed: u64) -> RunResult {
    let file = format!("{FOLDER}/{name}.toml");
    let text = std::fs::read_to_string(&file).expect("the example is there");
    let document = Document::parse(&file, &text).expect("it is TOML");
    run(&document, variant, seed, &Registry::builtin(), &Beside).expect("it runs")
}

fn minrtt() -> Variant {
    Variant::Scheduler(SchedulerSpec::parse("minrtt").expect("it is a name"))
}

#[test]
fn every_example_runs() {
    let mut names: Vec<String> = std::fs::read_dir(FOLDER)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names, ["bonding", "cross-traffic", "outage", "topology", "trace"]);
    for name in names {
        let r = result(&name, &minrtt(), 1);
        assert_eq!((r.scenario.as_str(), r.status), (name.as_str(), Status::Completed));
        assert!(r.metrics.goodput_mbps > 2.0, "{name}: {}", r.metrics.goodput_mbps);
        assert!(r.metrics.per_path.iter().all(|p| p.sent_bytes > 100_000), "{name}: {:?}", r.metrics.per_path);
    }
}

#[test]
fn the_trace_starts_elsewhere_with_another_seed() {
    let capacity = |seed| result("trace", &minrtt(), seed).series.links[0].capacity_mbps.clone();
    assert_ne!(capacity(1), capacity(2));
}

#[test]
fn two_paths_over_a_shared_link_are_no_more_than_the_link() {
    let both = result("topology", &minrtt(), 1).metrics.goodput_mbps;
    assert!((7.0..10.0).contains(&both), "{both} Mbit/s over a link of 10");
}

#[test]
fn cross_traffic_has_results_of_its_own() {
    let r = result("cross-traffic", &minrtt(), 1);
    let names: Vec<_> = r.connections.iter().map(|c| (c.name.as_str(), c.measured)).collect();
    assert_eq!(names, [("measured", true), ("tcp", false), ("messages", false)]);
    assert!((0.9..1.1).contains(&r.connections[2].goodput_mbps), "messages of 1 Mbit/s: {:?}", r.connections[2]);
    assert!(r.connections[1].goodput_mbps > 1.0 && r.metrics.fairness.is_some_and(|f| f < 1.0));
}

#[test]
fn the_dish_is_gone_every_15_seconds() {
    let r = result("bonding", &minrtt(), 1);
    let starlink = &r.series.per_path_mbps[1];
    let without: Vec<usize> = (10..starlink.len()).filter(|step| starlink[*step] == 0.0).collect();
    let gone = |step: &usize| (150..155).contains(step) || (300..305).contains(step);
    assert!(without.iter().all(gone), "{without:?}");
    assert!(without.contains(&151) && without.contains(&301), "{without:?}");
}

#[test]
fn during_the_outage_the_other_path_carries_on() {
    let r = result("outage", &minrtt(), 1);
    let [wlan, lte] = &r.series.per_path_mbps[..] else { panic!("two paths") };
    let mean = |list: &[f64], from: usize, to: usize| list[from..to].iter().sum::<f64>() / (to - from) as f64;
    assert_eq!(mean(wlan, 55, 90), 0.0);
    assert!(mean(lte, 65, 90) > 5.0, "{}", mean(lte, 65, 90));
    assert!(mean(wlan, 20, 50) > 10.0 && (2.0..6.0).contains(&mean(wlan, 120, 150)));
}
