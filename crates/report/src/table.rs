//! The ranked table of a terminal.

use crate::number::{count, kilobytes, short, signed};
use crate::statistics::Estimate;
use crate::summary::{Comparison, Summary};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};

/// A line under the header and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The ranked schedulers of a comparison as a table `width` columns wide at most; 100 suffice for two paths. Below it is what the
/// numbers mean.
pub fn table(comparison: &Comparison, width: u16) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    let columns = columns(comparison);
    table.set_header(columns.iter().map(|c| Cell::new(c.title)));
    for (i, summary) in comparison.summaries.iter().enumerate() {
        table.add_row(columns.iter().map(|c| (c.text)(i, summary)));
    }
    for (i, column) in columns.iter().enumerate() {
        let c = table.column_mut(i).expect("the header has as many columns");
        c.set_padding((u16::from(i > 0), 0));
        if !column.left {
            c.set_cell_alignment(CellAlignment::Right);
            c.set_constraint(ColumnConstraint::ContentWidth);
        } else {
            c.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(12)));
        }
    }
    let mut text: String = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    text.push_str(&legend(comparison));
    text
}

struct Column {
    title: &'static str,
    left: bool,
    text: fn(usize, &Summary) -> String,
}

fn columns(comparison: &Comparison) -> Vec<Column> {
    let column = |title, text| Column { title, left: false, text };
    let mut all =
        vec![column("", |i, _| (i + 1).to_string()), Column { title: "scheduler", left: true, text: |_, s| name(s) }];
    if comparison.sized {
        all.push(column("time\ns", |_, s| s.completion_s.map_or("–".into(), with_margin)));
    }
    match comparison.sized {
        true => all.push(column("goodput\nMbit/s", |_, s| short(s.goodput_mbps.mean))),
        false => all.push(column("goodput\nMbit/s", |_, s| with_margin(s.goodput_mbps))),
    }
    all.push(column("bene-\nfit", |_, s| s.benefit.map_or("–".into(), |b| signed(b.mean))));
    if comparison.paths > 1 {
        all.push(column("share\n%", |_, s| share(s)));
    }
    all.push(column("out of order KB\nmean  p95  max", |_, s| out_of_order(s)));
    all.push(column("resent", |_, s| count(s.retransmitted)));
    all.push(column("rein-\nject.", |_, s| count(s.reinjected)));
    all.push(column("blocked\ns", |_, s| short(s.blocked_s)));
    all.push(column("window\ns", |_, s| short(s.window_limited_s)));
    all
}

fn name(summary: &Summary) -> String {
    let mark = if summary.stalled + summary.failed > 0 { " *" } else { "" };
    format!("{}{mark}", summary.scheduler)
}

fn with_margin(e: Estimate) -> String {
    match e.margin() {
        Some(margin) => format!("{} ±{}", short(e.mean), short(margin)),
        None => short(e.mean),
    }
}

fn share(summary: &Summary) -> String {
    percentages(&summary.share).iter().map(u32::to_string).collect::<Vec<_>>().join("/")
}

/// Whole percentages that add up to 100: the largest remainders are rounded up.
pub(crate) fn percentages(share: &[f64]) -> Vec<u32> {
    let mut whole: Vec<u32> = share.iter().map(|s| (s * 100.0) as u32).collect();
    if share.iter().sum::<f64>() <= 0.0 {
        return whole;
    }
    let mut order: Vec<usize> = (0..share.len()).collect();
    let remainder = |i: usize| share[i] * 100.0 - f64::from((share[i] * 100.0) as u32);
    order.sort_by(|a, b| remainder(*b).total_cmp(&remainder(*a)));
    let missing = 100u32.saturating_sub(whole.iter().sum()) as usize;
    for i in order.into_iter().take(missing) {
        whole[i] += 1;
    }
    whole
}

fn out_of_order(s: &Summary) -> String {
    let [mean, p95, max] = [s.out_of_order_mean, s.out_of_order_p95, s.out_of_order_max as f64].map(kilobytes);
    format!("{mean} {p95:>5} {max:>5}")
}

fn legend(comparison: &Comparison) -> String {
    let mut text = String::new();
    for s in &comparison.summaries {
        for (n, word) in [(s.stalled, "stalled"), (s.failed, "failed")] {
            if n > 0 {
                text.push_str(&format!("* {}: {n} of {} runs {word}\n", s.scheduler, s.runs));
            }
        }
    }
    text.push_str(&match comparison.seeds.len() {
        1 => "1 seed, so no interval".into(),
        n => format!("{n} seeds, ± 95 % interval of the mean"),
    });
    text.push_str("; benefit (CP eq. 9): 0 = best path alone, 1 = sum of all;\n");
    if comparison.paths > 1 {
        text.push_str("share: sent bytes by path; ");
    }
    text.push_str(
        "resent, reinjected: segments a run; blocked: earlier data missing;\nwindow: held back by the receive window\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::percentages;

    #[test]
    fn percentages_add_up() {
        assert_eq!(percentages(&[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]).iter().sum::<u32>(), 100);
        assert_eq!(percentages(&[0.996, 0.004]), [100, 0]);
        assert_eq!(percentages(&[0.625, 0.375]), [63, 37]);
        assert_eq!(percentages(&[0.0, 0.0]), [0, 0]);
    }
}
