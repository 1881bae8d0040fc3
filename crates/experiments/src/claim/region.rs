//! The region where a partly true claim holds: by scenario, by comparison or by the values of one parameter.

use super::Atom;
use crate::plan::Plan;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A division that would need more items than this in its sentence is not told.
const MOST_ITEMS: usize = 8;

/// The comparisons with one value: how many support the claim, of how many.
#[derive(Clone, Debug)]
struct Part {
    label: String,
    supported: usize,
    all: usize,
}

impl Part {
    /// Whether all its comparisons support the claim, or none does.
    fn is_clear(&self) -> bool {
        self.supported == 0 || self.supported == self.all
    }

    fn words(&self) -> String {
        match self.supported {
            0 => "never".into(),
            n if n == self.all => "always".into(),
            n => format!("{n} of {}", self.all),
        }
    }
}

/// Properties by which comparisons can be told apart.
struct Division {
    name: String,
    /// In the order of the plan.
    parts: Vec<Part>,
}

impl Division {
    /// `key`: the place in the plan's order, and its name; `None` if a comparison has no single value here.
    fn of(name: &str, atoms: &[Atom], key: impl Fn(&Atom) -> Option<(usize, String)>) -> Option<Self> {
        let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
        for atom in atoms {
            let (order, label) = key(atom)?;
            let part = parts.entry(order).or_insert(Part { label, supported: 0, all: 0 });
            part.supported += usize::from(atom.supports());
            part.all += 1;
        }
        (parts.len() > 1).then(|| Division { name: name.to_owned(), parts: parts.into_values().collect() })
    }

    /// How many comparisons have a value with which the claim always holds, or never does.
    fn clear(&self) -> usize {
        self.parts.iter().filter(|p| p.is_clear()).map(|p| p.all).sum()
    }

    /// Labels that follow each other and have the same words.
    fn items(&self) -> Vec<(Vec<&str>, String)> {
        let mut items: Vec<(Vec<&str>, String)> = Vec::new();
        for part in &self.parts {
            let words = part.words();
            match items.last_mut() {
                Some((labels, same)) if *same == words => labels.push(&part.label),
                _ => items.push((vec![&part.label], words)),
            }
        }
        items
    }

    /// `by window: 256KiB always, 1MiB 1 of 2, 4MiB to 16MiB never`.
    fn words(&self) -> String {
        let item = |(labels, words): (Vec<&str>, String)| match labels[..] {
            [first, _, .., last] => format!("{first} to {last} {words}"),
            _ => format!("{} {words}", labels.join(" and ")),
        };
        format!("by {}: {}", self.name, self.items().into_iter().map(item).collect::<Vec<_>>().join(", "))
    }
}

/// The division that tells most comparisons apart, in words; `None` if none tells any.
pub(super) fn of(plan: &Plan, atoms: &[Atom]) -> Option<String> {
    let mut whats: Vec<&str> = Vec::new();
    for atom in atoms {
        if !whats.contains(&atom.what.as_str()) {
            whats.push(&atom.what);
        }
    }
    let comparison = |a: &Atom| whats.iter().position(|w| *w == a.what).map(|i| (i, a.what.clone()));
    let mut divisions = vec![
        Division::of("scenario", atoms, |a| Some((a.scenario, plan.scenarios[a.scenario].name.clone()))),
        Division::of("comparison", atoms, comparison),
    ];
    for (i, parameter) in plan.parameters.iter().enumerate() {
        let labels = plan.axis(i);
        divisions.push(Division::of(&parameter.name, atoms, |a| {
            let value = a.values[i]?;
            Some((value, labels[value].clone()))
        }));
    }
    let short = divisions.into_iter().flatten().filter(|d| d.items().len() <= MOST_ITEMS);
    // Of equally clear divisions, the one with the fewest items.
    let best = short.max_by_key(|d| (d.clear(), Reverse(d.items().len())))?;
    (best.clear() > 0).then(|| best.words())
}
