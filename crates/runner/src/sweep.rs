//! Plans of sweeps with all the files that they name, ready to run in this process or in another.

use crate::execute::{Engine, Run, failed};
use crate::failure::Failure;
use crate::failure::caught;
use crate::plan::Traces;
use crate::plan::check;
use pathweave_algorithms::Registry;
use pathweave_experiments::plan::{Plan, PlanFiles};
use pathweave_experiments::record::Record;
use pathweave_experiments::runs::{Cell, OpenError, Sources, Sweep};
use pathweave_lab::scenario::{BUILTIN, Document, builtin};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A plan that is ready to run, with the files of its scenarios.
#[derive(Clone, Debug)]
pub struct ReadyPlan {
    /// The plan with all of its runs.
    pub sweep: Sweep,
    /// The result of [`Sweep::hash`].
    pub hash: String,
    files: Vec<Traces>,
    texts: Bundle,
}

/// All the texts that a plan is read from. The plan can be read again from them without the files.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bundle {
    file: String,
    text: String,
    quick: bool,
    /// The files that the plan names: for each, its name in messages and its text.
    named: BTreeMap<String, (String, String)>,
    /// The traces of each scenario.
    traces: Vec<Traces>,
}

impl Bundle {
    /// A plan's text, called `file` in messages, with the files that it may name.
    pub(crate) fn of<'a>(file: &str, text: &str, quick: bool, files: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let folder = file.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let named = files.map(|(name, text)| (name.to_owned(), (format!("{folder}{name}"), text.to_owned()))).collect();
        Bundle { file: file.into(), text: text.into(), quick, named, traces: Vec::new() }
    }
}

/// The source of the files that a plan names: the plan's folder, or copies in a bundle.
struct Library<'a> {
    folder: Option<&'a Path>,
    copies: Option<&'a Bundle>,
    read: RefCell<BTreeMap<String, (String, String)>>,
}

impl Library<'_> {
    fn find(&self, name: &str) -> PathBuf {
        let beside = self.folder.map(|folder| folder.join(name)).filter(|path| path.exists());
        beside.unwrap_or_else(|| name.into())
    }

    /// The name of the file in messages, and its text.
    fn text(&self, name: &str) -> Result<(String, String), String> {
        let found = match self.copies {
            Some(bundle) => bundle.named.get(name).cloned().ok_or("it was not sent along")?,
            None => {
                let path = self.find(name);
                (path.display().to_string(), fs::read_to_string(&path).map_err(|e| e.to_string())?)
            }
        };
        self.read.borrow_mut().insert(name.to_owned(), found.clone());
        Ok(found)
    }
}

impl PlanFiles for Library<'_> {
    fn read(&self, name: &str) -> Result<String, String> {
        self.text(name).map(|(_, text)| text)
    }
}

impl Sources for Library<'_> {
    fn open(&self, name: &str) -> Result<Document, OpenError> {
        if let Some(document) = builtin(name) {
            return Ok(document);
        }
        match self.text(name) {
            Ok((file, text)) => Document::parse(&file, &text).map_err(|error| OpenError::Scenario(Box::new(error))),
            Err(error) => {
                let names: Vec<_> = BUILTIN.iter().map(|(name, _)| *name).collect();
                Err(OpenError::Unreadable(format!("a file ({error}), or one of {}", names.join(", "))))
            }
        }
    }
}

