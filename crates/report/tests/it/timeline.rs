//! Tests of the decisions of a run, as text and as a page.

use pathweave_algorithms::Registry;
use pathweave_lab::explain::{Entry, Explanation, explain};
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant, builtin};
use pathweave_report::{explain_page, timeline};
use pathweave_units::{Duration, Instant};

/// The decisions of seed 1 on a built-in scenario with a fixed receive window, between two times in milliseconds.
fn explained(scenario: &str, scheduler: &str, window: &str, from: u64, to: u64) -> Explanation {
    let mut document = builtin(scenario).expect("it is built in");
    document.set("connection.receive_buffer", window).expect("it is a setting");
    let variant = Variant::Scheduler(SchedulerSpec::parse(scheduler).expect("it is one"));
    let span = (Instant::ZERO + Duration::from_millis(from), Instant::ZERO + Duration::from_millis(to));
    explain(&document, &variant, 1, span, None, &Registry::builtin(), &NoFiles).expect("it runs")
}

/// The input of the page's script.
fn embedded(page: &str) -> serde_json::Value {
    let start = page.find("id=\"data\">").expect("there is data") + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").expect("it ends");
    serde_json::from_str(&page[start..end]).expect("it is JSON")
}

#[test]
fn blest_on_wlan_and_3g() {
    insta::assert_snapshot!(timeline(&explained("wlan-3g", "blest", "60KB", 495, 538)));
}

#[test]
fn the_page_has_every_decision_and_loads_nothing() {
    let explanation = explained("wlan-3g", "blest", "60KB", 0, 1000);
    let page = explain_page(&explanation);
    for attribute in ["src=", "@import", "url(http", "href=\"http", "srcset=", "<link", "<img", "<iframe", "unsafe-"] {
        assert_eq!(page.matches(attribute).count(), 0, "{attribute} occurs");
    }
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    let data = embedded(&page);
    let lane = &data["groups"][0]["lanes"][0];
    let marks = lane["marks"].as_array().expect("a list");
    assert!(marks.len() >= explanation.entries.iter().filter(|e| e.what.is_decision()).count());
    for kind in ["given", "wait", "no-space"] {
        assert!(marks.iter().any(|m| m["kind"] == kind), "{kind}");
    }
    // Waits of blest while 3g has space are shaded.
    let spans = lane["spans"].as_array().expect("a list");
    assert!(spans.iter().any(|s| s["kind"] == "wait" && s["to"].as_f64() > s["from"].as_f64()), "{spans:?}");
    assert_eq!(page, explain_page(&explanation), "equal runs are equal bytes");
}

#[test]
fn a_window_that_is_full_all_the_time_is_shaded_all_the_time() {
    let mut explanation = explained("wlan-3g", "minrtt", "60KB", 0, 1000);
    explanation.entries.retain(|e| e.what.is_decision());
    explanation.blocked_before = explanation.alike.iter().flatten().cloned().collect();
    assert!(explain_page(&explanation).contains(r#"{"kind":"window","from":0.0,"to":1.0"#));
}

/// Two flows and a larger one.
const MANY: &str = "format = 1\nname = \"many\"\nduration = \"2s\"\n[[path]]\nname = \"wifi\"\nrate = \"20Mbps\"\ndelay = \"10ms\"\n\
    [[path]]\nname = \"lte\"\nrate = \"10Mbps\"\ndelay = \"30ms\"\n\
    [[connection]]\nname = \"flow\"\ncount = 2\nworkload = \"transfer:size=100KB\"\n\
    [[connection]]\nname = \"large\"\nworkload = \"transfer:size=1MB\"\n";

#[test]
fn each_connection_has_a_lane_with_its_own_events() {
    let document = Document::parse("many.toml", MANY).expect("it is TOML");
    let variant = Variant::Scheduler(SchedulerSpec::parse("minrtt").expect("it is one"));
    let span = (Instant::ZERO, Instant::ZERO + Duration::from_secs(1));
    let explanation = explain(&document, &variant, 1, span, None, &Registry::builtin(), &NoFiles).expect("it runs");
    let data = embedded(&explain_page(&explanation));
    let groups = data["groups"].as_array().expect("a list");
    let texts: Vec<&str> = groups.iter().filter_map(|g| g["text"].as_str()).collect();
    assert_eq!(texts, ["2 alike: flow-1 and flow-2", "large"]);
    let lanes = groups.iter().flat_map(|g| g["lanes"].as_array().expect("a list"));
    for (lane, name) in lanes.zip(["flow-1", "flow-2", "large"]) {
        assert_eq!(lane["name"], name);
        let own = |e: &&Entry| e.connection.as_deref() == Some(name) && e.what.is_decision();
        let decisions = explanation.entries.iter().filter(own).count();
        assert!(decisions > 0);
        assert_eq!(lane["window"][0].as_array().map(Vec::len), Some(decisions), "{name}");
    }
}
