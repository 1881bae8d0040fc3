//! A comparison as a ranked table for a terminal. Rows that ran on another host than most have a mark.

use crate::comparison::{Absent, Comparison, Judged, Summary};
use crate::metric::{METRICS, Metric};
use crate::number::{short, signed};
use crate::statistics::Difference;
use pathweave_lab::scenario::HostModel;
use pathweave_units::counted;

/// Number of metrics that are more important than goodput, for transfers that have a size and for messages.
const MORE_TELLING: usize = 2;
/// Characters between two columns.
const GAP: usize = 2;
/// Least width of the column of names.
const NAMES: usize = 20;

/// The ranked schedulers of a comparison as a table, followed by an explanation of the numbers. The table is at most
/// `width` characters wide if `width` is at least 80.
///
/// Columns that do not fit are left out, the least important ones first. A name that is too long gets a line of its
/// own.
pub fn table(comparison: &Comparison, width: usize) -> String {
    let mut columns = columns(comparison);
    while total(&columns, comparison) > width {
        let Some(last) = columns.iter().rposition(|c| c.optional) else { break };
        columns.remove(last);
    }
    let names =
        width.saturating_sub(total(&columns, comparison) - NAMES).clamp(NAMES, longest_name(comparison).max(NAMES));
    let widths: Vec<usize> = columns.iter().map(|c| c.width(comparison)).collect();
    let mut text = String::new();
    for line in 0..2 {
        let cell = |c: &Column| c.title.lines().nth(line).unwrap_or("").to_owned();
        let name = ["", "scheduler"][line];
        text.push_str(&row("", name, names, columns.iter().map(cell).zip(widths.iter().copied())));
    }
    let rule = 4 + names + widths.iter().map(|w| w + GAP).sum::<usize>();
    text.push_str(&"─".repeat(rule));
    text.push('\n');
    for (i, summary) in comparison.summaries.iter().enumerate() {
        let cells = columns.iter().map(|c| (c.text)(comparison, summary)).zip(widths.iter().copied());
        text.push_str(&row(&(i + 1).to_string(), &name(comparison, summary), names, cells));
        if !summary.same.is_empty() {
            text.push_str(&indented("    = ", &summary.same.join(", "), width));
        }
    }
    text.push_str(&notes(comparison, &columns, width));
    text
}

/// Makes the text of a column in a row.
type Text = dyn Fn(&Comparison, &Summary) -> String;

/// A column of the table.
struct Column {
    title: &'static str,
    optional: bool,
    text: Box<Text>,
    /// Explanation of the column's numbers.
    about: &'static str,
}

impl Column {
    fn width(&self, comparison: &Comparison) -> usize {
        let cells = comparison.summaries.iter().map(|s| (self.text)(comparison, s).chars().count());
        cells.chain(self.title.lines().map(|l| l.chars().count())).max().unwrap_or(0)
    }
}

fn columns(comparison: &Comparison) -> Vec<Column> {
    type OfSummary = fn(&Comparison, &Summary) -> String;
    let make = |title, optional, about, text: OfSummary| Column { title, optional, text: Box::new(text), about };
    let column = |title, about, text| make(title, false, about, text);
    let optional = |title, about, text| make(title, true, about, text);
    let mut all = Vec::new();
    let value: OfSummary = |_, s| s.value.map_or("-".into(), |v| short(v.mean));
    all.push(match comparison.judged {
        Judged::Goodput => column("goodput\nMbit/s", "", value),
        Judged::Completion => column("time\ns", "", value),
        Judged::Delay => column("p99\nms", "p99: 99th percentile of the messages' delay", value),
    });
    all.push(column("against\nreference", "", against));
    if comparison.judged != Judged::Delay {
        all.push(column(
            "bene-\nfit",
            "benefit: 0 is plain TCP on the path that is best with the seed, 1 all paths added up",
            |_, s| s.benefit.map_or("-".into(), |b| signed(b.mean)),
        ));
    }
    if comparison.paths > 1 {
        all.push(column("share\n%", "share: bytes sent on each path", |_, s| share(s)));
    }
    let known = |i: usize| comparison.summaries.iter().any(|s| s.metrics[i].is_some());
    let metrics = METRICS.iter().enumerate().filter(|(i, _)| known(*i));
    let mut shown = metrics.filter_map(|(i, m)| m.table.map(|table| (i, m, table)));
    let column = |(i, metric, (title, about)): (usize, &'static Metric, _)| Column {
        title,
        optional: true,
        text: Box::new(move |_, s| metric.shown(s.metrics[i], "-")),
        about,
    };
    all.extend(shown.by_ref().take(MORE_TELLING).map(column));
    if comparison.judged != Judged::Goodput {
        all.push(optional("goodput\nMbit/s", "", |_, s| short(s.goodput_mbps.mean)));
    }
    all.extend(shown.map(column));
    all
}

