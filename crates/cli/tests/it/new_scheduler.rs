//! `pathweave new-scheduler`. `cargo xtask new-scheduler` checks that its crate builds and runs.

/// The scheduler of the crate, with its own tests.
#[path = "../../templates/new-scheduler/src/scheduler.rs"]
mod sample_rule;

use crate::{folder, pathweave, stderr, stdout};
use std::fs;

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn a_crate_is_written() {
    let folder = folder("new-scheduler");
    let output = pathweave(&folder, &["new-scheduler", "my-rule", "--checkout", CHECKOUT]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("cargo run --release -- compare --schedulers my-rule,minrtt"));
    let read = |file: &str| fs::read_to_string(folder.join("my-rule").join(file)).unwrap_or_default();
    assert!(read("Cargo.toml").contains("name = \"my-rule\"") && read("Cargo.toml").contains("crates/scheduler\""));
    assert!(read("src/scheduler.rs").contains("name: \"my-rule\""));
    for file in ["Cargo.toml", "src/main.rs", "src/scheduler.rs"] {
        assert!(!read(file).is_empty() && !read(file).contains('@'), "{file}");
    }
    assert!(read("Cargo.lock").contains("name = \"proptest\""));

    // Packages that the checkout has built are not built again.
    let config = read(".cargo/config.toml");
    let target = fs::canonicalize(CHECKOUT).expect("it is there").join("target");
    assert!(config.contains(&format!("target-dir = {:?}", target.display().to_string())), "{config}");

    let arguments = ["new-scheduler", "other", "--path", "here", "--git", "https://example.org/p.git", "--rev", "abc"];
    let output = pathweave(&folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let manifest = fs::read_to_string(folder.join("here/Cargo.toml")).unwrap_or_default();
    assert!(!folder.join("here/.cargo").exists(), "there is no checkout to share with");
    assert!(manifest.contains("git = \"https://example.org/p.git\", rev = \"abc\", features"), "{manifest}");
}

#[test]
fn a_name_or_an_address_may_hold_the_samples_name() {
    let folder = folder("new-scheduler-sample");
    let arguments = ["new-scheduler", "my-sample-rule", "--git", "https://example.org/sample-rule.git", "--rev", "abc"];
    let output = pathweave(&folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let read = |file: &str| fs::read_to_string(folder.join("my-sample-rule").join(file)).unwrap_or_default();
    let manifest = read("Cargo.toml");
    assert!(
        manifest.contains("name = \"my-sample-rule\"") && manifest.contains("example.org/sample-rule.git"),
        "{manifest}"
    );
    assert!(read("src/scheduler.rs").contains("name: \"my-sample-rule\""));
}

#[test]
fn what_is_wrong_is_told() {
    let folder = folder("new-scheduler-wrong");
    fs::create_dir(folder.join("there")).expect("a folder can be made");
    let long = "x".repeat(41);
    for (arguments, message) in [
        ("My-Rule --checkout CHECKOUT", "error: the name My-Rule is not possible; use lower-case letters"),
        ("3rule --checkout CHECKOUT", "error: the name 3rule is not possible; use lower-case letters"),
        ("../rule --checkout CHECKOUT", "error: the name ../rule is not possible; use lower-case letters"),
        ("rule- --checkout CHECKOUT", "error: the name rule- is not possible; use lower-case letters"),
        (&format!("{long} --checkout CHECKOUT"), "error: the name xxxx"),
        ("match --checkout CHECKOUT", "error: the name match is not possible; use a name that Cargo accepts"),
        ("pathweave --checkout CHECKOUT", "error: the name pathweave is not possible; use a name that Cargo accepts"),
        (
            "blest --checkout CHECKOUT",
            "error: the name blest is not possible; use a name that is not taken by a scheduler",
        ),
        ("there --checkout CHECKOUT", "error: there: this folder exists already"),
        ("rule --checkout nowhere", "error: --checkout = nowhere: No such file"),
        ("rule --checkout there", "error: --checkout = there: it contains no crates/scheduler"),
        ("rule", "error: the following required arguments were not provided"),
        ("rule --git https://example.org/p.git", "error: the following required arguments were not provided"),
    ] {
        let arguments = arguments.replace("CHECKOUT", CHECKOUT);
        let words: Vec<&str> = arguments.split(' ').collect();
        let output = pathweave(&folder, &[&["new-scheduler"], &words[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(stderr(&output).starts_with(message), "{arguments}: {}", stderr(&output));
    }
    assert!(fs::read_dir(&folder).is_ok_and(|list| list.count() == 1), "nothing was written");
}
