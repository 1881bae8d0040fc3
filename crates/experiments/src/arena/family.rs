//! Tables by family: a plan and its scenario.

use super::overall::{Pair, ranked};
use super::scores::{ALIKE, BELOW, Point, Scores, families as all_families, geometric, percentile};
use super::tables::{Cell, Table, fine};

/// The plans and scenarios over which all schedulers were scored.
fn of<'a>(scores: &[&'a Scores]) -> Vec<(&'a str, &'a str)> {
    scores.first().map_or(Vec::new(), |first| all_families(std::slice::from_ref(*first)))
}

/// The table of the schedulers with the best mean in each family.
pub(super) fn wins(scores: &[&Scores]) -> Table {
    let families = of(scores);
    let note = "The geometric mean of each family, which is a plan and its scenario; the best one is bold, or has an asterisk.";
    let ranked = ranked(scores);
    // The families are the rows, because a text has room for many rows but not for many columns.
    let mut table = Table::new("Who wins where", note, &["Family"]);
    table.head.extend(ranked.iter().map(|s| s.scheduler.clone()));
    for family in families {
        let means: Vec<Option<f64>> = ranked.iter().map(|s| Scores::mean(s.of(family))).collect();
        let best = means.iter().flatten().copied().reduce(f64::max);
        let cells = means.iter().map(|mean| Cell { lines: vec![fine(*mean)], best: mean.is_some() && *mean == best });
        table.rows.push(std::iter::once(Cell::from(name(family))).chain(cells).collect());
    }
    table
}

/// The name of a family.
pub(super) fn name((plan, scenario): (&str, &str)) -> String {
    format!("{plan} {scenario}")
}

/// The table of the first scheduler's scores in each family.
pub(super) fn families(scores: &[&Scores], seeds: u64) -> Table {
    let Some((first, rest)) = scores.split_first() else { return Table::default() };
    let others: Vec<&Scores> = rest.iter().filter(|s| !s.is_kind_of(first)).copied().collect();
    let spread = if seeds == 1 { " One seed has no range." } else { "" };
    let mut table = Table::new(
        "Families",
        format!(
            "{}: the geometric mean, and the least and the largest one with a single seed, each against the best path of that seed; the \
             other scheduler with the best mean, which is not the same one with other parameters; points more than 2.5 % below the best single path; points more than 3 % worse than the \
             best other one there; the least score.{spread}",
            first.scheduler
        ),
        &[
            "Family",
            "Points",
            "Seeds",
            "Mean",
            "Single seeds",
            "Best other",
            "Its mean",
            "Below",
            "Worse by 3 %",
            "Least",
        ],
    );
    for family in of(scores) {
        let points: Vec<&Point> = first.of(family).collect();
        let known: Vec<f64> = points.iter().filter_map(|p| p.score).collect();
        let other = others.iter().filter_map(|s| Some((Scores::mean(s.of(family))?, s.scheduler.as_str())));
        let other = other.max_by(|a, b| a.0.total_cmp(&b.0));
        let worse = points.iter().enumerate().filter(|(i, point)| {
            let best = others.iter().filter_map(|s| s.of(family).nth(*i)?.score).reduce(f64::max);
            point.score.zip(best).is_some_and(|(own, best)| own / best < 1.0 - ALIKE)
        });
        let of_plan = points.first().map_or(0, |p| p.by_seed.len());
        table.row(vec![
            name(family),
            points.len().to_string(),
            of_plan.to_string(),
            fine(Scores::mean(points.iter().copied())),
            range(&points, of_plan),
            other.map_or("–".into(), |(_, name)| name.to_owned()),
            fine(other.map(|(mean, _)| mean)),
            known.iter().filter(|s| **s < BELOW).count().to_string(),
            worse.count().to_string(),
            fine(percentile(&known, 0.0)),
        ]);
    }
    table
}

