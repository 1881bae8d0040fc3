//! The columns that parameters have in tables: numbers, truth values or text.

use super::{Parameter, Plan};
use serde::{Deserialize, Serialize};

/// A unit of a plan.
#[derive(Clone, Copy, Debug)]
struct Unit {
    /// The unit as it is written after a number.
    written: &'static str,
    /// The unit at the end of a column's name.
    name: &'static str,
    /// Units of one kind can be converted.
    kind: Kind,
    /// The unit's size in the smallest unit of its kind.
    size: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Rate,
    Size,
    Packets,
    Fraction,
}

const fn unit(written: &'static str, name: &'static str, kind: Kind, size: f64) -> Unit {
    Unit { written, name, kind, size }
}

const UNITS: [Unit; 20] = [
    unit("ns", "ns", Kind::Time, 1.0),
    unit("us", "us", Kind::Time, 1e3),
    unit("ms", "ms", Kind::Time, 1e6),
    unit("s", "s", Kind::Time, 1e9),
    unit("min", "min", Kind::Time, 60e9),
    unit("bps", "bps", Kind::Rate, 1.0),
    unit("kbps", "kbps", Kind::Rate, 1e3),
    unit("Kbps", "kbps", Kind::Rate, 1e3),
    unit("Mbps", "mbps", Kind::Rate, 1e6),
    unit("Gbps", "gbps", Kind::Rate, 1e9),
    unit("B", "bytes", Kind::Size, 1.0),
    unit("KB", "kb", Kind::Size, 1e3),
    unit("kB", "kb", Kind::Size, 1e3),
    unit("MB", "mb", Kind::Size, 1e6),
    unit("GB", "gb", Kind::Size, 1e9),
    unit("KiB", "kib", Kind::Size, 1024.0),
    unit("MiB", "mib", Kind::Size, 1_048_576.0),
    unit("GiB", "gib", Kind::Size, 1_073_741_824.0),
    unit("packets", "packets", Kind::Packets, 1.0),
    unit("%", "percent", Kind::Fraction, 1.0),
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
    /// Text: a word, or a number beside words.
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
    /// The parameter's name. If the values are numbers with units of one kind, the name ends with the smallest of these
    /// units, into which the others are converted: `buffer_kb` for `512KB` and `1MB`.
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
    let parts: Option<Vec<(&str, &str)>> = texts.iter().map(|text| number_and_unit(text)).collect();
    let numbers = parts.filter(|parts| !parts.is_empty()).and_then(|parts| {
        if parts.iter().all(|(_, unit)| unit.is_empty()) {
            return Some((numbers(&parts)?, unit_of_settings(parameter)));
        }
        let written = parts.iter().filter(|(_, unit)| !unit.is_empty());
        let written = written.map(|(_, unit)| unit_of(unit)).collect::<Option<Vec<Unit>>>()?;
        let least = *written.iter().min_by(|a, b| a.size.total_cmp(&b.size))?;
        let units =
            parts.iter().map(|(number, unit)| if unit.is_empty() { bare(number, least) } else { unit_of(unit) });
        let units = units.collect::<Option<Vec<Unit>>>()?;
        match units.iter().all(|unit| unit.name == least.name) {
            true => Some((numbers(&parts)?, least.name)),
            false => Some((converted(&parts, &units, least)?, least.name)),
        }
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

/// The values in the smallest of their units, if all units are of one kind: whole numbers if all of them are whole.
fn converted(parts: &[(&str, &str)], units: &[Unit], least: Unit) -> Option<Vec<Value>> {
    let one = |((number, _), unit): (&(&str, &str), &Unit)| {
        let exact = number.parse::<f64>().ok().filter(|_| unit.kind == least.kind)? * (unit.size / least.size);
        // Decimal fractions such as 0.57 are not exact, so that a product may miss a whole number by its last digit.
        let whole = libm::round(exact);
        Some(if (exact - whole).abs() <= 1e-12 * whole.abs() { whole } else { exact })
    };
    let values = parts.iter().zip(units).map(one).collect::<Option<Vec<f64>>>()?;
    let is_whole = |x: &f64| libm::trunc(*x) == *x && x.abs() < 9e15;
    let value = |x: f64| if values.iter().all(is_whole) { Value::Whole(x as i64) } else { Value::Number(x) };
    Some(values.iter().map(|x| value(*x)).collect())
}

/// The unit of a number without one beside numbers in `least`: zero is the same in every unit, and a bare fraction such as
/// 0.01 is 1 %. `None` for others, which no setting takes.
fn bare(number: &str, least: Unit) -> Option<Unit> {
    match number.parse::<f64>() {
        Ok(0.0) => Some(least),
        Ok(_) if least.kind == Kind::Fraction => {
            Some(Unit { written: "", name: "", kind: Kind::Fraction, size: 100.0 })
        }
        _ => None,
    }
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

/// The unit that is written so.
fn unit_of(written: &str) -> Option<Unit> {
    UNITS.iter().find(|unit| unit.written == written).copied()
}

/// The unit that every setting of the parameter puts behind the value: `{}KB`; empty if there is none.
fn unit_of_settings(parameter: &Parameter) -> &'static str {
    let unit = |value: &str| unit_of(value.strip_prefix("{}")?.trim()).map(|unit| unit.name);
    let mut units = parameter.set.iter().map(|set| unit(&set.value));
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
    fn units_of_one_kind_become_the_smallest_one() {
        let buffer = |values: &str| {
            one(&format!(
                "name = \"buffer\"\nvalues = [{values}]\nset = {{ \"connection.receive_buffer\" = \"{{}}\" }}"
            ))
        };
        let whole = |numbers: &[i64]| numbers.iter().copied().map(Value::Whole).collect::<Vec<_>>();
        assert_eq!(buffer(r#""512KB", "1MB", "1.5MB""#), ("buffer_kb".to_owned(), whole(&[512, 1000, 1500])));
        assert_eq!(buffer(r#""1MB", "512KB""#), ("buffer_kb".to_owned(), whole(&[1000, 512])));
        assert_eq!(buffer(r#""256KiB", "1MiB""#), ("buffer_kib".to_owned(), whole(&[256, 1024])));
        assert_eq!(buffer(r#""512kB", "256KB""#), ("buffer_kb".to_owned(), whole(&[512, 256])));
        let both = vec![Value::Number(100.0), Value::Number(1048.576)];
        assert_eq!(buffer(r#""100KB", "1MiB""#), ("buffer_kb".to_owned(), both));
        let delay = one("name = \"wait\"\nvalues = [\"0.57s\", \"20ms\"]\nset = { \"path.fast.delay\" = \"{}\" }");
        assert_eq!(delay, ("wait_ms".to_owned(), whole(&[570, 20])));
        let rate = one("name = \"rate\"\nvalues = [\"500kbps\", \"1Mbps\"]\nset = { \"path.fast.rate\" = \"{}\" }");
        assert_eq!(rate, ("rate_kbps".to_owned(), whole(&[500, 1000])));
    }

    #[test]
    fn numbers_of_which_some_have_a_unit_are_numbers() {
        let whole = |numbers: &[i64]| numbers.iter().copied().map(Value::Whole).collect::<Vec<_>>();
        let of = |key: &str, values: &str| {
            one(&format!("name = \"x\"\nvalues = [{values}]\nset = {{ \"path.fast.{key}\" = \"{{}}\" }}"))
        };
        assert_eq!(of("loss", r#"0, "1%", "2%""#), ("x_percent".to_owned(), whole(&[0, 1, 2])));
        assert_eq!(of("loss", r#""0", "1%", 0.02"#), ("x_percent".to_owned(), whole(&[0, 1, 2])));
        let half = vec![Value::Number(0.5), Value::Number(1.0)];
        assert_eq!(of("loss", r#"0.005, "1%""#), ("x_percent".to_owned(), half));
        let text = |values: [&str; 2]| values.map(|v| Value::Text(v.to_owned())).to_vec();
        assert_eq!(of("rate", r#""unlimited", "1Mbps""#), ("x".to_owned(), text(["unlimited", "1Mbps"])));
    }

    #[test]
    fn words_are_text_and_truth_values_are_truth_values() {
        let text = |values: [&str; 2]| values.map(|v| Value::Text(v.to_owned())).to_vec();
        let queue = one("name = \"queue\"\nvalues = [\"50packets\", \"1MB\"]\nset = { \"path.fast.queue\" = \"{}\" }");
        assert_eq!(queue, ("queue".to_owned(), text(["50packets", "1MB"])));
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
