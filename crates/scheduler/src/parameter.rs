//! Description of an algorithm, which is a scheduler or a congestion controller: its name, its texts, and its
//! parameters. Scenarios and the command line can set the parameters.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use pathweave_units::Duration;

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind<'a> {
    /// A number from `min` to `max`.
    Number {
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
    },
    /// A whole number from `min` to `max`.
    Integer {
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
    /// `true` or `false`.
    Bool,
    /// A time such as `10ms`.
    Time,
    /// One of the words in this text. Single spaces separate them.
    Choice(&'a str),
    /// Any text. The algorithm checks it when it is built.
    Text,
}

impl Kind<'_> {
    /// Name of the kind in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Number { .. } => "number",
            Kind::Integer { .. } => "integer",
            Kind::Bool => "bool",
            Kind::Time => "time",
            Kind::Choice(_) => "choice",
            Kind::Text => "text",
        }
    }
}

impl fmt::Display for Kind<'_> {
    /// Says in words what is allowed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Number { min, max } => write!(f, "a number from {min} to {max}"),
            Kind::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Kind::Bool => f.write_str("true or false"),
            Kind::Time => f.write_str("a time such as 10ms or 1.5s"),
            Kind::Choice(words) => write!(f, "one of {}", words.replace(' ', ", ")),
            Kind::Text => f.write_str("text"),
        }
    }
}

/// A declared parameter. It borrows its texts from the algorithm that declares it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// Name in scenarios and on the command line.
    pub name: &'a str,
    /// The values that the parameter takes.
    pub kind: Kind<'a>,
    /// Unit in words, such as `time`; empty for pure numbers and words.
    pub unit: &'a str,
    /// Default value, as a user would write it.
    pub default: &'a str,
    /// One line that says what the parameter does.
    pub description: &'a str,
    /// Source of the default: an RFC, a paper, a kernel, or "ours".
    pub source: &'a str,
}

/// Description of an algorithm, for listings and for finding it by name.
pub trait Described: fmt::Debug + Send + Sync {
    /// Name in scenarios and on the command line.
    fn name(&self) -> &str;

    /// The source of the algorithm: the RFC, the paper and equation, or the network stack.
    fn source(&self) -> &str;

    /// One line that says what the algorithm does.
    fn summary(&self) -> &str;

    /// The declared parameters.
    fn parameters(&self) -> Vec<Parameter<'_>>;
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Value of a [`Kind::Number`].
    Number(f64),
    /// Value of a [`Kind::Integer`].
    Integer(u64),
    /// Value of a [`Kind::Bool`].
    Bool(bool),
    /// Value of a [`Kind::Time`].
    Time(Duration),
    /// Value of a [`Kind::Choice`].
    Choice(String),
    /// Value of a [`Kind::Text`].
    Text(String),
}

/// A wrong parameter in user input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// Name of the parameter, as written.
    pub name: String,
    /// Value, as written.
    pub value: String,
    /// What is allowed instead.
    pub allowed: String,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}: allowed: {}", self.name, self.value, self.allowed)
    }
}

impl core::error::Error for ParameterError {}

/// The values of all declared parameters of one algorithm.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Values(Vec<(String, Value)>);

