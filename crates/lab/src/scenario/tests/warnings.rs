//! Warnings about settings that are allowed but hardly intended.

use super::*;

fn warnings(text: &str) -> Vec<String> {
    read(text).warnings()
}

#[test]
fn a_change_after_the_end_is_warned_of_once() {
    let change = |at: &str| format!("[[path.change]]\nat = \"{at}\"\nrate = \"1Mbps\"\n");
    let path = |changes: &str| with_path(&format!("name = \"lte\"\nrate = \"8Mbps\"\n{changes}"));
    assert_eq!(warnings(&path(&change("4.9s"))), [""; 0]);
    let late = "lte changes at 5s, but the run ends at 5s: what changes from then on has no effect";
    assert_eq!(warnings(&path(&(change("7s") + &change("5s") + &change("1s")))), [late]);
}

#[test]
fn a_connection_that_starts_after_the_end_is_warned_of() {
    let starts = |at: &str| {
        let text = format!("name = \"lte\"\nrate = \"8Mbps\"\n[[connection]]\nname = \"late\"\nstart = \"{at}\"\n");
        warnings(&with_path(&text))
    };
    assert_eq!(starts("4.9s"), [""; 0]);
    assert_eq!(starts("5s"), ["late starts at 5s, but the run ends at 5s: it sends nothing"]);
}

#[test]
fn data_that_no_rate_limits_is_warned_of() {
    let text = |path: &str, connection: &str| {
        with_path(&format!("name = \"wifi\"\ndelay = \"5ms\"\n{path}\n[[connection]]\n{connection}"))
    };
    let (rate, unlimited) = ("rate = \"8Mbps\"", "rate = \"8Mbps\"\ndown = { rate = \"unlimited\" }");
    let download = "direction = \"download\"";
    assert_eq!(warnings(&text(rate, download)), [""; 0]);
    assert_eq!(warnings(&text(unlimited, "")), [""; 0], "acknowledgements alone");
    assert_eq!(
        warnings(&text(unlimited, download)),
        [
            "the data goes to the client, and no rate limits wifi that way (--set path.wifi.down.rate=10Mbps gives it one)"
        ]
    );
    let later = format!("{unlimited}\n[[path.change]]\nat = \"1s\"\nrate = \"1Mbps\"");
    assert_eq!(warnings(&text(&later, download)), [""; 0], "a rate that comes later");
}

/// The sentences about these overrides of a scenario with two paths, of which `wifi` has download settings of its own.
fn unheard(direction: &str, overrides: &[(&str, &str)]) -> Vec<String> {
    let text = format!(
        "name = \"wifi\"\nrate = \"30Mbps\"\ndown = {{ rate = \"20Mbps\", loss = 0 }}\n[[path]]\nname = \"lte\"\nrate = \"8Mbps\"\n\
         [[connection]]\ndirection = \"{direction}\"\n"
    );
    of_overrides(&with_path(&text), overrides)
}

fn of_overrides(text: &str, overrides: &[(&str, &str)]) -> Vec<String> {
    let mut document = document(text);
    for (key, value) in overrides {
        document.set(key, value).expect("there is such a setting");
    }
    let scenario = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is right");
    document.overrides_without_effect(&scenario)
}

#[test]
fn an_override_that_does_not_reach_the_data_is_warned_of() {
    let rate = "does not reach the data, which goes to the client: the scenario has path.wifi.down.rate = 20Mbps for that direction. \
                Set path.wifi.down.rate too";
    for (key, value) in [("path.wifi.rate", "5Mbps"), ("path.0.rate", "5Mbps"), ("path.rate", "5Mbps")] {
        assert_eq!(unheard("download", &[(key, value)]), [format!("{key} {rate}")]);
    }
    assert_eq!(
        unheard("download", &[("path.wifi.loss", "1%")]),
        [
            "path.wifi.loss does not reach the data, which goes to the client: the scenario has path.wifi.down.loss = 0 for that \
             direction. Set path.wifi.down.loss too"
        ]
    );
    let trace = unheard("download", &[("path.wifi.trace", "lte.down")]);
    assert!(trace[0].ends_with("has path.wifi.down.rate = 20Mbps for that direction. Set path.wifi.down.trace too"));
    assert_eq!(unheard("upload", &[("connection.direction", "download"), ("path.wifi.rate", "5Mbps")]).len(), 1);
}

#[test]
fn an_override_that_reaches_the_data_or_comes_with_its_own_direction_is_not_warned_of() {
    for overrides in [
        &[("path.wifi.delay", "5ms")][..],
        &[("path.lte.rate", "5Mbps")],
        &[("path.wifi.rate", "20Mbps")],
        &[("path.wifi.down.rate", "5Mbps")],
        &[("path.wifi.rate", "5Mbps"), ("path.wifi.down.rate", "5Mbps")],
        &[("path.down.rate", "5Mbps"), ("path.rate", "5Mbps")],
        &[("path.wifi.cost", "1")],
    ] {
        assert_eq!(unheard("download", overrides), [""; 0], "{overrides:?}");
    }
    assert_eq!(unheard("upload", &[("path.wifi.rate", "5Mbps")]), [""; 0]);
    let both =
        "name = \"wifi\"\ndown = { rate = \"20Mbps\" }\n[[connection]]\n[[connection]]\ndirection = \"download\"\n";
    assert_eq!(of_overrides(&with_path(both), &[("path.wifi.rate", "5Mbps")]), [""; 0], "an upload is measured too");
}

#[test]
fn a_link_of_a_scenario_in_long_form_is_warned_of_too() {
    let text = read(&with_path("name = \"wifi\"\nrate = \"8Mbps\"\ndown = { rate = \"4Mbps\" }\n")).to_toml();
    let [warning] = &of_overrides(&text, &[("link.wifi.rate", "5Mbps")])[..] else { panic!("one warning") };
    assert!(warning.contains("goes to the server: the scenario has link.wifi.up.rate = 8Mbps"), "{warning}");
    assert_eq!(of_overrides(&text, &[("link.wifi.up.rate", "5Mbps")]), [""; 0]);
}

#[test]
fn a_scheduler_that_no_run_has_is_warned_of() {
    let paths = |connections: &str| with_path(&format!("name = \"wifi\"\nrate = \"8Mbps\"\n{connections}"));
    let sentence = |key: &str| {
        format!(
            "{key} does not reach the measured data: each run has a scheduler of its own. Name schedulers by --schedulers, \
             --scheduler of explain, or schedulers of a plan"
        )
    };
    let all = ("connection.scheduler", "blest:delta=0.02");
    assert_eq!(of_overrides(&paths(""), &[all]), [sentence(all.0)]);
    assert_eq!(of_overrides(&paths(""), &[("connection.receive_buffer", "60KB")]), [""; 0]);
    assert_eq!(of_overrides(&paths("[[connection]]\nscheduler = \"blest\"\n"), &[]), [""; 0], "the file's own");
    let several = paths(
        "[[connection]]\nname = \"both\"\ncount = 2\n[[connection]]\nname = \"other\"\nmeasured = false\n\
         [[connection]]\nname = \"plain\"\nmptcp = false\n",
    );
    assert_eq!(of_overrides(&several, &[all]), [sentence(all.0)]);
    assert_eq!(
        of_overrides(&several, &[("connection.both.scheduler", "ecf")]),
        [sentence("connection.both.scheduler")]
    );
    assert_eq!(of_overrides(&several, &[("connection.other.scheduler", "ecf")]), [""; 0], "this one has it");
}
