//! Checks that two paths together carry the sum of their rates: 16 MiB have to arrive in time, as in the test
//! `simult_flows.sh` of the kernel's Multipath TCP.

use super::trial::{Trial, commands};
use crate::run::{in_parallel_on, root};
use crate::three_ways;
use serde_json::Value;
use std::fs;

const BYTES: u64 = 16 << 20;
/// Mbit/s of both paths, and delays one way, ms.
const RATES: [(u64, u64); 2] = [(10, 10), (30, 10)];
const DELAYS_MS: [(u64, u64); 3] = [(0, 0), (1, 50), (50, 1)];
/// Number of runs, and how many of them have to be in time.
const RUNS: usize = 20;
const IN_TIME: usize = 19;
/// Fraction of the rates that must be used, and the time allowed for start and end, seconds.
const SHARE: f64 = 0.9;
const ALLOWANCE: f64 = 0.45;
/// Packets that a queue has room for beyond the data in flight at the path's rate.
const QUEUE_PACKETS: u64 = 50;
const FRAME_BYTES: u64 = 1514;
/// Longest time of a run, seconds.
const SECONDS: u32 = 60;
/// Runs at the same time: together they carry 160 Mbit/s at most.
const AT_A_TIME: usize = 4;
/// The sender that is a kernel, beside the names of schedulers.
const KERNEL: &str = "kernel";
/// The scheduler of Linux runs on a Linux host, whose send buffer and failure detection it takes for granted.
const LINUX: &str = "linux";
/// The document with the table.
const PAGE: &str = "docs/interop.md";

/// Makes all runs of one sender: a scheduler of the engine, which sends to a kernel, or the kernel, which sends to the
/// engine. Rewrites the sender's line in the document.
///
/// # Errors
/// If a run fails, or too many are late.
pub(super) fn check(sender: &str) -> Result<(), String> {
    let cases: Vec<_> = RATES.iter().flat_map(|rates| DELAYS_MS.map(|delays| (*rates, delays))).collect();
    let runs: Vec<_> =
        (0..RUNS).flat_map(|run| cases.iter().enumerate().map(move |(case, of)| (run, case, *of))).collect();
    let seconds = in_parallel_on(AT_A_TIME, &runs, |(run, case, (rates, delays))| {
        let trial = trial(sender, *rates, *delays, *run, *case);
        let found = trial.right_result()?;
        let result: Value = serde_json::from_str(&found.client).map_err(|e| e.to_string())?;
        // From the opened connection on, as the kernel's test program does.
        result["end"]["sum_sent"]["seconds"].as_f64().ok_or_else(|| "the client reports no time".to_owned())
    });
    let mut line = format!("| `{sender}` |");
    let mut late = 0;
    for (case, ((a, b), _)) in cases.iter().enumerate() {
        let limit = BYTES as f64 * 8.0 / (SHARE * (a + b) as f64 * 1e6) + ALLOWANCE;
        let mut of_case = Vec::new();
        for ((_, number, _), seconds) in runs.iter().zip(&seconds) {
            if *number == case {
                of_case.push(seconds.clone()?);
            }
        }
        of_case.sort_by(f64::total_cmp);
        let in_time = of_case.iter().filter(|seconds| **seconds <= limit).count();
        late += usize::from(in_time < IN_TIME);
        line += &format!(" {in_time} of {RUNS}; {:.2} s, {:.2} s |", of_case[RUNS / 2], of_case[RUNS - 1]);
    }
    println!("{line}");
    write(sender, &line)?;
    if late == 0 {
        Ok(())
    } else {
        Err(format!("{sender}: less than {IN_TIME} of {RUNS} runs were in time in {late} cases"))
    }
}

fn trial(sender: &str, rates: (u64, u64), delays: (u64, u64), run: usize, case: usize) -> Trial {
    let (scheduler, direction) = if sender == KERNEL { ("minrtt", "--reverse ") } else { (sender, "") };
    let host = if sender == LINUX {
        three_ways::LINUX_HOST.map(|(key, value)| format!(" --set {key}={value}")).concat()
    } else {
        String::new()
    };
    let (engine, kernel) = commands(
        true,
        &[true, true],
        &format!("--scheduler {scheduler} --congestion cubic{host}"),
        &format!("{direction}--bytes {BYTES}"),
    );
    // By a socket option: what a namespace may have as its default, the first namespace decides (`tcp_allowed_congestion_control`).
    let kernel = format!("{kernel} --congestion cubic");
    let path = |mbps: u64, delay_ms: u64| {
        let on_its_way = mbps * 1000 * 2 * delay_ms / 8 / FRAME_BYTES;
        let queue = on_its_way + QUEUE_PACKETS;
        format!("rate = \"{mbps}Mbps\"\ndelay = \"{delay_ms}ms\"\nqueue = \"{queue}packets\"")
    };
    Trial {
        paths: vec![path(rates.0, delays.0), path(rates.1, delays.1)],
        engine_is_client: true,
        engine,
        kernel,
        seed: run as u64 + 1,
        ..Trial::new(format!("deadline-{case}-{run}"), SECONDS)
    }
}

/// Puts the sender's line into the table of the documentation.
fn write(sender: &str, line: &str) -> Result<(), String> {
    let page = root().join(PAGE);
    let text = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    let begin = format!("| `{sender}` |");
    if !text.lines().any(|old| old.starts_with(&begin)) {
        return Err(format!("{PAGE} has no line for {sender}"));
    }
    let lines = text.lines().map(|old| if old.starts_with(&begin) { line } else { old });
    fs::write(&page, lines.map(|line| format!("{line}\n")).collect::<String>()).map_err(|e| e.to_string())
}
