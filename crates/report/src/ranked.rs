//! What a terminal shows of a comparison: the answer, the table, and where the time went.

use crate::comparison::Comparison;
use crate::table::table;
use crate::time_spent::{explained, where_the_time_went};
use crate::verdict::verdict;

/// The scenario's name, the answer, the ranked table, and where the time of the row to explain went: of the scheduler `why`, or of the
/// slowest one. Lines have at most `columns` characters, if `columns` is at least 80.
pub fn ranked(comparison: &Comparison, why: Option<&str>, columns: usize) -> String {
    let mut text = format!("{}\n\n", comparison.scenario);
    if let Some(answer) = verdict(comparison) {
        text.push_str(&format!("{}\n\n", wrapped(&answer, columns)));
    }
    text.push_str(&format!("{}\n", table(comparison, columns)));
    if let Some(why) = explained(comparison, why).and_then(|s| where_the_time_went(comparison, s, columns)) {
        text.push_str(&format!("{why}\n"));
    }
    text
}

/// Breaks text into lines of at most `columns` characters, unless a word is longer.
fn wrapped(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 {
            let fits = used + 1 + length <= columns;
            out.push(if fits { ' ' } else { '\n' });
            used = if fits { used + 1 } else { 0 };
        }
        out.push_str(word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn sentences_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three four", 9), "one two\nthree\nfour");
        assert_eq!(wrapped("unbreakable a", 5), "unbreakable\na");
    }
}
