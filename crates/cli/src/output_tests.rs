use super::*;
use std::fs;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pathweave-output-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("inner")).expect("the folder can be made");
    folder
}

fn message(result: Result<(), Failure>) -> String {
    match result {
        Err(Failure::Input(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_ending_that_contradicts_the_content_is_refused() {
    use Content::{Capture, Json, Lines, Page, Table};
    for (content, right, wrong) in [
        (Page, ["page.html", "page.HTM", "page", "page.tmp", "-"], ["page.txt", "page.jsonl", "base.toml"]),
        (Table, ["t.csv", "t.txt", "t", "t.2", "-"], ["t.html", "t.json", "t.CSV.gz"]),
        (Lines, ["r.jsonl", "r.ndjson", "r.json", "r.log", "-"], ["r.csv", "r.html", "base.toml"]),
        (Json, ["r.json", "r.txt", "r", "/dev/stderr", "-"], ["r.jsonl", "r.html", "lte.down"]),
        (Capture, ["r.pcapng", "r", "r.PCAPNG", "/dev/null", "-"], ["r.pcap", "r.cap", "r.txt"]),
    ] {
        for name in right {
            assert!(Output::read(name, content).is_ok(), "{name} for {content:?}");
        }
        for name in wrong {
            let error = Output::read(name, content).expect_err("the ending says something else");
            assert!(error.contains(content.name()) && error.contains("let the name end with ."), "{error}");
        }
    }
    for content in [Page, Table, Lines, Json, Capture] {
        assert!(content.endings().iter().all(|ending| KNOWN.contains(ending)), "{content:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_output_that_is_an_input_is_refused_in_each_spelling() {
    let folder = folder("inputs");
    let input = folder.join("base.toml");
    fs::write(&input, "x").expect("it can be written");
    std::os::unix::fs::symlink(&input, folder.join("link")).expect("a link can be made");
    std::os::unix::fs::symlink("link", folder.join("link-to-link")).expect("a link can be made");
    fs::hard_link(&input, folder.join("same")).expect("a link can be made");
    for spelling in ["base.toml", "./base.toml", "inner/../base.toml", "link", "link-to-link", "same"] {
        let output = Output(folder.join(spelling));
        let error = message(check([&output], std::slice::from_ref(&input)));
        assert!(error.contains("this is the input") && error.contains("would be overwritten"), "{spelling}: {error}");
    }
    assert!(check([&Output(folder.join("other"))], &[input]).is_ok());
    fs::remove_dir_all(folder).expect("it is there");
}

#[cfg(unix)]
#[test]
fn two_outputs_are_two_files() {
    let folder = folder("two");
    let of = |name: &str| Output(folder.join(name));
    std::os::unix::fs::symlink("new", folder.join("dangling")).expect("a link can be made");
    std::os::unix::fs::symlink("loop", folder.join("loop")).expect("a link can be made");
    for (one, other) in [("new", "new"), ("new", "inner/../new"), ("new", "dangling")] {
        let error = message(check([&of(one), &of(other)], &[]));
        assert!(error.contains("are one file"), "{one} and {other}: {error}");
    }
    for (one, other) in [("new", "inner/new"), ("a", "b"), ("loop", "dangling")] {
        assert!(check([&of(one), &of(other)], &[]).is_ok(), "{one} and {other}");
    }
    let null = Output("/dev/null".into());
    assert!(check([&null, &null], &[]).is_ok(), "nothing is lost there");
    let dash = Output::from("-");
    assert!(message(check([&dash, &dash], &[])).contains("standard output can hold one output"));
    assert!(check([&dash, &of("new")], &[]).is_ok());
    assert!(message(check([&of("nowhere/file")], &[])).contains("there is no folder"));
    assert!(message(check([&of("inner")], &[])).contains("this is a folder"));
    fs::remove_dir_all(folder).expect("it is there");
}
