//! The numbers of a comparison as comma-separated values, a line for each scheduler: those that share a row in the table too.

use crate::summary::{Comparison, Summary};
use std::fmt::Write;

const HEAD: &str = "scenario,scheduler,same_packets_as,plain_tcp_path,runs,stalled,failed,goodput_mbps,goodput_ci95_mbps,\
                    completion_s,reference,difference,difference_ci95,significant,aggregation_benefit,share_by_path,\
                    out_of_order_mean_kb,out_of_order_p95_kb,out_of_order_max_kb,resent_segments,reinjected_segments,timeouts,\
                    blocked_s,window_limited_s";

/// Heading and lines. Intervals are half of the 95 % interval's width: of the mean, and of the difference to the reference seed by
/// seed.
pub fn csv(comparisons: &[Comparison]) -> String {
    let mut out = format!("{HEAD}\n");
    for comparison in comparisons {
        for summary in &comparison.summaries {
            line(&mut out, comparison, summary, &summary.scheduler, "");
            for name in &summary.same {
                line(&mut out, comparison, summary, name, &summary.scheduler);
            }
        }
    }
    out
}

fn line(out: &mut String, comparison: &Comparison, s: &Summary, name: &str, same: &str) {
    let number = |x: Option<f64>| x.map_or(String::new(), |x| format!("{}", (x * 1e6).round() / 1e6));
    let reference = comparison.reference.map_or("", |r| &comparison.summaries[r].scheduler);
    let fields = [
        comparison.scenario.clone(),
        name.to_owned(),
        same.to_owned(),
        s.plain_tcp.map_or(String::new(), |p| comparison.path_name(p)),
        s.runs.to_string(),
        s.stalled.to_string(),
        s.failed.to_string(),
        number(Some(s.goodput_mbps.mean)),
        number(s.goodput_mbps.margin()),
        number(s.completion_s.map(|c| c.mean)),
        reference.to_owned(),
        number(s.against.map(|d| d.mean())),
        number(s.against.and_then(|d| d.estimate.margin())),
        s.against.and_then(|d| d.is_significant()).map_or(String::new(), |yes| yes.to_string()),
        number(s.benefit.map(|b| b.mean)),
        s.share.iter().map(|x| number(Some(*x))).collect::<Vec<_>>().join("/"),
        number(Some(s.out_of_order_mean / 1e3)),
        number(Some(s.out_of_order_p95 / 1e3)),
        number(Some(s.out_of_order_max as f64 / 1e3)),
        number(Some(s.retransmitted)),
        number(Some(s.reinjected)),
        number(Some(s.timeouts)),
        number(Some(s.blocked_s)),
        number(Some(s.window_limited_s)),
    ];
    let quoted = |field: &String| match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.clone(),
    };
    let _ = writeln!(out, "{}", fields.iter().map(quoted).collect::<Vec<_>>().join(","));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_lab::results::RunResult;

    #[test]
    fn every_scheduler_has_a_line_with_as_many_fields_as_the_heading() {
        let run = |scheduler: &str| RunResult {
            scenario: "a,b".into(),
            scheduler: scheduler.into(),
            digest: "same".into(),
            ..RunResult::default()
        };
        let text = csv(&Comparison::all(&[run("minrtt"), run("lws"), run("tcp-path0")], None));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with("\"a,b\",minrtt,,") && lines[2].starts_with("\"a,b\",lws,minrtt,"), "{text}");
        let fields = |l: &str| l.replace("\"a,b\"", "a").split(',').count();
        assert!(lines.iter().all(|l| fields(l) == fields(lines[0])), "{text}");
    }
}
