//! The plans of the arena, on which schedulers compete, for programs that carry them (`pathweave arena`).
//!
//! A plan `NAME.toml` says which scenario is run with which settings, and `NAME.csv` has its points. Files whose names
//! begin with `_` are scenarios that several plans start from. `papers/PAPER-NAME.toml` is a copy of
//! `experiments/PAPER/_NAME.toml`, because a crate has only files of its own folder.

/// The files' names, as plans write them, and their texts, sorted by name.
pub const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The text of a file; `None` if there is none with this name.
pub fn text(name: &str) -> Option<&'static str> {
    let place = FILES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(FILES[place].1)
}

/// The names of the plans, sorted, without `.toml`.
pub fn plans() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(name, _)| name.strip_suffix(".toml")).filter(|name| !name.starts_with(['_', '.']))
}

#[cfg(test)]
mod tests {
    use super::{FILES, plans, text};

    #[test]
    fn every_plan_has_its_points_and_its_scenarios() {
        assert!(plans().count() > 0);
        for name in plans() {
            assert!(text(&format!("{name}.csv")).is_some(), "{name}");
            let plan = text(&format!("{name}.toml")).unwrap_or_default();
            let from = plan.lines().filter_map(|line| line.strip_prefix("from = \"")?.strip_suffix('"'));
            from.filter(|from| from.ends_with(".toml"))
                .for_each(|from| assert!(text(from).is_some(), "{name}: {from}"));
        }
    }

    #[test]
    fn scenarios_of_papers_are_those_of_the_experiments() {
        let copies: Vec<_> = FILES.iter().filter(|(name, _)| name.starts_with("../experiments/")).collect();
        assert!(!copies.is_empty());
        for (name, copy) in copies {
            let original = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
            assert!(original.is_ok_and(|original| original == *copy), "{name}: copy it into arena/papers");
        }
    }

    #[test]
    fn each_file_is_found_by_its_name() {
        assert!(FILES.iter().all(|(name, own)| text(name) == Some(own)) && text("none.toml").is_none());
    }
}
