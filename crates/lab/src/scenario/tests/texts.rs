//! The canonical text, the hash and the JSON Schema.

use super::*;

#[test]
fn every_builtin_is_what_its_canonical_text_says() {
    for (name, _) in BUILTIN {
        let document = builtin(name).expect("it is there");
        for variant in [Variant::AsWritten, scheduler("linux:send_buffer=1MB"), Variant::PlainTcp(1)] {
            let scenario = document.scenario(&Registry::builtin(), &variant).expect("it is right");
            assert_eq!(read(&scenario.to_toml()), scenario);
        }
    }
}

#[test]
fn a_path_in_short_form_is_written_in_long_form() {
    let text = read(&with_path(
        "name = \"wlan\"\nrate = \"8Mbps\"\ntrace = \"lte\"".split_once("\ntrace").expect("two parts").0,
    ))
    .to_toml();
    assert!(text.contains("[[node]]\nname = \"client\"\n\n[[node]]\nname = \"server\""), "{text}");
    assert!(
        text.contains("[[link]]\nname = \"wlan\"\nbetween = [\"client\", \"server\"]\n\n[link.up]\nrate = \"8Mbps\""),
        "{text}"
    );
    assert!(text.contains("[[path]]\nname = \"wlan\"\nlinks = [\"wlan\"]"), "{text}");
    assert!(text.contains("mptcp = true\n"), "{text}");
}

struct OneFile(&'static str);

impl Files for OneFile {
    fn read(&self, name: &str) -> Result<String, String> {
        if name.starts_with("trace") { Ok(self.0.into()) } else { Err("no such file".into()) }
    }
}

#[test]
fn the_hash_follows_settings_and_trace_contents_but_no_names_of_files() {
    let hash = |text: &str, files| read(text).hash(&OneFile(files)).expect("the trace is there");
    let one = hash(&with_path("trace = \"trace1\""), "1\n2\n");
    assert_eq!(one.len(), 32);
    assert_eq!(one, hash(&with_path("# the same elsewhere\ntrace = \"trace2\""), "1\n2\n"));
    assert_ne!(one, hash(&with_path("trace = \"trace1\""), "1\n3\n"));
    assert_ne!(one, hash(&with_path("trace = \"trace1\"\ndelay = \"1ms\""), "1\n2\n"));
    let error = read(&with_path("trace = \"other\"")).hash(&OneFile("")).expect_err("there is no such file");
    assert_eq!(error, ("other".into(), "no such file".into()));
}

#[test]
fn the_hash_forgets_prose() {
    let hash = |text: &str| read(text).hash(&NoFiles).expect("no file is needed");
    assert_eq!(hash(&format!("description = \"x\"\n{}", with_path(""))), hash(&with_path("")));
}

/// Compares the committed file with the generated one. With `PATHWEAVE_BLESS` set, the file is written instead.
#[test]
fn the_committed_schema_is_up_to_date() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/schema.json");
    let schema = serde_json::to_string_pretty(&schema()).expect("a schema is JSON") + "\n";
    if std::env::var_os("PATHWEAVE_BLESS").is_some() {
        std::fs::write(file, &schema).expect("the schema can be written");
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(committed == schema, "scenarios/schema.json is old: run the tests once with PATHWEAVE_BLESS=1");
}

/// Compares the committed file with the generated one. With `PATHWEAVE_BLESS` set, the file is written instead.
#[test]
fn the_committed_reference_is_up_to_date() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenarios.md");
    let text = crate::scenario::reference();
    if std::env::var_os("PATHWEAVE_BLESS").is_some() {
        std::fs::write(file, &text).expect("the reference can be written");
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(committed == text, "docs/scenarios.md is old: run the tests once with PATHWEAVE_BLESS=1");
}

/// Every example of the reference can be read, alone and as a part of its scenario.
#[test]
fn the_references_examples_are_read() {
    fn check<T: Clone>(settings: &[crate::scenario::setting::Setting<T>], target: &T) {
        for setting in settings {
            for example in (setting.examples)() {
                let read = (setting.set)(&mut target.clone(), example);
                assert!(read.is_ok(), "{} = {example}: {read:?}", setting.key);
            }
            // A kind without its required parts is an error.
            for kind in (setting.kinds)().iter().filter(|k| k.parts.iter().any(|p| !p.optional)) {
                let read = (setting.set)(&mut target.clone(), kind.name);
                assert!(read.is_err(), "{} = {} without its parts", setting.key, kind.name);
            }
        }
    }
    let scenario = read(&with_path(""));
    use crate::scenario::setting::{CONNECTION, LINK, PATH, SCENARIO, TRACE};
    check(SCENARIO, &scenario);
    check(LINK, &scenario.links[0].settings);
    check(&[TRACE], &scenario.links[0].settings);
    check(PATH, &scenario.paths[0]);
    check(CONNECTION, &scenario.connections[0]);
    let text = crate::scenario::reference();
    for block in text.split("```toml\n").skip(1).map(|b| b.split("```").next().unwrap_or("")) {
        let whole = match () {
            () if block.contains("format = 1") => block.to_owned(),
            // The example is a part of a file; the smallest possible scenario is put around it.
            () if block.contains("[[link]]") => format!("format = 1\nname = \"x\"\nduration = \"30s\"\n{block}"),
            () if block.contains("[[path]]") => format!("format = 1\nname = \"x\"\nduration = \"30s\"\n{block}"),
            () => format!("{}{block}", with_path("")),
        };
        read(&whole);
    }
}
