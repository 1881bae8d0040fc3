//! Sentences about the best scheduler, its lead, and schedulers that are as good.

use super::words::{
    amount, compared, does, does_not, finishes, first_of, is, is_level, plain_tcp, schedulers, with_same,
};
use crate::comparison::{BesideTcp, Comparison, Judged, Standing, Summary};
use pathweave_units::counted;

/// The first sentence of the answer.
pub(super) fn lead(comparison: &Comparison, best: &Summary) -> String {
    let judged = comparison.judged;
    let text = match (best.value, is_behind_tcp(comparison, best)) {
        (None, _) => return none_finishes(comparison, best),
        (Some(value), Some(tcp)) => behind(comparison, best, value.mean, tcp),
        (Some(value), None) => {
            let does = if best.unfinished() == 0 { does(judged, value.mean) } else { finishes_some(judged, best) };
            let text = first(comparison, best) + &does + &beside_tcp(comparison, best);
            text + &beside_linux(comparison, best)
        }
    };
    text + "."
}

/// The subject: `blest is the best of the 4 schedulers compared: it `, or `blest ` if it is the only one.
fn first(comparison: &Comparison, best: &Summary) -> String {
    let rows = comparison.multipath().count();
    let all = schedulers(comparison.multipath());
    let (names, several) = (with_same(best), !best.same.is_empty());
    match (rows, several) {
        (1, false) => format!("{names} "),
        (1, true) => format!("{names} do the same: each "),
        (_, false) => format!("{names} is the best of the {all} schedulers compared: it "),
        (_, true) => format!("{names} are the best of the {all} schedulers compared: each "),
    }
}

/// The fraction of runs with a value: `finishes in 2 of 3 runs`.
fn finishes_some(judged: Judged, row: &Summary) -> String {
    let all = row.measured();
    format!("{} in {} of {}", finishes(judged), all - row.unfinished(), counted(all, "run"))
}

/// Plain TCP, if it is better than every scheduler, and clearly better than the best one.
fn is_behind_tcp<'a>(comparison: &'a Comparison, best: &Summary) -> Option<&'a Summary> {
    let tcp = comparison.best_plain_tcp()?;
    let ahead = best.beside_tcp.filter(|beside| beside.standing == Standing::Worse)?;
    let less_often = |b: &BesideTcp| b.lost > b.won;
    let behind = |row: &Summary| match row.beside_tcp {
        Some(beside) if less_often(&ahead) || less_often(&beside) => less_often(&beside),
        Some(beside) if beside.won > beside.lost => false,
        _ => row.against_tcp.is_some_and(|d| !d.is_equal && (d.mean() < 0.0) != comparison.judged.less_is_better()),
    };
    comparison.multipath().all(behind).then_some(tcp)
}

/// The sentence for the case that no scheduler is as good as plain TCP on one path.
fn behind(comparison: &Comparison, best: &Summary, value: f64, tcp: &Summary) -> String {
    let judged = comparison.judged;
    let (tcp, all) = (plain_tcp(comparison, tcp), schedulers(comparison.multipath()));
    let names = with_same(best);
    let who = match (comparison.multipath().count(), best.same.len()) {
        (1, 0) => String::new(),
        (1, _) => format!("{names} do the same; each "),
        (_, 0) => format!("the best of the {all}, {names}, "),
        (..) => format!("the best of the {all} are {names}; each "),
    };
    if let Some(BesideTcp { seeds, lost, .. }) = best.beside_tcp.filter(|b| b.lost > b.won) {
        let seeds = counted(seeds, "seed");
        let with = format!("with {lost} of {seeds} it {}, and {tcp} does", does_not(judged));
        return match who.is_empty() {
            true => format!("{names} {} as often as {tcp}: {with}", does_not(judged)),
            false => {
                let some = finishes_some(judged, best);
                format!("No scheduler {} as often as {tcp}: {who}{some}; {with}", finishes(judged))
            }
        };
    }
    let does = if best.unfinished() == 0 { does(judged, value) } else { finishes_some(judged, best) };
    let difference = best.against_tcp.map_or(String::new(), |d| match best.unfinished() {
        0 => format!(", {}", compared(judged, &d, None)),
        _ => format!("; where both do, {}", compared(judged, &d, None)),
    });
    match (who.is_empty(), judged) {
        (true, Judged::Goodput) => format!("{names} does not reach {tcp}: it {does}{difference}"),
        (true, _) => format!("{names} is slower than {tcp}: it {does}{difference}"),
        (false, Judged::Goodput) => format!("No scheduler reaches {tcp}: {who}{does}{difference}"),
        (false, _) => format!("No scheduler is as fast as {tcp}: {who}{does}{difference}"),
    }
}

