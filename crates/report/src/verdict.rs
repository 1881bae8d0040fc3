//! Are several paths worse than one? The answer in a sentence.

use crate::number::spoken;
use crate::summary::{Comparison, Standing, Summary};

/// Most schedulers that a sentence names.
const MOST_NAMED: usize = 4;

/// What several paths gain or lose here against plain TCP on the best one, in plain words; nothing with one path, without plain
/// TCP runs, or where no scheduler used more than one path.
pub fn verdict(comparison: &Comparison) -> Option<String> {
    let tcp = comparison.best_plain_tcp()?;
    let path = tcp.plain_tcp?;
    let judged: Vec<_> = comparison.summaries.iter().filter_map(|s| Some((s, s.standing?))).collect();
    let (best, best_standing) = *judged.first()?;
    let worse: Vec<_> = judged.iter().filter(|(_, standing)| *standing == Standing::Worse).map(|(s, _)| *s).collect();
    let how_many = number_word(comparison.paths);

    let (word, named) = match best_standing {
        _ if !worse.is_empty() => ("worse than", worse),
        Standing::Better => ("better than", vec![best]),
        Standing::Level | Standing::Worse => ("about as good as", vec![best]),
    };
    let mut text = format!("{how_many} paths are {word} one here");
    if word == "worse than" && named.len() < judged.len() {
        text.push_str(&format!(" with {} of {} schedulers", named.len(), judged.len()));
    }
    text.push_str(": ");
    let mut said = false;
    let more = named.len().saturating_sub(MOST_NAMED);
    for summary in named.into_iter().take(MOST_NAMED) {
        text.push_str(&summary.scheduler);
        text.push_str(&match value(comparison, summary) {
            Some(x) if said => format!(" {x}, "),
            Some(x) => format!(" {} {x} {}, ", verb(comparison), unit(comparison)),
            None => " does not finish every run, ".into(),
        });
        said |= value(comparison, summary).is_some();
    }
    if more > 0 {
        text.push_str(&format!("{more} more are below as well, "));
    }
    let tcp_value = value(comparison, tcp)?;
    text.push_str(&format!("plain TCP on path {path} {} {tcp_value}.", verb(comparison)));
    if let ("worse than", Standing::Better, Some(x)) = (word, best_standing, value(comparison, best)) {
        let both = if comparison.paths == 2 { "both" } else { "all" };
        text.push_str(&format!(" The best use of {both} is {}: {x} {}.", best.scheduler, unit(comparison)));
    }
    Some(text)
}

fn verb(comparison: &Comparison) -> &'static str {
    if comparison.sized { "takes" } else { "delivers" }
}

fn unit(comparison: &Comparison) -> &'static str {
    if comparison.sized { "s" } else { "Mbit/s" }
}

fn value(comparison: &Comparison, summary: &Summary) -> Option<String> {
    if !comparison.sized {
        return Some(spoken(summary.goodput_mbps.mean));
    }
    summary.completion_s.filter(|c| c.count == summary.runs).map(|c| spoken(c.mean))
}

fn number_word(n: usize) -> String {
    const WORDS: [&str; 9] = ["Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];
    n.checked_sub(2).and_then(|i| WORDS.get(i)).map_or_else(|| n.to_string(), |w| (*w).to_string())
}
