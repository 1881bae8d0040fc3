//! Which scheduler is best, and which ones are as good.

use super::words::{compared, others, path, unit, value, verb};
use crate::comparison::{Comparison, Summary};

/// Which scheduler is best, and by how much.
pub(super) fn best_scheduler(comparison: &Comparison, best: &Summary) -> String {
    let schedulers = comparison.summaries.iter().filter(|s| s.plain_tcp.is_none()).count();
    let mut text = match (schedulers, &best.same[..]) {
        (1, []) => format!("{} ", best.scheduler),
        (1, same) => format!("{}, like {}, ", best.scheduler, others(same)),
        (_, []) => format!("{} is the best scheduler here: it ", best.scheduler),
        (_, same) => format!("{} and {} are the best schedulers here: each ", best.scheduler, others(same)),
    };
    match value(comparison, best) {
        Some(x) => text.push_str(&format!("{} {x} {}", verb(comparison), unit(comparison))),
        None => text.push_str(&format!("finishes {} of {} runs", best.runs - best.unfinished(), best.runs)),
    }
    let tcp = comparison.best_plain_tcp();
    let mut said = false;
    if let (Some(tcp), Some(difference)) = (tcp, best.against_tcp) {
        let name = format!("plain TCP on {}", path(comparison, tcp));
        text.push_str(&format!(", {}", compared(comparison, tcp, &difference, &name)));
        said = true;
    } else if let Some(tcp) = tcp.filter(|t| comparison.sized && t.completion_s.is_none()) {
        text.push_str(&format!(", while plain TCP on {} does not finish", path(comparison, tcp)));
        said = true;
    }
    if let (Some(linux), Some(difference)) = (comparison.row("linux"), best.against_linux) {
        let join = if said { "; that is" } else { "," };
        text.push_str(&format!("{join} {}", compared(comparison, linux, &difference, "linux")));
    } else if best.is("linux") && schedulers > 1 {
        text.push_str("; nothing beats the scheduler of Linux here");
    }
    text + "."
}

/// The schedulers within 1 % of the best: a smaller lead is no reason to choose. The first sentence has compared with `linux`.
pub(super) fn as_good(comparison: &Comparison, best: &Summary) -> Option<String> {
    let value = |s: &Summary| match comparison.sized {
        true => s.completion_s.filter(|_| s.unfinished() == 0).map(|c| c.mean),
        false => Some(s.goodput_mbps.mean),
    };
    let top = value(best).filter(|x| *x > 0.0)?;
    let near = |s: &&Summary| {
        let other = s.plain_tcp.is_none() && s.scheduler != best.scheduler;
        let said = best.against_linux.is_some() && s.is("linux") && s.same.is_empty();
        other && !said && value(s).is_some_and(|x| (x - top).abs() <= 0.01 * top)
    };
    let names: Vec<&String> =
        comparison.summaries.iter().filter(near).flat_map(|s| core::iter::once(&s.scheduler).chain(&s.same)).collect();
    let last = names.len().checked_sub(1)?;
    let listed = |names: &[&String]| names.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(", ");
    Some(match last {
        0 => format!("{} is within 1 % of it.", names[0]),
        1..=3 => format!("{} and {} are within 1 % of it.", listed(&names[..last]), names[last]),
        _ => format!("{} and {} more are within 1 % of it.", listed(&names[..3]), names.len() - 3),
    })
}
