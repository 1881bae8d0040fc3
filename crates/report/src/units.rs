//! Values of settings in the units that a person would use: `44.1 ms` for `44100us`, `1.5 Mbit/s` for `1500kbps`.

/// A setting's value for people: `25 Mbit/s` for `25Mbps`.
pub(crate) fn readable(key: &str, value: &str) -> String {
    match key {
        "loss" | "duplicate" | "corrupt" => match value.parse::<f64>() {
            Ok(0.0) => "none".into(),
            Ok(p) => format!("{} %", (p * 1e8).round() / 1e6),
            Err(_) => value.into(),
        },
        _ if value.starts_with("token-bucket:") => {
            let part =
                |name: &str| value.split(':').find_map(|p| p.strip_prefix(name)).map(quantity).unwrap_or_default();
            format!("{}, bucket of {}", part("rate="), part("burst="))
        }
        _ => match value.split_once(':') {
            // `kind:part=value:part=value`: the kind, and the values with their names.
            Some((kind, parts)) => {
                let parts = parts.split(':').map(|p| match p.split_once('=') {
                    Some((name, value)) => format!("{} {}", name.replace('_', " "), quantity(value)),
                    None => p.to_owned(),
                });
                format!("{kind} ({})", parts.collect::<Vec<_>>().join(", "))
            }
            // `auto 128KiB..6MiB` and other words with quantities in them.
            None => value.split(' ').map(range).collect::<Vec<_>>().join(" "),
        },
    }
}

/// Formats a range: `128 KiB to 6 MiB` for `128KiB..6MiB`.
fn range(word: &str) -> String {
    match word.split_once("..") {
        Some((low, high)) => format!("{} to {}", quantity(low), quantity(high)),
        None => quantity(word),
    }
}

/// Units of one kind, the largest first: the unit in settings, the unit for people, and its size in the last unit. A
/// value is shown in the first unit of which it has at least `LEAST`.
type Kind = &'static [(&'static str, &'static str, f64)];
const KINDS: [Kind; 2] = [
    &[("s", "s", 1e9), ("ms", "ms", 1e6), ("us", "µs", 1e3), ("ns", "ns", 1.0)],
    &[("Gbps", "Gbit/s", 1e9), ("Mbps", "Mbit/s", 1e6), ("kbps", "kbit/s", 1e3), ("bps", "bit/s", 1.0)],
];
/// Least number of a unit that people write: 0.2 ms and 0.5 Mbit/s are usual, 0.05 ms is not.
const LEAST: f64 = 0.1;
/// Least number of the largest unit (seconds, Gbit/s).
const LEAST_OF_LARGEST: f64 = 1.0;

/// A number with a unit that a person would use. Other text is returned unchanged.
fn quantity(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let Ok(value) = number.parse::<f64>() else { return text.to_owned() };
    let of = |kind: &Kind| kind.iter().find(|(written, ..)| *written == unit).map(|(.., size)| (*kind, value * size));
    if let Some((kind, smallest)) = KINDS.iter().find_map(of) {
        let fits = |(i, (.., size)): &(usize, &(&str, &str, f64))| {
            smallest / size >= if *i == 0 { LEAST_OF_LARGEST } else { LEAST }
        };
        let (_, (_, name, size)) = kind.iter().enumerate().find(fits).unwrap_or((0, &kind[0]));
        return format!("{} {name}", decimals(smallest / size));
    }
    match (unit, value) {
        ("", _) => text.to_owned(),
        ("B", value) if value >= 10_000.0 => format!("{} KB", decimals(value / 1e3)),
        _ => format!("{number} {unit}"),
    }
}

/// A number with at most three decimals and without trailing zeros.
fn decimals(x: f64) -> String {
    ((x * 1e3).round() / 1e3).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_for_people() {
        assert_eq!(readable("rate", "25Mbps"), "25 Mbit/s");
        assert_eq!(readable("loss", "0.01"), "1 %");
        assert_eq!(readable("loss", "0"), "none");
        assert_eq!(readable("queue", "100packets"), "100 packets");
        assert_eq!(readable("rate", "token-bucket:rate=8Mbps:burst=3028B"), "8 Mbit/s, bucket of 3028 B");
        assert_eq!(readable("receive_buffer", "auto 128KiB..6MiB"), "auto 128 KiB to 6 MiB");
        assert_eq!(readable("rate", "unlimited"), "unlimited");
    }

    #[test]
    fn a_unit_is_the_one_that_a_person_would_write() {
        assert_eq!(readable("delay", "44100us"), "44.1 ms");
        assert_eq!(readable("jitter", "uniform:amplitude=200us"), "uniform (amplitude 0.2 ms)");
        assert_eq!(readable("delay", "50us"), "50 µs");
        assert_eq!(readable("delay", "1500ms"), "1.5 s");
        assert_eq!(readable("delay", "500ms"), "500 ms");
        assert_eq!(readable("delay", "0s"), "0 s");
        assert_eq!(readable("rate", "1500kbps"), "1.5 Mbit/s");
        assert_eq!(readable("rate", "500kbps"), "0.5 Mbit/s");
        assert_eq!(readable("rate", "64kbps"), "64 kbit/s");
        assert_eq!(readable("rate", "900Mbps"), "900 Mbit/s");
        assert_eq!(readable("queue", "44100B"), "44.1 KB");
    }
}
