//! The files of the papers' experiments.

use crate::args::ReproduceOptions;
use pathweave_lab::scenario::did_you_mean;
use pathweave_runner::Failure;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// An experiment's file.
pub(crate) struct Experiment {
    pub(crate) paper: String,
    pub(crate) id: String,
    pub(crate) file: PathBuf,
}

/// The experiments that the options name, sorted by paper and name.
pub(crate) fn chosen(options: &ReproduceOptions) -> Result<Vec<Experiment>, Failure> {
    let all = experiments(&options.from)?;
    let name = |e: &Experiment| format!("{}/{}", e.paper, e.id);
    for wanted in &options.experiments {
        if !all.iter().any(|e| e.paper == *wanted || name(e) == *wanted) {
            let names: Vec<String> = all.iter().map(name).collect();
            let papers = all.iter().map(|e| e.paper.as_str());
            let there_are = format!("there are: {}", names.join(", "));
            let hint = did_you_mean(wanted, names.iter().map(String::as_str).chain(papers), &there_are);
            return Err(Failure::Input(format!("{wanted}: there is no such paper or experiment; {hint}")));
        }
    }
    let asked = |e: &Experiment| {
        options.experiments.is_empty() || options.experiments.iter().any(|w| *w == e.paper || *w == name(e))
    };
    Ok(all.into_iter().filter(asked).collect())
}

/// Every `PAPER/ID.toml` of the folder whose folder's name is a word. Files whose name starts with `_` hold scenarios.
fn experiments(folder: &Path) -> Result<Vec<Experiment>, Failure> {
    let wrong = |e: io::Error| {
        Failure::Input(format!("{}: {e}; --from names the folder with the papers' experiments", folder.display()))
    };
    let mut all = Vec::new();
    for paper in fs::read_dir(folder).map_err(wrong)? {
        let paper = paper.map_err(wrong)?.path();
        if !paper.is_dir() {
            continue;
        }
        for file in fs::read_dir(&paper).map_err(wrong)? {
            let file = file.map_err(wrong)?.path();
            let (Some(id), Some(name)) = (file.file_stem().and_then(|s| s.to_str()), paper.file_name()) else {
                continue;
            };
            if file.extension().is_some_and(|e| e == "toml") && !id.starts_with('_') {
                let (paper, id) = (name.to_string_lossy().into_owned(), id.to_owned());
                all.push(Experiment { paper, id, file: file.clone() });
            }
        }
    }
    let order = |e: &Experiment| (e.paper.clone(), e.id.len(), e.id.clone());
    all.sort_by_key(order);
    Ok(all)
}
