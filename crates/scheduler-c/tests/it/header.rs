//! The header is what cbindgen makes of the sources.

use std::path::{Path, PathBuf};

/// The files whose types and functions C sees, in the order of the header.
const SOURCES: [&str; 4] = ["src/status.rs", "src/types.rs", "src/handle.rs", "src/exports.rs"];
const HEADER: &str = "include/pathweave_scheduler.h";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The header as it should be.
fn header() -> String {
    let config = cbindgen::Config::from_file(here().join("cbindgen.toml")).expect("cbindgen.toml is right");
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = SOURCES.iter().fold(builder, |builder, file| builder.with_src(here().join(file)));
    let bindings = builder.generate().expect("the sources can be read");
    let mut header = Vec::new();
    bindings.write(&mut header);
    String::from_utf8(header).expect("headers are UTF-8")
}

#[test]
fn the_header_is_that_of_the_sources() {
    let file: PathBuf = here().join(HEADER);
    let today = header();
    if std::env::var_os("PATHWEAVE_BLESS").is_some() {
        std::fs::write(&file, &today).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed.lines().eq(today.lines()),
        "{HEADER} is not today's: PATHWEAVE_BLESS=1 cargo test -p pathweave-scheduler-c --test it"
    );
}

/// A type that C sees under the name that it has in Rust would be a mistake of cbindgen.toml.
#[test]
fn every_name_begins_with_the_librarys() {
    let header = header();
    let declared: String = header.split("/*").filter_map(|part| part.split("*/").nth(1)).collect();
    let after = |word: &str| -> Vec<String> {
        let words = declared.split(|c: char| !c.is_alphanumeric() && c != '_').collect::<Vec<_>>();
        words.windows(2).filter(|pair| pair[0] == word).map(|pair| pair[1].to_owned()).collect()
    };
    let names = [after("struct"), after("enum"), after("define")].concat();
    assert!(names.len() > 20, "{names:?}");
    let other = |name: &&String| !name.to_lowercase().starts_with("pathweave_");
    assert_eq!(names.iter().find(other), None);
}
