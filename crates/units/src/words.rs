//! Numbers in sentences.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Display;

/// A count with its noun: `1 run`, `3 runs`, `1 entry`, `3 entries`. `one` is the noun's singular.
pub fn counted(number: impl Display, one: &str) -> String {
    let number = number.to_string();
    let word = match (number.as_str(), one.strip_suffix('y')) {
        ("1", _) => one.to_owned(),
        (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{one}s"),
    };
    format!("{number} {word}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_not_several() {
        assert_eq!([counted(0, "run"), counted(1, "run"), counted(2, "run")], ["0 runs", "1 run", "2 runs"]);
        assert_eq!([counted(1, "entry"), counted(12, "entry"), counted(2, "day")], ["1 entry", "12 entries", "2 days"]);
        assert_eq!(counted("1.0", "segment"), "1.0 segments");
    }
}
