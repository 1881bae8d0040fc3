//! Reads points from a file of comma-separated values. Its first line names the parameters, each further line is a
//! point.

use super::reader::{Read, Result};
use super::{Parameter, PlanFiles};
use pathweave_lab::scenario::{Problem, ScenarioError, Value};

/// Reads the points from the file that `value` names. The parameters get all values that occur in the points.
pub(super) fn read(
    read: &Read<'_>,
    value: &Value,
    parameters: &mut [Parameter],
    files: &dyn PlanFiles,
) -> Result<Vec<Vec<usize>>> {
    let name = read.reader.text("points", value)?;
    let text = files
        .read(&name)
        .map_err(|reason| read.reader.wrong("points", value, format!("a file of comma-separated values ({reason})")))?;
    let mut lines = lines(&text).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
    let wrong = |start: usize, what: &str, allowed: String| ScenarioError {
        problem: Problem::Value,
        file: name.as_str().into(),
        source: text.as_str().into(),
        span: start..start + what.len(),
        key: "points".into(),
        value: what.into(),
        allowed: allowed.into(),
    };
    let (start, header) = lines.next().unwrap_or((0, ""));
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    let places: Vec<Option<usize>> = names.iter().map(|n| columns.iter().position(|c| c == n)).collect();
    let places: Option<Vec<usize>> = places.into_iter().collect();
    let Some(places) = places.filter(|_| columns.len() == names.len()) else {
        return Err(wrong(start, header, format!("a first line with the parameters: {}", names.join(","))));
    };
    for parameter in &mut *parameters {
        parameter.values.clear();
    }
    let mut points = Vec::new();
    for (start, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != columns.len() || fields.iter().any(|f| f.is_empty()) {
            return Err(wrong(start, line, format!("{} values with commas between them", columns.len())));
        }
        let point = parameters.iter_mut().zip(&places).map(|(parameter, place)| {
            let text = fields[*place];
            parameter.values.iter().position(|v| v == text).unwrap_or_else(|| {
                parameter.values.push(text.to_owned());
                parameter.values.len() - 1
            })
        });
        points.push(point.collect());
    }
    if points.is_empty() {
        return Err(wrong(start, header, "at least one point below the names".into()));
    }
    Ok(points)
}

/// The lines, each with the offset of its first byte.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line.trim_end()))
    })
}
