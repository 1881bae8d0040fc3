//! The columns that parameters have in tables: numbers, truth values or text.

use super::{Parameter, Plan};
use serde::{Deserialize, Serialize};

/// Units that follow a number in a plan, and the same units at the end of a column's name.
const UNITS: [(&str, &str); 20] = [
    ("ns", "ns"),
    ("us", "us"),
    ("ms", "ms"),
    ("s", "s"),
    ("min", "min"),
    ("bps", "bps"),
    ("kbps", "kbps"),
    ("Kbps", "kbps"),
    ("Mbps", "mbps"),
    ("Gbps", "gbps"),
    ("B", "bytes"),
    ("KB", "kb"),
    ("kB", "kb"),
    ("MB", "mb"),
    ("GB", "gb"),
    ("KiB", "kib"),
    ("MiB", "mib"),
    ("GiB", "gib"),
    ("packets", "packets"),
    ("%", "percent"),
];

/// A parameter's value in a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Truth(bool),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Number(f64),
    /// Text: a word, or a number with another unit than other values of the parameter.
    Text(String),
}

impl Value {
    /// The value as a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Whole(number) => Some(*number as f64),
            Value::Number(number) => Some(*number),
            Value::Truth(_) | Value::Text(_) => None,
        }
    }
}

/// A parameter's column. All of its values have the same type.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterColumn {
    /// The parameter's name. If the values are numbers with one unit, the name ends with that unit: `buffer_kb`.
    pub name: String,
    /// The value at each of the plan's points.
    pub values: Vec<Value>,
}

/// The columns of a plan's parameters.
pub(super) fn columns(plan: &Plan) -> Vec<ParameterColumn> {
    plan.parameters.iter().enumerate().map(|(i, parameter)| column(plan, i, parameter)).collect()
}

fn column(plan: &Plan, number: usize, parameter: &Parameter) -> ParameterColumn {
    let text = |point: usize| plan.filled(&parameter.values[plan.points[point][number]], point);
    let texts: Vec<String> = (0..plan.points.len()).map(text).collect();
    let others = plan.parameters.iter().enumerate().filter(|(i, _)| *i != number);
    let taken: Vec<&str> = others.map(|(_, other)| other.name.as_str()).collect();
    let same = |parts: &[(&str, &str)]| parts.iter().all(|(_, unit)| *unit == parts[0].1);
    let parts: Option<Vec<(&str, &str)>> = texts.iter().map(|text| number_and_unit(text)).collect();
    let numbers = parts.filter(|parts| !parts.is_empty() && same(parts)).and_then(|parts| {
        let unit = if parts[0].1.is_empty() { unit_of_settings(parameter) } else { name_of(parts[0].1)? };
        Some((numbers(&parts)?, unit))
    });
    let plain = parameter.name.clone();
    match numbers {
        Some((values, unit)) => ParameterColumn { name: with_unit(plain, unit, &taken), values },
        None if texts.iter().all(|text| text == "true" || text == "false") => {
            ParameterColumn { name: plain, values: texts.iter().map(|text| Value::Truth(text == "true")).collect() }
        }
        None => ParameterColumn { name: plain, values: texts.into_iter().map(Value::Text).collect() },
    }
}

/// The values of one type: whole numbers if all are whole.
fn numbers(parts: &[(&str, &str)]) -> Option<Vec<Value>> {
    let whole: Option<Vec<Value>> = parts.iter().map(|(number, _)| number.parse().ok().map(Value::Whole)).collect();
    whole.or_else(|| parts.iter().map(|(number, _)| number.parse().ok().map(Value::Number)).collect())
}

/// Splits `30ms` into `30` and `ms`; `None` if the text does not begin with a number.
fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Some((text, ""));
    }
    let end = text.rfind(|c: char| c.is_ascii_digit() || c == '.')? + 1;
    let (number, unit) = text.split_at(end);
    number.parse::<f64>().ok().filter(|number| number.is_finite())?;
    Some((number, unit.trim_start()))
}

/// A unit at the end of a column's name.
fn name_of(unit: &str) -> Option<&'static str> {
    UNITS.iter().find(|(written, _)| *written == unit).map(|(_, name)| *name)
}

/// The unit that every setting of the parameter puts behind the value: `{}KB`; empty if there is none.
fn unit_of_settings(parameter: &Parameter) -> &'static str {
    let mut units = parameter.set.iter().map(|set| set.value.strip_prefix("{}").and_then(|unit| name_of(unit.trim())));
    let first = units.next().flatten();
    first.filter(|unit| units.all(|other| other == Some(*unit))).unwrap_or_default()
}

/// The parameter's name with the unit at its end, unless another parameter has that name.
fn with_unit(name: String, unit: &str, taken: &[&str]) -> String {
    let whole = format!("{name}_{unit}");
    let has_it = unit.is_empty() || name == unit || name.ends_with(&format!("_{unit}"));
    if has_it || taken.contains(&whole.as_str()) { name } else { whole }
}

