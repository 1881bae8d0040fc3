//! Overrides from the command line.

use super::*;
use pathweave_proto::config::ReceiveBuffer;
use pathweave_units::{Bitrate, Duration};

#[track_caller]
fn with(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let mut document = document(text);
    for (key, value) in overrides {
        document.set(key, value).expect("there is such a key");
    }
    document.scenario(&Registry::builtin(), &scheduler("minrtt")).expect("the scenario is right")
}

#[track_caller]
fn set_says(text: &str, key: &str, value: &str, expected: &str) {
    let mut document = document(text);
    let result = document.set(key, value).and_then(|()| document.scenario(&Registry::builtin(), &Variant::AsWritten));
    assert_eq!(result.expect_err("the override is wrong").to_string(), expected);
}

#[test]
fn connection_settings_apply_to_every_connection_and_baseline() {
    let text = with_connection("[[connection]]\nmptcp = false\nreceive_buffer = \"1MiB\"");
    let scenario = with(&text, &[("connection.receive_buffer", "60KB")]);
    assert!(scenario.connections.iter().all(|c| c.engine.receive_buffer == ReceiveBuffer::Fixed(60_000)));
    let mut document = document(&text);
    document.set("connection.receive_buffer", "60KB").expect("there is such a key");
    let baseline = document.scenario(&Registry::builtin(), &Variant::PlainTcp(0)).expect("right");
    assert_eq!(baseline.connections[0].engine.receive_buffer, ReceiveBuffer::Fixed(60_000));
}

#[test]
fn connection_settings_apply_without_a_connection_in_the_file() {
    assert!(with(&with_path(""), &[("connection.pr", "true")]).connections[0].engine.pr);
}

#[test]
fn connection_settings_win_over_scheduler_tables() {
    let text = with_path("[scheduler.minrtt]\npr = true\nprr = false");
    assert!(with(&text, &[]).connections[0].engine.pr);
    let scenario = with(&text, &[("connection.pr", "false")]);
    assert!(!scenario.connections[0].engine.pr);
    assert!(!scenario.connections[0].engine.tcp.prr);
}

#[test]
fn paths_are_named_by_number_or_name_or_all() {
    let text = with_path("name = \"wlan\"\nrate = \"8Mbps\"\n[[path]]\ntrace = \"file\"");
    let rates =
        |scenario: &Scenario| -> Vec<Rate> { scenario.links.iter().map(|l| l.settings.shaper.clone()).collect() };
    let [one, two] = [1, 2].map(|mbps| Rate::Constant(Bitrate::from_mbps(mbps)));
    let scenario = with(&text, &[("path.wlan.rate", "1Mbps"), ("path.1.rate", "2Mbps")]);
    assert_eq!(rates(&scenario), [one.clone(), one.clone(), two.clone(), two.clone()]);
    let scenario = with(&text, &[("path.rate", "1Mbps"), ("path.0.down.rate", "2Mbps")]);
    assert_eq!(rates(&scenario), [one.clone(), two, one.clone(), one]);
    assert_eq!(with(&text, &[("duration", "7s")]).duration, Duration::from_secs(7));
}

#[test]
fn what_is_overridden_is_remembered() {
    let mut document = document(&with_path(""));
    document.set("duration", "7s").expect("there is such a key");
    assert_eq!(document.overrides(), [("duration".to_owned(), "7s".to_owned())]);
}

#[test]
fn scheduler_tables_can_be_overridden() {
    let scenario = with(&with_path(""), &[("scheduler.minrtt.pr", "true")]);
    assert!(scenario.connections[0].engine.pr);
}

#[test]
fn lists_of_names_are_written_with_commas() {
    let scenario = with(&with_path("[[path]]\n[[path]]"), &[("connection.paths", "path2, path0")]);
    assert_eq!(scenario.connections[0].paths, [2, 0]);
}

#[test]
fn mistakes_are_told_as_in_files() {
    let text = with_connection("name = \"x\"");
    set_says(&text, "duration", "soon", "--set: duration = soon: allowed: a time above zero such as 10ms or 1.5s");
    set_says(&text, "path.a.delay", "10", "--set: path.a.delay = 10: allowed: a time such as 10ms or 1.5s");
    set_says(&text, "connection.x.pr", "maybe", "--set: connection.x.pr = maybe: allowed: true or false");
    set_says(
        &with_path("[connection]"),
        "connection.pr",
        "true",
        "test.toml:5: connection = a table: allowed: tables, each with the heading [[connection]]",
    );
    let mut list = document(&text);
    let error = list.set("connection.buffer", "1").expect_err("no such key").to_string();
    assert!(
        error.starts_with(
            "--set: unknown setting `connection.buffer` (did you mean `connection.send_buffer`, \
             `connection.receive_buffer` or `connection.send_buffer_tuning`?); after connection there are: \
             0, x, name, paths, "
        ),
        "{error}"
    );
    let error = list.set("path.b.rate", "1Mbps").expect_err("no such path").to_string();
    assert!(
        error.starts_with("--set: unknown setting `path.b.rate`; after path there are: 0, a, name, rate, "),
        "{error}"
    );
    let names =
        document(&with_path("name = \"wlan\"")).set("path.wlna.rate", "1Mbps").expect_err("no such path").to_string();
    assert!(
        names.starts_with(
            "--set: unknown setting `path.wlna.rate` (did you mean `path.wlan.rate`?); after path there are: 0, wlan"
        ),
        "{names}"
    );
    let error = list.set("link.b.rate", "1Mbps").expect_err("no link").to_string();
    assert_eq!(error, "--set: unknown setting `link.b.rate`; there is nothing, because there is no [[link]]");
    let error = list.set("connection.name.first", "x").expect_err("no table").to_string();
    assert_eq!(
        error,
        "--set: unknown setting `connection.name.first`; there are: name as a whole, which is not a table"
    );
    let error = list.set("path..rate", "1Mbps").expect_err("an empty word").to_string();
    assert_eq!(
        error,
        "--set: unknown setting `path..rate`; there are: words with dots between them, such as connection.receive_buffer"
    );
}
