//! The version of the program, and the commit that it was built from.

/// The commit of the sources, short, with " with changes" if they were changed; `None` if the build did not know it.
pub const COMMIT: Option<&str> = option_env!("PATHWEAVE_COMMIT");

/// Version and commit, for people: `0.1.0 (3c35406a)`, or `0.1.0` if the commit is not known.
pub fn version() -> &'static str {
    static VERSION: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| match COMMIT {
        Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    });
    &VERSION
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// In a checkout, the version has git's commit; in an archive, it has none.
    #[test]
    fn the_version_has_the_commit() {
        let head = Command::new("git").args(["rev-parse", "HEAD"]).output();
        let head = head.ok().filter(|output| output.status.success()).map(|output| output.stdout);
        let head = head.and_then(|text| String::from_utf8(text).ok());
        match (COMMIT, head) {
            (Some(commit), Some(head)) => {
                let short = commit.split(' ').next().unwrap_or_default();
                assert!(short.len() >= 8 && head.starts_with(short), "{commit}: {head}");
                assert_eq!(version(), format!("{} ({commit})", env!("CARGO_PKG_VERSION")));
            }
            (None, _) => assert_eq!(version(), env!("CARGO_PKG_VERSION")),
            (Some(commit), None) => panic!("{commit}, but git knows nothing"),
        }
    }
}