/// The table that compares the first scheduler with plain TCP.
pub(super) fn plain_tcp(scores: &[&Scores], plain: &[&Scores]) -> Table {
    let (Some(first), Some(plain)) = (scores.first(), plain.first()) else { return Table::default() };
    let mut table = Table::new(
        "Beside plain TCP",
        format!(
            "Plain TCP on the path where it does best, which sends no mappings and needs no second handshake: by how many percent {} is better in \
             the geometric mean, its least part of plain TCP, and the points at which it is more than 2.5 % below it; the points at which the \
             best single path of the same connection is.",
            first.scheduler
        ),
        &["Family", "Points", "Better by", "Least", "Below", "Single paths below"],
    );
    for family in of(scores) {
        let (mut parts, mut single) = (Vec::new(), Vec::new());
        for (own, plain) in first.of(family).zip(plain.of(family)) {
            if let (Some(own), Some(plain)) = (own.score, plain.score) {
                parts.push(own / plain);
                single.push(1.0 / plain);
            }
        }
        let Some(mean) = geometric(parts.iter().copied()) else { continue };
        let below = |parts: &[f64]| parts.iter().filter(|part| **part < BELOW).count().to_string();
        table.row(vec![
            name(family),
            parts.len().to_string(),
            format!("{:+.1}", 100.0 * (mean - 1.0)),
            fine(percentile(&parts, 0.0)),
            below(&parts),
            below(&single),
        ]);
    }
    table
}

/// The table that compares the first scheduler with each other one, in each family.
pub(super) fn beside(scores: &[&Scores]) -> Table {
    let Some((first, others)) = scores.split_first() else { return Table::default() };
    let mut table = Table::new(
        "Beside each, by family",
        format!(
            "By how many percent {} is better than each other one in the geometric mean; in brackets the points at which it is better \
             by more than 3 %.",
            first.scheduler
        ),
        &["Family", "Points"],
    );
    if others.is_empty() {
        return table;
    }
    table.head.extend(others.iter().map(|s| s.scheduler.clone()));
    for family in of(scores) {
        let pairs = others.iter().map(|other| Pair::of(first.of(family), other.of(family)));
        let cells = pairs.map(|pair| pair.map_or("–".into(), |p| format!("{} ({})", p.mean(), p.better)));
        table.row([name(family), first.of(family).count().to_string()].into_iter().chain(cells).collect());
    }
    table
}

/// The smallest and the largest mean over the points, among the single seeds.
fn range(points: &[&Point], seeds: usize) -> String {
    let of = |seed: usize| geometric(points.iter().filter_map(|p| *p.by_seed.get(seed)?));
    let means: Vec<f64> = (0..seeds).filter_map(of).collect();
    match (percentile(&means, 0.0), percentile(&means, 1.0)) {
        (Some(least), Some(most)) if seeds > 1 => format!("{least:.3} to {most:.3}"),
        _ => "–".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{row, scores};
    use super::{beside, families, plain_tcp, wins};

    #[test]
    fn a_family_has_the_best_other_one() {
        let (a, b, c) = (scores("a", &[1.0, 0.9]), scores("b", &[1.2, 1.2]), scores("c", &[0.5, 0.5]));
        let table = families(&[&a, &b, &c], 2);
        let expected = ["plan here", "2", "2", "0.949", "0.849 to 1.049", "b", "1.200", "1", "2", "0.900"];
        assert_eq!(row(&table, 0), expected);
    }

    #[test]
    fn each_family_has_its_own_pairs() {
        let (mut a, mut b) = (scores("a", &[1.1, 1.0, 1.0]), scores("b", &[1.0, 1.0, 2.0]));
        (a.points[2].scenario, b.points[2].scenario) = ("there".into(), "there".into());
        let table = beside(&[&a, &b]);
        assert_eq!(
            [row(&table, 0), row(&table, 1)].concat(),
            ["plan here", "2", "+4.9 (1)", "plan there", "1", "-50.0 (0)"]
        );
        assert!(beside(&[&a]).rows.is_empty());
    }

    #[test]
    fn scenarios_of_a_plan_are_families_of_their_own() {
        let mut a = scores("a", &[1.0, 2.0]);
        a.points[1].scenario = "there".into();
        let table = wins(&[&a]);
        assert_eq!([row(&table, 0), row(&table, 1)].concat(), ["plan here", "1.000", "plan there", "2.000"]);
        assert!(table.rows[1][1].best);
    }

    #[test]
    fn plain_tcp_counts_where_it_is_better_than_the_scheduler_and_than_single_paths() {
        let (a, plain) = (scores("a", &[1.21, 1.0, 0.9]), scores("plain TCP", &[1.1, 1.0, 1.0]));
        let table = plain_tcp(&[&a], &[&plain]);
        assert_eq!(row(&table, 0), ["plan here", "3", "-0.3", "0.900", "1", "1"]);
        assert!(plain_tcp(&[&a], &[&scores("plain TCP", &[])]).rows.is_empty());
    }
}
