//! Links of the repository's pages, so that they work on the site too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The pages, and what their links lead to beside pages.
#[derive(Debug)]
pub(super) struct Pages<'a> {
    tracked: &'a BTreeSet<PathBuf>,
    pages: &'a BTreeSet<PathBuf>,
    /// Linked files that are no pages.
    files: BTreeSet<PathBuf>,
    /// Linked folders without a page of their own.
    folders: BTreeSet<PathBuf>,
}

impl<'a> Pages<'a> {
    /// All files of the repository, and those that are pages.
    pub(super) fn new(tracked: &'a BTreeSet<PathBuf>, pages: &'a BTreeSet<PathBuf>) -> Self {
        Self { tracked, pages, files: BTreeSet::new(), folders: BTreeSet::new() }
    }

    /// The text of a page; links to folders lead to the folder's page. Remembers what else is linked.
    pub(super) fn translate(&mut self, page: &Path, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        // A link ends like `](target)`, a picture in HTML begins like `src="target"`.
        while let Some((at, start, end)) = next_link(rest) {
            let target_at = at + start.len();
            let length = rest[target_at..].find(end).unwrap_or(0);
            let target = &rest[target_at..target_at + length];
            out.push_str(&rest[..target_at]);
            out.push_str(&self.target(page, target).unwrap_or_else(|| target.to_owned()));
            rest = &rest[target_at + length..];
        }
        out + rest
    }

    /// The target on the site, if it is another one than in the repository.
    fn target(&mut self, page: &Path, target: &str) -> Option<String> {
        let (path, fragment) = target.split_once('#').map_or((target, None), |(path, fragment)| (path, Some(fragment)));
        if path.is_empty() || path.contains(':') {
            return None;
        }
        let place = normal(&page.with_file_name(path))?;
        let fragment = fragment.map_or(String::new(), |fragment| format!("#{fragment}"));
        if self.pages.contains(&place) {
            return Some(format!("{}{fragment}", on_site(Path::new(path)).display()));
        }
        if self.tracked.contains(&place) {
            self.files.insert(place);
            return None;
        }
        let has_files = self.tracked.iter().any(|file| file.starts_with(&place));
        if !has_files {
            return None;
        }
        if !self.pages.contains(&place.join("README.md")) {
            self.folders.insert(place);
        }
        Some(format!("{}/index.md{fragment}", path.trim_end_matches('/')))
    }

    /// All files that are linked, and a page for each linked folder that has none.
    pub(super) fn finish(mut self) -> (BTreeSet<PathBuf>, BTreeMap<PathBuf, String>) {
        let mut listings = BTreeMap::new();
        for folder in &self.folders {
            let mut text = format!("# {}\n\n", folder.display());
            for file in self.tracked.iter().filter(|file| file.starts_with(folder)) {
                let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
                text.push_str(&format!("- [{name}]({})\n", on_site(Path::new(&name)).display()));
                if !self.pages.contains(file) {
                    self.files.insert(file.clone());
                }
            }
            listings.insert(folder.join("README.md"), text);
        }
        (self.files, listings)
    }
}

/// The next link: the position of the text before its target, this text, and the character after the target.
fn next_link(text: &str) -> Option<(usize, &'static str, char)> {
    [("](", ')'), ("src=\"", '"')]
        .into_iter()
        .filter_map(|(start, end)| text.find(start).map(|at| (at, start, end)))
        .min_by_key(|(at, ..)| *at)
}

/// The name of a page on the site. Servers show a folder's `index.html`, as the repository's host shows its `README.md`.
pub(super) fn on_site(page: &Path) -> PathBuf {
    if page.ends_with("README.md") { page.with_file_name("index.md") } else { page.to_path_buf() }
}

/// A path without `.` and `..`; nothing if it leaves the repository.
pub(super) fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => normal.pop().then_some(())?,
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    Some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn folders_get_a_page_and_files_are_taken_along() {
        let pages = paths(&["README.md", "docs/a.md", "docs/b/README.md"]);
        let tracked: BTreeSet<_> =
            pages.iter().cloned().chain(paths(&["x/1.toml", "x/2.toml", "docs/p.png"])).collect();
        let mut links = Pages::new(&tracked, &pages);
        let text = "[a](a.md#t) [x](../x) [b](b) [f](../README.md#t) ![p](p.png) [w](https://a.b/c) <img src=\"p.png\"> [no](../no)";
        let expected = "[a](a.md#t) [x](../x/index.md) [b](b/index.md) [f](../index.md#t) ![p](p.png) [w](https://a.b/c) <img src=\"p.png\"> [no](../no)";
        assert_eq!(links.translate(Path::new("docs/a.md"), text), expected);
        let (files, listings) = links.finish();
        assert_eq!(files, paths(&["docs/p.png", "x/1.toml", "x/2.toml"]));
        let listing = "# x\n\n- [1.toml](1.toml)\n- [2.toml](2.toml)\n";
        assert_eq!(listings, BTreeMap::from([("x/README.md".into(), listing.to_owned())]));
    }
}
