//! The page of a sweep: where several paths are worse than one, which scheduler wins where, which buffer is needed, and
//! the plan's figures and claims.

mod needed;

use crate::answer::{Answer, Tone, multipath};
use crate::case::Case;
use crate::claim::Judged;
use crate::plot::forms::{Axes, Cell, map, name_in_cell};
use crate::plot::{self, Drawn, HEIGHT, WIDTH};
use crate::reproduction::{counts, words};
use crate::results::Results;
use crate::runs::{self, Sweep};
use core::fmt::Write as _;
use pathweave_lab::metric;
use pathweave_report::{self as report, figure_page, html, short};

/// Most maps of one kind on a page.
const MOST_MAPS: usize = 24;
/// The last columns of the table, if the bound is known.
const BOUND: [&str; 2] = ["bound_mbps", "bound_share"];
/// Most rows of the table.
const MOST_ROWS: usize = 400;

/// The page as one HTML file that needs nothing from outside. Equal runs give equal bytes.
pub fn page(sweep: &Sweep, results: &Results, judged: &[Judged<'_>], version: &str) -> String {
    let plan = &sweep.plan;
    let mut out = format!("<section class=\"scenario\"><h1 class=\"name\">{}</h1>\n", html(&plan.title));
    let several = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let schedulers = multipath(sweep).count();
    let _ = writeln!(
        out,
        "<p class=\"about\">{} · {} · {} · {} · {}{}</p>",
        several(plan.scenarios.len(), "scenario"),
        several(schedulers, "scheduler"),
        several(plan.points.len(), "point"),
        several(usize::try_from(plan.seeds).unwrap_or(0), "seed"),
        several(results.runs, "run"),
        if plan.source.is_empty() { String::new() } else { format!(" · {}", html(&plan.source)) }
    );
    banners(&mut out, sweep, results);
    claims(&mut out, judged);
    for figure in &plan.figures {
        drawn(&mut out, &plot::draw(sweep, results, figure));
    }
    maps(&mut out, sweep, results);
    out.push_str(&needed::card(sweep, results));
    table(&mut out, sweep, results);
    if !results.problems.is_empty() {
        out.push_str("<div class=\"card\"><h3>Runs that did not complete</h3><ul>");
        for problem in &results.problems {
            let _ = write!(out, "<li>{}</li>", html(problem));
        }
        out.push_str("</ul></div>\n");
    }
    out.push_str("</section>\n");
    figure_page(&format!("{} – Pathweave", plan.name), &out, version)
}

/// Writes the notices about missing runs, then the answer to whether several paths are worse than one.
fn banners(out: &mut String, sweep: &Sweep, results: &Results) {
    let Some(answer) = Answer::of(sweep, results) else { return };
    let mut banner = |class: &str, first: &str, more: &[String]| {
        let _ = write!(out, "<div class=\"verdict {class}\"><p>{}</p>", html(first));
        for sentence in more {
            let _ = write!(out, "<p class=\"more\">{}</p>", html(sentence));
        }
        out.push_str("</div>\n");
    };
    if let [first, more @ ..] = answer.missing.as_slice() {
        banner("worse", first, more);
    }
    let class = match answer.tone {
        Tone::Good => "good",
        Tone::Open => "open",
        Tone::Bad => "worse",
    };
    banner(class, &answer.headline, &answer.more);
}

fn claims(out: &mut String, judged: &[Judged<'_>]) {
    if judged.is_empty() {
        return;
    }
    out.push_str(
        "<div class=\"card\"><h3>Claims</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Claims\"><table><thead><tr>\
         <th class=\"who\">Verdict</th><th class=\"who\">Claim</th><th class=\"who\">Measured</th></tr></thead><tbody>",
    );
    for one in judged {
        let word = one.verdict.word();
        let first = one.atoms.iter().min_by_key(|a| a.supports()).map(words).unwrap_or_default();
        let _ = write!(
            out,
            "<tr><td class=\"{word}\">{word}</td><td class=\"words\">{} <small>{}</small></td><td class=\"words\">{}<br><small>{}</small></td></tr>",
            html(&one.claim.says),
            html(&one.claim.source),
            html(&counts(one)),
            html(&first)
        );
    }
    out.push_str("</tbody></table></div></div>\n");
}

/// Writes one of the plan's own figures.
fn drawn(out: &mut String, drawn: &Drawn) {
    if drawn.panels.is_empty() {
        return;
    }
    let _ = write!(out, "<div class=\"card\"><h3>{}</h3>", html(&drawn.title));
    legend(out, &drawn.legend);
    out.push_str("<div class=\"figures\">");
    for panel in &drawn.panels {
        let label = format!("{} {}", drawn.title, panel.title);
        svg(out, &panel.title, label.trim(), &panel.body, HEIGHT, panel.values);
    }
    out.push_str("</div></div>\n");
}

fn legend(out: &mut String, entries: &[(String, String)]) {
    out.push_str("<ul class=\"key\">");
    for (class, name) in entries {
        let _ = write!(
            out,
            "<li><svg width=\"22\" height=\"8\" class=\"figure-key\"><path class=\"line {class}\" fill=\"none\" stroke-width=\"3\" d=\"M0 4h22\"/></svg>{}</li>",
            html(name)
        );
    }
    out.push_str("</ul>");
}

fn svg(out: &mut String, caption: &str, label: &str, body: &str, height: f64, values: usize) {
    let _ = write!(
        out,
        "<figure><figcaption>{}</figcaption><svg class=\"figure\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\" \
         data-values=\"{values}\">\n{body}</svg></figure>\n",
        html(caption),
        html(label)
    );
}

/// The parameters on the axes of a map: two, or one.
struct Plane {
    x: usize,
    y: Option<usize>,
    /// The points of each map, and the parameter values that all of them share.
    maps: Vec<(Vec<usize>, String)>,
}

/// The plane of the first two parameters with several values, if the points form a grid of them.
fn plane(sweep: &Sweep) -> Option<Plane> {
    let plan = &sweep.plan;
    let varied: Vec<usize> = (0..plan.parameters.len()).filter(|p| plan.parameters[*p].values.len() > 1).collect();
    if plan.points.len() != varied.iter().map(|p| plan.parameters[*p].values.len()).product::<usize>() {
        return None;
    }
    let x = *varied.first()?;
    let y = varied.get(1).copied();
    let mut maps: Vec<(Vec<usize>, Vec<usize>, String)> = Vec::new();
    for point in 0..plan.points.len() {
        let others: Vec<usize> = varied.iter().skip(2).copied().collect();
        let key: Vec<usize> = others.iter().map(|p| plan.points[point][*p]).collect();
        match maps.iter_mut().find(|(k, ..)| *k == key) {
            Some((_, points, _)) => points.push(point),
            None => {
                let values = plan.shown(point, &|p| varied.iter().take(2).any(|v| *v == p));
                let words = others.iter().map(|p| format!("{} {}", plan.parameters[*p].label, values[*p]));
                maps.push((key, vec![point], words.collect::<Vec<_>>().join(", ")));
            }
        }
    }
    Some(Plane { x, y, maps: maps.into_iter().map(|(_, points, words)| (points, words)).collect() })
}

fn maps(out: &mut String, sweep: &Sweep, results: &Results) {
    let plan = &sweep.plan;
    let Some(plane) = plane(sweep) else {
        if plan.points.len() > 1 {
            out.push_str("<p class=\"note\">The points do not form a grid, so there are no maps.</p>\n");
        }
        return;
    };
    let looks = plot::looks_of(sweep);
    let none = [String::new()];
    let (columns, rows) = (plan.axis(plane.x), plane.y.map_or_else(|| none.to_vec(), |y| plan.axis(y)));
    let axes = Axes {
        x: (&plan.parameters[plane.x].label, &columns),
        y: (plane.y.map_or("", |y| &plan.parameters[y].label), &rows),
    };
    let mut benefit = Vec::new();
    let mut winners = Vec::new();
    for scenario in 0..plan.scenarios.len() {
        for (points, words) in &plane.maps {
            let name = if plan.scenarios.len() > 1 { sweep.scenario_name(scenario) } else { "" };
            let place: Vec<&str> = [name, words].into_iter().filter(|w| !w.is_empty()).collect();
            let place = place.join(", ");
            let one = |cell: &dyn Fn(usize) -> Option<Cell>| {
                let mut cells = vec![vec![None; axes.x.1.len()]; axes.y.1.len()];
                for point in points {
                    let at = &plan.points[*point];
                    cells[plane.y.map_or(0, |y| at[y])][at[plane.x]] = cell(*point);
                }
                let values = cells.iter().flatten().flatten().count();
                (map(&axes, &cells), values)
            };
            for v in multipath(sweep) {
                let title = [sweep.variants[v].name.as_str(), &place].into_iter().filter(|w| !w.is_empty());
                let title = title.collect::<Vec<_>>().join(", ");
                benefit.push((title, one(&|point| benefit_cell(sweep, results, scenario, point, v))));
            }
            winners.push((
                place.clone(),
                one(&|point| winner_cell(sweep, results, &looks, (scenario, point), columns.len())),
            ));
        }
    }
    let edge = if plan.seeds > 1 { "significantly worse" } else { "worse, with the only seed," };
    let places = || (0..plan.scenarios.len()).flat_map(|s| (0..plan.points.len()).map(move |point| (s, point)));
    let by = |measure: report::Judged| places().any(|(scenario, point)| results.judged(scenario, point) == measure);
    let delays = if by(report::Judged::Delay) {
        " With a % sign: how much longer the delay (99th percentile) is than with plain TCP on the best path, where delay decides; \
         short: less is delivered than is offered."
    } else {
        ""
    };
    let note = format!(
        "Aggregation benefit: 0 is plain TCP on the best path, 1 is all paths added up, -1 is nothing.{delays} A red edge: {edge} than \
         plain TCP on the best path, by more than the 1.7&nbsp;% that headers take."
    );
    card(out, "Where several paths are worse than one", &note, &benefit, None);
    let measures = [
        (report::Judged::Goodput, "the highest mean goodput"),
        (report::Judged::Completion, "the shortest mean completion time"),
        (report::Judged::Delay, "the shortest mean delay (99th percentile)"),
    ];
    let best: Vec<&str> = measures.into_iter().filter(|(m, _)| by(*m)).map(|(_, words)| words).collect();
    let note = format!(
        "The scheduler with {}. Where several are equal with every seed, the map says how many; the pointer shows their names. A red \
         edge: even that is {edge} than plain TCP on the best path.",
        best.join(", or if that decides, ")
    );
    let key: Vec<(String, String)> =
        multipath(sweep).map(|v| (plot::class(looks[v]), sweep.variants[v].name.clone())).collect();
    card(out, "Which scheduler wins where", &note, &winners, Some(&key));
}

/// A map with its title, its height and the number of its values.
type Titled = (String, ((String, f64), usize));

fn card(out: &mut String, title: &str, note: &str, maps: &[Titled], key: Option<&[(String, String)]>) {
    if maps.iter().all(|(_, (_, values))| *values == 0) {
        return;
    }
    let _ = write!(out, "<div class=\"card\"><h3>{title}</h3><p class=\"note\">{note}");
    if maps.len() > MOST_MAPS {
        let _ = write!(out, " {} of {} maps are shown; runs.jsonl has all values.", MOST_MAPS, maps.len());
    }
    out.push_str("</p>");
    if let Some(key) = key {
        legend(out, key);
    }
    out.push_str("<div class=\"figures\">");
    for (caption, ((body, height), values)) in maps.iter().take(MOST_MAPS).filter(|(_, (_, values))| *values > 0) {
        svg(out, caption, &format!("{title}: {caption}"), body, *height, *values);
    }
    out.push_str("</div></div>\n");
}

fn benefit_cell(sweep: &Sweep, results: &Results, scenario: usize, point: usize, variant: usize) -> Option<Cell> {
    let goodput = results.estimate(scenario, point, variant, "goodput_mbps")?.mean;
    let case = Case::of(sweep, results, (scenario, point, variant));
    let (gain, text, what) = match case.filter(|case| case.judged == report::Judged::Delay) {
        Some(case) if case.is_lost() => (-1.0, "short".to_owned(), "less is delivered than is offered".to_owned()),
        Some(case) => {
            let text = format!("{:+.0} %", -100.0 * case.part());
            let what = format!("delay {} against {} ms", short(case.own()), short(case.tcp));
            (case.part(), text, what)
        }
        None => {
            let benefit = results.estimate(scenario, point, variant, "aggregation_benefit")?.mean;
            (benefit, format!("{benefit:+.2}"), format!("benefit {benefit:+.2}"))
        }
    };
    let class = match gain {
        b if b < -0.3 => "less3",
        b if b < -0.1 => "less2",
        b if b < -0.02 => "less1",
        b if b <= 0.02 => "same",
        b if b <= 0.3 => "more1",
        b if b <= 0.7 => "more2",
        _ => "more3",
    };
    Some(Cell {
        class: class.into(),
        text,
        tip: format!("{}: {what}, {} Mbit/s", sweep.plan.shown(point, &|_| false).join(", "), short(goodput)),
        marked: case.is_some_and(|case| case.is_marked()),
    })
}

fn winner_cell(
    sweep: &Sweep,
    results: &Results,
    looks: &[report::Look],
    (scenario, point): (usize, usize),
    columns: usize,
) -> Option<Cell> {
    let (v, best) = results.best(scenario, point, multipath(sweep))?;
    let value = best.map(|value| format!(", {} {}", short(value), results.judged(scenario, point).unit()));
    let values = |variant: usize| results.ranked_by_seed((scenario, point, variant));
    let own = values(v);
    let names: Vec<&str> = multipath(sweep)
        .filter(|other| values(*other) == own)
        .map(|other| sweep.variants[other].name.as_str())
        .collect();
    let (class, text) = match names[..] {
        [name] => (format!("won f{}", looks[v].colour), name_in_cell(name, columns)),
        _ => {
            let all = format!("{} equal", names.len());
            let short = format!("{} =", names.len());
            ("same".to_owned(), if name_in_cell(&all, columns) == all { all } else { short })
        }
    };
    let place = sweep.plan.shown(point, &|_| false).join(", ");
    Some(Cell {
        class,
        text,
        tip: format!("{place}: {}{}", names.join(", "), value.unwrap_or_default()),
        marked: Case::of(sweep, results, (scenario, point, v)).is_some_and(|case| case.is_marked()),
    })
}

/// Writes the table of all numbers, if it has at most [`MOST_ROWS`] rows.
fn table(out: &mut String, sweep: &Sweep, results: &Results) {
    let plan = &sweep.plan;
    if sweep.cells.len() > MOST_ROWS {
        return;
    }
    let default = ["goodput_mbps", "aggregation_benefit", "out_of_order_mean_kb"].map(str::to_owned);
    let mut metrics = if plan.metrics.is_empty() { default.to_vec() } else { plan.metrics.clone() };
    metrics.retain(|m| !BOUND.contains(&m.as_str()));
    let known = |c: &runs::Cell| results.estimate(c.scenario, c.point, c.variant, BOUND[0]).is_some();
    if sweep.cells.iter().any(known) {
        metrics.extend(BOUND.map(str::to_owned));
    }
    out.push_str(
        "<details class=\"card\"><summary><h3>All numbers</h3></summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"All numbers\"><table class=\"numbers\"><thead><tr><th class=\"who\">Variant</th><th>Scenario</th>",
    );
    for parameter in &plan.parameters {
        let _ = write!(out, "<th>{}</th>", html(&parameter.label));
    }
    for name in &metrics {
        let _ = write!(out, "<th>{} <small>{}</small></th>", html(name), metric::unit(name).unwrap_or(""));
    }
    out.push_str("</tr></thead><tbody>\n");
    for cell in &sweep.cells {
        let _ = write!(
            out,
            "<tr><th scope=\"row\" class=\"who\">{}</th><td>{}</td>",
            html(&sweep.variants[cell.variant].name),
            html(sweep.scenario_name(cell.scenario))
        );
        for value in plan.shown(cell.point, &|_| false) {
            let _ = write!(out, "<td>{}</td>", html(&value));
        }
        for name in &metrics {
            let value = results.estimate(cell.scenario, cell.point, cell.variant, name);
            let text = value.map_or("–".into(), |e| match e.margin() {
                Some(margin) => format!("{} <small>± {}</small>", short(e.mean), short(margin)),
                None => short(e.mean),
            });
            let _ = write!(out, "<td>{text}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></details>\n");
}
