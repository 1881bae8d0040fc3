//! The name that was probably meant by one that does not exist.

/// The one of `names` that is most like `wanted`, if it is like it: at most one letter in three is missing, too many, wrong, or in the
/// place of its neighbour.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = wanted.chars().count() / 3;
    let wanted = wanted.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&wanted, &name.to_lowercase());
    let all = names.into_iter().map(|name| (distance(name), name));
    all.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// "; did you mean `NAME`?", or nothing if none of `names` is near enough to `wanted`.
pub fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wanted, names).map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_near_and_another_word_is_not() {
        let names = ["minrtt", "blest", "blest-kernel", "ecf", "weave"];
        for (wanted, meant) in [
            ("minrt", Some("minrtt")),
            ("mintrt", Some("minrtt")),
            ("MinRTT", Some("minrtt")),
            ("blst", Some("blest")),
            ("blest-kernal", Some("blest-kernel")),
            ("efc", Some("ecf")),
            ("bbr", None),
            ("fastest", None),
            ("e", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, names), meant, "{wanted}");
        }
        assert_eq!(did_you_mean("wifi-let", ["wlan-3g", "wifi-lte"]), "; did you mean `wifi-lte`?");
        assert_eq!(did_you_mean("ethernet", ["wlan-3g", "wifi-lte"]), "");
    }
}
