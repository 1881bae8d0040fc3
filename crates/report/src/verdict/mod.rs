//! The answer in a few sentences: which scheduler, by how much, whether that is significant, and when several paths are worse than one.

mod lead;
mod paths;
mod words;

use crate::comparison::Comparison;
use lead::{as_good, best_scheduler};
use paths::{one_path, worse_than_one};
pub(crate) use words::{number_word, unit};

/// The answer in plain words; `None` if no scheduler was run.
pub fn verdict(comparison: &Comparison) -> Option<String> {
    let best = comparison.best_multipath()?;
    if comparison.nothing_arrived() {
        return Some(
            "Nothing arrived: no scheduler delivered a byte, and plain TCP did not either on any path. The paths may be down, \
             or lose everything."
                .into(),
        );
    }
    let mut sentences = Vec::new();
    if best.goodput_mbps.mean == 0.0 {
        sentences.push("No scheduler delivered a byte, although plain TCP did.".into());
    } else {
        sentences.push(best_scheduler(comparison, best));
    }
    sentences.extend(as_good(comparison, best));
    sentences.extend(one_path(comparison, best));
    sentences.extend(worse_than_one(comparison));
    Some(sentences.join(" "))
}
