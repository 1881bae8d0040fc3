//! The arena: schedulers over many plans, each point scored against the best single path of the same connection.
//!
//! [`add`] computes [`Scores`] from runs, `tables` makes every table of them, and [`text`] and [`html_page`] write the
//! tables. `duel` compares the first scheduler with one other, by family and point. Tables over all points are in
//! `overall`, those by family in `family`, those for certain workloads in `workloads`, and the one for small windows in
//! `small_windows`.

mod duel;
mod family;
mod overall;
mod scores;
mod small_windows;
mod tables;
mod workloads;

pub use scores::{Point, Scores, Who, add, settings};

use core::fmt::Write as _;
use duel::Duel;
use pathweave_report::{figure_page, html};
use pathweave_units::counted;
use tables::Table;

/// All tables that have rows. The first scheduler is compared with the others.
fn tables(scores: &[Scores], seeds: u64) -> Vec<Table> {
    let of = |who| scores.iter().filter(|s| s.who == who).collect::<Vec<&Scores>>();
    let (schedulers, single_paths, plain_tcp) = (of(Who::Scheduler), of(Who::SinglePath), of(Who::PlainTcp));
    let mut tables = vec![
        overall::ranking(&schedulers),
        family::wins(&schedulers),
        family::families(&schedulers, seeds),
        overall::beside(&schedulers),
        family::beside(&schedulers),
        overall::pairs(&schedulers),
        overall::best_of_all(&schedulers),
        family::plain_tcp(&schedulers, &plain_tcp),
        workloads::times(&schedulers),
        workloads::transfers(&schedulers),
        workloads::duplicates(&schedulers),
        workloads::competitors(&schedulers),
        workloads::metered(&schedulers, &single_paths),
        small_windows::table(&schedulers),
    ];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// A line that says how many schedulers, comparisons and seeds there are.
fn about(scores: &[Scores], seeds: u64) -> String {
    let points = scores.first().map_or(0, |s| s.points.len());
    let schedulers = scores.iter().filter(|s| s.who == Who::Scheduler).count();
    let [schedulers, points] = [(schedulers, "scheduler"), (points, "comparison")].map(|(n, one)| counted(n, one));
    format!("{schedulers} · {points} · {}", counted(seeds, "seed"))
}

const SCALE: &str = "1 is the best single path of the same connection at each point. More is better.";

/// The first scheduler against the second one.
fn duel(scores: &[Scores]) -> Option<Duel<'_>> {
    Duel::of(&scores.iter().filter(|s| s.who == Who::Scheduler).collect::<Vec<_>>())
}

/// Whether the first scheduler is better than the second one, in a sentence. `None` if there is no point with both scores.
pub fn answer(scores: &[Scores]) -> Option<String> {
    duel(scores).map(|duel| duel.sentence())
}

/// The answer and all tables as text, except tables that are too wide. `seeds`: the largest number of seeds of any
/// plan.
pub fn text(scores: &[Scores], seeds: u64) -> String {
    let mut out = format!("{}\n{SCALE}\n", about(scores, seeds));
    if let Some(answer) = answer(scores) {
        let _ = writeln!(out, "\n{answer}");
    }
    for table in tables(scores, seeds).iter().filter(|t| !t.page_only) {
        out.push('\n');
        out.push_str(&table.text());
    }
    out
}

/// The answer, a plot by family, the points and all tables as one HTML file that needs no other file. `command` opens a
/// point if `--point FAMILY/N --explain` follows it.
pub fn html_page(scores: &[Scores], seeds: u64, command: &str, version: &str) -> String {
    let mut out = format!(
        "<section class=\"scenario\"><h1 class=\"name\">Arena</h1>\n<p class=\"about\">{}</p>\n<p class=\"description\">{SCALE}</p>\n",
        html(&about(scores, seeds))
    );
    if let Some(duel) = duel(scores) {
        let _ = writeln!(out, "<div class=\"verdict open\"><p>{}</p></div>", html(&duel.sentence()));
        out.push_str(&duel.cards(command));
    }
    tables(scores, seeds).iter().for_each(|table| out.push_str(&table.card()));
    out.push_str("</section>\n");
    figure_page("Arena – Pathweave", &out, version)
}

#[cfg(test)]
mod testing {
    use super::scores::{Point, Scores, Who};

    /// Made-up scores at points of one plan and scenario.
    pub(super) fn scores(scheduler: &str, values: &[f64]) -> Scores {
        let point = |score: &f64| Point {
            plan: "plan".into(),
            scenario: "here".into(),
            score: Some(*score),
            by_seed: vec![Some(score - 0.1), Some(score + 0.1)],
            halves: Some([Some(*score), Some(*score)]),
            ..Point::default()
        };
        Scores { scheduler: scheduler.into(), who: Who::Scheduler, points: values.iter().map(point).collect() }
    }

    /// The cells of a row as text.
    pub(super) fn row(table: &super::Table, row: usize) -> Vec<String> {
        table.rows[row].iter().map(|cell| cell.lines.join(" ")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::scores;
    use super::{html_page, text};

    #[test]
    fn text_and_page_have_the_same_tables() {
        let scores = [scores("a", &[1.1, 1.1]), scores("b", &[1.0, 1.0])];
        let (text, page) = (text(&scores, 2), html_page(&scores, 2, "pathweave arena a,b", ""));
        let answer = "a is better than b by 10.0 %";
        assert!(text.contains(answer) && page.find(answer) < page.find("<table"), "the page begins with the answer");
        for title in
            ["Ranking", "Who wins where", "Families", "Beside each", "Beside each, by family", "The best of all others"]
        {
            assert!(text.contains(&format!("\n{title}\n")) && page.contains(&format!("<h3>{title}</h3>")), "{title}");
        }
        assert!(page.contains("<h3>Pairs</h3>") && !text.contains("\nPairs\n"));
        // No path had a price, and no controller was coupled.
        assert!(!text.contains("Metered") && !page.contains("Competitors"), "{text}");
    }
}
