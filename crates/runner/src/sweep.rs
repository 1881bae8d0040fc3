//! Plans of sweeps with everything that they name, ready to be run here or elsewhere.

use crate::execute::{Engine, Run, failed};
use crate::failure::Failure;
use crate::failure::caught;
use crate::plan::Traces;
use crate::plan::check;
use pathweave_algorithms::Registry;
use pathweave_experiments::plan::{Plan, PlanFiles};
use pathweave_experiments::record::Record;
use pathweave_experiments::runs::{OpenError, Sources, Sweep};
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
    /// [`Sweep::hash`].
    pub hash: String,
    files: Vec<Traces>,
    texts: Bundle,
}

/// Everything that a plan is read from: it can be read again from this where there are no files.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bundle {
    file: String,
    text: String,
    quick: bool,
    /// What the plan names, and what these files are called in messages.
    named: BTreeMap<String, (String, String)>,
    /// The traces of each scenario.
    traces: Vec<Traces>,
}

/// Where the plan is, and thus its files; or copies of them.
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

    /// What the file is called in messages, and its text.
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
    /// Reads the plan and everything that it names.
    ///
    /// # Errors
    /// At the first mistake in any of them.
    pub fn read(path: &Path, quick: bool, registry: &Registry) -> Result<Self, Failure> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|e| Failure::Input(format!("{file}: {e}")))?;
        Self::parse(&file, &text, path.parent(), quick, registry)
    }

    /// Reads the text of a plan that errors call `file`, and everything that it names, which is in `folder`.
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

    /// The same plan again, from what [`ReadyPlan::bundle`] gave.
    ///
    /// # Errors
    /// If the registry lacks an algorithm.
    pub fn unpack(bundle: &Bundle, registry: &Registry) -> Result<Self, Failure> {
        let library = Library { folder: None, copies: Some(bundle), read: RefCell::default() };
        Self::from(bundle.clone(), &library, registry)
    }

    /// The files that it was read from: the plan, what it names, and their traces.
    pub fn files(&self) -> Vec<PathBuf> {
        let named = self.texts.named.values().map(|(file, _)| file).chain([&self.texts.file]);
        named.map(PathBuf::from).chain(self.files.iter().flat_map(Traces::files)).collect()
    }

    /// Everything that it was read from, before any change.
    pub fn bundle(&self) -> &Bundle {
        &self.texts
    }

    /// Another plan over the same scenarios, which is this one with something changed, with those of its runs that `keep` leaves. `None`
    /// where there is no plan or it is wrong.
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

    /// Makes one run. One that panics is a failed run.
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
