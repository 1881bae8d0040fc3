//! Tests of the page's text. `cargo xtask page` tests it in a browser.

use crate::made_up::results;
use pathweave_algorithms::Registry;
use pathweave_lab::results::{RunResult, Status, SubflowSeries};
use pathweave_lab::scenario::{Document, Variant};
use pathweave_report::{About, Comparison};

fn page(results: &[RunResult], about: &[About]) -> String {
    pathweave_report::page(&Comparison::all(results, &[], None), results, about, None)
}

fn embedded(page: &str) -> serde_json::Value {
    let start = page.find("id=\"data\">").expect("there is data") + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").expect("it ends");
    serde_json::from_str(&page[start..end]).expect("it is JSON")
}

#[test]
fn nothing_comes_from_outside_and_nothing_but_the_pages_own_scripts_runs() {
    let text = page(&results("wlan-3g", 2, 5.0, false), &[]);
    for attribute in ["src=", "@import", "url(http", "href=\"http", "srcset=", "<link", "<img", "<iframe"] {
        let ours = text.matches(attribute).count();
        assert_eq!(ours, 0, "{attribute} occurs");
    }
    assert!(text.contains("default-src 'none'; script-src 'sha256-"), "the policy allows hashes only");
    assert!(!text.contains("unsafe-"));
}

#[test]
fn equal_connections_are_shown_once() {
    let text = "format = 1\nname = \"wlan-3g\"\nduration = \"1s\"\n[[path]]\nname = \"wlan\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n\
        [[connection]]\nname = \"flow\"\ncount = 20\n[[connection]]\nname = \"cross\"\nmptcp = false\ncount = 2\n";
    let document = Document::parse("x.toml", text).expect("it is TOML");
    let scenario = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is a scenario");
    let mut runs = results("wlan-3g", 1, 1.0, false);
    for run in &mut runs {
        let of = |n| SubflowSeries { connection: format!("flow-{n}"), ..SubflowSeries::default() };
        run.series.subflows = (1..=20).map(of).collect();
    }
    let text = page(&runs, &[About::of(&scenario)]);
    assert_eq!(text.matches("<dt>Connections</dt><dd>20 alike: flow-1 to flow-20; each ").count(), 1, "{text}");
    assert_eq!(text.matches("<dt>Cross traffic</dt><dd>2 alike: cross-1 and cross-2; each ").count(), 1);
    let groups = &embedded(&text)["scenarios"][0]["groups"];
    assert_eq!(
        (groups[0]["text"].as_str(), groups.as_array().map(Vec::len)),
        (Some("20 alike: flow-1 to flow-20"), Some(1))
    );
    // Without the scenario, nothing says that they are equal.
    assert_eq!(embedded(&page(&runs, &[]))["scenarios"][0]["groups"].as_array().map(Vec::len), Some(20));
}

#[test]
fn the_ranking_has_the_interval_of_each_mean() {
    let value = |seeds: u64| {
        embedded(&page(&results("wlan-3g", seeds, 5.0, false), &[]))["scenarios"][0]["rows"][0]["value"].clone()
    };
    let several = value(3);
    let at = |name: &str| several[name].as_f64().expect("a number");
    assert!(at("low") < at("mean") && at("mean") < at("high"), "{several}");
    assert!(value(1)["low"].is_null() && value(1)["mean"].is_number());
}

#[test]
fn small_before_data() {
    assert!(page(&[], &[]).len() < 150_000, "{} bytes", page(&[], &[]).len());
    let large = page(&results("wlan-3g", 30, 600.0, false), &[]);
    assert!(large.len() < 4_000_000, "{} bytes for 240 runs of 10 minutes", large.len());
}

#[test]
fn each_scenario_is_a_section_with_every_scheduler() {
    let mut all = results("wlan-3g", 3, 5.0, false);
    all.extend(results("download", 3, 5.0, true));
    let text = page(&all, &[]);
    assert_eq!(text.matches("<section ").count(), 2);
    let data = embedded(&text);
    for (i, name) in ["wlan-3g", "download"].into_iter().enumerate() {
        let scenario = &data["scenarios"][i];
        assert_eq!(scenario["name"], name);
        let rows = scenario["rows"].as_array().expect("there are rows");
        assert_eq!(rows.len(), 8);
        for row in rows {
            assert!(!row["goodput_series"]["median"].as_array().expect("a list").is_empty());
            assert_eq!(row["queue_series"]["runs"].as_array().expect("a list").len(), 3);
        }
    }
    assert!(text.contains("Two paths are worse than one "));
    assert_eq!(text, page(&all, &[]), "equal results are equal bytes");
}

#[test]
fn hostile_names_stay_text() {
    let mut all = results("</script><script>alert(1)</script>", 1, 1.0, false);
    all[0].scheduler = "<img src=x onerror=alert(1)>".into();
    all[0].status = Status::Failed;
    all[0].reason = Some("<b>&</b>".into());
    let text = page(&all, &[]);
    assert!(!text.contains("alert(1)</script>"));
    assert!(!text.contains("<img"));
    assert!(text.contains("&lt;b&gt;&amp;&lt;/b&gt;"));
    assert_eq!(embedded(&text)["scenarios"][0]["name"], "</script><script>alert(1)</script>");
}

#[test]
fn what_is_missing_is_in_red_and_one_seed_is_not_green() {
    let one = results("wlan-3g", 1, 5.0, false);
    let text = page(&one, &[]);
    assert!(
        text.contains("<div class=\"verdict open\"><p>With this seed blest is the best"),
        "one seed settles nothing"
    );
    let mut all = results("wlan-3g", 3, 5.0, false);
    assert!(page(&all, &[]).contains("<div class=\"verdict\"><p>blest is the best"));
    all[0].status = Status::Failed;
    all[0].reason = Some("it divides by zero".into());
    let failed = "<div class=\"verdict worse\"><p>minrtt failed in 1 of 3 runs: it divides by zero.</p>";
    assert!(page(&all, &[]).contains(failed));
    let schedulers = ["weave", "minrtt"].map(str::to_owned).into();
    let planned = pathweave_report::Planned { scenario: "wlan-3g".into(), schedulers, seeds: 3, paths: Vec::new() };
    let comparisons = Comparison::all(&all, &[planned], None);
    let text = pathweave_report::page(&comparisons, &all, &[], None);
    assert!(text.contains("<div class=\"verdict worse\"><p>Stopped early: 24 of 27 runs are finished.</p>"));
    assert!(text.contains("Never run: weave.") && !text.contains("<div class=\"verdict\">"));
    assert!(text.contains("weave <span class=\"badge bad\">never run</span>"));
}

/// Writes a page to look at: `cargo test -p pathweave-report -- --ignored sample`.
#[test]
#[ignore = "writes target/page/sample.html to look at"]
fn sample() {
    let mut all = results("wlan-3g", 5, 20.0, false);
    all.extend(results("download-4mb", 5, 5.0, true));
    all[0].status = Status::Stalled;
    all[0].reason = Some("nothing more would ever have happened, 1.2 MB were left".into());
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/page");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let about = About::default();
    std::fs::write(folder.join("sample.html"), page(&all, &[about])).expect("the page can be written");
}
