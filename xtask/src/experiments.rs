//! The papers' experiments: a smoke test of two minutes.

use crate::page;
use crate::results::pathweave;
use crate::run::{root, run, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// The experiments that the smoke test reproduces.
const SMOKE: [&str; 3] = ["cp/fig5", "dpsaf/fig12", "rems/table8"];
/// The plan that is killed, resumed and split: 90 short runs.
const PLAN: &str = r#"
format = 1
name = "interrupted"
scenarios = ["cp-asymmetric"]
schedulers = ["minrtt", "linux", "blest", "cp"]
seeds = 5
set = { duration = "20s" }

[[parameter]]
name = "buffer"
label = "receive buffer, KB"
values = [40, 100, 400]
set = { "connection.receive_buffer" = "{}KB" }

[[figure]]
title = "Goodput over the buffer"
x = "buffer"
"#;
/// Lines after which the sweep is killed.
const LINES: usize = 20;
/// Longest time until these lines are written, in hundredths of a second.
const PATIENCE: u32 = 6000;

/// Makes some experiments with claims and figures, a sweep that is killed and continued, shards, and the page.
///
/// # Errors
/// The first thing that does not hold.
pub(crate) fn smoke() -> Result<(), String> {
    let folder = target().join("experiments");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let lines = folder.join("claims.jsonl");
    let mut command = pathweave();
    command.arg("reproduce").args(SMOKE).args(["--quick", "--out"]).arg(&folder).arg("--jsonl").arg(&lines);
    run(command.current_dir(root()))?;
    let claims = read(&lines)?;
    for experiment in SMOKE {
        let id = experiment.split('/').next_back().unwrap_or(experiment);
        if !claims.lines().any(|line| line.contains(&format!("\"id\":\"{id}\""))) {
            return Err(format!("{experiment} has no verdict"));
        }
    }
    let pictures = entries(&folder)?.iter().filter(|p| p.extension().is_some_and(|e| e == "svg")).count();
    if pictures < SMOKE.len() {
        return Err(format!("{pictures} figures of {} experiments", SMOKE.len()));
    }
    let plan = folder.join("interrupted.toml");
    fs::write(&plan, PLAN).map_err(|e| format!("{}: {e}", plan.display()))?;
    let [whole, killed, shards] = ["whole", "killed", "shards"].map(|name| folder.join(name));
    sweep(&plan, &whole, &[])?;
    kill(&plan, &killed)?;
    sweep(&plan, &killed, &["--resume"])?;
    sweep(&plan, &shards, &["--shard", "2/2", "--jobs", "1"])?;
    sweep(&plan, &shards, &["--shard", "1/2"])?;
    let expected = read(&whole.join("runs.jsonl"))?;
    for other in [&killed, &shards] {
        if read(&other.join("runs.jsonl"))? != expected {
            return Err(format!("{} differs from the uninterrupted sweep", other.display()));
        }
    }
    page::check(&whole.join("page.html"))
}

fn sweep(plan: &Path, out: &Path, more: &[&str]) -> Result<(), String> {
    let mut command = pathweave();
    command.arg("sweep").arg(plan).arg("--out").arg(out).args(more);
    run(command.current_dir(root()))
}

/// Starts a sweep and kills it when some of its runs are done.
fn kill(plan: &Path, out: &Path) -> Result<(), String> {
    let mut command = pathweave();
    command.arg("sweep").arg(plan).args(["--jobs", "1", "--out"]).arg(out).current_dir(root());
    let mut child = command.stdout(Stdio::null()).spawn().map_err(|e| format!("the sweep: {e}"))?;
    let seen = wait(&mut child, &out.join("runs-1-of-1.jsonl"));
    let _ = child.kill();
    let _ = child.wait();
    seen
}

fn wait(child: &mut Child, file: &Path) -> Result<(), String> {
    for _ in 0..PATIENCE {
        let lines = fs::read(file).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count());
        if lines > LINES {
            return Ok(());
        }
        if child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return Err("the sweep ended before it was killed: it is too small for this check".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("the sweep makes no runs".into())
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        all.push(entry.map_err(wrong)?.path());
    }
    all.sort();
    Ok(all)
}