fn total(columns: &[Column], comparison: &Comparison) -> usize {
    4 + NAMES + columns.iter().map(|c| c.width(comparison) + GAP).sum::<usize>()
}

fn longest_name(comparison: &Comparison) -> usize {
    comparison.summaries.iter().map(|s| name(comparison, s).chars().count()).max().unwrap_or(0)
}

fn row(rank: &str, name: &str, names: usize, cells: impl Iterator<Item = (String, usize)>) -> String {
    let mut line = format!("{rank:>2}  {name:<names$}");
    if name.chars().count() > names {
        line.push('\n');
        line.push_str(&" ".repeat(4 + names));
    }
    for (text, width) in cells {
        line.push_str(&" ".repeat(GAP + width - text.chars().count().min(width)));
        line.push_str(&text);
    }
    line.lines().map(|l| l.trim_end().to_owned() + "\n").collect()
}

fn name(comparison: &Comparison, summary: &Summary) -> String {
    let mark = if shortcomings(comparison, summary).is_empty() { "" } else { " *" };
    format!("{}{mark}", comparison.marked_label(summary))
}

/// The text of the difference to the reference.
fn against(comparison: &Comparison, summary: &Summary) -> String {
    let is_reference = comparison.reference.is_some_and(|r| comparison.summaries[r].scheduler == summary.scheduler);
    match summary.against {
        _ if is_reference => "reference".into(),
        Some(difference) => shown(&difference),
        None => "-".into(),
    }
}

/// Formats a difference: `+3.30 ±0.40`, with a `~` behind it if it is not significant.
fn shown(difference: &Difference) -> String {
    let mean = signed(difference.mean());
    match (difference.same_on_every_seed, difference.estimate.margin(), difference.is_significant()) {
        (true, ..) => format!("{mean} always"),
        (_, Some(margin), Some(true)) => format!("{mean} ±{:<4} ", short(margin)),
        (_, Some(margin), _) => format!("{mean} ±{:<4}~", short(margin)),
        (_, None, _) => mean,
    }
}

fn share(summary: &Summary) -> String {
    percentages(&summary.share).iter().map(u32::to_string).collect::<Vec<_>>().join("/")
}

/// Whole percentages that add up to 100. The largest remainders are rounded up.
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

/// Problems of a row's runs: `1 of 5 runs stalled`.
pub(crate) fn shortcomings(comparison: &Comparison, summary: &Summary) -> Vec<String> {
    let (planned, runs) = (summary.planned, summary.runs);
    let undelivered = if comparison.judged == Judged::Delay { summary.unfinished() } else { 0 };
    [
        (planned.saturating_sub(runs), planned, "not made"),
        (summary.failed, runs, "failed"),
        (summary.stalled, runs, "stalled"),
        (undelivered.saturating_sub(summary.stalled), runs, "short of what is offered"),
    ]
    .into_iter()
    .filter(|(n, ..)| *n > 0)
    .map(|(n, all, word)| format!("{n} of {} {word}", counted(all, "run")))
    .collect()
}

/// The reason why a scheduler has no numbers: `never run`, `3 of 3 runs failed`.
pub(crate) fn absence(absent: &Absent) -> String {
    match absent.failed {
        0 => "never run".into(),
        n => format!("{n} of {} failed", counted(absent.planned, "run")),
    }
}

