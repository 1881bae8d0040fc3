//! What a terminal shows of a comparison: the answer, the table, and where the time went.

use crate::comparison::Comparison;
use crate::table::{indented, table};
use crate::time_spent::{explained, where_the_time_went};
use crate::verdict::verdict;

/// The scenario's name, the answer, the ranked table, and where the time of the row to explain went: of the scheduler `why`, or of the
/// slowest one. Lines have at most `columns` characters, if `columns` is at least 80.
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
