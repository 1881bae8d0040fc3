//! The reading order of the site: that of `docs/README.md`, with every page in it once.

use super::links::{normal, on_site};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The document with the order, from which its links start.
const ORDER: &str = "docs/README.md";

/// mdBook's `SUMMARY.md`. `pages` are all pages, which are in the folder `source`.
///
/// # Errors
/// If a page cannot be read.
pub(super) fn of(order: &str, pages: &BTreeSet<PathBuf>, source: &Path) -> Result<String, String> {
    let mut left = pages.clone();
    let mut out = String::from("# Summary\n\n");
    let mut take = |out: &mut String, page: PathBuf, depth: usize| -> Result<(), String> {
        if !left.remove(&page) {
            return Ok(());
        }
        line(out, &page, depth, source)?;
        // The pages of a folder are below its own page, or below the page beside it that has its name.
        let folder = if page.ends_with("README.md") { page.parent().map(Path::to_path_buf) } else { None };
        let folder = folder.unwrap_or_else(|| page.with_extension(""));
        let is_below = |p: &&PathBuf| p.parent() == Some(folder.as_path()) && folder != Path::new("docs");
        let below: Vec<PathBuf> = left.iter().filter(is_below).cloned().collect();
        for page in below {
            left.remove(&page);
            line(out, &page, depth + 1, source)?;
        }
        Ok(())
    };
    for (title, links) in sections(order) {
        out.push_str(&format!("\n# {title}\n\n"));
        for link in links {
            let place = normal(&Path::new(ORDER).with_file_name(link)).unwrap_or_default();
            let place = if pages.contains(&place) { place } else { place.join("README.md") };
            // The front page has no folder of its own: it would take every other page at the root.
            if place == Path::new("README.md") {
                continue;
            }
            take(&mut out, place, 0)?;
        }
    }
    left.remove(Path::new("README.md"));
    let front = "[Pathweave](index.md)\n";
    let mut text = out.replacen("# Summary\n\n", &format!("# Summary\n\n{front}"), 1);
    if !left.is_empty() {
        text.push_str("\n# More\n\n");
        left.iter().try_for_each(|page| line(&mut text, page, 0, source))?;
    }
    Ok(text)
}

/// The line of one page, which is in `source`, with the title that the page has.
fn line(out: &mut String, page: &Path, depth: usize, source: &Path) -> Result<(), String> {
    let page = on_site(page);
    let text = fs::read_to_string(source.join(&page)).map_err(|e| format!("{}: {e}", page.display()))?;
    let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
    let title: String = title.chars().filter(|c| !"[]".contains(*c)).collect();
    out.push_str(&format!("{}- [{title}]({})\n", "  ".repeat(depth), page.display()));
    Ok(())
}

/// Title and links of each section. A link with a fragment is a part of a page that is listed by itself.
fn sections(order: &str) -> Vec<(&str, Vec<&str>)> {
    let sections = order.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
    sections
        .map(|(title, body)| {
            let links = body.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            (title, links.filter(|link| !link.contains('#') && !link.contains(':')).collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_there_once() -> Result<(), String> {
        let source = std::env::temp_dir().join(format!("pathweave-summary-{}", std::process::id()));
        let names = ["README.md", "docs/README.md", "docs/a.md", "docs/b/README.md", "docs/b/c.md", "x/z.md", "y.md"];
        for name in names {
            super::super::put(&source.join(on_site(Path::new(name))), format!("# T {name}\n").as_bytes())?;
        }
        let order = "# Documents\n\n## Learn\n\n- [f](../README.md)\n- [b](b/README.md), [a](a.md)\n\n## Do\n\n- [a](a.md), [y](../y.md#p)\n";
        let text = of(order, &names.map(PathBuf::from).into(), &source);
        fs::remove_dir_all(&source).map_err(|e| e.to_string())?;
        let expected = "# Summary\n\n[Pathweave](index.md)\n\n# Learn\n\n- [T docs/b/README.md](docs/b/index.md)\n  \
                        - [T docs/b/c.md](docs/b/c.md)\n- [T docs/a.md](docs/a.md)\n\n# Do\n\n\n# More\n\n\
                        - [T docs/README.md](docs/index.md)\n- [T x/z.md](x/z.md)\n- [T y.md](y.md)\n";
        assert_eq!(text?, expected);
        Ok(())
    }
}
