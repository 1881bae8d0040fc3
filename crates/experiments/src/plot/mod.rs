//! Figures as SVG: a panel for each scenario and for each value of the parameters that are not on the axis.
//!
//! A panel has CSS classes instead of colours, so that a page can show it light or dark. [`svg`] combines the panels of
//! a figure into one picture with colours on white.

mod axis;
pub mod forms;
mod map;

use crate::plan::{Figure, Form, Sample};
use crate::results::Results;
use crate::runs::Sweep;
use axis::Frame;
use core::fmt::Write as _;
use pathweave_lab::metric;
use pathweave_report::{COLOURS, DASHES, Look, looks};

/// Width of a panel, in the SVG's units.
pub const WIDTH: f64 = 380.0;
/// Height of a panel, in the SVG's units.
pub const HEIGHT: f64 = 270.0;
/// Most panels of a figure.
const MOST: usize = 12;

/// A panel.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The panel's scenario and parameter values; empty if the figure has only one panel.
    pub title: String,
    /// SVG elements in an area of [`WIDTH`] by [`HEIGHT`].
    pub body: String,
    /// Number of values in the panel.
    pub values: usize,
}

/// A figure as SVG panels.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The figure's heading.
    pub title: String,
    /// The figure's panels.
    pub panels: Vec<Panel>,
    /// CSS class and name of each line, bar or box.
    pub legend: Vec<(String, String)>,
}

/// Draws a figure.
pub fn draw(sweep: &Sweep, results: &Results, figure: &Figure) -> Drawn {
    let plan = &sweep.plan;
    let variants = match figure.variants.as_slice() {
        [] => (0..sweep.variants.len()).collect(),
        some => some.to_vec(),
    };
    let looks = looks_of(sweep);
    let mut panels = Vec::new();
    for scenario in 0..plan.scenarios.len() {
        for (points, values) in groups(sweep, figure) {
            let mut title = Vec::new();
            if plan.scenarios.len() > 1 {
                title.push(sweep.scenario_name(scenario).to_owned());
            }
            title.extend(values);
            let of =
                forms::Of { sweep, results, figure, scenario, points: &points, variants: &variants, looks: &looks };
            if let Some((body, values)) = forms::panel(&of)
                && panels.len() < MOST
            {
                panels.push(Panel { title: title.join(", "), body, values });
            }
        }
    }
    let mut legend: Vec<(String, String)> =
        variants.iter().map(|v| (class(looks[*v]), sweep.variants[*v].name.clone())).collect();
    if panels.iter().any(|p: &Panel| p.body.contains("line sum")) {
        let names: Vec<&str> = figure.sum.iter().map(|v| sweep.variants[*v].name.as_str()).collect();
        legend.push(("sum".into(), format!("the sum of {}", names.join(" and "))));
    }
    if panels.iter().any(|p: &Panel| p.body.contains("line bound")) {
        legend.push(("bound".into(), "the bound".into()));
    }
    if panels.iter().any(|p: &Panel| p.body.contains("line printed")) {
        legend.push(("printed".into(), "in the source".into()));
    }
    let shown = |class: &str| panels.iter().any(|p: &Panel| p.body.contains(&format!("class=\"{class}")));
    for class in ["band", "whisker"] {
        if plan.seeds > 1 && shown(class) {
            legend.push((class.into(), "95 % interval of the mean".into()));
        }
    }
    Drawn { title: figure.title.clone(), panels, legend }
}

/// The points of each panel, and the parameter values that all of them share.
fn groups(sweep: &Sweep, figure: &Figure) -> Vec<(Vec<usize>, Vec<String>)> {
    let plan = &sweep.plan;
    let all: Vec<usize> = (0..plan.points.len()).collect();
    if matches!(figure.form, Form::Boxes | Form::Cdf) && figure.x.is_none() && figure.sample == Sample::Points {
        return vec![(all, Vec::new())];
    }
    let mut groups: Vec<(Vec<usize>, Vec<usize>, Vec<String>)> = Vec::new();
    for point in all {
        let others = |i: &usize| Some(*i) != figure.x && plan.parameters[*i].values.len() > 1;
        let fixed: Vec<usize> = (0..plan.parameters.len()).filter(others).collect();
        let key: Vec<usize> = fixed.iter().map(|i| plan.points[point][*i]).collect();
        if let Some((_, points, _)) = groups.iter_mut().find(|(k, ..)| *k == key) {
            points.push(point);
        } else {
            let values = plan.shown(point, &|p| Some(p) == figure.x);
            let words = fixed.iter().map(|i| format!("{} {}", plan.parameters[*i].label, values[*i]));
            groups.push((key, vec![point], words.collect()));
        }
    }
    groups.into_iter().map(|(_, points, words)| (points, words)).collect()
}

