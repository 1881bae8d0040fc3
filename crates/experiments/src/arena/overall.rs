//! Tables over all points: the ranking, and comparisons of schedulers with each other and with the best of all others.

use super::scores::{ALIKE, BELOW, Point, Scores, mean, percentile};
use super::tables::{Cell, Table, fine, percent};
use pathweave_report::Estimate;

/// The schedulers in order of their mean scores, the best first.
pub(super) fn ranked<'a>(scores: &[&'a Scores]) -> Vec<&'a Scores> {
    let mut ranked = scores.to_vec();
    let of = |s: &Scores| Scores::mean(&s.points).unwrap_or(0.0);
    ranked.sort_by(|a, b| of(b).total_cmp(&of(a)));
    ranked
}

/// The table that ranks the schedulers over all points.
pub(super) fn ranking(scores: &[&Scores]) -> Table {
    let mut table = Table::new(
        "Ranking",
        "The geometric mean of all scores, their 10th percentile and the least; points that are more than 2.5 % below the best single \
         path; the mean share of what no scheduler can exceed.",
        &["Scheduler", "Mean", "p10", "Least", "Below one path", "Points", "Of the bound"],
    );
    for of in ranked(scores) {
        let known = of.known();
        let shares: Vec<f64> = of.points.iter().filter_map(|p| p.bound_share).collect();
        table.row(vec![
            of.scheduler.clone(),
            fine(Scores::mean(&of.points)),
            fine(percentile(&known, 0.1)),
            fine(percentile(&known, 0.0)),
            known.iter().filter(|s| **s < BELOW).count().to_string(),
            known.len().to_string(),
            fine(mean(&shares)),
        ]);
    }
    table
}

/// A comparison of two schedulers over the points at which both have a score.
pub(super) struct Pair {
    pub(super) difference: Estimate,
    pub(super) better: usize,
    pub(super) worse: usize,
    pub(super) points: usize,
}

impl Pair {
    /// Compares scores at the same points; `None` if there is no point with both scores.
    pub(super) fn of<'a>(
        first: impl IntoIterator<Item = &'a Point>,
        other: impl IntoIterator<Item = &'a Point>,
    ) -> Option<Self> {
        let both = first.into_iter().zip(other);
        let ratios: Vec<f64> = both.filter_map(|(a, b)| Some(a.score? / b.score?)).collect();
        let difference = Estimate::of(&ratios.iter().map(|r| libm::log(*r)).collect::<Vec<f64>>())?;
        let better = ratios.iter().filter(|r| **r > 1.0 + ALIKE).count();
        let worse = ratios.iter().filter(|r| **r < 1.0 - ALIKE).count();
        Some(Pair { difference, better, worse, points: ratios.len() })
    }

    pub(super) fn mean(&self) -> String {
        format!("{:+.1}", in_percent(self.difference.mean))
    }

    pub(super) fn interval(&self) -> String {
        let text = |(low, high)| format!("{:+.1} to {:+.1}", in_percent(low), in_percent(high));
        self.difference.interval.map_or("–".into(), text)
    }
}

pub(super) fn in_percent(log: f64) -> f64 {
    100.0 * (libm::exp(log) - 1.0)
}

/// The table that compares the first scheduler with each other one.
pub(super) fn beside(scores: &[&Scores]) -> Table {
    let Some((first, others)) = scores.split_first() else { return Table::default() };
    let mut table = Table::new(
        "Beside each",
        format!(
            "By how many percent {} is better in the geometric mean, point by point, with the 95 % interval over the points; points at \
             which it is better and worse by more than 3 %.",
            first.scheduler
        ),
        &["Other", "Better by", "Interval", "Better", "Worse", "Points"],
    );
    for (other, pair) in others.iter().filter_map(|other| Some((other, Pair::of(&first.points, &other.points)?))) {
        let counts = [pair.better, pair.worse, pair.points].map(|n| n.to_string());
        table.row([other.scheduler.clone(), pair.mean(), pair.interval()].into_iter().chain(counts).collect());
    }
    table
}

/// The table that compares each scheduler with each other one.
pub(super) fn pairs(scores: &[&Scores]) -> Table {
    let ranked = ranked(scores);
    let mut table = Table::new(
        "Pairs",
        "By how many percent the row is better than the column in the geometric mean, point by point, with the 95 % interval; below it \
         the points at which it is better and worse by more than 3 %.",
        &["Scheduler"],
    );
    table.page_only = true;
    table.head.extend(ranked.iter().map(|s| s.scheduler.clone()));
    let cell = |row: &Scores, column: &Scores| match Pair::of(&row.points, &column.points)
        .filter(|_| row.scheduler != column.scheduler)
    {
        Some(pair) => {
            let lines = vec![pair.mean(), pair.interval(), format!("{} : {}", pair.better, pair.worse)];
            Cell { lines, best: false }
        }
        None => "–".into(),
    };
    for row in &ranked {
        let name = Cell::from(row.scheduler.as_str());
        table.rows.push(std::iter::once(name).chain(ranked.iter().map(|column| cell(row, column))).collect());
    }
    table
}

