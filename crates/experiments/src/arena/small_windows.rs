//! The table for small windows: how close each scheduler comes to the goodput that a window allows on two paths.

use super::overall::ranked;
use super::scores::{BELOW, Point, Scores, mean, percentile};
use super::tables::{Table, fine};

/// The names of the plans for small windows begin with this. Their scenarios are the next two.
const PLANS: &str = "small-window";
const STEADY: &str = "steady";
const CONNECT: &str = "connect";
/// The goal: at least this fraction of the formula's goodput.
const AIM: f64 = 0.95;
/// The least fraction that any point should have.
const FLOOR: f64 = 0.88;

/// The table of each scheduler behind small windows, in steady state and from the start of the connection.
pub(super) fn table(scores: &[&Scores]) -> Table {
    let mut table = Table::new(
        "Small windows",
        "In steady state: points more than 2.5 % below the best single path, and the least score; of the formula the mean share, its 10th \
         percentile and the least, and points with at least 95 % and under 88 % of it; the mean share of the bound. From the connect: points \
         below. The formula is max(min(r_i·1448/1514, W/RTT_i), min((r_0 + r_1)·1424/1514, W/(o_slow + o_fast))), with a transmission in \
         RTT_i and o_slow; bursts exceed it.",
        &[
            "Scheduler",
            "Points",
            "Below, steady",
            "Least",
            "Of the formula",
            "p10",
            "95 % of it",
            "Under 88 %",
            "Of the bound",
            "Below, connect",
            "Least of the formula",
        ],
    );
    for of in ranked(scores) {
        let points = |scenario: &'static str| {
            of.points.iter().filter(move |p| p.plan.starts_with(PLANS) && p.scenario == scenario)
        };
        let all = |value: fn(&Point) -> Option<f64>| points(STEADY).filter_map(value).collect::<Vec<f64>>();
        let below = |scenario| points(scenario).filter(|p| p.score.is_some_and(|s| s < BELOW)).count().to_string();
        let (steady, shares) = (all(|p| p.score), all(|p| p.formula_share));
        if shares.is_empty() {
            continue;
        }
        table.row(vec![
            of.scheduler.clone(),
            shares.len().to_string(),
            below(STEADY),
            fine(percentile(&steady, 0.0)),
            fine(mean(&shares)),
            fine(percentile(&shares, 0.1)),
            shares.iter().filter(|share| **share >= AIM).count().to_string(),
            shares.iter().filter(|share| **share < FLOOR).count().to_string(),
            fine(mean(&all(|p| p.bound_share))),
            below(CONNECT),
            fine(percentile(&shares, 0.0)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::testing::{row, scores};
    use super::table;

    #[test]
    fn steady_state_and_connect_are_counted_apart() {
        let mut a = scores("a", &[0.9, 1.0, 0.5, 1.0]);
        let points = [("steady", 0.8), ("steady", 1.0), ("connect", 0.1), ("connect", 0.1)];
        for (point, (scenario, share)) in a.points.iter_mut().zip(points) {
            (point.plan, point.scenario) = ("small-window-tuning".into(), scenario.into());
            (point.formula_share, point.bound_share) = (Some(share), Some(share / 2.0));
        }
        let expected = ["a", "2", "1", "0.900", "0.900", "0.820", "1", "1", "0.450", "1", "0.800"];
        assert_eq!(row(&table(&[&a]), 0), expected);
    }

    #[test]
    fn other_plans_have_no_such_table() {
        assert!(table(&[&scores("a", &[1.0])]).rows.is_empty());
    }
}
