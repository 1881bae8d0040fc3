//! Tables of values that goodput does not show: times, duplicates, competitors, prices.

use super::overall::ranked;
use super::scores::{ALIKE, Point, Scores, mean, percentile};
use super::tables::{Table, fine, percent};

/// The sizes of short transfers, bytes.
const SHORT: std::ops::RangeInclusive<u64> = 64_000..=1_000_000;
/// The largest acceptable fraction of duplicates in the delivered data.
const MOST_DUPLICATES: f64 = 0.03;

/// The values that `value` gives for a scheduler's points.
fn all(of: &Scores, value: impl Fn(&Point) -> Option<f64>) -> Vec<f64> {
    of.points.iter().filter_map(value).collect()
}

/// The table of the times that transfers and messages take.
pub(super) fn times(scores: &[&Scores]) -> Table {
    let mut table = Table::new(
        "Times",
        "Parts of what the best single path takes, so less is better: percentiles of transfers over all points, and the median over all \
         points of each percentile of a message's delay.",
        &["Scheduler", "Completion p50", "p95", "p99", "Delay p50", "p95", "p99"],
    );
    for of in ranked(scores) {
        let completion = all(of, |p| p.completion);
        let delays = [0, 1, 2].map(|i| all(of, |p| p.delays[i]));
        if completion.is_empty() && delays[0].is_empty() {
            continue;
        }
        let mut row = vec![of.scheduler.clone()];
        row.extend([0.5, 0.95, 0.99].map(|part| fine(percentile(&completion, part))));
        row.extend(delays.each_ref().map(|parts| fine(percentile(parts, 0.5))));
        table.row(row);
    }
    table
}

/// The table of short transfers.
pub(super) fn transfers(scores: &[&Scores]) -> Table {
    let mut table = Table::new(
        "Transfers of 64 KB to 1 MB",
        "The median completion over the seeds as a part of that of the best single path, so less is better: its median over the points, \
         how many points take longer by more than 3 %, and the largest.",
        &["Scheduler", "Transfers", "Median", "Longer by 3 %", "Largest"],
    );
    for of in ranked(scores) {
        let parts = all(of, |p| p.completion.filter(|_| p.size.is_some_and(|size| SHORT.contains(&size))));
        if !parts.is_empty() {
            let longer = parts.iter().filter(|part| **part > 1.0 + ALIKE).count();
            let counts = [parts.len(), longer].map(|n| n.to_string());
            let [count, longer] = counts;
            let [median, most] = [0.5, 1.0].map(|part| fine(percentile(&parts, part)));
            table.row(vec![of.scheduler.clone(), count, median, longer, most]);
        }
    }
    table
}

/// The table of data that was sent twice.
pub(super) fn duplicates(scores: &[&Scores]) -> Table {
    let mut table = Table::new(
        "Duplicates without random losses",
        "What went out on a second path too, as a part of what was delivered, of transfers and pages over paths without random losses.",
        &["Scheduler", "Points", "Mean", "Over 3 %", "Largest"],
    );
    for of in ranked(scores) {
        let shares = all(of, |p| p.duplicates);
        if !shares.is_empty() {
            let over = shares.iter().filter(|share| **share > MOST_DUPLICATES).count();
            let [count, over] = [shares.len(), over].map(|n| n.to_string());
            let [mean, most] = [mean(&shares), percentile(&shares, 1.0)].map(percent);
            table.row(vec![of.scheduler.clone(), count, mean, over, most]);
        }
    }
    table
}

