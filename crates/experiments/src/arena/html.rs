//! The arena as one page: who wins where, and each scheduler beside each other one.

use super::{ALIKE, Scores, difference, families, percent, ratios};
use core::fmt::Write as _;
use pathweave_report::{Estimate, figure_page, html, quantile_of};

/// One HTML file that needs nothing from outside.
pub fn html_page(scores: &[Scores], seeds: u64, version: &str) -> String {
    let points = scores.first().map_or(0, |s| s.points.len());
    let mut ranked: Vec<&Scores> = scores.iter().collect();
    ranked.sort_by(|a, b| b.mean(None).unwrap_or(0.0).total_cmp(&a.mean(None).unwrap_or(0.0)));
    let mut out = format!(
        "<section class=\"scenario\"><h1 class=\"name\">Arena</h1>\n<p class=\"about\">{} schedulers · {points} comparisons · {seeds} \
         seed{}</p>\n<p class=\"description\">1 is the best single path of the same connection at each point. More is better.</p>\n",
        scores.len(),
        if seeds == 1 { "" } else { "s" }
    );
    ranking(&mut out, &ranked);
    by_family(&mut out, scores, &ranked);
    pairs(&mut out, &ranked);
    costs(&mut out, &ranked);
    out.push_str("</section>\n");
    figure_page("Arena – Pathweave", &out, version)
}

