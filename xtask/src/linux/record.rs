//! Files of results: a line of JSON for each run of the kernel.

use super::points::PAIRS;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A run of the kernel beside the simulator's run of the same point.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) point: String,
    pub(super) scheduler: &'static str,
    pub(super) seed: u64,
    /// Goodput in Mbit/s: of this run, of plain TCP on the best path, of the kernel's own scheduler with the same seed,
    /// and of the simulator.
    pub(super) kernel: f64,
    pub(super) plain: f64,
    pub(super) default: f64,
    pub(super) simulator: f64,
}

/// The runs of one version of the patches.
#[derive(Clone, Debug)]
pub(super) struct Records {
    version: String,
    runs: Vec<Run>,
}

impl Records {
    /// Reads a file's runs of a version; none if there is no file.
    ///
    /// # Errors
    /// If a line is no JSON, lacks a value, or has a scheduler that the kernel does not have.
    pub(super) fn read(file: &Path, version: &str) -> Result<Records, String> {
        let text = if file.is_file() {
            fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?
        } else {
            String::new()
        };
        let runs = runs(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        let runs = runs.into_iter().filter(|(of, _)| of == version).map(|(_, run)| run).collect();
        Ok(Records { version: version.to_owned(), runs })
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub(super) fn add(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// The run of a scheduler at a point.
    pub(super) fn run(&self, scheduler: &str, point: &str, seed: u64) -> Option<&Run> {
        self.runs.iter().find(|run| run.scheduler == scheduler && run.point == point && run.seed == seed)
    }

    /// The goodput of plain TCP on the best path of a point.
    pub(super) fn plain(&self, point: &str, seed: u64) -> Option<f64> {
        self.runs.iter().find(|run| run.point == point && run.seed == seed).map(|run| run.plain)
    }

    /// Writes the file anew: by family of points, scheduler, point and seed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write(&self, file: &Path) -> Result<(), String> {
        let mut runs: Vec<&Run> = self.runs.iter().collect();
        let place = |run: &Run| PAIRS.iter().position(|pair| pair.kernel == run.scheduler);
        let family = |run: &Run| super::FAMILIES.iter().position(|family| run.is_of(family.name));
        runs.sort_by_key(|run| (family(run), place(run), run.point.clone(), run.seed));
        let lines: String = runs.iter().map(|run| format!("{}\n", self.line(run))).collect();
        fs::write(file, lines).map_err(|e| format!("{}: {e}", file.display()))
    }

    fn line(&self, run: &Run) -> Value {
        json!({
            "patches": self.version, "point": run.point, "scheduler": run.scheduler, "seed": run.seed,
            "kernel_mbps": run.kernel, "plain_mbps": run.plain, "default_mbps": run.default,
            "simulator_mbps": run.simulator,
        })
    }
}

impl Run {
    /// Whether the run is of a point of this family.
    pub(super) fn is_of(&self, family: &str) -> bool {
        self.point.starts_with(family)
    }
}

/// The runs in the text of a file, each with the version of its patches.
pub(super) fn runs(text: &str) -> Result<Vec<(String, Run)>, String> {
    text.lines().enumerate().map(|(i, line)| run(line).ok_or_else(|| format!("line {}: {line}", i + 1))).collect()
}

fn run(line: &str) -> Option<(String, Run)> {
    let fields: Value = serde_json::from_str(line).ok()?;
    let number = |name: &str| fields[name].as_f64();
    let run = Run {
        point: fields["point"].as_str()?.to_owned(),
        scheduler: PAIRS.iter().find(|pair| fields["scheduler"] == pair.kernel)?.kernel,
        seed: fields["seed"].as_u64()?,
        kernel: number("kernel_mbps")?,
        plain: number("plain_mbps")?,
        default: number("default_mbps")?,
        simulator: number("simulator_mbps")?,
    };
    Some((fields["patches"].as_str()?.to_owned(), run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_version_of_the_patches_has_no_run_that_counts() {
        let file = std::env::temp_dir().join(format!("pathweave-records-{}.jsonl", std::process::id()));
        let run = |scheduler, point: &str, seed| Run {
            point: point.into(),
            scheduler,
            seed,
            kernel: 2.0,
            plain: 3.0,
            default: 1.0,
            simulator: 4.0,
        };
        let mut records = Records::read(&file, "a").expect("no file");
        records.add(run("weave", "small-window-01", 2));
        records.add(run("default", "small-window-02", 1));
        records.write(&file).expect("a file");
        let (same, other) = (Records::read(&file, "a").expect("runs"), Records::read(&file, "b").expect("runs"));
        fs::remove_file(&file).expect("removed");
        assert_eq!(same.runs().iter().map(|run| run.scheduler).collect::<Vec<_>>(), ["default", "weave"]);
        assert_eq!(same.plain("small-window-01", 2), Some(3.0));
        assert!(same.run("weave", "small-window-01", 1).is_none());
        assert!(other.runs().is_empty());
    }
}