/// The table of the goodput that competing TCP flows keep beside coupled controllers.
pub(super) fn competitors(scores: &[&Scores]) -> Table {
    let mut table = Table::new(
        "Competitors beside coupled controllers",
        "The goodput of each TCP flow as a part of what it has beside the best of the single paths that share a link with it. LIA's goal \
         is that it has no less (RFC 6356, section 2).",
        &["Scheduler", "Controller", "Flows", "Mean", "Least"],
    );
    for of in ranked(scores) {
        let known = || of.points.iter().filter_map(|p| p.competitors.as_ref());
        let controllers: std::collections::BTreeSet<&str> = known().map(|(name, _)| name.as_str()).collect();
        for controller in controllers {
            let kept = known().filter(|(name, _)| name == controller).flat_map(|(_, kept)| kept);
            let kept: Vec<f64> = kept.copied().collect();
            let (mean, least) = (fine(mean(&kept)), fine(percentile(&kept, 0.0)));
            table.row(vec![of.scheduler.clone(), controller.to_owned(), kept.len().to_string(), mean, least]);
        }
    }
    table
}

/// The table of prices and delays, also of the single paths.
pub(super) fn metered(scores: &[&Scores], references: &[&Scores]) -> Table {
    let mut table = Table::new(
        "Metered paths",
        "The mean price of a gigabyte, by the paths' costs, and the 95th percentile of a message's delay in milliseconds, median and mean \
         over the points.",
        &["Scheduler", "Points", "Price", "Median delay", "Mean delay"],
    );
    for of in ranked(scores).iter().chain(references) {
        let prices = all(of, |p| Some(p.metered?.0));
        let delays = all(of, |p| Some(p.metered?.1));
        if !prices.is_empty() {
            let price = mean(&prices).map_or("–".into(), |price| format!("{price:.2}"));
            let [median, mean] =
                [percentile(&delays, 0.5), mean(&delays)].map(|d| d.map_or("–".into(), |d| format!("{d:.0}")));
            table.row(vec![of.scheduler.clone(), prices.len().to_string(), price, median, mean]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::scores::Who;
    use super::super::testing::{row, scores};
    use super::{competitors, duplicates, metered, times, transfers};

    #[test]
    fn only_transfers_of_the_sizes_count_as_short() {
        let mut a = scores("a", &[1.0; 4]);
        let points = [(63_999, 2.0), (64_000, 1.1), (1_000_000, 0.9), (1_000_001, 3.0)];
        for (point, (size, part)) in a.points.iter_mut().zip(points) {
            (point.size, point.completion) = (Some(size), Some(part));
        }
        assert_eq!(row(&transfers(&[&a]), 0), ["a", "2", "1.000", "1", "1.100"]);
        assert_eq!(row(&times(&[&a]), 0)[1..], ["1.550", "2.850", "2.970", "–", "–", "–"]);
    }

    #[test]
    fn duplicates_over_three_percent_are_counted() {
        let mut a = scores("a", &[1.0; 3]);
        (a.points[0].duplicates, a.points[1].duplicates) = (Some(0.03), Some(0.05));
        assert_eq!(row(&duplicates(&[&a]), 0), ["a", "2", "4.0 %", "1", "5.0 %"]);
    }

    #[test]
    fn competitors_are_told_apart_by_controller() {
        let mut a = scores("a", &[1.0; 3]);
        for (point, (name, kept)) in a.points.iter_mut().zip([("olia", 0.9), ("lia", 0.8), ("lia", 1.0)]) {
            point.competitors = Some((name.into(), vec![kept, 1.2]));
        }
        let table = competitors(&[&a]);
        assert_eq!(row(&table, 0), ["a", "lia", "4", "1.050", "0.800"]);
        assert_eq!(row(&table, 1), ["a", "olia", "2", "1.050", "0.900"]);
    }

    #[test]
    fn single_paths_have_prices_too() {
        let (mut a, mut path) = (scores("a", &[1.0; 3]), scores("single:path=0", &[1.0]));
        for (point, delay) in a.points.iter_mut().zip([10.0, 20.0, 60.0]) {
            point.metered = Some((1.5, delay));
        }
        (path.who, path.points[0].metered) = (Who::SinglePath, Some((0.0, 90.0)));
        let table = metered(&[&a], &[&path]);
        assert_eq!(row(&table, 0), ["a", "3", "1.50", "20", "30"]);
        assert_eq!(row(&table, 1), ["single:path=0", "1", "0.00", "90", "90"]);
    }
}
