//! Runs the same work in ns-3 and here, in turn, on this machine.
//!
//! Both report data segments delivered and the processor seconds of the run itself: ns-3 by getrusage, ours from
//! /proc/self/stat, which has the same numbers in hundredths. The rounds alternate, so that other work on the machine
//! slows both.

use crate::results::put;
use crate::run::{capture, cargo, median, program, root, run, target};
use crate::setup;

/// Rounds, and simulated seconds of each run.
const ROUNDS: usize = 5;
const SECONDS: &str = "100";
/// Number of repetitions of our run in a round, because its clock ticks in hundredths.
const REPEATED: &str = "3";

const LIBRARIES: &str = "core internet network point-to-point applications traffic-control";

/// The ratios of an earlier run: one line for each work, its name, engine and network, and the whole simulator.
const RATIOS: &str = "benches/peers/ratios.txt";

/// Builds both, runs them and prints the ratios beside those of the committed run, or commits them.
///
/// # Errors
/// If something cannot be built or run.
pub(crate) fn compare(bless: bool) -> Result<(), String> {
    let earlier = std::fs::read_to_string(root().join(RATIOS)).unwrap_or_default();
    let mut lines =
        String::from("# ns-3 = 1: the work, engine and network, whole simulator; `cargo xtask peers --bless`\n");
    setup::install(&setup::NS3)?;
    let ns3 = target().join("ns3");
    let libraries: String = LIBRARIES.split(' ').map(|name| format!(" -lns3-{name}")).collect();
    let compile = format!("-O3 -DNDEBUG -std=c++17 -o {} benches/peers/ns3.cc{libraries}", ns3.display());
    run(&mut program("g++", &compile))?;
    run(&mut cargo("build --profile fast --package pathweave-benches --example flow"))?;
    run(&mut cargo("build --profile fast --package pathweave-simulator"))?;
    for (name, flows, work) in [("one TCP flow", "1", "tcp"), ("two flows, two subflows", "2", "mptcp")] {
        let mut ratios = [Vec::new(), Vec::new()];
        println!("{name}: ns-3, engine and network, whole simulator; data segments per CPU second");
        for _ in 0..ROUNDS {
            let peer = rate_of_ns3(&capture(&mut program(&ns3.display().to_string(), &format!("{flows} {SECONDS}")))?)?;
            let mut ours = [0.0; 2];
            for (rate, path) in ours.iter_mut().zip(["fast/examples/flow", "fast/simulator"]) {
                let path = target().join(path).display().to_string();
                *rate = rate_of_ours(&capture(&mut program(&path, &format!("{work} {SECONDS} {REPEATED}")))?)?;
            }
            println!("{peer:>10.0} {:>10.0} {:>10.0}", ours[0], ours[1]);
            for (list, rate) in ratios.iter_mut().zip(ours) {
                list.push(rate / peer);
            }
        }
        let [engine, simulator] = ratios.map(median);
        println!("median of the ratios: {engine:.1} engine and network, {simulator:.1} whole simulator");
        if let Some(before) = earlier.lines().find(|line| line.split(' ').next() == Some(work)) {
            println!("earlier, in {RATIOS}: {before}");
        }
        lines += &format!("{work} {engine:.1} {simulator:.1}\n");
    }
    if bless { put(RATIOS, lines.as_bytes()) } else { Ok(()) }
}

fn rate_of_ns3(printed: &[u8]) -> Result<f64, String> {
    let text = String::from_utf8_lossy(printed);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    match numbers[..] {
        [segments, seconds] if seconds > 0.0 => Ok(segments / seconds),
        _ => Err(format!("ns-3 said {text:?}")),
    }
}

fn rate_of_ours(printed: &[u8]) -> Result<f64, String> {
    let text = String::from_utf8_lossy(printed);
    let rate = text.trim().split(", ").find_map(|part| part.strip_suffix(" segments per CPU s")?.parse().ok());
    rate.ok_or_else(|| format!("the example said {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_programs_print_is_understood() {
        assert_eq!(rate_of_ns3(b"811437 8.0\n"), Ok(811_437.0 / 8.0));
        assert!(rate_of_ns3(b"811437\n").is_err());
        let line = b"832550 segments, 96.44 Mbit/s, 0.40 CPU s, 2081375 segments per CPU s, 2.8 MB\n";
        assert_eq!(rate_of_ours(line), Ok(2_081_375.0));
        assert_eq!(rate_of_ours(b"832550 segments, 0.40 CPU s, 2081375 segments per CPU s\n"), Ok(2_081_375.0));
        assert!(rate_of_ours(b"832550 segments, 96.44 Mbit/s").is_err());
    }
}
