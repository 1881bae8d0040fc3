//! Runs for the comparison with measurements of Linux.

use crate::arena::with_parts;
use crate::execute::{Watch, spread};
use crate::failure::Failure;
use crate::failure::caught;
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Variant, did_you_mean};
use pathweave_lab::validation::{self, OurRun, Reference};
use std::num::NonZero;
use std::path::Path;

/// The references of a file. With `only`, those whose id contains this text.
///
/// # Errors
/// If the file cannot be read, or if no reference is left.
pub fn references(path: &Path, only: Option<&str>) -> Result<Vec<Reference>, Failure> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(Failure::reading(path, "a file of measurements"))?;
    let mut references = Reference::read(&file, &text).map_err(|e| Failure::Input(e.to_string()))?;
    if let Some(only) = only {
        if !references.iter().any(|r| r.id.contains(only)) {
            let ids = || references.iter().map(|r| r.id.as_str());
            let first = format!("the first is {}", ids().next().unwrap_or_default());
            let hint = did_you_mean(only, with_parts(ids()), &first);
            return Err(Failure::Input(format!("--only = {only}: no scenario of {file} has this in its id; {hint}")));
        }
        references.retain(|r| r.id.contains(only));
    }
    Ok(references)
}

/// Makes the runs of all variants of all references. The result is ordered by reference, then by variant. `watch` is
/// called with the number of runs.
///
/// # Errors
/// If a reference is wrong.
pub fn reference_runs<W: Watch>(
    references: &[&Reference],
    variants: &[Variant],
    jobs: Option<NonZero<usize>>,
    watch: &dyn Fn(usize) -> W,
    registry: &Registry,
) -> Result<Vec<Vec<OurRun>>, Failure> {
    let sets: Vec<(&Reference, &Variant)> =
        references.iter().flat_map(|r| variants.iter().map(move |variant| (*r, variant))).collect();
    let all: Vec<_> = sets.iter().flat_map(|set| set.0.seeds().map(move |seed| (set.0, set.1, seed))).collect();
    let done = spread(&all, jobs, &watch(all.len()), |(reference, variant, seed)| {
        match caught(&variant.label(), || validation::run_variant(reference, variant, *seed, registry)) {
            Ok(result) => result.map_err(|e| Failure::Input(format!("{}: {e}", reference.id))),
            Err(fault) => Ok(OurRun::failed(reference, *seed, fault)),
        }
    })?;
    let mut done = done.into_iter();
    sets.iter().map(|(reference, _)| done.by_ref().take(reference.seeds().count()).collect()).collect()
}
