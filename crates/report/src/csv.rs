//! Comparisons as comma-separated values.

use crate::comparison::{Absent, Comparison, Summary};
use crate::metric::METRICS;
use crate::verdict::reason;
use pathweave_lab::scenario::HostModel;
use std::fmt::Write;

const HEAD: &str = "scenario,scheduler,same_packets_as,plain_tcp_path,host,planned,runs,stalled,failed,failure,judged_by,\
                    goodput_mbps,goodput_ci95_mbps,completion_s,reference,difference,difference_ci95,significant,aggregation_benefit,share_by_path";

/// The table as CSV: a heading, and a line for each scheduler. An interval is half the width of the 95 % interval of
/// the mean, or of the difference to the reference seed by seed. A scheduler without a measurement has a line without
/// numbers.
pub fn csv(comparisons: &[Comparison]) -> String {
    let mut out = format!("{}\n", METRICS.iter().fold(HEAD.to_owned(), |head, m| head + "," + m.csv));
    for comparison in comparisons {
        for summary in &comparison.summaries {
            line(&mut out, comparison, summary, &summary.scheduler, "");
            for name in &summary.same {
                line(&mut out, comparison, summary, name, &summary.scheduler);
            }
        }
        for absent in &comparison.absent {
            without_numbers(&mut out, comparison, absent);
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
        host_name(s.host),
        s.planned.to_string(),
        s.runs.to_string(),
        s.stalled.to_string(),
        s.failed.to_string(),
        failure(s.failure.as_deref()),
        comparison.judged.column().to_owned(),
        number(Some(s.goodput_mbps.mean)),
        number(s.goodput_mbps.margin()),
        number(s.completion_s.map(|c| c.mean)),
        reference.to_owned(),
        number(s.against.map(|d| d.mean())),
        number(s.against.and_then(|d| d.estimate.margin())),
        s.against.and_then(|d| d.is_significant()).map_or(String::new(), |yes| yes.to_string()),
        number(s.benefit.map(|b| b.mean)),
        s.share.iter().map(|x| number(Some(*x))).collect::<Vec<_>>().join("/"),
    ];
    let metrics = METRICS.iter().zip(&s.metrics).map(|(m, value)| number(value.map(|x| m.in_csv(x))));
    write_line(out, fields.into_iter().chain(metrics));
}

/// Writes the line of a scheduler without a measurement.
fn without_numbers(out: &mut String, comparison: &Comparison, absent: &Absent) {
    let known = [
        comparison.scenario.clone(),
        absent.scheduler.clone(),
        String::new(),
        absent.plain_tcp.map_or(String::new(), |p| comparison.path_name(p)),
        String::new(),
        absent.planned.to_string(),
        absent.failed.to_string(),
        "0".to_owned(),
        absent.failed.to_string(),
        failure(absent.failure.as_deref()),
    ];
    let empty = HEAD.split(',').count() - known.len() + METRICS.len();
    write_line(out, known.into_iter().chain(std::iter::repeat_n(String::new(), empty)));
}

/// The reason of a failure in one line, so that a row is a line; empty without a failure.
fn failure(text: Option<&str>) -> String {
    text.map_or_else(String::new, |_| reason(text))
}

fn write_line(out: &mut String, fields: impl Iterator<Item = String>) {
    let quoted = |field: String| match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    };
    let _ = writeln!(out, "{}", fields.map(quoted).collect::<Vec<_>>().join(","));
}

/// Name of a host in scenarios and results.
fn host_name(host: HostModel) -> String {
    serde_json::to_value(host).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_lab::results::{RunResult, Status};

    #[test]
    fn a_failure_of_several_lines_is_one_line_of_the_file() {
        let run = |scheduler: &str, seed: u64, reason: Option<&str>| RunResult {
            scenario: "s".into(),
            scheduler: scheduler.into(),
            seed,
            status: if reason.is_some() { Status::Failed } else { Status::Completed },
            reason: reason.map(str::to_owned),
            ..RunResult::default()
        };
        let traceback = "the scheduler x failed: Traceback (most recent call last):\n  File \"a.py\", line 3, in decide\n    x\nNameError: no x\n";
        let runs = [run("some", 1, None), run("some", 2, Some(traceback)), run("all", 1, Some(traceback))];
        let text = csv(&Comparison::all(&runs, &[], None));
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.lines().skip(1).all(|line| line.contains(",NameError: no x,")), "{text}");
    }

    #[test]
    fn every_scheduler_has_a_line_with_as_many_fields_as_the_heading() {
        let run = |scheduler: &str| RunResult {
            scenario: "a,b".into(),
            scheduler: scheduler.into(),
            digest: "same".into(),
            ..RunResult::default()
        };
        let text = csv(&Comparison::all(&[run("minrtt"), run("lws"), run("tcp-path0")], &[], None));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with("\"a,b\",minrtt,,") && lines[2].starts_with("\"a,b\",lws,minrtt,"), "{text}");
        let fields = |l: &str| l.replace("\"a,b\"", "a").split(',').count();
        assert!(lines.iter().all(|l| fields(l) == fields(lines[0])), "{text}");
    }
}
