//! Parsers of values. Each reads a text, writes it back, and says what it allows.

pub(crate) mod compound;

use compound::Kind;
use core::fmt::Display;
use core::marker::PhantomData;
use pathweave_proto::parameter::parse_time;
use pathweave_units::{Bitrate, Duration, Probability};
use schemars::{Schema, json_schema};

/// The reason why a parser does not accept a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The part of a compound value that is wrong, and its text.
    pub(crate) part: Option<(String, String)>,
    /// Whether the value has no such part.
    pub(crate) is_unknown: bool,
    /// What is allowed instead.
    pub(crate) allowed: String,
}

impl Wrong {
    pub(crate) fn new(allowed: impl Into<String>) -> Self {
        Wrong { part: None, is_unknown: false, allowed: allowed.into() }
    }

    /// A part that the value has, with a text that the part does not allow.
    pub(crate) fn in_part(name: impl Into<String>, text: impl Into<String>, allowed: impl Into<String>) -> Self {
        Wrong { part: Some((name.into(), text.into())), ..Wrong::new(allowed) }
    }
}

/// A parser of one kind of value.
pub(crate) trait ValueParser {
    /// The type of the values.
    type Value;
    /// The allowed values, in words.
    fn allowed() -> String;
    /// Parses a value; `None` if the text is not allowed.
    fn parse(text: &str) -> Option<Self::Value>;
    /// Reads a value, or returns the mistake in the text.
    fn read(text: &str) -> Result<Self::Value, Wrong> {
        Self::parse(text).ok_or_else(|| Wrong::new(Self::allowed()))
    }
    /// The text from which [`ValueParser::read`] makes the same value.
    fn write(value: &Self::Value) -> String;
    /// JSON Schema of the values in a file.
    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
    /// Examples of texts, each of which [`ValueParser::read`] accepts.
    fn examples() -> &'static [&'static str];
    /// The kinds of a value that has kinds with parts.
    fn kinds() -> &'static [Kind] {
        &[]
    }
}

/// Declares a parser that takes some of another parser's values: `narrowed!(ValueParser: OtherParser, "allowed",
/// |value| condition, examples)`.
macro_rules! narrowed {
    ($(#[$doc:meta])* $parser:ident: $wider:ty, $allowed:literal, |$value:ident| $fits:expr, $examples:expr) => {
        $(#[$doc])*
        pub(crate) struct $parser;

        impl $crate::value_parser::ValueParser for $parser {
            type Value = <$wider as $crate::value_parser::ValueParser>::Value;
            fn allowed() -> String {
                $allowed.into()
            }
            fn parse(text: &str) -> Option<Self::Value> {
                <$wider>::parse(text).filter(|$value| $fits)
            }
            fn write(value: &Self::Value) -> String {
                <$wider>::write(value)
            }
            fn schema() -> schemars::Schema {
                <$wider>::schema()
            }
            fn examples() -> &'static [&'static str] {
                &$examples
            }
        }
    };
}
pub(crate) use narrowed;

/// Splits `8.5Mbps` into its number, as digits with at most one dot, and its unit.
fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    number.parse::<f64>().ok()?;
    Some((number, unit.trim_start()))
}

/// The number times ten to the `exponent`, rounded once.
fn scaled(number: &str, exponent: i32) -> Option<f64> {
    format!("{number}e{exponent}").parse().ok()
}

/// The nearest whole number, if a double represents it exactly.
fn whole(x: f64) -> Option<u64> {
    (0.0..9e15).contains(&x).then_some((x + 0.5) as u64)
}

/// Any text that is not empty.
pub(crate) struct Text;

impl ValueParser for Text {
    type Value = String;
    fn examples() -> &'static [&'static str] {
        &["a line of text"]
    }
    fn allowed() -> String {
        "some text".into()
    }
    fn parse(text: &str) -> Option<String> {
        (!text.trim().is_empty()).then(|| text.to_owned())
    }
    fn write(value: &String) -> String {
        value.clone()
    }
}