/// The comparison of the best scheduler with plain TCP on the best path.
fn beside_tcp(comparison: &Comparison, best: &Summary) -> String {
    let judged = comparison.judged;
    let Some(tcp) = comparison.best_plain_tcp() else { return String::new() };
    let name = plain_tcp(comparison, tcp);
    if tcp.value.is_none() {
        return format!(", while {name} {}", does_not(judged));
    }
    let mut text = String::new();
    if let Some(BesideTcp { seeds, lost, won, .. }) = best.beside_tcp.filter(|b| b.lost + b.won > 0) {
        for (times, whose, other) in [(won, name.as_str(), "it"), (lost, "it", name.as_str())] {
            if times > 0 {
                let of = counted(seeds, "seed");
                text += &format!("; with {times} of {of} {whose} {}, and {other} does", does_not(judged));
            }
        }
    }
    if let Some(difference) = best.against_tcp {
        let compared = compared(judged, &difference, Some(&name));
        match text.is_empty() && best.unfinished() == 0 {
            true => text += &format!(", {compared}"),
            false => text += &format!("; where both do, {compared}"),
        }
    }
    text
}

/// The comparison of the best scheduler with the scheduler of Linux.
fn beside_linux(comparison: &Comparison, best: &Summary) -> String {
    let judged = comparison.judged;
    let is_first = comparison.summaries.first().is_some_and(|row| row.scheduler == best.scheduler);
    if best.is("linux") {
        let alone = comparison.multipath().count() == 1;
        return if alone || !is_first { "" } else { "; none of those compared beats the scheduler of Linux" }.into();
    }
    let whole = |row: &&Summary| row.unfinished() == 0 && best.unfinished() == 0;
    match (comparison.row("linux").filter(whole), best.against_linux) {
        (Some(_), Some(difference)) => format!("; that is {}", compared(judged, &difference, Some("linux"))),
        _ => String::new(),
    }
}

/// The sentence for the case that no scheduler's run has a ranking value.
fn none_finishes(comparison: &Comparison, best: &Summary) -> String {
    let judged = comparison.judged;
    let tcp = comparison.summaries.iter().find(|row| row.plain_tcp.is_some() && row.value.is_some());
    let tcp = tcp
        .map_or(String::new(), |tcp| format!(", while {} {}", plain_tcp(comparison, tcp), finishes_some(judged, tcp)));
    let all = schedulers(comparison.multipath());
    let most = match comparison.multipath().count() {
        1 => format!("It delivers {}.", amount(Judged::Goodput, best.goodput_mbps.mean)),
        _ => format!(
            "Of the {all} compared, {} delivers most, {}.",
            with_same(best),
            amount(Judged::Goodput, best.goodput_mbps.mean)
        ),
    };
    match all {
        1 => format!("{} {}{tcp}. {most}", best.scheduler, does_not(judged)),
        _ => format!("No scheduler {}{tcp}. {most}", finishes(judged)),
    }
}

/// A sentence about the other delays of messages: with the best scheduler, and with the one that has the longest time
/// without a delivery.
pub(super) fn delays(comparison: &Comparison, best: &Summary) -> Option<String> {
    let judged = comparison.judged;
    best.value.filter(|_| judged == Judged::Delay)?;
    let (median, gap) = (best.delay_p50_ms()?, best.longest_gap_ms()?);
    let mut text = format!(
        "Its median delay is {}, and its longest time without a delivery {}",
        amount(judged, median),
        amount(judged, gap)
    );
    let longest = |row: &Summary| row.longest_gap_ms().unwrap_or(0.0);
    let worst = comparison.multipath().max_by(|a, b| longest(a).total_cmp(&longest(b)));
    if let Some(worst) = worst.filter(|worst| longest(worst) >= 2.0 * gap && longest(worst) > 0.0) {
        text += &format!("; the longest of all is {}, with {}", amount(judged, longest(worst)), with_same(worst));
    }
    Some(text + ".")
}

/// The schedulers within 1 % of the best, because a smaller lead is no reason to choose. Then the schedulers that the
/// seeds cannot tell from the best. `linux` is left out if the first sentence names it.
pub(super) fn as_good(comparison: &Comparison, best: &Summary) -> Option<String> {
    best.value.filter(|value| value.mean > 0.0 && best.unfinished() == 0)?;
    let (mut near, mut unclear) = (Vec::new(), Vec::new());
    let linux_is_said = best.against_linux.is_some();
    let whole = comparison.multipath().filter(|row| row.scheduler != best.scheduler && row.unfinished() == 0);
    for row in whole.filter(|row| !(linux_is_said && row.is("linux") && row.same.is_empty())) {
        let Some(difference) = row.against_best else { continue };
        let names = core::iter::once(&row.scheduler).chain(&row.same).cloned();
        match difference.is_significant() {
            _ if is_level(&difference) => near.extend(names),
            Some(false) => unclear.extend(names),
            _ => {}
        }
    }
    let mut text = Vec::new();
    if !near.is_empty() {
        text.push(format!("{} {} within 1 % of it.", first_of(&near), is(near.len())));
    }
    if !unclear.is_empty() {
        text.push(format!("{} {} not significantly worse.", first_of(&unclear), is(unclear.len())));
    }
    (!text.is_empty()).then(|| text.join(" "))
}