#[cfg(test)]
mod tests {
    use super::{ParameterColumn, Value};
    use crate::testing::sweep;

    /// The columns of parameters with these lines of TOML.
    fn columns(parameters: &[&str]) -> Vec<ParameterColumn> {
        let head = "format = 1\nname = \"p\"\nscenarios = [\"cp-asymmetric\"]\nschedulers = [\"minrtt\"]\nseeds = 1\ndesign = \"list\"\n";
        let tables = parameters.iter().map(|lines| format!("[[parameter]]\n{lines}\n"));
        sweep(&(head.to_owned() + &tables.collect::<String>())).plan.columns
    }

    fn one(lines: &str) -> (String, Vec<Value>) {
        let [ParameterColumn { name, values }] = <[_; 1]>::try_from(columns(&[lines])).expect("one parameter");
        (name, values)
    }

    #[test]
    fn numbers_with_a_unit_are_numbers_and_the_name_has_the_unit() {
        let whole = |numbers: [i64; 2]| numbers.map(Value::Whole).to_vec();
        let buffer = "set = { \"connection.receive_buffer\" = \"{}\" }";
        let kilobytes = one(&format!("name = \"buffer\"\nvalues = [\"200KB\", \"50KB\"]\n{buffer}"));
        assert_eq!(kilobytes, ("buffer_kb".to_owned(), whole([200, 50])));
        let in_set = one("name = \"buffer\"\nvalues = [200, 50]\nset = { \"connection.receive_buffer\" = \"{}KB\" }");
        assert_eq!(in_set, ("buffer_kb".to_owned(), whole([200, 50])));
        let named = one("name = \"delay_ms\"\nvalues = [30, 5]\nset = { \"path.fast.delay\" = \"{}ms\" }");
        assert_eq!(named, ("delay_ms".to_owned(), whole([30, 5])));
        let loss = one("name = \"loss\"\nvalues = [0, 0.5]\nset = { \"path.fast.loss\" = \"{}%\" }");
        assert_eq!(loss, ("loss_percent".to_owned(), vec![Value::Number(0.0), Value::Number(0.5)]));
        let rate = one("name = \"rate\"\nvalues = [\"12Mbps\", \"1.5Mbps\"]\nset = { \"path.fast.rate\" = \"{}\" }");
        assert_eq!(rate, ("rate_mbps".to_owned(), vec![Value::Number(12.0), Value::Number(1.5)]));
    }

    #[test]
    fn words_and_mixed_units_are_text_and_truth_values_are_truth_values() {
        let text = |values: [&str; 2]| values.map(|v| Value::Text(v.to_owned())).to_vec();
        let mixed =
            one("name = \"window\"\nvalues = [\"256KiB\", \"1MiB\"]\nset = { \"connection.receive_buffer\" = \"{}\" }");
        assert_eq!(mixed, ("window".to_owned(), text(["256KiB", "1MiB"])));
        let words = one("name = \"cc\"\nvalues = [\"reno\", \"cubic\"]\nset = { \"connection.congestion\" = \"{}\" }");
        assert_eq!(words, ("cc".to_owned(), text(["reno", "cubic"])));
        let truth = one("name = \"pr\"\nvalues = [true, false]\nset = { \"connection.pr\" = \"{}\" }");
        assert_eq!(truth, ("pr".to_owned(), vec![Value::Truth(true), Value::Truth(false)]));
    }

    #[test]
    fn a_value_that_names_another_parameter_is_its_value() {
        let set = |key: &str| format!("set = {{ \"connection.{key}\" = \"{{}}KB\" }}");
        let receive = format!("name = \"buffer\"\nvalues = [400, 500]\n{}", set("receive_buffer"));
        let send = format!("name = \"send\"\nvalues = [\"{{buffer}}\", \"100\"]\n{}", set("send_buffer"));
        let [_, send] = <[_; 2]>::try_from(columns(&[&receive, &send])).expect("two parameters");
        assert_eq!((send.name.as_str(), send.values), ("send_kb", vec![Value::Whole(400), Value::Whole(100)]));
    }

    #[test]
    fn no_two_columns_have_one_name() {
        let set = |key: &str| format!("set = {{ \"connection.{key}\" = \"{{}}KB\" }}");
        let first = format!("name = \"buffer\"\nvalues = [400, 500]\n{}", set("receive_buffer"));
        let second = format!("name = \"buffer_kb\"\nvalues = [400, 500]\n{}", set("send_buffer"));
        let names: Vec<String> = columns(&[&first, &second]).into_iter().map(|column| column.name).collect();
        assert_eq!(names, ["buffer", "buffer_kb"]);
    }

    #[test]
    fn a_value_is_read_as_it_was_written() {
        for value in [Value::Truth(true), Value::Whole(-3), Value::Number(1.0), Value::Text("200".into())] {
            let json = serde_json::to_string(&value).expect("it has a JSON form");
            assert_eq!(serde_json::from_str::<Value>(&json).expect("it is a value"), value);
        }
    }
}