/// A name of letters, digits and `-_`, which is safe in `--set` and in file names.
pub(crate) struct Name;

impl ValueParser for Name {
    type Value = String;
    fn examples() -> &'static [&'static str] {
        &["wlan"]
    }
    fn allowed() -> String {
        "a name of letters, digits, - and _ with at least one letter".into()
    }
    fn parse(text: &str) -> Option<String> {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (text.contains(|c: char| c.is_ascii_alphabetic()) && text.chars().all(fine)).then(|| text.to_owned())
    }
    fn write(value: &String) -> String {
        value.clone()
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]*[A-Za-z][A-Za-z0-9_-]*$" })
    }
}

/// `true` or `false`.
pub(crate) struct Bool;

impl ValueParser for Bool {
    type Value = bool;
    fn examples() -> &'static [&'static str] {
        &["true", "false"]
    }
    fn allowed() -> String {
        "true or false".into()
    }
    fn parse(text: &str) -> Option<bool> {
        text.parse().ok()
    }
    fn write(value: &bool) -> String {
        value.to_string()
    }
    fn schema() -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

/// A whole number from `MIN` to `MAX` that fits `T`.
pub(crate) struct Whole<const MIN: u32, const MAX: u32, T = u32>(PhantomData<T>);

impl<const MIN: u32, const MAX: u32, T: TryFrom<u32> + Display> ValueParser for Whole<MIN, MAX, T> {
    type Value = T;
    fn examples() -> &'static [&'static str] {
        &[]
    }
    fn allowed() -> String {
        format!("a whole number from {MIN} to {MAX}")
    }
    fn parse(text: &str) -> Option<T> {
        text.parse().ok().filter(|n| (MIN..=MAX).contains(n)).and_then(|n| T::try_from(n).ok())
    }
    fn write(value: &T) -> String {
        value.to_string()
    }
    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// A number that is not negative.
pub(crate) struct Number;

impl ValueParser for Number {
    type Value = f64;
    fn examples() -> &'static [&'static str] {
        &["2.5"]
    }
    fn allowed() -> String {
        "a number of at least 0".into()
    }
    fn parse(text: &str) -> Option<f64> {
        let (number, unit) = number_and_unit(text)?;
        unit.is_empty().then(|| number.parse().ok())?
    }
    fn write(value: &f64) -> String {
        value.to_string()
    }
    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}

/// A time, zero included, of at most about a hundred days, so that whole nanoseconds fit exactly into a double.
pub(crate) struct Time;

impl ValueParser for Time {
    type Value = Duration;
    fn examples() -> &'static [&'static str] {
        &["10ms", "1.5s", "0s"]
    }
    fn allowed() -> String {
        "a time such as 10ms or 1.5s".into()
    }
    fn parse(text: &str) -> Option<Duration> {
        number_and_unit(text)?;
        parse_time(text).filter(|time| time.as_nanos() < 9_000_000_000_000_000)
    }
    fn write(value: &Duration) -> String {
        value.to_string()
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9.]+ ?(ns|us|ms|s|min)$" })
    }
}

narrowed!(
    /// A time above zero.
    PositiveTime: Time, "a time above zero such as 10ms or 1.5s", |time| !time.is_zero(), ["10ms", "1.5s"]
);

/// A rate, zero included.
pub(crate) struct BitsPerSecond;

impl ValueParser for BitsPerSecond {
    type Value = Bitrate;
    fn examples() -> &'static [&'static str] {
        &["8Mbps", "500kbps"]
    }
    fn allowed() -> String {
        "a rate such as 8Mbps or 500kbps".into()
    }
    fn parse(text: &str) -> Option<Bitrate> {
        let (number, unit) = number_and_unit(text)?;
        let exponent = match unit {
            "bps" => 0,
            "kbps" | "Kbps" => 3,
            "Mbps" => 6,
            "Gbps" => 9,
            _ => return None,
        };
        scaled(number, exponent).and_then(whole).map(Bitrate::from_bps)
    }
    fn write(value: &Bitrate) -> String {
        value.to_string()
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9.]+ ?[kKMG]?bps$" })
    }
}

