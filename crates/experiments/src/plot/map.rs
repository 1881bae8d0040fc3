//! Maps over two parameters.

use super::{WIDTH, escaped};
use core::fmt::Write as _;

const LEFT: f64 = 64.0;
const ROW: f64 = 26.0;
const BOTTOM: f64 = 42.0;

/// A cell of a map.
#[derive(Clone, Debug)]
pub struct Cell {
    /// CSS classes for the cell's colour.
    pub class: String,
    /// Text in the cell, shown if there is room.
    pub text: String,
    /// Text of the cell's tooltip.
    pub tip: String,
    /// Whether the cell has an edge.
    pub marked: bool,
}

/// The axes of a map: a title and values.
#[derive(Clone, Copy, Debug)]
pub struct Axes<'a> {
    /// The horizontal axis.
    pub x: (&'a str, &'a [String]),
    /// The vertical axis, upwards. It has a single empty value if there is only one parameter.
    pub y: (&'a str, &'a [String]),
}

/// The width of a cell, if a row has this many.
fn width(columns: usize) -> f64 {
    (WIDTH - LEFT - 6.0) / columns.max(1) as f64
}

/// How many letters there is room for in a cell.
fn letters(columns: usize) -> usize {
    ((width(columns) - 3.0).max(0.0) / 6.9) as usize
}

/// A name as it is, or as much of it as there is room for in a cell; nothing if that says too little.
pub fn name_in_cell(name: &str, columns: usize) -> String {
    match letters(columns) {
        room @ 4.. => cut(name, room),
        _ if name.chars().count() <= letters(columns) => name.to_owned(),
        _ => String::new(),
    }
}

/// The SVG elements of a map, and its height. `cells` are by row, from below, then by column; `None` if there is no
/// value.
pub fn map(axes: &Axes<'_>, cells: &[Vec<Option<Cell>>]) -> (String, f64) {
    let (columns, rows) = (axes.x.1.len().max(1), axes.y.1.len().max(1));
    let width = width(columns);
    let height = ROW * rows as f64;
    let mut out = String::new();
    for (r, row) in cells.iter().enumerate() {
        let y = height - ROW * (r as f64 + 1.0) + 2.0;
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + ROW / 2.0 + 4.0,
            escaped(&axes.y.1.get(r).map_or(String::new(), |v| cut(v, 7)))
        );
        for (c, cell) in row.iter().enumerate() {
            let x = LEFT + width * c as f64;
            let Some(cell) = cell else { continue };
            let _ = write!(
                out,
                "<rect class=\"{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" data-tip=\"{tip}\"><title>{tip}</title></rect>",
                cell.class,
                x + 0.75,
                y + 0.75,
                width - 1.5,
                ROW - 1.5,
                tip = escaped(&cell.tip)
            );
            if cell.marked {
                let _ = write!(
                    out,
                    "<rect class=\"worse\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                    x + 1.75,
                    y + 1.75,
                    width - 3.5,
                    ROW - 3.5
                );
            }
            if cell.text.chars().count() <= letters(columns) {
                let _ = write!(
                    out,
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    x + width / 2.0,
                    y + ROW / 2.0 + 4.0,
                    escaped(&cell.text)
                );
            }
            out.push('\n');
        }
    }
    // As many of the values as there is room for below the axis.
    let longest = axes.x.1.iter().map(|v| cut(v, 8).chars().count()).max().unwrap_or(1);
    let every = ((7.5 * longest as f64 + 6.0) / width) as usize + 1;
    for (c, value) in axes.x.1.iter().enumerate().step_by(every) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            LEFT + width * (c as f64 + 0.5),
            height + 18.0,
            escaped(&cut(value, 8))
        );
    }
    let title = match axes.y.0 {
        "" => axes.x.0.to_owned(),
        up => format!("→ {}   ↑ {up}", axes.x.0),
    };
    let _ = writeln!(
        out,
        "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        WIDTH / 2.0,
        height + 36.0,
        escaped(&cut(&title, 58))
    );
    (out, height + BOTTOM)
}

/// Shortens a text to `most` letters.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Axes, Cell, map, name_in_cell};

    #[test]
    fn a_cell_has_a_name_as_far_as_there_is_room() {
        for (columns, wanted) in [(2, "redundant"), (4, "redundant"), (5, "redunda…"), (8, "redu…"), (20, "")] {
            assert_eq!(name_in_cell("redundant", columns), wanted, "{columns}");
            let values: Vec<String> = (0..columns).map(|i| i.to_string()).collect();
            let axes = Axes { x: ("buffer", &values), y: ("", &[String::new()]) };
            let text = name_in_cell("redundant", columns);
            let cell = Cell { class: "won".into(), text, tip: "tip".into(), marked: false };
            let (svg, _) = map(&axes, &[vec![Some(cell); columns]]);
            let drawn = svg.matches(">redu").count();
            assert_eq!(drawn, if wanted.is_empty() { 0 } else { columns }, "{columns}");
            assert!(wanted.is_empty() || svg.contains(&format!(">{wanted}</text>")), "{columns}");
        }
    }
}
