//! Tests of the decisions of a run, as text and as a page.

use pathweave_algorithms::Registry;
use pathweave_lab::explain::{Explanation, explain};
use pathweave_lab::scenario::{NoFiles, SchedulerSpec, Variant, builtin};
use pathweave_report::{explain_page, timeline};
use pathweave_units::{Duration, Instant};

/// The decisions of seed 1 on a built-in scenario with a fixed receive window, between two times in milliseconds.
fn explained(scenario: &str, scheduler: &str, window: &str, from: u64, to: u64) -> Explanation {
    let mut document = builtin(scenario).expect("it is built in");
    document.set("connection.receive_buffer", window).expect("it is a setting");
    let variant = Variant::Scheduler(SchedulerSpec::parse(scheduler).expect("it is one"));
    let span = (Instant::ZERO + Duration::from_millis(from), Instant::ZERO + Duration::from_millis(to));
    explain(&document, &variant, 1, span, &Registry::builtin(), &NoFiles).expect("it runs")
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
    let start = page.find("id=\"data\">").expect("there is data") + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").expect("it ends");
    let data: serde_json::Value = serde_json::from_str(&page[start..end]).expect("it is JSON");
    let marks = data["marks"].as_array().expect("a list");
    assert!(marks.len() >= explanation.entries.iter().filter(|e| e.what.is_decision()).count());
    for kind in ["given", "wait", "no-space"] {
        assert!(marks.iter().any(|m| m["kind"] == kind), "{kind}");
    }
    // Waits of blest while 3g has space are shaded.
    let spans = data["spans"].as_array().expect("a list");
    assert!(spans.iter().any(|s| s["kind"] == "wait" && s["to"].as_f64() > s["from"].as_f64()), "{spans:?}");
    assert_eq!(page, explain_page(&explanation), "equal runs are equal bytes");
}

#[test]
fn a_window_that_is_full_all_the_time_is_shaded_all_the_time() {
    let mut explanation = explained("wlan-3g", "minrtt", "60KB", 0, 1000);
    explanation.entries.retain(|e| e.what.is_decision());
    explanation.blocked_before = true;
    assert!(explain_page(&explanation).contains(r#"{"kind":"window","from":0.0,"to":1.0"#));
}
