//! The files that a sweep writes: JSON Lines, one file for each shard. The first line identifies the sweep; each
//! further line is a run.

use crate::plan::Value;
use crate::runs::{Cell, Sweep};
use pathweave_lab::metric;
use pathweave_lab::results::{RunResult, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format of these lines.
pub const FORMAT: u32 = 2;

/// A name for a program, made of its version and a hash of its bytes. Results of two programs are never mixed.
pub fn program(version: &str, bytes: &[u8]) -> String {
    format!("{version} {:032x}", xxhash_rust::xxh3::xxh3_128(bytes))
}

/// The first line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The value of [`FORMAT`].
    pub sweep_format: u32,
    /// The plan's name.
    pub plan: String,
    /// The result of [`Sweep::hash`].
    pub plan_hash: String,
    /// Pathweave's version and the hash of the program.
    pub program: String,
    /// Number of this shard, from 1.
    pub shard: usize,
    /// Number of shards.
    pub shards: usize,
    /// Number of runs in all shards together.
    pub runs: usize,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Number of the run within the sweep.
    pub run: usize,
    /// Name of the scenario: the result of [`Sweep::scenario_name`].
    pub scenario: String,
    /// The value of each parameter, by its column's name. In files of format 1 all values are text.
    pub point: BTreeMap<String, Value>,
    /// Name of the variant in the plan.
    pub variant: String,
    /// The seed.
    pub seed: u64,
    /// The end of the run.
    pub status: Status,
    /// The reason why the run did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Hash of everything that a capture of all links would show.
    pub digest: String,
    /// The metrics of the run; a failed run has none.
    pub metrics: BTreeMap<String, f64>,
}

impl Record {
    /// Makes a record from a run's result.
    pub fn new(sweep: &Sweep, number: usize, result: &RunResult) -> Self {
        let (cell, seed) = sweep.run(number);
        let Cell { scenario, point, variant, data, .. } = cell;
        Record {
            run: number,
            scenario: sweep.scenario_name(*scenario).to_owned(),
            point: sweep.plan.cells(*point).collect(),
            variant: sweep.variants[*variant].name.clone(),
            seed,
            status: result.status,
            reason: result.reason.clone(),
            digest: result.digest.clone(),
            metrics: if result.status == Status::Failed { BTreeMap::new() } else { metric::all(result, data) },
        }
    }

    /// The record as a line of a file.
    ///
    /// # Panics
    /// Never: text and numbers have a JSON form.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("text and numbers have a JSON form") + "\n"
    }
}

impl Header {
    /// The header as the first line of a file.
    ///
    /// # Panics
    /// Never: text and numbers have a JSON form.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("text and numbers have a JSON form") + "\n"
    }
}

/// The content of a file.
#[derive(Clone, Debug)]
pub struct Shard {
    /// The file's first line.
    pub header: Header,
    /// The runs in the file's order.
    pub records: Vec<Record>,
    /// Number of bytes in complete lines. An interrupted sweep can leave an incomplete last line.
    pub whole_bytes: usize,
}

impl Shard {
    /// Reads a file; `None` if its first line is not complete.
    ///
    /// # Errors
    /// The number of a complete line that cannot be read, and the reason.
    pub fn read(text: &[u8]) -> Result<Option<Self>, (usize, String)> {
        let whole_bytes = text.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let mut lines = text[..whole_bytes].split_inclusive(|b| *b == b'\n').enumerate();
        let Some((_, first)) = lines.next() else { return Ok(None) };
        let header = serde_json::from_slice(first).map_err(|e| (1, e.to_string()))?;
        let mut records: Vec<Record> = Vec::new();
        for (i, line) in lines {
            records.push(serde_json::from_slice(line).map_err(|e| (i + 1, e.to_string()))?);
        }
        Ok(Some(Shard { header, records, whole_bytes }))
    }

    /// The whole file, sorted by run, which is the same for any number of threads and after any interruption.
    pub fn sorted(&self) -> String {
        let mut records: Vec<&Record> = self.records.iter().collect();
        records.sort_by_key(|r| r.run);
        records.dedup_by_key(|r| r.run);
        self.header.line() + &records.into_iter().map(Record::line).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let text = |t: &str| t.to_owned();
        Header {
            sweep_format: FORMAT,
            plan: text("p"),
            plan_hash: text("0"),
            program: text("1"),
            shard: 1,
            shards: 1,
            runs: 2,
        }
    }

    fn record(run: usize) -> Record {
        Record {
            run,
            scenario: "s".into(),
            point: BTreeMap::new(),
            variant: "minrtt".into(),
            seed: 1,
            status: Status::Completed,
            reason: None,
            digest: String::new(),
            metrics: [("goodput_mbps".to_owned(), 7.25)].into(),
        }
    }

    #[test]
    fn a_torn_last_line_is_left_out() {
        let whole = header().line() + &record(1).line();
        let torn = whole.clone() + &record(0).line()[..20];
        let shard = Shard::read(torn.as_bytes()).expect("whole lines are fine").expect("there is a header");
        assert_eq!((shard.header, shard.records, shard.whole_bytes), (header(), vec![record(1)], whole.len()));
        assert!(Shard::read(&header().line().as_bytes()[..10]).expect("nothing is whole").is_none());
    }

    #[test]
    fn a_file_of_format_1_is_still_read() {
        let old = r#"{"run":0,"scenario":"s","point":{"buffer":"40"},"variant":"minrtt","seed":1,"status":"completed","digest":"","metrics":{}}"#;
        let read: Record = serde_json::from_str(old).expect("a record of format 1");
        assert_eq!(read.point, [("buffer".to_owned(), Value::Text("40".to_owned()))].into());
    }

    #[test]
    fn a_wrong_line_in_the_middle_is_an_error() {
        let text = header().line() + "{}\n" + &record(0).line();
        assert_eq!(Shard::read(text.as_bytes()).expect_err("a line is no run").0, 2);
    }

    #[test]
    fn the_order_of_the_lines_does_not_matter() {
        let shard = |records: Vec<Record>| Shard { header: header(), records, whole_bytes: 0 };
        let expected = header().line() + &record(0).line() + &record(1).line();
        assert_eq!(shard(vec![record(1), record(0)]).sorted(), expected);
        assert_eq!(shard(vec![record(0), record(1), record(1)]).sorted(), expected);
    }
}