/// The table that compares the first scheduler with the best of all others at each point, and says how much of the
/// difference is chance.
pub(super) fn best_of_all(scores: &[&Scores]) -> Table {
    let Some((first, rest)) = scores.split_first() else { return Table::default() };
    let others: Vec<&Scores> = rest.iter().filter(|s| !s.is_kind_of(first)).copied().collect();
    if others.is_empty() {
        return Table::default();
    }
    let mut table = Table::new(
        "The best of all others",
        format!(
            "Points at which {} is at most 3 % worse than the best of all others there, which no single one is. The best of many is \
             partly the luckiest. So the last row takes the one that is best by the first half of the seeds, and judges both by the second \
             half; the row above it chooses by the second half too, and what lies between these two is chance.",
            first.scheduler
        ),
        &["Chosen and judged by", "Within 3 %", "Points", "Share"],
    );
    type By = fn(&Point) -> Option<f64>;
    let first_half: By = |p| p.halves?[0];
    let second_half: By = |p| p.halves?[1];
    let whole: By = |p| p.score;
    let ways = [
        ("all seeds", whole, whole),
        ("the second half of the seeds", second_half, second_half),
        ("the first half, judged by the second", first_half, second_half),
    ];
    for (name, choose, judge) in ways {
        let ratios: Vec<f64> = (0..first.points.len())
            .filter_map(|i| {
                let there = others.iter().filter_map(|s| s.points.get(i));
                let able = there.filter(|p| judge(p).is_some());
                let best = able.filter_map(|p| Some((choose(p)?, p))).max_by(|a, b| a.0.total_cmp(&b.0))?.1;
                Some(judge(&first.points[i])? / judge(best)?)
            })
            .collect();
        let within = ratios.iter().filter(|r| **r >= 1.0 - ALIKE).count();
        if ratios.is_empty() {
            table.row(vec![name.into(), "one seed cannot tell".into(), "–".into(), "–".into()]);
        } else {
            let share = percent(Some(within as f64 / ratios.len() as f64));
            table.row(vec![name.into(), within.to_string(), ratios.len().to_string(), share]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::testing::{row, scores};
    use super::{beside, best_of_all, pairs, ranking};

    #[test]
    fn the_ranking_has_geometric_means_and_counts_points_below_one_path() {
        let (worse, best) = (scores("worse", &[0.5, 2.0, 0.97]), scores("best", &[1.0, 1.2, 1.0]));
        let table = ranking(&[&worse, &best]);
        assert_eq!(row(&table, 0)[0], "best");
        assert_eq!(row(&table, 1), ["worse", "0.990", "0.594", "0.500", "2", "3", "–"]);
    }

    #[test]
    fn a_pair_counts_what_differs_by_more_than_three_percent() {
        let (a, b) = (scores("a", &[1.0, 1.1, 1.02, 0.9]), scores("b", &[1.0; 4]));
        assert_eq!(row(&beside(&[&a, &b]), 0)[3..], ["1", "1", "4"]);
        assert!(row(&pairs(&[&b, &a]), 0)[2].ends_with("1 : 1"));
    }

    #[test]
    fn the_best_of_all_others_may_be_another_one_at_each_point() {
        let (a, b, c) = (scores("a", &[1.0, 1.0]), scores("b", &[1.1, 0.5]), scores("c", &[0.5, 1.02]));
        assert_eq!(row(&best_of_all(&[&a, &b, &c]), 0), ["all seeds", "1", "2", "50.0 %"]);
        // The same scheduler with other parameters does not count among the others.
        let own = scores("a:objective=cost", &[2.0, 2.0]);
        assert_eq!(row(&best_of_all(&[&a, &b, &own, &c]), 0)[1], "1");
    }

    #[test]
    fn luck_in_one_half_does_not_count_in_the_other() {
        let (a, mut b, mut c) = (scores("a", &[1.0]), scores("b", &[1.0]), scores("c", &[1.0]));
        b.points[0].halves = Some([Some(1.2), Some(0.9)]);
        c.points[0].halves = Some([Some(0.9), Some(1.2)]);
        let table = best_of_all(&[&a, &b, &c]);
        assert_eq!([row(&table, 1)[1].as_str(), row(&table, 2)[1].as_str()], ["0", "1"]);
    }

    #[test]
    fn one_seed_cannot_tell() {
        let (mut a, b) = (scores("a", &[1.0]), scores("b", &[1.0]));
        a.points[0].halves = None;
        assert_eq!(row(&best_of_all(&[&a, &b]), 2)[1], "one seed cannot tell");
    }
}
