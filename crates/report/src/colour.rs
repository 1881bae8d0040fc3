//! One colour per scheduler, the same in every plot and as far as possible in every report.

use std::collections::BTreeMap;

/// How many colours the page's style sheet has for schedulers (`--c0`, ...).
pub(crate) const COLOURS: usize = 8;

/// A colour and a dash pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ink {
    /// Number of the colour.
    pub(crate) colour: usize,
    /// Number of the dash pattern, 0 is solid: it tells schedulers apart when there are more than colours.
    pub(crate) dash: usize,
}

/// Inks by name. The name alone decides, unless another one already has that colour: then it is the next free one.
pub(crate) fn assign<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, Ink> {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    names.dedup();
    let mut used = [0usize; COLOURS];
    let mut inks = BTreeMap::new();
    for name in names {
        let first = preferred(name);
        let dash = used.iter().copied().min().unwrap_or(0);
        let colour = (0..COLOURS).map(|i| (first + i) % COLOURS).find(|c| used[*c] == dash).unwrap_or(first);
        used[colour] += 1;
        inks.insert(name.to_owned(), Ink { colour, dash });
    }
    inks
}

/// FNV-1a over the name, so that a scheduler keeps its colour when others come and go.
fn preferred(name: &str) -> usize {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    (hash >> 32) as usize % COLOURS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_differ() {
        let names: Vec<String> = (0..20).map(|i| format!("scheduler{i}")).collect();
        let inks = assign(names.iter().map(String::as_str));
        let mut distinct: Vec<_> = inks.values().map(|i| (i.colour, i.dash)).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 20);
        assert!(inks.values().all(|i| i.colour < COLOURS && i.dash < 3));
    }

    #[test]
    fn the_order_of_names_does_not_matter() {
        assert_eq!(assign(["b", "a", "c"]), assign(["c", "b", "a", "a"]));
    }
}