impl ReadyPlan {
    /// Reads the plan and all files that it names.
    ///
    /// # Errors
    /// At the first mistake in any of them.
    pub fn read(path: &Path, quick: bool, registry: &Registry) -> Result<Self, Failure> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(Failure::reading(path, "a plan"))?;
        Self::parse(&file, &text, path.parent(), quick, registry)
    }

    /// Reads a plan from its text, and all files that it names from `folder`. Errors call the plan `file`.
    ///
    /// # Errors
    /// At the first mistake in any of them.
    pub fn parse(
        file: &str,
        text: &str,
        folder: Option<&Path>,
        quick: bool,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let library = Library { folder, copies: None, read: RefCell::default() };
        let texts = Bundle { file: file.into(), text: text.into(), quick, named: BTreeMap::new(), traces: Vec::new() };
        Self::from(texts, &library, registry)
    }

    /// Reads the plan again from the result of [`ReadyPlan::bundle`].
    ///
    /// # Errors
    /// If the registry lacks an algorithm that the plan names.
    pub fn unpack(bundle: &Bundle, registry: &Registry) -> Result<Self, Failure> {
        let library = Library { folder: None, copies: Some(bundle), read: RefCell::default() };
        Self::from(bundle.clone(), &library, registry)
    }

    /// The files that the plan was read from: the plan itself, those that it names, and their traces.
    pub fn files(&self) -> Vec<PathBuf> {
        let named = self.texts.named.values().map(|(file, _)| file).chain([&self.texts.file]);
        named.map(PathBuf::from).chain(self.files.iter().flat_map(Traces::files)).collect()
    }

    /// The texts that the plan was read from, before any change.
    pub fn bundle(&self) -> &Bundle {
        &self.texts
    }

    /// A changed version of this plan over the same scenarios, with the runs that `keep` accepts. `None` if `plan` is
    /// `None` or wrong.
    ///
    /// # Errors
    /// If a trace cannot be read.
    pub fn changed(
        &self,
        plan: Option<Plan>,
        keep: impl FnOnce(Sweep) -> Sweep,
        registry: &Registry,
    ) -> Result<Option<Self>, Failure> {
        let library = Library { folder: None, copies: Some(&self.texts), read: RefCell::default() };
        let Some(Ok(sweep)) = plan.map(|plan| Sweep::new(plan, registry, &library)) else { return Ok(None) };
        Self::of(keep(sweep), self.texts.clone(), &library, registry).map(Some)
    }

    /// The plan with the runs of the cells that `keep` accepts. Points keep their numbers.
    ///
    /// # Errors
    /// If a trace cannot be read.
    pub(crate) fn only(mut self, keep: impl Fn(&Cell) -> bool) -> Result<Self, Failure> {
        self.sweep.cells.retain(|cell| keep(cell));
        let unreadable = |(name, reason)| Failure::Input(format!("{name}: {reason}"));
        self.hash = self.sweep.hash(&self.files).map_err(unreadable)?;
        Ok(self)
    }

    fn from(texts: Bundle, library: &Library<'_>, registry: &Registry) -> Result<Self, Failure> {
        let plan = Plan::parse(&texts.file, &texts.text, texts.quick, library)?;
        let sweep = Sweep::new(plan, registry, library).map_err(|error| Failure::from(*error))?;
        Self::of(sweep, texts, library, registry)
    }

    fn of(sweep: Sweep, mut texts: Bundle, library: &Library<'_>, registry: &Registry) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for (i, scenario) in sweep.plan.scenarios.iter().enumerate() {
            let place = library.find(&scenario.from);
            let mut traces = texts.traces.get(i).cloned().unwrap_or_else(|| Traces::new(place.parent()));
            for cell in sweep.cells.iter().filter(|c| c.scenario == i) {
                let read = traces.load(&cell.data);
                read.map_err(|(name, reason)| cell.document.trace_error(&name, &reason))?;
            }
            files.push(traces);
        }
        for cell in sweep.cells.iter().filter(|c| c.point == 0) {
            check(&cell.data, &cell.document, registry, &files[cell.scenario])?;
        }
        let unreadable = |(name, reason)| Failure::Input(format!("{name}: {reason}"));
        let hash = sweep.hash(&files).map_err(unreadable)?;
        texts.named = library.read.take();
        texts.traces.clone_from(&files);
        Ok(ReadyPlan { sweep, hash, files, texts })
    }

    /// Makes one run. A run that panics is a failed run.
    pub fn run(&self, number: usize, registry: &Registry, engine: &Engine) -> Record {
        let (cell, seed) = self.sweep.run(number);
        let run = Run {
            document: &cell.document,
            scenario: &cell.data,
            variant: &cell.run,
            seed,
            registry,
            files: &self.files[cell.scenario],
            prepare: None,
            number,
        };
        let result = caught(&cell.run.label(), || engine(&run)).unwrap_or_else(|fault| failed(&run, &fault));
        Record::new(&self.sweep, number, &result)
    }
}
