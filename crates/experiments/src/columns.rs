//! The runs of a sweep as columns. Every table of runs has these names and types: the command's `runs.parquet`, and
//! tables, files and workers of the Python package.

use crate::plan::{ParameterColumn, Plan, Value};
use crate::record::Record;
use std::collections::BTreeSet;

/// The name of a parameter's column begins with this.
const AT: &str = "at_";

/// The cells of a column, one for each run; `None` if a run has no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Seeds, which go up to 2^64 - 1.
    Seed(Vec<Option<u64>>),
    /// Other whole numbers; signed, so that a difference of two counts can be negative.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// Yes or no.
    Truth(Vec<Option<bool>>),
    /// Words that many runs share, such as a scheduler's name.
    Word(Vec<Option<String>>),
    /// Text that few runs share.
    Text(Vec<Option<String>>),
}

/// The columns of these runs: what identifies a run and how it ended, the parameters in the plan's order as `at_NAME`,
/// and every metric that one of the runs has, in alphabetical order.
pub fn columns(plan: &Plan, records: &[Record]) -> Vec<(String, Cells)> {
    let word = |of: fn(&Record) -> &str| Cells::Word(records.iter().map(|r| Some(of(r).to_owned())).collect());
    let fixed = [
        ("run", Cells::Whole(records.iter().map(|r| i64::try_from(r.run).ok()).collect())),
        ("scenario", word(|r| &r.scenario)),
        ("variant", word(|r| &r.variant)),
        ("seed", Cells::Seed(records.iter().map(|r| Some(r.seed)).collect())),
        ("status", word(|r| r.status.word())),
        ("reason", Cells::Text(records.iter().map(|r| r.reason.clone()).collect())),
        ("digest", Cells::Text(records.iter().map(|r| Some(r.digest.clone())).collect())),
    ];
    let names: BTreeSet<&String> = records.iter().flat_map(|r| r.metrics.keys()).collect();
    let parameters = plan.columns.iter().map(|column| (format!("{AT}{}", column.name), parameter(column, records)));
    let metric = |name: &String| Cells::Number(records.iter().map(|r| r.metrics.get(name).copied()).collect());
    let metrics = names.into_iter().map(|name| (name.clone(), metric(name)));
    fixed.into_iter().map(|(name, cells)| (name.to_owned(), cells)).chain(parameters).chain(metrics).collect()
}

/// A parameter's values in these runs. The plan says the type, so that every part of a sweep has the same one.
fn parameter(column: &ParameterColumn, records: &[Record]) -> Cells {
    fn of<'a, T>(
        values: impl Iterator<Item = Option<&'a Value>>,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Vec<Option<T>> {
        values.map(|value| read(value?)).collect()
    }
    let values = records.iter().map(|r| r.point.get(&column.name));
    match column.values.first() {
        Some(Value::Whole(_)) => Cells::Whole(of(values, |v| if let Value::Whole(x) = v { Some(*x) } else { None })),
        Some(Value::Number(_)) => Cells::Number(of(values, Value::number)),
        Some(Value::Truth(_)) => Cells::Truth(of(values, |v| if let Value::Truth(x) = v { Some(*x) } else { None })),
        Some(Value::Text(_)) | None => {
            Cells::Word(of(values, |v| if let Value::Text(x) = v { Some(x.clone()) } else { None }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, columns};
    use crate::testing::{record, sweep};
    use pathweave_lab::results::Status;

    const PLAN: &str = r#"
        format = 1
        name = "typed"
        scenarios = ["cp-asymmetric"]
        schedulers = ["minrtt"]
        baselines = false
        seeds = 1
        design = "list"
        [[parameter]]
        name = "buffer"
        values = ["200KB", "50KB"]
        set = { "connection.receive_buffer" = "{}" }
        [[parameter]]
        name = "pr"
        values = [true, false]
        set = { "connection.pr" = "{}" }
        [[parameter]]
        name = "congestion"
        values = ["reno", "lia"]
        set = { "connection.congestion" = "{}" }
        [[parameter]]
        name = "loss"
        values = [0, 0.5]
        set = { "path.fast.loss" = "{}%" }
    "#;

    #[test]
    fn parameters_have_the_types_of_their_values() {
        let sweep = sweep(PLAN);
        let mut records = [0, 1].map(|run| record(&sweep, run, Status::Completed, 7.5));
        for record in &mut records {
            record.point = sweep.plan.cells(record.run).collect();
        }
        records[1].metrics.clear();
        let found = columns(&sweep.plan, &records);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let fixed = ["run", "scenario", "variant", "seed", "status", "reason", "digest"];
        let parameters = ["at_buffer_kb", "at_pr", "at_congestion", "at_loss_percent"];
        assert_eq!(names, [fixed.as_slice(), &parameters, &["goodput_mbps"]].concat());
        let word = |text: &str| Some(text.to_owned());
        let expected = [
            Cells::Whole(vec![Some(200), Some(50)]),
            Cells::Truth(vec![Some(true), Some(false)]),
            Cells::Word(vec![word("reno"), word("lia")]),
            Cells::Number(vec![Some(0.0), Some(0.5)]),
            Cells::Number(vec![Some(7.5), None]),
        ];
        assert!(found.into_iter().skip(fixed.len()).map(|(_, cells)| cells).eq(expected));
    }
}
