//! Bulk transfers in the whole simulator: engine and network, and also a scenario, metrics and a digest of every packet.
//!
//! `simulator WORK [SECONDS] [TIMES]` runs a work TIMES times, with the seeds from 1 on. It prints the number of data
//! segments that arrived and the processor time. Without arguments it prints the names of the works. `tcp` and `mptcp`
//! are the same works as in the example `flow` of `pathweave-benches`.
//!
//! A number in the place of a WORK is a number of connections of plain TCP over one link, which has 10 Mbit/s and 10
//! packets of queue for each of them.

use pathweave_algorithms::Registry;
use pathweave_benches::cpu_seconds;
use pathweave_lab::scenario::{Document, NoFiles, Variant};
use pathweave_lab::sim::Simulation;
use pathweave_units::Instant;
use std::fmt::Write as _;

/// Simulated seconds of each run.
const SECONDS: &str = "100";

/// Most connections of one table of a scenario.
const COUNT: usize = 1000;

/// A scenario's connections over one or two equal paths.
#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    paths: usize,
    scheduler: &'static str,
    connections: u32,
    /// Rate and queue of each path, Mbit/s and packets.
    rate: u32,
    queue: u32,
}

const ONE: Work = Work { name: "tcp", paths: 1, scheduler: "minrtt", connections: 1, rate: 100, queue: 100 };

const WORKS: [Work; 4] = [
    ONE,
    Work { name: "mptcp", paths: 2, ..ONE },
    Work { name: "weave", paths: 2, scheduler: "weave", ..ONE },
    Work { name: "twenty", paths: 2, connections: 20, ..ONE },
];

impl Work {
    fn named(name: &str) -> Option<Work> {
        if let Ok(connections) = name.parse::<u32>() {
            return Some(Work { name: "many", connections, rate: 10 * connections, queue: 10 * connections, ..ONE });
        }
        WORKS.into_iter().find(|work| work.name == name)
    }

    fn scenario(&self, seconds: &str) -> String {
        let Self { name, paths, scheduler, connections, rate, queue } = self;
        let path = format!("[[path]]\nrate = \"{rate}Mbps\"\ndelay = \"10ms\"\nqueue = \"{queue}packets\"\n");
        let path = path.repeat(*paths);
        let mptcp = *paths > 1;
        let mut text = format!("format = 1\nname = \"{name}\"\nduration = \"{seconds}s\"\n{path}");
        for first in (0..*connections).step_by(COUNT) {
            let count = (connections - first).min(COUNT as u32);
            let _ = write!(
                text,
                "[[connection]]\nname = \"from-{first}\"\nmptcp = {mptcp}\nscheduler = \"{scheduler}\"\n\
                 congestion = \"reno\"\ncount = {count}\n"
            );
        }
        text
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = arguments.first() else {
        return WORKS.iter().for_each(|work| println!("{}", work.name));
    };
    let work = Work::named(name).unwrap_or_else(|| panic!("there is no work {name}"));
    let seconds = arguments.get(1).map_or(SECONDS, String::as_str);
    let times: u32 = arguments.get(2).map_or(Ok(1), |text| text.parse()).unwrap_or_else(|e| panic!("TIMES: {e}"));
    let registry = Registry::builtin();
    let document = Document::parse(name, &work.scenario(seconds)).unwrap_or_else(|e| panic!("{e}"));
    let scenario = document.scenario(&registry, &Variant::AsWritten).unwrap_or_else(|e| panic!("{e}"));
    let before = cpu_seconds();
    let mut segments = 0;
    for seed in 1..=times.into() {
        let mut simulation = Simulation::new(&scenario, seed, &registry, &NoFiles).unwrap_or_else(|e| panic!("{e}"));
        simulation.run_until(Instant::FAR_FUTURE);
        segments += simulation.data_segments_received();
    }
    print!("{segments} segments");
    if let (Some(before), Some(after)) = (before, cpu_seconds()) {
        print!(", {:.2} CPU s, {:.0} segments per CPU s", after - before, segments as f64 / (after - before));
    }
    println!();
}
