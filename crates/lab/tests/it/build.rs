//! Scenarios that have no mistake in the file and still cannot be simulated.

use pathweave_algorithms::Registry;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, Variant};

fn outcome(path: &str) -> Result<(), String> {
    let text = format!("format = 1\nname = \"x\"\nduration = \"10ms\"\n[[path]]\nname = \"p\"\n{path}");
    let document = Document::parse("test.toml", &text).expect("it is TOML");
    run(&document, &Variant::AsWritten, 1, &Registry::builtin(), &NoFiles).map(drop).map_err(|e| e.to_string())
}

#[test]
fn a_path_without_any_time_is_an_error_and_no_endless_run() {
    let at_once = "p: packets would take no time on this path; give it a delay, or a limited rate, at all times";
    let at_once = Err(at_once.to_owned());
    assert_eq!(outcome(""), at_once.clone());
    assert_eq!(outcome("delay = \"1ms\"\n[[path.change]]\nat = \"5ms\"\ndelay = \"0s\""), at_once.clone());
    assert_eq!(outcome("rate = \"1Mbps\"\n[[path.change]]\nat = \"5ms\"\nrate = \"unlimited\""), at_once.clone());
    for right in [
        "delay = \"1ms\"",
        "rate = \"10Mbps\"",
        "down = { rate = \"1Mbps\" }",
        "rate = \"10Mbps\"\n[[path.change]]\nat = \"5ms\"\nrate = \"unlimited\"\ndelay = \"1ms\"",
    ] {
        assert_eq!(outcome(right), Ok(()), "{right}");
    }
}