/// Explanation of the numbers and marks.
fn notes(comparison: &Comparison, columns: &[Column], width: usize) -> String {
    let mut text = String::new();
    for s in &comparison.summaries {
        for shortcoming in shortcomings(comparison, s) {
            text.push_str(&format!("* {}: {shortcoming}\n", comparison.label(s)));
        }
    }
    for absent in &comparison.absent {
        text.push_str(&format!("- {}: {}\n", comparison.absent_label(absent), absence(absent)));
    }
    let least = comparison.summaries.iter().map(Summary::measured).min().unwrap_or(0);
    let most = comparison.summaries.iter().map(Summary::measured).max().unwrap_or(0);
    let differences = || comparison.summaries.iter().filter_map(|s| s.against);
    let mut sentences = vec![match least == most {
        _ if most == 1 => "Means of 1 seed, which says nothing about the spread".to_owned(),
        true => format!("Means of {most} seeds"),
        false => format!("Means of {least} to {most} seeds"),
    }];
    if let Some(reference) = comparison.reference {
        let margin = differences().any(|d| !d.same_on_every_seed && d.estimate.count > 1);
        let interval = if margin { ", ± 95 % interval of the difference seed by seed" } else { "" };
        sentences.push(format!("reference: {}{interval}", comparison.label(&comparison.summaries[reference])));
    }
    if differences().any(|d| d.same_on_every_seed) {
        sentences.push("always: the same difference on every seed".into());
    }
    if differences().any(|d| !d.same_on_every_seed && d.is_significant() == Some(false)) {
        sentences.push("~: not significant".into());
    }
    if comparison.summaries.iter().any(|s| !s.same.is_empty()) {
        sentences.push("=: the same packets on every seed".into());
    }
    if comparison.is_uneven() {
        sentences.push("schedulers that lack seeds of others come last".into());
    }
    sentences.extend(comparison.host_note());
    sentences.extend(columns.iter().filter(|c| !c.about.is_empty()).map(|c| c.about.to_owned()));
    text.push_str(&indented("", &(sentences.join("; ") + "."), width));
    text
}

/// Wraps text into lines of at most `width` characters. The first line follows `lead`; the others are indented by the
/// length of `lead`.
pub(crate) fn indented(lead: &str, text: &str, width: usize) -> String {
    let margin = lead.chars().count();
    let mut out = String::from(lead);
    let mut used = margin;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > margin && used + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(margin));
            used = margin;
        } else if used > margin {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out + "\n"
}

impl Comparison {
    /// The host of most rows. If several hosts are equally frequent, the simplest of them.
    fn usual_host(&self) -> HostModel {
        let rows = |host: HostModel| self.summaries.iter().filter(|s| s.host == host).count();
        // The last of several largest ones.
        HostModel::ALL.into_iter().rev().max_by_key(|h| rows(*h)).unwrap_or_default()
    }

    /// [`Comparison::label`], with a mark if the row's host differs from that of most rows.
    pub fn marked_label(&self, summary: &Summary) -> String {
        let mark = if summary.host == self.usual_host() { "" } else { " †" };
        self.label(summary) + mark
    }

    /// Explanation of the mark; `None` if all rows have the same host.
    pub fn host_note(&self) -> Option<String> {
        let usual = self.usual_host();
        let mut others: Vec<HostModel> = Vec::new();
        for summary in self.summaries.iter().filter(|s| s.host != usual) {
            if !others.contains(&summary.host) {
                others.push(summary.host);
            }
        }
        let marked: Vec<&str> = others.iter().map(|host| host.in_words()).collect();
        (!marked.is_empty()).then(|| format!("†: on {}, the others on {}", marked.join(" or "), many_in_words(usual)))
    }
}

/// Words for several hosts of this model.
pub(crate) fn many_in_words(host: HostModel) -> String {
    let one = host.in_words();
    format!("{}s", one.split_once(' ').map_or(one, |(_, name)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_add_up() {
        assert_eq!(percentages(&[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]).iter().sum::<u32>(), 100);
        assert_eq!(percentages(&[0.996, 0.004]), [100, 0]);
        assert_eq!(percentages(&[0.625, 0.375]), [63, 37]);
        assert_eq!(percentages(&[0.0, 0.0]), [0, 0]);
    }

    #[test]
    fn lists_are_wrapped_between_words() {
        assert_eq!(indented("", "one two three four", 9), "one two\nthree\nfour\n");
        assert_eq!(indented("  = ", "one, two, three", 12), "  = one,\n    two,\n    three\n");
        assert_eq!(indented("", "unbreakable a", 5), "unbreakable\na\n");
    }
}