narrowed!(
    /// A rate above zero.
    PositiveRate: BitsPerSecond, "a rate above zero such as 8Mbps or 500kbps", |rate| rate.as_bps() > 0,
    ["8Mbps", "500kbps"]
);

/// A number of bytes, at least one.
pub(crate) struct Size;

impl ValueParser for Size {
    type Value = u64;
    fn examples() -> &'static [&'static str] {
        &["200KB", "128KiB", "1500B"]
    }
    fn allowed() -> String {
        "a size above zero such as 200KB (1000), 128KiB (1024) or 1500B".into()
    }
    fn parse(text: &str) -> Option<u64> {
        let (number, unit) = number_and_unit(text)?;
        let bytes = match unit {
            "B" => scaled(number, 0)?,
            "KB" | "kB" => scaled(number, 3)?,
            "MB" => scaled(number, 6)?,
            "GB" => scaled(number, 9)?,
            "KiB" => scaled(number, 0)? * f64::from(1 << 10),
            "MiB" => scaled(number, 0)? * f64::from(1 << 20),
            "GiB" => scaled(number, 0)? * f64::from(1 << 30),
            _ => return None,
        };
        whole(bytes).filter(|bytes| *bytes > 0)
    }
    fn write(value: &u64) -> String {
        match *value {
            n if n % (1 << 20) == 0 => format!("{}MiB", n >> 20),
            n if n % (1 << 10) == 0 => format!("{}KiB", n >> 10),
            n if n % 1000 == 0 => format!("{}KB", n / 1000),
            n => format!("{n}B"),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9.]+ ?([kKMG]?B|[KMG]iB)$" })
    }
}

/// A probability.
pub(crate) struct Share;

impl ValueParser for Share {
    type Value = Probability;
    fn examples() -> &'static [&'static str] {
        &["1%", "0.01", "0"]
    }
    fn allowed() -> String {
        "a probability such as 1% or 0.01, from 0% to 100%; a number of 1 or more needs a %, as in 1% or 100%".into()
    }
    fn parse(text: &str) -> Option<Probability> {
        let (number, unit) = number_and_unit(text)?;
        let exponent = match unit {
            "" => 0,
            "%" => -2,
            _ => return None,
        };
        // A user who writes 1 more likely means 1 % than "always".
        scaled(number, exponent).filter(|p| *p < 1.0 || unit == "%").and_then(Probability::new)
    }
    fn write(value: &Probability) -> String {
        if value.get() >= 1.0 { "100%".into() } else { value.get().to_string() }
    }
    fn schema() -> Schema {
        json_schema!({ "oneOf": [
            { "type": "number", "minimum": 0, "exclusiveMaximum": 1 },
            { "type": "string", "pattern": "^[0-9.]+ ?%?$" },
        ] })
    }
}

/// Declares a parser for an enum of words: `words!(ValueParser: Type { "word" => Type::Variant, ... })`.
macro_rules! words {
    ($(#[$doc:meta])* $parser:ident: $type:ty { $($word:literal => $value:path),+ $(,)? }) => {
        $(#[$doc])*
        pub(crate) struct $parser;

        impl $crate::value_parser::ValueParser for $parser {
            type Value = $type;
            fn examples() -> &'static [&'static str] {
                &[$($word),+]
            }
            fn allowed() -> String {
                [$($word),+].join(", ")
            }
            fn parse(text: &str) -> Option<$type> {
                match text {
                    $($word => Some($value),)+
                    _ => None,
                }
            }
            fn write(value: &$type) -> String {
                match value {
                    $($value => $word,)+
                }
                .into()
            }
            fn schema() -> schemars::Schema {
                schemars::json_schema!({ "enum": [$($word),+] })
            }
        }
    };
}
pub(crate) use words;
