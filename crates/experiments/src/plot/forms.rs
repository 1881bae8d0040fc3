//! The content of a panel: lines, bars, boxes and distributions.

use super::axis::{Frame, Scale};
pub use super::map::{Axes, Cell, map, name_in_cell};
use super::{axis_title, class, escaped};
use crate::plan::{Figure, Form};
use crate::results::Results;
use crate::runs::Sweep;
use core::fmt::Write as _;
use pathweave_report::{Look, quantile_of, short};

/// The content of a panel.
pub(super) struct Of<'a> {
    pub(super) sweep: &'a Sweep,
    pub(super) results: &'a Results,
    pub(super) figure: &'a Figure,
    pub(super) scenario: usize,
    pub(super) points: &'a [usize],
    /// Indices of the variants.
    pub(super) variants: &'a [usize],
    /// The looks of all variants of the sweep.
    pub(super) looks: &'a [Look],
}

/// A value with its interval, at a position on the horizontal axis.
struct Dot {
    x: f64,
    mean: f64,
    low: f64,
    high: f64,
    at: String,
}

/// The panel's SVG elements and the number of its values; `None` if it has no values.
pub(super) fn panel(of: &Of<'_>) -> Option<(String, usize)> {
    match of.figure.form {
        Form::Lines | Form::Bars => over_parameter(of),
        Form::Boxes => boxes(of),
        Form::Cdf => distribution(of),
    }
}

impl Of<'_> {
    fn name(&self, variant: usize) -> &str {
        &self.sweep.variants[variant].name
    }

    /// The look of the variant at this place among those that are drawn.
    fn look(&self, i: usize) -> Look {
        self.looks[self.variants[i]]
    }

    /// The metric at each point with each seed. With several points, their means over the seeds.
    fn values(&self, variant: usize) -> Vec<f64> {
        let metric = &self.figure.metric;
        if let [point] = self.points {
            let seeds = self.results.by_seed(self.scenario, *point, variant, metric);
            return seeds.into_iter().map(|(_, value)| value).collect();
        }
        let mean = |point: &usize| self.results.estimate(self.scenario, *point, variant, metric).map(|e| e.mean);
        self.points.iter().filter_map(mean).collect()
    }

    /// The largest bound of all variants drawn. It is the bound of several paths if one of the variants uses several.
    fn bound(&self, scale: &Scale) -> Vec<Dot> {
        let mut largest: Vec<Dot> = Vec::new();
        for dot in self.variants.iter().flat_map(|v| self.dots(*v, "bound_mbps", scale)) {
            match largest.iter_mut().find(|d| d.at == dot.at) {
                Some(d) if d.mean < dot.mean => *d = dot,
                Some(_) => {}
                None => largest.push(dot),
            }
        }
        largest.sort_by(|a, b| a.x.total_cmp(&b.x));
        largest
    }

    /// The sum of the figure's `sum` variants at each place where all of them have a value.
    fn sum(&self, scale: &Scale) -> Vec<Dot> {
        let parts: Vec<Vec<Dot>> = self.figure.sum.iter().map(|v| self.dots(*v, &self.figure.metric, scale)).collect();
        let Some((first, others)) = parts.split_first() else { return Vec::new() };
        let total = |dot: &Dot| {
            let there = |dots: &Vec<Dot>| dots.iter().find(|d| d.at == dot.at).map(|d| d.mean);
            let more: f64 = others.iter().map(there).sum::<Option<f64>>()?;
            let mean = dot.mean + more;
            Some(Dot { x: dot.x, mean, low: mean, high: mean, at: dot.at.clone() })
        };
        first.iter().filter_map(total).collect()
    }

    /// The numbers that the source prints for a variant.
    fn printed(&self, variant: usize, scale: &Scale) -> Vec<Dot> {
        let plan = &self.sweep.plan;
        let of = |point: usize| {
            let own = plan.printed.iter().filter(move |p| p.variant == variant && p.is_of(plan, point));
            own.filter(|p| p.metric == self.figure.metric).map(|p| p.value)
        };
        let dot = |(point, mean): (usize, f64)| {
            let (at, x) = self.place(point, scale);
            Dot { x, mean, low: mean, high: mean, at }
        };
        self.points.iter().flat_map(|p| of(*p).map(|value| (*p, value))).map(dot).collect()
    }

    /// A point's value on the horizontal axis, and where that is.
    fn place(&self, point: usize, scale: &Scale) -> (String, f64) {
        let Some(x) = self.figure.x else { return (String::new(), 0.0) };
        let plan = &self.sweep.plan;
        let number = || plan.columns[x].values[point].number().unwrap_or(0.0);
        let place = if matches!(scale, Scale::Names(_)) { plan.points[point][x] as f64 } else { number() };
        (plan.values(point)[x].to_owned(), place)
    }

    fn dots(&self, variant: usize, metric: &str, scale: &Scale) -> Vec<Dot> {
        let mut dots = Vec::new();
        for point in self.points {
            let Some(e) = self.results.estimate(self.scenario, *point, variant, metric) else { continue };
            let (at, x) = self.place(*point, scale);
            let (low, high) = e.interval.unwrap_or((e.mean, e.mean));
            dots.push(Dot { x, mean: e.mean, low, high, at });
        }
        dots.sort_by(|a, b| a.x.total_cmp(&b.x));
        dots
    }
}

