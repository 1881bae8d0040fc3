//! Paths of whose rate plain TCP uses little because its congestion controller slows down for random losses.

use crate::number::spoken;
use pathweave_lab::results::{RunResult, Status};
use std::collections::BTreeMap;

/// Largest part of a path's rate that counts as little.
const LITTLE: f64 = 0.5;
/// Bytes of a full segment on an Ethernet.
const SEGMENT: f64 = 1448.0;

/// A sentence for each path of whose rate plain TCP alone uses little in every run, although the link's queue is empty
/// and the congestion window full most of the time, and segments are lost. The scheduler is not the cause then, and
/// another controller, or a program without one, would use more of the path.
pub fn unused_rates(results: &[RunResult]) -> Vec<String> {
    let mut paths: BTreeMap<(&str, usize), Vec<&RunResult>> = BTreeMap::new();
    for run in results.iter().filter(|run| run.status == Status::Completed) {
        if let Some(path) = run.plain_tcp {
            paths.entry((&run.scenario, path)).or_default().push(run);
        }
    }
    let sentence = |((scenario, path), runs): (&(&str, usize), &Vec<&RunResult>)| {
        let used: Option<Vec<(f64, f64)>> = runs.iter().map(|run| little_used(run, *path)).collect();
        let (goodput, rate): (Vec<f64>, Vec<f64>) = used?.into_iter().unzip();
        let mean = |values: Vec<f64>| spoken(values.iter().sum::<f64>() / values.len() as f64);
        let (first, goodput, rate) = (runs[0], mean(goodput), mean(rate));
        Some(format!(
            "{scenario}: on {} alone, {} carries {goodput} of {rate} Mbit/s, because it takes each lost packet for \
             congestion; the link's queue is empty most of the time. The ranking is for programs that do the same. For \
             others, compare with loss = 0 on this path too (docs/scenarios.md, \"Random losses\").",
            first.paths[*path].name, first.congestion
        ))
    };
    paths.iter().filter_map(sentence).collect()
}

/// Goodput and rate, 10⁶ bit/s, of a run of plain TCP on `path`, if little of the rate was used because of losses.
fn little_used(run: &RunResult, path: usize) -> Option<(f64, f64)> {
    let links = run.series.links.iter().filter(|link| link.paths.contains(&path) && !link.capacity_mbps.is_empty());
    let with_rate = links.map(|link| (link.capacity_mbps.iter().sum::<f64>() / link.capacity_mbps.len() as f64, link));
    let (rate, link) = with_rate.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (metrics, time) = (&run.metrics, &run.metrics.time);
    let empty = link.queue_bytes.iter().filter(|bytes| **bytes == 0).count();
    let is_by_losses = empty * 2 > link.queue_bytes.len()
        && time.congestion_windows_full_s * 2.0 > time.total_s()
        && metrics.goodput_mbps * 2.0 > allowed_by_losses(run, path)?;
    (is_by_losses && metrics.goodput_mbps < LITTLE * rate).then_some((metrics.goodput_mbps, rate))
}

/// The goodput of Reno with the run's losses, 10⁶ bit/s, by Mathis et al. 1997: MSS / RTT · √(3/2 / p). `None` without
/// losses. A controller that carries far less has another reason.
fn allowed_by_losses(run: &RunResult, path: usize) -> Option<f64> {
    let on_path = run.metrics.per_path.get(path)?;
    let lost = run.metrics.retransmitted_segments as f64 * SEGMENT / on_path.sent_bytes as f64;
    let allowed = SEGMENT * 8.0 / (on_path.mean_rtt_ms * 1e3) * (1.5 / lost).sqrt();
    (run.metrics.retransmitted_segments > 0 && on_path.mean_rtt_ms > 0.0).then_some(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_algorithms::Registry;
    use pathweave_lab::scenario::{Document, NoFiles, Variant};

    /// The sentences about plain TCP over a path of 50 Mbit/s with these lines, after runs of so many seconds.
    fn said(seconds: u32, path: &str, connection: &str) -> Vec<String> {
        let text = format!(
            "format = 1\nname = \"t\"\nduration = \"{seconds}s\"\n[[path]]\nname = \"sky\"\nrate = \"50Mbps\"\n\
             delay = \"20ms\"\nqueue = \"100ms\"\n{path}\n[[connection]]\n{connection}"
        );
        let document = Document::parse("t.toml", &text).expect("the text is TOML");
        let run = |seed| pathweave_lab::run(&document, &Variant::PlainTcp(0), seed, &Registry::builtin(), &NoFiles);
        unused_rates(&[1, 2, 3, 4].map(|seed| run(seed).expect("the scenario is right")))
    }

    #[test]
    fn random_losses_are_named_if_they_leave_most_of_the_path_unused() {
        let [sentence] = &said(60, "loss = \"1%\"", "")[..] else { panic!("one sentence") };
        let (before, after) = sentence.split_once(" of 50.0 Mbit/s, because").expect("the path's rate");
        let carried: f64 = before.strip_prefix("t: on sky alone, reno carries ").expect("who").parse().expect("Mbit/s");
        // Mathis et al. 1997: MSS / RTT · √(3/2 / p).
        let expected = 1448.0 * 8.0 / 0.04 * (1.5_f64 / 0.01).sqrt() / 1e6;
        assert!((carried / expected - 1.0).abs() < 0.1, "{carried} Mbit/s, expected about {expected:.1}");
        assert!(after.contains("loss = 0"), "{after}");
    }

    #[test]
    fn nothing_is_said_of_paths_that_are_full_or_idle_for_another_reason() {
        let said = |path, connection| said(10, path, connection);
        assert_eq!(said("", ""), [""; 0], "without losses the path is full");
        assert_eq!(said("loss = \"0.01%\"", "congestion = \"cubic\""), [""; 0], "few losses");
        assert_eq!(said("loss = \"1%\"", "receive_buffer = \"6KB\""), [""; 0], "the receive window is the limit");
        assert_eq!(
            said("loss = \"0.2%\"\njitter = \"uniform:amplitude=10ms\"", "congestion = \"vegas\""),
            [""; 0],
            "jitter"
        );
        assert_eq!(said("loss = \"1%\"", "workload = \"cbr:rate=1Mbps:message=5KB\""), [""; 0], "little is written");
        assert_eq!(said("loss = \"1%\"\n[path.up]\nrate = \"unlimited\"", ""), [""; 0], "no rate that could be used");
    }
}
