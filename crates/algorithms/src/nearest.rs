//! Finds the name that was probably meant by an unknown one.

/// Least letters of a beginning that identifies a name.
const LEAST_LETTERS: usize = 3;
/// Most names that are suggested together.
const MOST_NAMES: usize = 5;

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

/// The names that were probably meant: the nearest one, or else those of which `wanted` is a word, if they are at most
/// five. `buffer` is a word of `send_buffer` and of `receive_buffer`.
pub fn meant<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let names: Vec<&str> = names.into_iter().collect();
    if let Some(name) = nearest(wanted, names.iter().copied()) {
        return vec![name];
    }
    let lower = wanted.to_lowercase();
    let has = |name: &&str| wanted.chars().count() >= LEAST_LETTERS && has_words(&name.to_lowercase(), &lower);
    let found: Vec<&str> = names.into_iter().filter(has).collect();
    if found.len() <= MOST_NAMES { found } else { Vec::new() }
}

/// Whether `part` is in `name`, with no letter or digit directly before or behind it.
fn has_words(name: &str, part: &str) -> bool {
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let ends = |at: usize| is_end(name[..at].chars().next_back()) && is_end(name[at + part.len()..].chars().next());
    name.match_indices(part).any(|(at, _)| ends(at))
}

/// Names in words: "`a`", "`a` or `b`", "`a`, `b` or `c`"; `None` if there are none.
pub fn names_in_words<S: AsRef<str>>(names: &[S]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    let (last, first) = quoted.split_last()?;
    Some(if first.is_empty() { last.clone() } else { format!("{} or {last}", first.join(", ")) })
}

/// The text `then`, behind "did you mean `NAME`?" if some of `names` were probably meant by `wanted`.
pub fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>, then: &str) -> String {
    let Some(names) = names_in_words(&meant(wanted, names)) else { return then.to_owned() };
    let mut letters = then.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("did you mean {names}? {first}{}", letters.as_str())
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

    #[test]
    fn a_word_means_every_name_that_has_it() {
        let names = ["send_buffer", "receive_buffer", "least_buffer_space", "rebuffers", "duration", "completion_s"];
        for (wanted, all) in [
            ("buffer", &["send_buffer", "receive_buffer", "least_buffer_space"][..]),
            ("send", &["send_buffer"]),
            ("completion", &["completion_s"]),
            ("recieve_buffer", &["receive_buffer"]),
            ("Duration", &["duration"]),
            ("duration_of_it", &[]),
            ("s", &[]),
        ] {
            assert_eq!(meant(wanted, names), all, "{wanted}");
        }
        let many = ["x_1", "x_2", "x_3", "x_4", "x_5", "x_6"].map(|name| name.replace('x', "path"));
        assert!(meant("path", many.iter().map(String::as_str)).is_empty(), "a list of all helps nobody");
        let text = did_you_mean("buffer", names, "there are more");
        assert_eq!(text, "did you mean `send_buffer`, `receive_buffer` or `least_buffer_space`? There are more");
    }
}
