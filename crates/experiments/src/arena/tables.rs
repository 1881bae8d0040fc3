//! A table of the arena as data, written as text and as HTML.

use core::fmt::Write as _;
use pathweave_report::html;

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// The lines of the cell. A text shows them in one line.
    pub(super) lines: Vec<String>,
    /// Whether the cell is the best of its column.
    pub(super) best: bool,
}

impl From<String> for Cell {
    fn from(line: String) -> Self {
        Cell { lines: vec![line], best: false }
    }
}

impl From<&str> for Cell {
    fn from(line: &str) -> Self {
        line.to_owned().into()
    }
}

/// A table with a name in each row's first cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// The title.
    pub(super) title: &'static str,
    /// An explanation of the columns.
    pub(super) note: String,
    /// The columns' names; the first one names the rows.
    pub(super) head: Vec<String>,
    /// The rows, with a cell for each column.
    pub(super) rows: Vec<Vec<Cell>>,
    /// Whether the table is too wide for a text.
    pub(super) page_only: bool,
}

impl Table {
    /// A table without rows.
    pub(super) fn new(title: &'static str, note: impl Into<String>, head: &[&str]) -> Self {
        let head = head.iter().map(|name| (*name).to_owned()).collect();
        Table { title, note: note.into(), head, rows: Vec::new(), page_only: false }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(Cell::from).collect());
    }

    /// The table as text. Columns are as wide as their longest cell, and the best cells have an asterisk.
    pub(super) fn text(&self) -> String {
        let plain = |cell: &Cell| cell.lines.join(" ") + if cell.best { "*" } else { "" };
        let rows = self.rows.iter().map(|row| row.iter().map(plain).collect::<Vec<String>>());
        let all: Vec<Vec<String>> = std::iter::once(self.head.clone()).chain(rows).collect();
        let widths: Vec<usize> = (0..self.head.len())
            .map(|i| all.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max().unwrap_or(0))
            .collect();
        let mut out = format!("{}\n{}\n\n", self.title, self.note);
        for row in &all {
            let mut line = String::new();
            for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // Names are aligned to the left, numbers to the right.
                let _ = if i == 0 { write!(line, "{cell:<width$}") } else { write!(line, "  {cell:>width$}") };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }

    /// The table as an HTML card that a reader opens. The card scrolls by itself if the page is narrow.
    pub(super) fn card(&self) -> String {
        let title = self.title;
        let mut out = format!(
            "<details class=\"card\"><summary><h3>{title}</h3></summary><p class=\"note\">{}</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
             aria-label=\"{title}\"><table class=\"numbers\"><thead><tr>",
            html(&self.note)
        );
        for (i, name) in self.head.iter().enumerate() {
            let _ = write!(out, "<th{}>{}</th>", if i == 0 { " class=\"who\"" } else { "" }, html(name));
        }
        out.push_str("</tr></thead><tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (i, cell) in row.iter().enumerate() {
                let lines: Vec<String> = cell.lines.iter().map(|line| html(line)).collect();
                let text = match lines.split_first() {
                    Some((first, rest)) => {
                        let rest: String = rest.iter().map(|line| format!("<br><small>{line}</small>")).collect();
                        let first = if cell.best { format!("<strong>{first}</strong>") } else { first.clone() };
                        first + &rest
                    }
                    None => String::new(),
                };
                let _ = match i {
                    0 => write!(out, "<th scope=\"row\" class=\"who\">{text}</th>"),
                    _ => write!(out, "<td>{text}</td>"),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div></details>\n");
        out
    }
}

/// A value with three digits after the point; a dash if there is none.
pub(super) fn fine(value: Option<f64>) -> String {
    value.map_or("–".into(), |v| format!("{v:.3}"))
}

/// A fraction in percent with one digit after the point; a dash if there is none.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or("–".into(), |v| format!("{:.1} %", 100.0 * v))
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn text_and_page_say_the_same() {
        let mut table = Table::new("Title", "A < b.", &["Scheduler", "Mean"]);
        table.row(vec!["a&b".into(), "1.000".into()]);
        table.rows[0][1].best = true;
        assert_eq!(table.text(), "Title\nA < b.\n\nScheduler    Mean\na&b        1.000*\n");
        let card = table.card();
        assert!(card.contains("A &lt; b.") && card.contains(">a&amp;b</th><td><strong>1.000</strong></td>"), "{card}");
    }
}
