//! Pictures of a validation: simulated results against those of Linux.

use crate::document::html;
use core::fmt::Write;
use pathweave_lab::validation::Comparison;

const TCP: &str = "#2a6fb0";
const MPTCP: &str = "#d1601c";
const LINE: &str = "#b8bcc2";
const TEXT: &str = "#30343a";

/// Two panels, for goodput and for completion time, with a circle for each scenario. Linux's median is on the
/// horizontal axis and Pathweave's on the vertical one, both logarithmic. Equal results are on the diagonal; the band
/// is 5 % to either side.
pub fn agreement_svg(all: &[Comparison]) -> String {
    let (size, gap) = (380.0, 70.0);
    let (width, height) = (2.0 * size + 3.0 * gap, size + 2.0 * gap);
    let mut svg = open(width, height);
    for (i, (title, sized)) in [("goodput, Mbit/s", false), ("completion time, s", true)].into_iter().enumerate() {
        let of: Vec<&Comparison> = all.iter().filter(|c| c.class.sized == sized && is_drawable(c)).collect();
        let left = gap + i as f64 * (size + gap);
        if !of.is_empty() {
            panel(&mut svg, (left, gap / 2.0 + 20.0, size), title, &of);
        }
    }
    legend(&mut svg, gap, height - 14.0);
    svg + "</svg>\n"
}

fn is_drawable(c: &Comparison) -> bool {
    c.linux.median > 0.0 && c.ours.median > 0.0 && c.ours.median.is_finite()
}

fn open(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"{TEXT}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    )
}

fn legend(svg: &mut String, x: f64, y: f64) {
    for (i, (name, colour, fill)) in [
        ("TCP", TCP, TCP),
        ("TCP with random loss", TCP, "none"),
        ("MPTCP", MPTCP, MPTCP),
        ("MPTCP with random loss", MPTCP, "none"),
    ]
    .into_iter()
    .enumerate()
    {
        let x = x + 170.0 * i as f64;
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.0}\" cy=\"{:.0}\" r=\"4\" stroke=\"{colour}\" fill=\"{fill}\"/>\
             <text x=\"{:.0}\" y=\"{y:.0}\">{name}</text>",
            y - 4.0,
            x + 9.0
        );
    }
}

/// The range of whole decades that holds all values.
fn decades(of: &[&Comparison]) -> (f64, f64) {
    let values = || of.iter().flat_map(|c| [c.linux.median, c.ours.median]);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let (mut from, mut to) = (1.0, 1.0);
    while from > low {
        from /= 10.0;
    }
    while from * 10.0 <= low {
        from *= 10.0;
    }
    while to < high {
        to *= 10.0;
    }
    (from, to.max(from * 10.0))
}

fn panel(svg: &mut String, (left, top, size): (f64, f64, f64), title: &str, of: &[&Comparison]) {
    let (from, to) = decades(of);
    let span = libm::log10(to / from);
    let place = |value: f64| size * (libm::log10(value / from) / span).clamp(0.0, 1.0);
    let (x, y) = (|v: f64| left + place(v), |v: f64| top + size - place(v));
    let _ = writeln!(svg, "<text x=\"{left:.1}\" y=\"{:.1}\" font-weight=\"600\">{title}</text>", top - 10.0);
    let mut tick = from;
    while tick <= to * 1.001 {
        let (at_x, at_y) = (x(tick), y(tick));
        let (right, bottom) = (left + size, top + size);
        let _ = writeln!(
            svg,
            "<path d=\"M{at_x:.1} {top:.1}V{bottom:.1}M{left:.1} {at_y:.1}H{right:.1}\" stroke=\"{LINE}\" stroke-width=\"0.5\"/>\
             <text x=\"{at_x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            bottom + 16.0,
            left - 6.0,
            at_y + 4.0
        );
        tick = (tick * 10.0 * 1e9).round() / 1e9;
    }
    let band = |factor: f64| (x(from), y(from * factor), x(to), y(to * factor));
    let (low, high) = (band(0.95), band(1.05));
    let _ = writeln!(
        svg,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\" fill=\"{LINE}\" opacity=\"0.45\"/>",
        low.0, low.1, low.2, low.3, high.2, high.3, high.0, high.1
    );
    let _ = writeln!(svg, "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{LINE}\"/>", x(from), y(from), x(to), y(to));
    for c in of {
        let (colour, fill) = look(c);
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" stroke=\"{colour}\" fill=\"{fill}\" fill-opacity=\"0.55\">\
             <title>{}</title></circle>",
            x(c.linux.median),
            y(c.ours.median),
            label(c)
        );
    }
    let middle = left + size / 2.0;
    let _ = writeln!(svg, "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">Linux</text>", top + size + 32.0);
    let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">ours</text>", left + 8.0, top + 16.0);
}

fn look(c: &Comparison) -> (&'static str, &'static str) {
    let colour = if c.class.mptcp { MPTCP } else { TCP };
    (colour, if c.class.random_loss { "none" } else { colour })
}

fn label(c: &Comparison) -> String {
    let unit = if c.class.sized { "s" } else { "Mbit/s" };
    format!(
        "{}: Linux {:.3} {unit}, ours {:.3} {unit}, {:+.1} %",
        html(&c.reference.id),
        c.linux.median,
        c.ours.median,
        100.0 * c.difference()
    )
}

/// A bar for each MPTCP scenario, and for each other scenario that differs by at least 1 %. A bar shows how far
/// Pathweave's median is above Linux's, in per cent, cut at ± 30 %. The thin line spans the middle half of Linux's runs
/// around its median.
pub fn differences_svg(all: &[Comparison]) -> String {
    let shown: Vec<&Comparison> =
        all.iter().filter(|c| is_drawable(c) && (c.class.mptcp || c.difference().abs() >= 0.01)).collect();
    let (row, names, half, most) = (16.0, 270.0, 250.0, 0.30);
    let (zero, height) = (names + half, 60.0 + row * shown.len() as f64);
    let width = names + 2.0 * half + 70.0;
    let mut svg = open(width, height);
    let x = |share: f64| zero + half * (share / most).clamp(-1.0, 1.0);
    for percent in [-30, -20, -10, 0, 10, 20, 30] {
        let at = x(f64::from(percent) / 100.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{at:.1} 34V{:.1}\" stroke=\"{LINE}\" stroke-width=\"{}\"/>\
             <text x=\"{at:.1}\" y=\"26\" text-anchor=\"middle\">{}{percent} %</text>",
            height - 20.0,
            if percent == 0 { 1.0 } else { 0.5 },
            if percent > 0 { "+" } else { "" },
        );
    }
    for (i, c) in shown.iter().enumerate() {
        let middle = 44.0 + row * i as f64;
        let (colour, fill) = look(c);
        let (start, end) = (x(c.difference().min(0.0)), x(c.difference().max(0.0)));
        let spread = [c.linux.first, c.linux.third].map(|v| x(v / c.linux.median - 1.0));
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{start:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"9\" stroke=\"{colour}\" fill=\"{fill}\" fill-opacity=\"0.7\">\
             <title>{}</title></rect><path d=\"M{:.1} {middle:.1}H{:.1}\" stroke=\"{TEXT}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:+.1}</text>",
            names - 6.0,
            middle + 4.0,
            html(&c.reference.id),
            middle - 4.5,
            (end - start).max(0.5),
            label(c),
            spread[0],
            spread[1],
            width - 10.0,
            middle + 4.0,
            100.0 * c.difference()
        );
    }
    legend(&mut svg, 20.0, height - 6.0);
    svg + "</svg>\n"
}