impl Values {
    /// The values of all `declared` parameters: those of `given` (names and values as a user wrote them), and the
    /// defaults of the others.
    ///
    /// # Errors
    /// If a name in `given` is not declared or appears twice, or a parameter does not take its value.
    pub fn parse(declared: &[Parameter<'_>], given: &[(String, String)]) -> Result<Self, ParameterError> {
        let mut values = Vec::with_capacity(declared.len());
        for (i, (name, value)) in given.iter().enumerate() {
            let error = |allowed| ParameterError { name: name.clone(), value: value.clone(), allowed };
            if !declared.iter().any(|p| p.name == name) {
                let names: Vec<_> = declared.iter().map(|p| p.name).collect();
                let names = if names.is_empty() { "no parameter at all".into() } else { names.join(", ") };
                return Err(error(names));
            }
            if given[..i].iter().any(|(earlier, _)| earlier == name) {
                return Err(error("each parameter once".into()));
            }
        }
        for p in declared {
            let text = given.iter().find(|(n, _)| n == p.name).map_or(p.default, |(_, v)| v);
            let value = parse_value(p.kind, text).ok_or_else(|| ParameterError {
                name: p.name.into(),
                value: text.into(),
                allowed: p.kind.to_string(),
            })?;
            values.push((p.name.into(), value));
        }
        Ok(Values(values))
    }

    fn get(&self, name: &str) -> &Value {
        let found = self.0.iter().find(|(n, _)| n == name);
        &found.expect("an algorithm reads only parameters that it declared").1
    }

    /// Value of the number parameter `name`.
    ///
    /// # Panics
    /// If no parameter of that name was declared, or it is of another kind. The other getters panic likewise.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Number(x) => *x,
            other => panic!("{name} is declared as a number, not {other:?}"),
        }
    }
    /// Value of the whole-number parameter `name`.
    pub fn integer(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Integer(x) => *x,
            other => panic!("{name} is declared as an integer, not {other:?}"),
        }
    }
    /// Value of the boolean parameter `name`.
    pub fn bool(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Bool(x) => *x,
            other => panic!("{name} is declared as a bool, not {other:?}"),
        }
    }
    /// Value of the time parameter `name`.
    pub fn time(&self, name: &str) -> Duration {
        match self.get(name) {
            Value::Time(x) => *x,
            other => panic!("{name} is declared as a time, not {other:?}"),
        }
    }
    /// Value of the choice parameter `name`.
    pub fn choice(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Choice(x) => x,
            other => panic!("{name} is declared as a choice, not {other:?}"),
        }
    }
    /// Value of the text parameter `name`.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Text(x) => x,
            other => panic!("{name} is declared as text, not {other:?}"),
        }
    }
}

fn parse_value(kind: Kind<'_>, text: &str) -> Option<Value> {
    match kind {
        Kind::Number { min, max } => {
            let x: f64 = text.parse().ok()?;
            (min..=max).contains(&x).then_some(Value::Number(x))
        }
        Kind::Integer { min, max } => {
            let x: u64 = text.parse().ok()?;
            (min..=max).contains(&x).then_some(Value::Integer(x))
        }
        Kind::Bool => text.parse().ok().map(Value::Bool),
        Kind::Time => parse_time(text).map(Value::Time),
        Kind::Choice(words) => words.split(' ').find(|w| *w == text).map(|w| Value::Choice(w.into())),
        Kind::Text => Some(Value::Text(text.into())),
    }
}

/// Parses a time with its unit, which is `ns`, `us`, `ms`, `s` or `min`: `10ms`, `1.5s`. `None` if the text is not a
/// time, or the time is negative or longer than 1.8·10¹⁹ ns (570 years).
pub fn parse_time(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: f64 = text[..digits].trim_end().parse().ok()?;
    let nanos = match &text[digits..] {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 6e10,
        _ => return None,
    };
    let total = number * nanos;
    (total.is_finite() && (0.0..1.8e19).contains(&total)).then(|| Duration::from_nanos((total + 0.5) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Parameter<'_>] = &[
        Parameter {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "",
            default: "0.25",
            description: "",
            source: "",
        },
        Parameter { name: "wait", kind: Kind::Time, unit: "time", default: "2s", description: "", source: "" },
    ];

    fn given(pairs: &[(&str, &str)]) -> Result<Values, ParameterError> {
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        Values::parse(DECLARED, &pairs)
    }

    #[test]
    fn defaults_and_overrides() {
        let values = given(&[("wait", "1.5ms")]).expect("both are right");
        assert_eq!(values.number("beta"), 0.25);
        assert_eq!(values.time("wait"), Duration::from_micros(1500));
    }

    #[test]
    fn errors_say_what_is_allowed() {
        let text = |r: Result<Values, ParameterError>| r.expect_err("the input is wrong").to_string();
        assert_eq!(text(given(&[("beta", "2")])), "beta=2: allowed: a number from 0 to 1");
        assert_eq!(text(given(&[("gamma", "2")])), "gamma=2: allowed: beta, wait");
        assert_eq!(text(given(&[("beta", "1"), ("beta", "1")])), "beta=1: allowed: each parameter once");
        assert_eq!(text(given(&[("wait", "-3s")])), "wait=-3s: allowed: a time such as 10ms or 1.5s");
    }
}
