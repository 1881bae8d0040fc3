//! The first scheduler against one other: a sentence, a plot by family, and each point with the command that opens it.

use super::family::name;
use super::overall::{Pair, in_percent};
use super::scores::{Point, Scores, families};
use super::tables::fine;
use core::fmt::Write as _;
use pathweave_report::html;
use pathweave_units::counted;

/// Two schedulers over all points.
pub(super) struct Duel<'a> {
    first: &'a Scores,
    other: &'a Scores,
    all: Pair,
    families: Vec<Family<'a>>,
}

/// The points of a plan's scenario: both schedulers' values at each.
struct Family<'a> {
    plan: &'a str,
    scenario: &'a str,
    /// Whether the plan has other scenarios too.
    one_of_several: bool,
    pair: Pair,
    points: Vec<(&'a Point, &'a Point)>,
}

impl<'a> Duel<'a> {
    /// The first scheduler against the second one. `None` if there is no point with both scores.
    pub(super) fn of(scores: &[&'a Scores]) -> Option<Self> {
        let [first, other, ..] = *scores else { return None };
        let all = Pair::of(&first.points, &other.points)?;
        let known = families(std::slice::from_ref(first));
        let family = |&(plan, scenario): &(&'a str, &'a str)| {
            let points: Vec<_> = first.of((plan, scenario)).zip(other.of((plan, scenario))).collect();
            let one_of_several = known.iter().filter(|(p, _)| *p == plan).count() > 1;
            let pair = Pair::of(points.iter().map(|(own, _)| *own), points.iter().map(|(_, its)| *its))?;
            Some(Family { plan, scenario, one_of_several, pair, points })
        };
        Some(Duel { first, other, all, families: known.iter().filter_map(family).collect() })
    }

    /// The answer in a sentence: who is better, by how much, and at how many points.
    pub(super) fn sentence(&self) -> String {
        let (first, other) = (&self.first.scheduler, &self.other.scheduler);
        let Pair { better, worse, points, .. } = self.all;
        let counts = format!(
            "it is more than 3 % better at {better} of {} and more than 3 % worse at {worse}",
            counted(points, "point")
        );
        let by = in_percent(self.all.difference.mean);
        match self.all.difference.interval {
            Some((low, _)) if low > 0.0 => {
                format!(
                    "{first} is better than {other} by {by:.1} % (95 % interval {}); {counts}.",
                    self.all.interval()
                )
            }
            Some((_, high)) if high < 0.0 => {
                format!(
                    "{first} is worse than {other} by {:.1} % (95 % interval {}); {counts}.",
                    -by,
                    self.all.interval()
                )
            }
            Some(_) => format!(
                "Whether {first} is better than {other} is open: {by:+.1} % (95 % interval {}); {counts}.",
                self.all.interval()
            ),
            None => format!("{first} against {other} at one point: {by:+.1} %, which says nothing about others."),
        }
    }

    /// The plot by family and the points of each, as HTML. `command` opens a point if `--point FAMILY/N --explain`
    /// follows it.
    pub(super) fn cards(&self, command: &str) -> String {
        let (first, other) = (html(&self.first.scheduler), html(&self.other.scheduler));
        let mut out = format!(
            "<div class=\"card\"><h3>{first} against {other}, by family</h3><p class=\"note\">By how many percent {first} is better in \
             the geometric mean over a family's points, with the 95&nbsp;% interval over the points, and the points at which it is \
             better and worse by more than 3&nbsp;%. A family is a plan and its scenario; its name opens its points.</p>\n\
             <table class=\"duel\"><thead><tr><th class=\"who\">Family</th><th class=\"plotted\">{}</th><th>Better by, %</th>\
             <th>Better : worse</th></tr></thead><tbody>\n",
            self.axis()
        );
        let reach = self.reach();
        for (i, family) in self.families.iter().enumerate() {
            let Pair { better, worse, .. } = family.pair;
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\" class=\"who\"><a href=\"#family-{i}\">{}</a></th><td class=\"plotted\">{}</td><td>{}</td>\
                 <td>{better} : {worse}</td></tr>",
                html(&name((family.plan, family.scenario))),
                bar(&family.pair, &name((family.plan, family.scenario)), reach),
                family.pair.mean()
            );
        }
        out.push_str(
            "</tbody></table></div>\n<div class=\"card\"><h3>Points</h3><p class=\"note\">The points of each family, in ascending \
             order of \u{201c}Better by\u{201d}. Scores: 1 is the best single path. The command shows the scenario, both schedulers' \
             runs, and the decisions of both in the second in which the amounts of data that they deliver differ the most.</p>\n",
        );
        for (i, family) in self.families.iter().enumerate() {
            self.points(&mut out, i, family, command);
        }
        out.push_str("</div>\n");
        out
    }

