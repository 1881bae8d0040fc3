//! Numbers as text for people.

/// A number with three significant digits, but at most two after the point: `0.04`, `9.12`, `48.1`, `1203`.
pub fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 99.95 => format!("{x:.0}"),
        a if a >= 9.995 => format!("{x:.1}"),
        _ => tidy(format!("{x:.2}")),
    }
}

/// Like [`short`], with a sign. The minus is ASCII, so that other programs can read it.
pub(crate) fn signed(x: f64) -> String {
    let text = short(x);
    if text.starts_with('-') { text } else { format!("+{text}") }
}

/// A number for a sentence: one digit after the point from 1 to 100, otherwise like [`short`].
pub(crate) fn spoken(x: f64) -> String {
    if x.abs() >= 99.95 || x.abs() < 0.95 { short(x) } else { format!("{x:.1}") }
}

/// A mean count: without a fraction if it is whole or at least 100, otherwise with one digit after the point.
pub(crate) fn count(x: f64) -> String {
    if x >= 99.95 || x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.1}") }
}

/// A number of bytes in KB (1000 bytes), without the unit.
pub(crate) fn kilobytes(bytes: f64) -> String {
    match bytes / 1000.0 {
        kb if kb >= 9.95 || kb == 0.0 => format!("{kb:.0}"),
        kb => format!("{kb:.1}"),
    }
}

/// A number of bytes with three digits and a unit: `850 B`, `2.85 KB`, `16.5 MB` (powers of 1000).
pub(crate) fn bytes(n: u64) -> String {
    let x = n as f64;
    match n {
        0..1000 => format!("{n} B"),
        1000..999_950 => format!("{} KB", short(x / 1e3)),
        999_950..999_950_000 => format!("{} MB", short(x / 1e6)),
        _ => format!("{} GB", short(x / 1e9)),
    }
}

fn tidy(text: String) -> String {
    if text == "-0.00" { "0.00".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        let all: Vec<_> = [0.0, -0.001, 0.04, 9.119, 9.996, 48.13, 1203.4].map(short).into();
        assert_eq!(all, ["0.00", "0.00", "0.04", "9.12", "10.0", "48.1", "1203"]);
        assert_eq!([signed(0.5), signed(-0.25), signed(0.0)], ["+0.50", "-0.25", "+0.00"]);
        assert_eq!([spoken(3.12), spoken(0.31), spoken(120.2)], ["3.1", "0.31", "120"]);
        assert_eq!([count(3.0), count(3.4), count(120.4)], ["3", "3.4", "120"]);
        assert_eq!([kilobytes(0.0), kilobytes(900.0), kilobytes(1_234_567.0)], ["0", "0.9", "1235"]);
        assert_eq!([bytes(0), bytes(999), bytes(2848), bytes(16_508_000)], ["0 B", "999 B", "2.85 KB", "16.5 MB"]);
    }
}
