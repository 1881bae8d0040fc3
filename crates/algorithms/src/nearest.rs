//! Finds the name that was probably meant by an unknown one.

/// Least letters of a beginning that identifies a name.
const LEAST_LETTERS: usize = 3;

/// The name most similar to `wanted`, if it is similar enough: at most one letter in three is missing, added, wrong, or
/// exchanged with its neighbour. If no name is similar enough, the only name that begins with `wanted`.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = wanted.chars().count();
    let wanted = wanted.to_lowercase();
    let names: Vec<&str> = names.into_iter().collect();
    let distance = |name: &&str| strsim::damerau_levenshtein(&wanted, &name.to_lowercase());
    let near = names.iter().copied().filter(|name| distance(name) <= letters / 3).min_by_key(distance);
    let mut longer = names.iter().copied().filter(|name| letters >= LEAST_LETTERS && name.starts_with(&wanted));
    near.or_else(|| longer.next().filter(|_| longer.next().is_none()))
}

/// The text `then`, behind "did you mean `NAME`?" if one of `names` is similar enough to `wanted`.
pub fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>, then: &str) -> String {
    let Some(name) = nearest(wanted, names) else { return then.to_owned() };
    let mut letters = then.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("did you mean `{name}`? {first}{}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_near_and_another_word_is_not() {
        let names = ["minrtt", "blest", "blest-kernel", "ecf", "weave", "goodput_mbps"];
        for (wanted, meant) in [
            ("minrt", Some("minrtt")),
            ("mintrt", Some("minrtt")),
            ("MinRTT", Some("minrtt")),
            ("blst", Some("blest")),
            ("blest-kernal", Some("blest-kernel")),
            ("efc", Some("ecf")),
            ("goodput", Some("goodput_mbps")),
            ("ble", None),
            ("bbr", None),
            ("fastest", None),
            ("e", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, names), meant, "{wanted}");
        }
        let hint = |wanted: &str| did_you_mean(wanted, ["wlan-3g", "wifi-lte"], "there are two");
        assert_eq!(hint("wifi-let"), "did you mean `wifi-lte`? There are two");
        assert_eq!(hint("ethernet"), "there are two");
    }
}
