//! Sentences about the best scheduler, its lead, and schedulers that are as good.

use super::words::{
    amount, compared, does, does_not, finishes, first_of, is, is_level, names, no_scheduler, on_host, one_of,
    plain_tcp, schedulers, with_same, with_this_seed,
};
use crate::comparison::{BesideTcp, Comparison, Judged, Summary, all_are_behind};
use pathweave_units::counted;

/// Addition for schedulers that have all seeds that others have.
const WHOLE: &str = "with all measured seeds";

/// The first sentence of the answer.
pub(super) fn lead(comparison: &Comparison, best: &Summary) -> String {
    let judged = comparison.judged;
    let text = match (best.value, is_behind_tcp(comparison)) {
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
    let whole = || comparison.multipath().filter(|row| row.lacking == 0);
    let (rows, all) = (comparison.multipath().count(), schedulers(whole()));
    let equals = names(comparison.equals(best));
    let (names, several) = (one_of(&equals), equals.len() > 1);
    let (it, are) = if several { ("each", "are") } else { ("it", "is") };
    let text = match (rows, whole().count()) {
        (1, _) if !several => return format!("{names} "),
        (1, _) => format!("{names} do the same: each "),
        _ if best.lacking > 0 => {
            format!("The schedulers have different seeds, and none is called the best. {names}: {it} ")
        }
        (_, 1) if several => format!("{names} are the only schedulers {WHOLE}: each "),
        (_, 1) => format!("{names} is the only scheduler {WHOLE}: it "),
        (_, n) if n < rows => format!("{names} {are} the best of the {all} schedulers {WHOLE}: {it} "),
        _ if equals.len() == all => format!("{names} are equally good: each "),
        _ => format!("{names} {are} the best of the {all} schedulers compared: {it} "),
    };
    with_this_seed(comparison.seeds.len() == 1, text)
}

/// The fraction of runs with a value: `finishes in 2 of 3 runs`.
fn finishes_some(judged: Judged, row: &Summary) -> String {
    let all = row.measured();
    format!("{} in {} of {}", finishes(judged), all - row.unfinished(), counted(all, "run"))
}

/// Plain TCP, if every scheduler is behind it, and the best one clearly.
fn is_behind_tcp(comparison: &Comparison) -> Option<&Summary> {
    let rows = comparison.multipath().map(|row| (row.beside_tcp, row.against_tcp));
    comparison.best_plain_tcp().filter(|_| all_are_behind(&rows.collect::<Vec<_>>(), comparison.judged))
}

/// Plain TCP on a backup is better than all, which the lead does not compare with it.
pub(super) fn behind_backup(comparison: &Comparison) -> Option<String> {
    let tcp = &comparison.summaries[comparison.backup_ahead?];
    let judged = comparison.judged;
    let does = match tcp.value {
        Some(value) if tcp.unfinished() == 0 => does(judged, value.mean),
        _ => finishes_some(judged, tcp),
    };
    let (best, one_seed) = (comparison.best_multipath()?, comparison.seeds.len() == 1);
    let is_not = match (comparison.multipath().count(), best.same.len()) {
        (1, 0) => with_this_seed(one_seed, format!("{} is not", best.scheduler)),
        (1, _) => with_this_seed(one_seed, format!("{} are not", with_same(best))),
        _ => no_scheduler(comparison, one_seed) + " is",
    };
    Some(format!("{is_not} as good as {}, which is a backup: that {does}.", plain_tcp(comparison, tcp)))
}

/// The sentence for the case that no scheduler is as good as plain TCP on one path.
fn behind(comparison: &Comparison, best: &Summary, value: f64, tcp: &Summary) -> String {
    let judged = comparison.judged;
    let whole = || comparison.multipath().filter(|row| row.lacking == 0);
    let (tcp, all) = (plain_tcp(comparison, tcp) + &on_host(tcp, best), schedulers(whole()));
    let one_seed = best.beside_tcp.is_some_and(|beside| beside.seeds == 1);
    let equals = names(comparison.equals(best));
    let (names, nobody) = (one_of(&equals), no_scheduler(comparison, one_seed));
    let each = if equals.len() == 1 { "" } else { "each " };
    let of = if comparison.is_uneven() { format!("{all} {WHOLE}") } else { all.to_string() };
    let who = match (comparison.multipath().count(), whole().count(), equals.len()) {
        (1, _, 1) => String::new(),
        (1, ..) => format!("{names} do the same; each "),
        _ if best.lacking > 0 => format!("{names} {each}"),
        (rows, 1, _) if rows > 1 => format!("{names}, alone {WHOLE}, {each}"),
        (_, _, 1) => format!("the best of the {of}, {names}, "),
        (..) => format!("the best of the {of} are {names}; each "),
    };
    if let Some(BesideTcp { seeds, lost, .. }) = best.beside_tcp.filter(|b| b.lost > b.won) {
        let seeds = counted(seeds, "seed");
        let with = format!("with {lost} of {seeds} it {}, and {tcp} does", does_not(judged));
        return match who.is_empty() {
            true => with_this_seed(one_seed, format!("{names} {} as often as {tcp}: {with}", does_not(judged))),
            false => {
                let some = finishes_some(judged, best);
                format!("{nobody} {} as often as {tcp}: {who}{some}; {with}", finishes(judged))
            }
        };
    }
    let does = if best.unfinished() == 0 { does(judged, value) } else { finishes_some(judged, best) };
    let difference = best.against_tcp.map_or(String::new(), |d| match best.unfinished() {
        0 => format!(", {}", compared(judged, &d, None)),
        _ => format!("; where both do, {}", compared(judged, &d, None)),
    });
    let alone = |does_not: &str| with_this_seed(one_seed, format!("{names} {does_not} {tcp}: it {does}{difference}"));
    match (who.is_empty(), judged) {
        (true, Judged::Goodput) => alone("does not reach"),
        (true, _) => alone("is slower than"),
        (false, Judged::Goodput) => format!("{nobody} reaches {tcp}: {who}{does}{difference}"),
        (false, _) => format!("{nobody} is as fast as {tcp}: {who}{does}{difference}"),
    }
}

/// The comparison of the best scheduler with plain TCP on the best path.
fn beside_tcp(comparison: &Comparison, best: &Summary) -> String {
    let judged = comparison.judged;
    let Some(tcp) = comparison.best_plain_tcp() else { return String::new() };
    let name = plain_tcp(comparison, tcp) + &on_host(tcp, best);
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
    if comparison.equals(best).any(|row| row.is("linux")) {
        let alone = comparison.multipath().count() == 1 || comparison.is_uneven();
        return if alone || !is_first { "" } else { "; none of those compared beats the scheduler of Linux" }.into();
    }
    let whole = |row: &&Summary| row.unfinished() == 0 && best.unfinished() == 0;
    match (comparison.row("linux").filter(whole), best.against_linux) {
        (Some(linux), Some(difference)) => {
            let name = "linux".to_owned() + &on_host(linux, best);
            format!("; that is {}", compared(judged, &difference, Some(&name)))
        }
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
    let most = most(comparison, best, all);
    match all {
        1 => {
            with_this_seed(comparison.seeds.len() == 1, format!("{} {}{tcp}. {most}", best.scheduler, does_not(judged)))
        }
        _ => format!("{} {}{tcp}. {most}", no_scheduler(comparison, comparison.seeds.len() == 1), finishes(judged)),
    }
}

/// The sentence about the scheduler that delivers most, if no run of any scheduler has a ranking value. Rows whose
/// goodput reads the same are named together.
fn most(comparison: &Comparison, best: &Summary, all: usize) -> String {
    let text = |row: &Summary| amount(Judged::Goodput, row.goodput_mbps.mean);
    let (most, several) = (text(best), !best.same.is_empty());
    if comparison.multipath().count() == 1 {
        return format!("{} {most}.", if several { "Each delivers" } else { "It delivers" });
    }
    if comparison.is_uneven() {
        return format!("{} {} {most}.", with_same(best), if several { "deliver" } else { "delivers" });
    }
    let (first, others): (Vec<&Summary>, Vec<&Summary>) = comparison.multipath().partition(|row| text(row) == most);
    let first = names(first);
    let is_close = |row: &&Summary| row.goodput_beside(best).and_then(|d| d.is_significant()) == Some(false);
    let close = names(others.into_iter().filter(is_close));
    let close = match close.len() {
        0 => String::new(),
        n => format!("; {} {} not significantly behind", first_of(&close), is(n)),
    };
    match first.len() {
        1 => format!("Of the {all} compared, {} delivers most, {most}{close}.", first[0]),
        n if n == all => format!("Each delivers {most}."),
        _ => format!("Of the {all} compared, {} deliver most, each {most}{close}.", one_of(&first)),
    }
}

/// A sentence about the other delays of messages: with the best scheduler, and with the one that has the longest time
/// without a delivery.
pub(super) fn delays(comparison: &Comparison, best: &Summary) -> Option<String> {
    let judged = comparison.judged;
    best.value.filter(|_| judged == Judged::Delay)?;
    let (median, gap) = (best.delay_p50_ms()?, best.longest_gap_ms()?);
    let (median, own_gap) = (amount(judged, median), amount(judged, gap));
    // Equal schedulers have equal 99th percentiles. Their other delays may differ.
    let mut text = match comparison.multipath().any(|row| row.scheduler != best.scheduler && row.is_equal(best)) {
        false => format!("Its median delay is {median}, and its longest time without a delivery {own_gap}"),
        true => {
            let name = &best.scheduler;
            format!("With {name} the median delay is {median}, and the longest time without a delivery {own_gap}")
        }
    };
    let longest = |row: &Summary| row.longest_gap_ms().unwrap_or(0.0);
    let worst = comparison.multipath().map(longest).fold(0.0, f64::max);
    if worst >= 2.0 * gap && worst > 0.0 {
        let worst = amount(judged, worst);
        let with = names(comparison.multipath().filter(|row| amount(judged, longest(row)) == worst));
        text += &format!("; the longest of all schedulers is {worst}, with {}", one_of(&with));
    }
    Some(text + ".")
}

/// The schedulers within 1 % of the best, because a smaller lead is no reason to choose. Then the schedulers that the
/// seeds cannot tell from the best. `linux` is left out if the first sentence names it.
pub(super) fn as_good(comparison: &Comparison, best: &Summary) -> Option<String> {
    best.value.filter(|value| value.mean > 0.0 && best.unfinished() == 0)?;
    let (mut near, mut unclear) = (Vec::new(), Vec::new());
    let linux_is_said = best.against_linux.is_some();
    let whole = comparison.multipath().filter(|row| !row.is_equal(best) && row.unfinished() == 0 && row.lacking == 0);
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
