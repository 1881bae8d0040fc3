//! The buffer that is needed for a wanted benefit, found among the values of a parameter that sets the receive buffer.

use crate::answer::multipath;
use crate::results::Results;
use crate::runs::Sweep;
use core::fmt::Write as _;
use pathweave_report::{Judged, html};

/// The wanted benefits.
const WANTED: [f64; 4] = [0.0, 0.25, 0.5, 0.9];

/// Values of the other parameters, and the points with these values, each with the index of its buffer.
type Group = (Vec<usize>, Vec<(usize, usize)>);

/// The card; empty if no parameter sets the receive buffer.
pub(super) fn card(sweep: &Sweep, results: &Results) -> String {
    let plan = &sweep.plan;
    let sets = |key: &str| key.split('.').next_back() == Some("receive_buffer");
    let of_buffer = |p: &usize| {
        let parameter = &plan.parameters[*p];
        parameter.values.len() > 1 && parameter.set.iter().any(|o| sets(&o.key))
    };
    let Some(buffer) = (0..plan.parameters.len()).find(of_buffer) else { return String::new() };
    let parameter = &plan.parameters[buffer];
    let mut out = format!(
        "<div class=\"card\"><h3>The buffer needed for a wanted benefit</h3><p class=\"note\">The smallest value of {} from which on the mean \
         aggregation benefit is at least this; –: none of the values is enough.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"The buffer needed\"><table class=\"numbers\"><thead><tr><th class=\"who\">Scheduler</th><th class=\"who\">Where</th>",
        html(&parameter.label)
    );
    for wanted in WANTED {
        let _ = write!(out, "<th>{wanted:.2}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    let mut rows = 0;
    for s in 0..plan.scenarios.len() {
        // The points that differ in the buffer only.
        let mut groups: Vec<Group> = Vec::new();
        for (point, values) in plan.points.iter().enumerate() {
            let others: Vec<usize> = values.iter().enumerate().filter(|(p, _)| *p != buffer).map(|(_, v)| *v).collect();
            match groups.iter_mut().find(|(key, _)| *key == others) {
                Some((_, points)) => points.push((values[buffer], point)),
                None => groups.push((others, vec![(values[buffer], point)])),
            }
        }
        for v in multipath(sweep) {
            for (_, points) in &mut groups {
                points.sort_unstable();
                // A stream that every variant carries has a delay, and no benefit that says anything.
                let benefit = |(value, point): &(usize, usize)| {
                    (results.judged(s, *point) != Judged::Delay).then_some(())?;
                    Some((*value, results.estimate(s, *point, v, "aggregation_benefit")?.mean))
                };
                let benefits: Vec<(usize, f64)> = points.iter().filter_map(benefit).collect();
                if benefits.is_empty() {
                    continue;
                }
                rows += 1;
                let at = plan.shown(points[0].1, &|p| p == buffer);
                let others = plan.parameters.iter().enumerate().filter(|(p, _)| *p != buffer);
                let words = others.map(|(p, parameter)| format!("{} {}", parameter.name, at[p]));
                let place: Vec<String> = [sweep.scenario_name(s).to_owned()].into_iter().chain(words).collect();
                let _ = write!(
                    out,
                    "<tr><th scope=\"row\" class=\"who\">{}</th><td class=\"who\">{}</td>",
                    html(&sweep.variants[v].name),
                    html(&place.join(", "))
                );
                for wanted in WANTED {
                    let enough = smallest(&benefits, wanted).map_or("–", |value| parameter.values[value].as_str());
                    let _ = write!(out, "<td>{}</td>", html(enough));
                }
                out.push_str("</tr>\n");
            }
        }
    }
    out.push_str("</tbody></table></div></div>\n");
    if rows == 0 { String::new() } else { out }
}

/// The first value from which on every benefit is at least `wanted`.
fn smallest(benefits: &[(usize, f64)], wanted: f64) -> Option<usize> {
    let enough = benefits.iter().rev().take_while(|(_, benefit)| *benefit >= wanted);
    enough.last().map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::smallest;

    #[test]
    fn a_dip_counts() {
        let benefits = [(0, 0.1), (1, -0.5), (2, 0.2), (3, 0.6)];
        assert_eq!(smallest(&benefits, 0.0), Some(2), "not 0, because 1 is not enough");
        assert_eq!(smallest(&benefits, 0.5), Some(3));
        assert_eq!(smallest(&benefits, 0.9), None);
    }
}
