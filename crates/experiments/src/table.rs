//! The values of an experiment as a table: a line for each run, with the metrics that figures and claims need, to four
//! digits.
//!
//! Verdicts and figures can be made from the table alone, without hours of runs.

use crate::plan::{Plan, Side};
use crate::record::{Header, Record};
use crate::runs::Sweep;
use core::fmt::Write as _;
use pathweave_lab::results::Status;
use pathweave_units::counted;
use std::collections::{BTreeMap, BTreeSet};

/// Significant digits.
const DIGITS: usize = 4;
/// A metric that is computed from several runs when the table is read.
const DERIVED: &str = "aggregation_benefit";
/// Metrics that every table has.
const ALWAYS: [&str; 2] = ["goodput_mbps", "bound_mbps"];

/// The metrics that the plan's figures, claims and tables name, in alphabetical order.
fn metrics(plan: &Plan) -> Vec<&str> {
    let sides = plan.claims.iter().flat_map(|c| &c.comparisons).flat_map(|c| [&c.left, &c.right]);
    let compared = sides.filter_map(|side| match side {
        Side::Measured { metric, .. } => Some(metric.as_str()),
        Side::Constant(_) => None,
    });
    let drawn = plan.figures.iter().map(|f| f.metric.as_str());
    let all = compared.chain(drawn).chain(plan.metrics.iter().map(String::as_str)).chain(ALWAYS);
    all.filter(|m| *m != DERIVED).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The table of these runs, which must be all runs of the sweep. The first line identifies the program.
pub fn write(sweep: &Sweep, header: &Header, records: &[Record]) -> String {
    let metrics = metrics(&sweep.plan);
    let mut out = format!("# {}, runs of {}, plan {}\n", header.plan, header.program, header.plan_hash);
    let names = sweep.plan.parameters.iter().map(|p| p.name.as_str());
    let columns: Vec<&str> = ["scenario"].into_iter().chain(names).chain(["variant", "seed", "status"]).collect();
    let _ = writeln!(out, "{}", columns.iter().chain(&metrics).map(|c| quoted(c)).collect::<Vec<_>>().join(","));
    for record in records {
        let (cell, seed) = sweep.run(record.run);
        let status = match record.status {
            Status::Completed => "",
            Status::Stalled => "stalled",
            Status::Failed => "failed",
        };
        // As the plan writes it, because the plan is what the table is read with.
        let mut fields = vec![quoted(&sweep.plan.scenarios[cell.scenario].name)];
        fields.extend(sweep.plan.values(cell.point).into_iter().map(quoted));
        fields.extend([quoted(&record.variant), seed.to_string(), status.to_owned()]);
        fields.extend(metrics.iter().map(|m| record.metrics.get(*m).map_or(String::new(), |x| rounded(*x))));
        let _ = writeln!(out, "{}", fields.join(","));
    }
    out
}

/// Reads the runs of a table.
///
/// # Errors
/// The first line that does not fit the sweep, and the reason.
pub fn read(sweep: &Sweep, text: &str) -> Result<Vec<Record>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let metrics = metrics(&sweep.plan);
    let (_, first) = lines.next().ok_or("it is empty")?;
    let columns = fields(first);
    let place = |name: &str| columns.iter().position(|c| c == name).ok_or(format!("there is no column {name}"));
    let at_status = place("status")?;
    let places: Vec<usize> = metrics.iter().map(|m| place(m)).collect::<Result<_, _>>()?;
    let mut records = Vec::new();
    for (number, line) in lines {
        let wrong = |what: &str| format!("line {}: {what}", number + 1);
        let run = records.len();
        if run >= sweep.len() {
            return Err(wrong("there are more runs than the plan asks for"));
        }
        let fields = fields(line);
        let field = |i: usize| fields.get(i).map_or("", String::as_str);
        let (cell, seed) = sweep.run(run);
        let scenario = &sweep.plan.scenarios[cell.scenario].name;
        let values = sweep.plan.values(cell.point);
        let variant = &sweep.variants[cell.variant].name;
        let mut expected = vec![scenario.as_str()];
        expected.extend(&values);
        expected.push(variant);
        let seed_text = seed.to_string();
        expected.push(&seed_text);
        if expected.iter().enumerate().any(|(i, e)| field(i) != *e) {
            return Err(wrong(&format!("the plan asks for {}", expected.join(", "))));
        }
        let status = match field(at_status) {
            "" => Status::Completed,
            "stalled" => Status::Stalled,
            _ => Status::Failed,
        };
        let mut of_run = BTreeMap::new();
        for (metric, place) in metrics.iter().zip(&places) {
            if !field(*place).is_empty() {
                let value = field(*place).parse().map_err(|_| wrong(&format!("{metric} is not a number")))?;
                of_run.insert((*metric).to_owned(), value);
            }
        }
        records.push(Record {
            run,
            scenario: sweep.scenario_name(cell.scenario).to_owned(),
            point: sweep.plan.cells(cell.point).collect(),
            variant: variant.clone(),
            seed,
            status,
            reason: None,
            digest: String::new(),
            metrics: of_run,
        });
    }
    match records.len() == sweep.len() {
        true => Ok(records),
        false => Err(format!("{} of {} are there", records.len(), counted(sweep.len(), "run"))),
    }
}

/// A number rounded to four digits, in its shortest form.
fn rounded(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return "0".into();
    }
    // The exponential form rounds the number; Display writes it without an exponent.
    let digits = format!("{x:.*e}", DIGITS - 1);
    digits.parse::<f64>().map_or(digits, |x| x.to_string())
}

/// A field, in quotes if it needs them.
fn quoted(text: &str) -> String {
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The fields of a line, without quotes.
fn fields(line: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quotes = false;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let last = all.len() - 1;
        match c {
            '"' if quotes && rest.peek() == Some(&'"') => {
                rest.next();
                all[last].push('"');
            }
            '"' => quotes = !quotes,
            ',' if !quotes => all.push(String::new()),
            c => all[last].push(c),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{fields, quoted, rounded};

    #[test]
    fn four_digits() {
        let cases =
            [(7.651_234, "7.651"), (123_456.0, "123500"), (0.000_123_456, "0.0001235"), (0.0, "0"), (-2.5, "-2.5")];
        for (x, text) in cases {
            assert_eq!(rounded(x), text);
        }
    }

    #[test]
    fn fields_come_back_as_they_were() {
        let all = ["blest, δ = 0", "", "say \"no\"", "16MiB"];
        let line = all.map(quoted).join(",");
        assert_eq!(fields(&line), all);
    }
}