    /// Writes the points of a family, which are hidden until a reader opens them.
    fn points(&self, out: &mut String, index: usize, family: &Family<'_>, command: &str) {
        let (first, other) = (html(&self.first.scheduler), html(&self.other.scheduler));
        let mut points: Vec<(Option<f64>, &Point, &Point)> = family
            .points
            .iter()
            .map(|(own, its)| (own.score.zip(its.score).map(|(own, its)| own / its), *own, *its))
            .collect();
        points.sort_by(|a, b| a.0.unwrap_or(f64::INFINITY).total_cmp(&b.0.unwrap_or(f64::INFINITY)));
        let _ = writeln!(
            out,
            "<details id=\"family-{index}\" class=\"points\"><summary>{}: {}</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
             aria-label=\"Points\"><table><thead><tr><th>Point</th><th>{first}</th><th>{other}</th><th>Better by, %</th>\
             <th class=\"words\">Settings and command</th></tr></thead><tbody>",
            html(&name((family.plan, family.scenario))),
            counted(points.len(), "point")
        );
        for (ratio, own, its) in points {
            let place = match family.one_of_several {
                true => format!("{}/{}/{}", family.plan, family.scenario, own.number),
                false => format!("{}/{}", family.plan, own.number),
            };
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"words\">{}<br><code>{} --point {} --explain</code></td></tr>",
                own.number,
                fine(own.score),
                fine(its.score),
                ratio.map_or("–".into(), |r| format!("{:+.1}", 100.0 * (r - 1.0))),
                html(&own.settings),
                html(command),
                html(&place),
            );
        }
        out.push_str("</tbody></table></div></details>\n");
    }

    /// The largest distance from zero that the plot shows, percent: that of the means, and of intervals up to twice it.
    fn reach(&self) -> f64 {
        let means = self.families.iter().map(|f| in_percent(f.pair.difference.mean).abs()).fold(1.0, f64::max);
        let ends = self.families.iter().filter_map(|f| f.pair.difference.interval);
        let ends = ends.flat_map(|(low, high)| [low, high]).map(|end| in_percent(end).abs()).fold(means, f64::max);
        ends.min(2.0 * means)
    }

    /// The ends of the plot's axis in words.
    fn axis(&self) -> String {
        let reach = self.reach();
        format!(
            "<span class=\"ends\"><span>-{reach:.0}&nbsp;%</span><span>0</span><span>+{reach:.0}&nbsp;%</span></span>"
        )
    }
}

/// The interval and the mean of a family as a line with a mark, from `-reach` to `reach` percent.
fn bar(pair: &Pair, name: &str, reach: f64) -> String {
    let place = |log: f64| 100.0 * in_percent(log).clamp(-reach, reach) / reach;
    let mean = place(pair.difference.mean);
    let class = match pair.difference.interval {
        Some((low, _)) if low > 0.0 => "best",
        Some((_, high)) if high < 0.0 => "lost",
        _ => "ref",
    };
    let mut out = format!(
        "<svg class=\"figure duel\" viewBox=\"-102 0 204 20\" preserveAspectRatio=\"none\" height=\"20\" role=\"img\" \
         aria-label=\"{}: {} %, {}\" data-values=\"1\"><path class=\"grid\" d=\"M0 0V20\"/>",
        html(name),
        pair.mean(),
        html(&pair.interval())
    );
    if let Some((low, high)) = pair.difference.interval {
        let (low, high) = (place(low), place(high));
        let _ = write!(out, "<path class=\"interval {class}\" d=\"M{low:.2} 10H{high:.2}\"/>");
    }
    let _ =
        write!(out, "<rect class=\"bar {class}\" x=\"{:.2}\" y=\"4\" width=\"3\" height=\"12\"/></svg>", mean - 1.5);
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::scores;
    use super::Duel;

    #[test]
    fn the_sentence_says_who_is_better_and_where() {
        let sentence = |a: &[f64], b: &[f64]| {
            let (a, b) = (scores("a", a), scores("b", b));
            Duel::of(&[&a, &b]).map(|duel| duel.sentence())
        };
        // ln 1.1 at each point, so the interval has no width.
        assert_eq!(
            sentence(&[1.1, 1.1], &[1.0, 1.0]).as_deref(),
            Some(
                "a is better than b by 10.0 % (95 % interval +10.0 to +10.0); it is more than 3 % better at 2 of 2 points \
                  and more than 3 % worse at 0."
            )
        );
        assert!(sentence(&[1.0, 1.0], &[1.25, 1.25]).is_some_and(|s| s.starts_with("a is worse than b by 20.0 % (")));
        assert!(
            sentence(&[1.2, 1.0], &[1.0, 1.2])
                .is_some_and(|s| s.starts_with("Whether a is better than b is open: +0.0 %"))
        );
        assert_eq!(sentence(&[], &[]), None);
    }

    #[test]
    fn each_point_has_the_command_that_opens_it() {
        let (mut a, b) = (scores("a", &[1.0, 1.0, 2.0]), scores("b", &[1.0, 2.0, 1.0]));
        for (i, point) in a.points.iter_mut().enumerate() {
            (point.number, point.settings) = (i + 1, format!("window {i}"));
        }
        let page = Duel::of(&[&a, &b]).map(|duel| duel.cards("pathweave arena a,b")).unwrap_or_default();
        let place =
            |n: usize| page.find(&format!("window {}<br><code>pathweave arena a,b --point plan/{n} --explain<", n - 1));
        // The point that the first scheduler loses comes first.
        assert!(place(2) < place(1) && place(1) < place(3) && place(2).is_some(), "{page}");
        // A family that is one of several of its plan is named with its scenario.
        a.points[2].scenario = "there".into();
        let mut b = b.clone();
        b.points[2].scenario = "there".into();
        let page = Duel::of(&[&a, &b]).map(|duel| duel.cards("pathweave arena a,b")).unwrap_or_default();
        assert!(page.contains("--point plan/there/3 --explain<"), "{page}");
    }
}
