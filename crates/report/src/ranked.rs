//! A comparison for a terminal: the answer, the table, and the parts of the time.

use crate::comparison::Comparison;
use crate::table::{indented, table};
use crate::time_spent::{explained, where_the_time_went};
use crate::verdict::verdict;

/// A comparison as text: the scenario's name, the answer, the ranked table, and the parts of one scheduler's time. That
/// scheduler is `why`, or the slowest one. Lines have at most `columns` characters if `columns` is at least 80.
pub fn ranked(comparison: &Comparison, why: Option<&str>, columns: usize) -> String {
    let mut text = format!("{}\n\n", comparison.scenario);
    if let Some(answer) = verdict(comparison) {
        text.push_str(&format!("{}\n", indented("", &answer.to_string(), columns)));
    }
    if !comparison.summaries.is_empty() {
        text.push_str(&format!("{}\n", table(comparison, columns)));
    }
    if let Some(why) = explained(comparison, why).and_then(|s| where_the_time_went(comparison, s, columns)) {
        text.push_str(&format!("{why}\n"));
    }
    text
}