fn over_parameter(of: &Of<'_>) -> Option<(String, usize)> {
    let (plan, figure) = (&of.sweep.plan, of.figure);
    let ticks = figure.x.map_or_else(Vec::new, |x| plan.ticks(x));
    let bars = figure.form == Form::Bars;
    let names = || Scale::Names(figure.x.map_or_else(|| vec![String::new()], |x| plan.axis(x)));
    let x = Scale::numbers(&ticks, figure.log_x).filter(|_| !bars).unwrap_or_else(names);
    let series: Vec<Vec<Dot>> = of.variants.iter().map(|v| of.dots(*v, &figure.metric, &x)).collect();
    let bound = if figure.bound { of.bound(&x) } else { Vec::new() };
    let sum = of.sum(&x);
    let printed: Vec<Vec<Dot>> = match bars {
        true => of.variants.iter().map(|v| of.printed(*v, &x)).collect(),
        false => Vec::new(),
    };
    let all: Vec<f64> = series.iter().chain([&bound, &sum]).chain(&printed).flatten().map(|d| d.mean).collect();
    if series.iter().all(Vec::is_empty) {
        return None;
    }
    let frame = Frame { x, y: Scale::of(&all) };
    let title = figure.x.map_or("", |x| plan.parameters[x].label.as_str());
    let mut out = frame.draw(title, &axis_title(&figure.metric), Some(ticks.as_slice()));
    match bars {
        // A line across each group.
        true => {
            for d in &bound {
                let (left, width) = (frame.x(d.x) - frame.slot() * 0.45, frame.slot() * 0.9);
                let _ =
                    writeln!(out, "<path class=\"line bound\" d=\"M{left:.1} {:.1}h{width:.1}\"/>", frame.y(d.mean));
            }
        }
        false if bound.len() > 1 => {
            let _ = writeln!(out, "<path class=\"line bound\" d=\"{}\"/>", path(&frame, &bound));
        }
        false => {}
    }
    if sum.len() > 1 {
        let _ = writeln!(out, "<path class=\"line sum\" d=\"{}\"/>", path(&frame, &sum));
    }
    for (i, dots) in series.iter().enumerate() {
        let name = escaped(of.name(of.variants[i]));
        if bars {
            draw_bars(&mut out, &frame, dots, (i, series.len()), (of.look(i), &name));
        } else {
            draw_line(&mut out, &frame, dots, of.look(i), &name);
        }
    }
    for (i, dots) in printed.iter().enumerate() {
        draw_printed(&mut out, &frame, dots, (i, series.len()), &escaped(of.name(of.variants[i])));
    }
    Some((out, all.len()))
}

/// A line across the bar of each value that the source prints.
fn draw_printed(out: &mut String, frame: &Frame, dots: &[Dot], (i, count): (usize, usize), name: &str) {
    let width = frame.slot() * 0.8 / count as f64;
    for d in dots {
        let left = frame.x(d.x) + width * (i as f64 - count as f64 / 2.0) - 1.0;
        let _ = writeln!(
            out,
            "<path class=\"line printed\" d=\"M{left:.1} {:.1}h{:.1}\"><title>{name}, {}, in the source: {}</title></path>",
            frame.y(d.mean),
            width + 1.0,
            escaped(&d.at),
            short(d.mean)
        );
    }
}

fn path(frame: &Frame, dots: &[Dot]) -> String {
    let place =
        |(i, d): (usize, &Dot)| format!("{}{:.1} {:.1}", if i == 0 { "M" } else { "L" }, frame.x(d.x), frame.y(d.mean));
    dots.iter().enumerate().map(place).collect()
}

fn draw_line(out: &mut String, frame: &Frame, dots: &[Dot], look: Look, name: &str) {
    let (class, colour) = (class(look), look.colour);
    let there = dots.iter().map(|d| format!("{:.1} {:.1}", frame.x(d.x), clamped(frame, d.low)));
    let back = dots.iter().rev().map(|d| format!("{:.1} {:.1}", frame.x(d.x), clamped(frame, d.high)));
    let around: Vec<String> = there.chain(back).collect();
    let _ = writeln!(out, "<path class=\"band f{colour}\" d=\"M{}Z\"/>", around.join("L"));
    let _ = writeln!(out, "<path class=\"line {class}\" d=\"{}\"/>", path(frame, dots));
    for d in dots {
        let _ = writeln!(
            out,
            "<circle class=\"f{colour}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\"><title>{name}, {}: {}</title></circle>",
            frame.x(d.x),
            frame.y(d.mean),
            escaped(&d.at),
            short(d.mean)
        );
    }
}