/// A table in a card; `rows` are cells of HTML, the first of which names the row.
fn table(out: &mut String, title: &str, note: &str, head: &[String], rows: &[Vec<String>]) {
    let _ = write!(
        out,
        "<div class=\"card\"><h3>{title}</h3><p class=\"note\">{note}</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"{title}\"><table class=\"numbers\"><thead><tr><th class=\"who\">Scheduler</th>"
    );
    for name in head {
        let _ = write!(out, "<th>{name}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        let (who, cells) = row.split_first().expect("a row has a name");
        let _ = write!(out, "<tr><th scope=\"row\" class=\"who\">{who}</th>");
        for cell in cells {
            let _ = write!(out, "<td>{cell}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></div>\n");
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Three digits after the point.
fn fine(value: Option<f64>) -> String {
    value.map_or("–".into(), |v| format!("{v:.3}"))
}

/// A quantile, where there are values.
pub(super) fn percentile(values: &[f64], part: f64) -> Option<f64> {
    (!values.is_empty()).then(|| quantile_of(values, part))
}

fn ranking(out: &mut String, ranked: &[&Scores]) {
    let rows: Vec<Vec<String>> = ranked
        .iter()
        .map(|s| {
            let known: Vec<f64> = s.points.iter().filter_map(|p| p.1).collect();
            vec![
                html(&s.scheduler),
                fine(s.mean(None)),
                fine(percentile(&known, 0.1)),
                fine(percentile(&known, 0.0)),
                format!("{} of {}", s.below(), known.len()),
                fine(Estimate::of(&s.bound_shares).map(|e| e.mean)),
            ]
        })
        .collect();
    let note = "The geometric mean of all scores, their 10th percentile and the least; points that are more than 2.5 % below the best \
                single path; the mean share of what no scheduler can exceed.";
    table(out, "Ranking", note, &names(&["Mean", "p10", "Least", "Below one path", "Of the bound"]), &rows);
}

fn by_family(out: &mut String, scores: &[Scores], ranked: &[&Scores]) {
    let families = families(scores);
    let best: Vec<f64> =
        families.iter().map(|f| scores.iter().filter_map(|s| s.mean(Some(f))).fold(0.0, f64::max)).collect();
    let rows: Vec<Vec<String>> = ranked
        .iter()
        .map(|s| {
            let cells = families.iter().zip(&best).map(|(family, best)| match s.mean(Some(family)) {
                Some(mean) if mean >= *best => format!("<strong>{mean:.3}</strong>"),
                mean => fine(mean),
            });
            std::iter::once(html(&s.scheduler)).chain(cells).collect()
        })
        .collect();
    let head: Vec<String> = families.iter().map(|f| html(f)).collect();
    table(out, "Who wins where", "The geometric mean of each plan; the best one is bold.", &head, &rows);
}

fn pairs(out: &mut String, ranked: &[&Scores]) {
    let cell = |row: &Scores, column: &Scores| {
        if row.scheduler == column.scheduler {
            return "–".to_owned();
        }
        let ratios = ratios(row, column);
        let Some(estimate) = difference(&ratios) else { return "–".to_owned() };
        let interval = estimate.interval.map_or(String::new(), |(low, high)| {
            format!("<br><small>{:+.1} to {:+.1}</small>", percent(low), percent(high))
        });
        let better = ratios.iter().filter(|r| **r > 1.0 + ALIKE).count();
        let worse = ratios.iter().filter(|r| **r < 1.0 - ALIKE).count();
        format!("{:+.1}{interval}<br><small>{better} : {worse}</small>", percent(estimate.mean))
    };
    let rows: Vec<Vec<String>> = ranked
        .iter()
        .map(|row| std::iter::once(html(&row.scheduler)).chain(ranked.iter().map(|column| cell(row, column))).collect())
        .collect();
    let head: Vec<String> = ranked.iter().map(|s| html(&s.scheduler)).collect();
    let note = "By how many percent the row is better than the column in the geometric mean, point by point, with the 95 % interval; \
                below it the points at which it is better and worse by more than 3 %.";
    table(out, "Pairs", note, &head, &rows);
}

fn costs(out: &mut String, ranked: &[&Scores]) {
    let rows: Vec<Vec<String>> = ranked
        .iter()
        .map(|s| {
            let mut row = vec![html(&s.scheduler)];
            row.extend([0.5, 0.95, 0.99].map(|part| fine(percentile(&s.completion, part))));
            row.extend(s.delays.each_ref().map(|parts| fine(percentile(parts, 0.5))));
            let percent = |share: Option<f64>| share.map_or("–".into(), |v| format!("{:.2} %", 100.0 * v));
            row.push(percent(Estimate::of(&s.duplicates).map(|e| e.mean)));
            row.push(percent(percentile(&s.duplicates, 1.0)));
            row.push(fine(Estimate::of(&s.competitors).map(|e| e.mean)));
            row.push(fine(Estimate::of(&s.prices).map(|e| e.mean)));
            row
        })
        .collect();
    let head = names(&[
        "Completion p50",
        "p95",
        "p99",
        "Delay p50",
        "p95",
        "p99",
        "Duplicates",
        "Most",
        "Competitors keep",
        "Price",
    ]);
    let note = "Times are parts of what the best single path takes, so less is better: percentiles of transfers over all points, and the \
                median over all points of each percentile of a message's delay. Duplicates are parts of what was delivered, of transfers \
                over paths without random losses. Competitors keep so much of what they have beside the best single path, where the \
                controller is coupled. The price is that of a gigabyte, where paths have costs.";
    table(out, "Times and costs", note, &head, &rows);
}

#[cfg(test)]
mod tests {
    use super::{Scores, html_page, percentile};

    fn scores(scheduler: &str, values: &[f64]) -> Scores {
        let points = values.iter().map(|v| ("plan".to_owned(), Some(*v))).collect();
        Scores { scheduler: scheduler.into(), points, ..Scores::default() }
    }

    #[test]
    fn there_is_no_percentile_of_nothing() {
        let values = [3.0, 1.0, 2.0];
        assert_eq!([0.0, 0.25, 1.0].map(|p| percentile(&values, p)), [Some(1.0), Some(1.5), Some(3.0)]);
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn the_best_of_a_plan_is_bold_and_pairs_have_both_signs() {
        let page = html_page(&[scores("a", &[1.1, 1.1]), scores("b", &[1.0, 1.0])], 1, "");
        assert!(page.contains("<strong>1.100</strong>") && !page.contains("<strong>1.000</strong>"));
        assert!(page.contains("+10.0<br>") && page.contains("-9.1<br>"));
    }
}
