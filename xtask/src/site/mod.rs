//! The site: the Markdown of the repository as a book that can be searched, with the playground and the reference of the
//! crates beside it.
//!
//! Nothing is written for the site alone. `docs/README.md` gives the reading order; the pages are copied, and links to folders
//! and to files that are no pages are made to work.

mod links;
mod summary;

use crate::playground;
use crate::python::{Environment, interpreter};
use crate::run::{capture, cargo, program, root, run, target};
use crate::setup;
use links::{Pages, on_site};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIREMENTS: &str = "packaging/site-requirements.txt";
/// Markdown that is no page: parts from which `docs/scenarios.md` is made, and forms of the host.
const NO_PAGES: [&str; 2] = ["crates/", ".github/"];
/// Words that the search must find.
const FOUND: [&str; 3] = ["receive_buffer", "blest", "slower"];
const SETTINGS: &str = r#"[book]
title = "Pathweave"
language = "en"
src = "."

[build]
create-missing = false

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
no-section-label = true

[output.html.fold]
enable = true
level = 0

[output.html.print]
enable = false
"#;

/// The folder of the finished site.
fn site() -> PathBuf {
    target().join("site")
}

/// Builds the pages of the site into `target/site/`: the book, without the playground and the crates' reference.
///
/// # Errors
/// If a page cannot be read or the book does not build.
pub(crate) fn build() -> Result<(), String> {
    let source = target().join("site-source");
    let _ = fs::remove_dir_all(&source);
    let tracked: BTreeSet<PathBuf> = lines(&capture(&mut program("git", "ls-files"))?).map(PathBuf::from).collect();
    let is_page = |file: &&PathBuf| {
        file.extension().is_some_and(|e| e == "md") && !NO_PAGES.iter().any(|folder| file.starts_with(folder))
    };
    let pages: BTreeSet<PathBuf> = tracked.iter().filter(is_page).cloned().collect();
    let mut links = Pages::new(&tracked, &pages);
    for page in &pages {
        let text = fs::read_to_string(root().join(page)).map_err(|e| format!("{}: {e}", page.display()))?;
        let text = links.translate(page, &text);
        put(&source.join(on_site(page)), with_playground(page, &text)?.as_bytes())?;
    }
    let (files, listings) = links.finish();
    for (page, text) in &listings {
        put(&source.join(on_site(page)), text.as_bytes())?;
    }
    for file in files {
        let bytes = fs::read(root().join(&file)).map_err(|e| format!("{}: {e}", file.display()))?;
        put(&source.join(&file), &bytes)?;
    }
    let order = fs::read_to_string(root().join("docs/README.md")).map_err(|e| format!("docs/README.md: {e}"))?;
    let all = pages.into_iter().chain(listings.into_keys()).collect();
    put(&source.join("SUMMARY.md"), summary::of(&order, &all, &source)?.as_bytes())?;
    put(&source.join("book.toml"), SETTINGS.as_bytes())?;
    let _ = fs::remove_dir_all(site());
    run(environment()?.program("mdbook").arg("build").arg(&source).arg("--dest-dir").arg(site()))
}

/// Builds the playground and puts it beside the pages.
///
/// # Errors
/// If it does not build.
pub(crate) fn add_playground() -> Result<(), String> {
    playground::build()?;
    run(program("cp", "--recursive").arg(target().join("playground")).arg(site().join("playground")))
}

/// Puts the crates' reference beside the pages.
///
/// # Errors
/// If it does not build.
pub(crate) fn reference() -> Result<(), String> {
    run(&mut cargo("doc --workspace --no-deps --all-features"))?;
    let place = site().join("rust");
    let _ = fs::remove_dir_all(&place);
    run(program("cp", "--recursive").arg(target().join("doc")).arg(place))
}

/// Checks all links of the pages, and that the search knows what people look for. A site without the playground is
/// checked without the links to it.
///
/// # Errors
/// The dead links, or the words that are not found.
pub(crate) fn check() -> Result<(), String> {
    let mut lychee = environment()?.program("lychee");
    // What is behind # in a link to the playground is a scenario, not a place in the page.
    let to_playground =
        if site().join("playground").exists() { "playground/index.html#" } else { "playground/index.html" };
    lychee.args(["--offline", "--include-fragments", "--no-progress", "--exclude", to_playground]);
    lychee.args(["--exclude-path", "playground/", "--exclude-path", "rust/", "--root-dir"]);
    run(lychee.arg(site()).arg(site().join("**/*.html")))?;
    let index = fs::read_dir(site()).map_err(|e| e.to_string())?.flatten().map(|entry| entry.path());
    let index =
        index.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("searchindex")));
    let index: String = index.filter_map(|path| fs::read_to_string(path).ok()).collect();
    match FOUND.iter().find(|word| !index.contains(*word)) {
        Some(word) => Err(format!("the search does not find {word}")),
        None => {
            println!("the site is in {}", site().display());
            Ok(())
        }
    }
}

/// Searches in the site and looks at it in Chromium. Leaves pictures in `target/page/`.
///
/// # Errors
/// A word that is not found, a front page that is too wide, or what is on the console.
pub(crate) fn open() -> Result<(), String> {
    let pictures = target().join("page");
    fs::create_dir_all(&pictures).map_err(|e| format!("{}: {e}", pictures.display()))?;
    run(Command::new(setup::NODE.path()?)
        .arg(root().join("crates/web/check/site.mjs"))
        .arg(setup::CHROMIUM.path()?)
        .args([site(), pictures])
        .args(FOUND))
}

fn environment() -> Result<Environment, String> {
    Environment::new(interpreter().ok_or("there is no Python 3.11 or later")?, "site-tools", REQUIREMENTS)
}

/// A page with its link to the playground: the page about it, and each scheduler's, with a scenario to try it in.
fn with_playground(page: &Path, text: &str) -> Result<String, String> {
    let folders = "../".repeat(page.components().count() - 1);
    let link = if page == Path::new("docs/playground.md") {
        format!("[Open the playground]({folders}playground/index.html)")
    } else if page.starts_with("docs/schedulers") && !page.ends_with("README.md") {
        let name = page.file_stem().unwrap_or_default().to_string_lossy();
        let scenario = root().join("crates/lab/scenarios/wifi-lte.toml");
        let scenario = fs::read_to_string(&scenario).map_err(|e| format!("{}: {e}", scenario.display()))?;
        let fragment = format!("toml={}&schedulers={name},minrtt,linux", percent_encoded(&scenario));
        format!("[Try `{name}` in the playground]({folders}playground/index.html#{fragment})")
    } else {
        return Ok(text.to_owned());
    };
    let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
    Ok(format!("{title}\n\n**{link}**\n{rest}"))
}

/// Text as a part of an address.
fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|l| String::from_utf8_lossy(l).into_owned())
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let wrong = |e| format!("{}: {e}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(wrong)?;
    fs::write(path, bytes).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedulers_page_has_a_scenario_in_its_link() {
        let page =
            with_playground(Path::new("docs/schedulers/blest.md"), "# blest\n\ntext\n").expect("the scenario is there");
        assert!(
            page.starts_with(
                "# blest\n\n**[Try `blest` in the playground](../../playground/index.html#toml=%23%3Aschema"
            )
        );
        assert!(page.ends_with("&schedulers=blest,minrtt,linux)**\n\ntext\n"), "{page}");
        assert_eq!(with_playground(Path::new("docs/weave.md"), "# weave\n"), Ok("# weave\n".into()));
    }
}