fn draw_bars(out: &mut String, frame: &Frame, dots: &[Dot], (i, count): (usize, usize), (look, name): (Look, &str)) {
    let width = frame.slot() * 0.8 / count as f64;
    let class = match look.dash {
        0 => format!("column f{}", look.colour),
        _ => format!("column open {} f{}", class(look), look.colour),
    };
    for d in dots {
        let left = frame.x(d.x) + width * (i as f64 - count as f64 / 2.0);
        let (zero, top) = (frame.y(0.0), frame.y(d.mean));
        let middle = left + width / 2.0;
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{name}, {}: {}</title></rect>\
             <path class=\"whisker\" d=\"M{middle:.1} {:.1}V{:.1}\"/>",
            top.min(zero),
            (width - 1.0).max(1.0),
            (zero - top).abs().max(0.5),
            escaped(&d.at),
            short(d.mean),
            clamped(frame, d.low),
            clamped(frame, d.high)
        );
    }
}

/// The vertical position of an interval's end, limited to the panel.
fn clamped(frame: &Frame, value: f64) -> f64 {
    let Scale::Linear(low, high) = frame.y else { return frame.y(value) };
    frame.y(value.clamp(low, high))
}

fn boxes(of: &Of<'_>) -> Option<(String, usize)> {
    let values: Vec<Vec<f64>> = of.variants.iter().map(|v| of.values(*v)).collect();
    let all: Vec<f64> = values.iter().flatten().copied().collect();
    if all.is_empty() {
        return None;
    }
    let names = of.variants.iter().map(|v| of.name(*v).to_owned()).collect();
    let frame = Frame { x: Scale::Names(names), y: Scale::of(&all) };
    let mut out = frame.draw("", &axis_title(&of.figure.metric), None);
    let half = (frame.slot() * 0.3).min(26.0);
    for (i, values) in values.iter().enumerate().filter(|(_, v)| !v.is_empty()) {
        let [first, median, third] = [0.25, 0.5, 0.75].map(|p| quantile_of(values, p));
        let reach = 1.5 * (third - first);
        let inside = || values.iter().copied().filter(|v| (first - reach..=third + reach).contains(v));
        let (low, high) = (inside().fold(f64::INFINITY, f64::min), inside().fold(f64::NEG_INFINITY, f64::max));
        let (x, colour) = (frame.x(i as f64), of.look(i).colour);
        let outline = class(of.look(i));
        let y = |v: f64| frame.y(v);
        let _ = writeln!(
            out,
            "<path class=\"mark v{colour}\" d=\"M{x:.1} {:.1}V{:.1}M{x:.1} {:.1}V{:.1}\"/>\
             <rect class=\"box {outline} f{colour}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}: median {}</title></rect>\
             <path class=\"line v{colour}\" d=\"M{:.1} {:.1}h{:.1}\"/>",
            y(low),
            y(first),
            y(third),
            y(high),
            x - half,
            y(third),
            2.0 * half,
            (y(first) - y(third)).max(1.0),
            escaped(of.name(of.variants[i])),
            short(median),
            x - half,
            y(median),
            2.0 * half
        );
        for value in values.iter().filter(|v| !(low..=high).contains(*v)) {
            let _ = writeln!(out, "<circle class=\"mark v{colour}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"2\"/>", y(*value));
        }
    }
    Some((out, all.len()))
}

fn distribution(of: &Of<'_>) -> Option<(String, usize)> {
    let mut series: Vec<Vec<f64>> = of.variants.iter().map(|v| of.values(*v)).collect();
    let all: Vec<f64> = series.iter().flatten().copied().collect();
    if all.is_empty() {
        return None;
    }
    series.iter_mut().for_each(|values| values.sort_by(f64::total_cmp));
    let frame = Frame { x: Scale::of(&all), y: Scale::Linear(0.0, 1.0) };
    let mut out = frame.draw(&axis_title(&of.figure.metric), "share of the runs", None);
    for (i, values) in series.iter().enumerate() {
        let mut d = String::new();
        for (n, value) in values.iter().enumerate() {
            let (x, below, above) = (frame.x(*value), n as f64, n as f64 + 1.0);
            let count = values.len() as f64;
            let start = if n == 0 { "M" } else { "L" };
            let _ = write!(d, "{start}{x:.1} {:.1}V{:.1}", frame.y(below / count), frame.y(above / count));
        }
        let name = escaped(of.name(of.variants[i]));
        let _ = writeln!(out, "<path class=\"line {}\" d=\"{d}\"><title>{name}</title></path>", class(of.look(i)));
    }
    Some((out, all.len()))
}

#[cfg(test)]
#[path = "forms_tests.rs"]
mod tests;
