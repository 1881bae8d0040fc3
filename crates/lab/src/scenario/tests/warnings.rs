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