/// The look of each variant of a sweep, in all of its figures and maps.
pub(crate) fn looks_of(sweep: &Sweep) -> Vec<Look> {
    let plain: Vec<usize> = sweep.plain_tcp().collect();
    looks(sweep.variants.iter().enumerate().map(|(v, one)| if plain.contains(&v) { "tcp" } else { one.name.as_str() }))
}

/// The classes of lines of this look.
pub(crate) fn class(look: Look) -> String {
    match look.dash {
        0 => format!("v{}", look.colour),
        dash => format!("v{} dash{dash}", look.colour),
    }
}

/// Name and unit of a figure's metric.
fn axis_title(name: &str) -> String {
    let words = name.replace('_', " ");
    match metric::unit(name) {
        Some("") | None => words,
        Some(unit) => {
            let suffix = format!(" {}", unit.to_lowercase().replace("mbit/s", "mbps"));
            format!("{}, {unit}", words.strip_suffix(&suffix).unwrap_or(&words))
        }
    }
}

/// Escapes text for use inside SVG.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A figure as one picture on white; `None` if it has no values.
pub fn svg(drawn: &Drawn) -> Option<String> {
    if drawn.panels.is_empty() {
        return None;
    }
    let columns = drawn.panels.len().min(2);
    let rows = drawn.panels.len().div_ceil(columns);
    // Room for the titles above the panels, and for the legend.
    let (title, entry) = (22.0, 18.0);
    let width = WIDTH * columns as f64 + 20.0;
    let mut lines: Vec<Vec<(&str, &str, f64)>> = vec![Vec::new()];
    let mut x = 14.0;
    for (class, name) in &drawn.legend {
        let needed = 38.0 + 7.4 * name.chars().count() as f64;
        if x + needed > width && x > 14.0 {
            lines.push(Vec::new());
            x = 14.0;
        }
        if let Some(line) = lines.last_mut() {
            line.push((class, name, x));
        }
        x += needed;
    }
    let height = rows as f64 * (HEIGHT + title) + entry * lines.len() as f64 + 14.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<style>{}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        style()
    );
    for (i, panel) in drawn.panels.iter().enumerate() {
        let (column, row) = ((i % columns) as f64, (i / columns) as f64);
        let (x, y) = (10.0 + WIDTH * column, row * (HEIGHT + title));
        let _ = writeln!(
            out,
            "<text x=\"{:.0}\" y=\"{:.0}\" class=\"strong\">{}</text>\n<g transform=\"translate({x:.0} {:.0})\">\n{}</g>",
            x + Frame::LEFT,
            y + 18.0,
            escaped(&panel.title),
            y + title,
            panel.body
        );
    }
    for (i, line) in lines.iter().enumerate() {
        let y = rows as f64 * (HEIGHT + title) + entry * (i as f64 + 1.0) - 4.0;
        for (class, name, x) in line {
            let _ = writeln!(
                out,
                "<path class=\"line {class}\" d=\"M{x:.0} {y:.0}h20\"/><text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
                x + 25.0,
                y + 4.0,
                escaped(name)
            );
        }
    }
    Some(out + "</svg>\n")
}

/// A style sheet with the looks of all classes on white.
fn style() -> String {
    let mut css = String::from(
        "text{fill:#30343a}.strong{font-weight:600}.grid{stroke:#e1e4e8;fill:none}.axis{stroke:#8b929b;fill:none}\
         .line{fill:none;stroke-width:2}.mark{stroke-width:1.2;fill:none}\
         .bound{stroke:#30343a;stroke-dasharray:2 3;stroke-width:1.5}.sum{stroke:#30343a;stroke-dasharray:7 3;stroke-width:1.5}.printed{stroke:#000000;stroke-width:2.5}.band{opacity:.15;stroke:none}.line.band{stroke:#30343a;stroke-width:8}.whisker{stroke:#30343a;stroke-width:1.5;fill:none}.column{fill-opacity:.7}.open{fill-opacity:.25;stroke-width:1.5}.box{fill-opacity:.25;stroke-width:1.5}",
    );
    for (i, (ink, _)) in COLOURS.iter().enumerate() {
        let _ = write!(css, ".v{i}{{stroke:{ink}}}.f{i}{{fill:{ink}}}");
    }
    for (i, dashes) in DASHES.iter().enumerate().skip(1) {
        let lengths: Vec<String> = dashes.iter().map(u32::to_string).collect();
        let _ = write!(css, ".dash{i}{{stroke-dasharray:{}}}", lengths.join(" "));
    }
    css
}
