//! Makes the runs of a shard and keeps them in a file, so that a sweep that is stopped goes on where it was.

use crate::progress::Progress;
use pathweave_algorithms::Registry;
use pathweave_experiments::ablation::needs;
use pathweave_experiments::plan::{Ablation, Claim, Plan, PlanFiles};
use pathweave_experiments::record::{FORMAT, Header, Record, Shard, program};
use pathweave_experiments::runs::{OpenError, Sources, Sweep};
use pathweave_lab::scenario::{BUILTIN, Document, builtin};
use pathweave_runner::{Engine, Failure, Run, Traces, Watch, caught, check, failed};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A plan that is ready to run, with the files of its scenarios.
pub(crate) struct Ready {
    pub(crate) sweep: Sweep,
    files: Vec<Traces>,
    hash: String,
    /// This program, which may be replaced on disk while it runs.
    program: String,
}

/// What to do with runs that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Nothing may be there.
    Refuse,
    /// They count; those of another plan or program are an error.
    Resume,
    /// They count; those of another plan or program are thrown away.
    ResumeOrReplace,
}

/// Where the plan is, and thus its files.
struct Beside<'a>(Option<&'a Path>);

impl Beside<'_> {
    fn find(&self, name: &str) -> PathBuf {
        let beside = self.0.map(|folder| folder.join(name)).filter(|path| path.exists());
        beside.unwrap_or_else(|| name.into())
    }
}

impl PlanFiles for Beside<'_> {
    fn read(&self, name: &str) -> Result<String, String> {
        fs::read_to_string(self.find(name)).map_err(|e| e.to_string())
    }
}

impl Sources for Beside<'_> {
    fn open(&self, name: &str) -> Result<Document, OpenError> {
        if let Some(document) = builtin(name) {
            return Ok(document);
        }
        let path = self.find(name);
        match fs::read_to_string(&path) {
            Ok(text) => Document::parse(&path.display().to_string(), &text)
                .map_err(|error| OpenError::Scenario(Box::new(error))),
            Err(error) => {
                let names: Vec<_> = BUILTIN.iter().map(|(name, _)| *name).collect();
                Err(OpenError::Unreadable(format!("a file ({error}), or one of {}", names.join(", "))))
            }
        }
    }
}

impl Ready {
    /// Reads the plan and everything that it names.
    pub(crate) fn read(path: &Path, quick: bool, registry: &Registry) -> Result<Self, Failure> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|e| Failure::Input(format!("{file}: {e}")))?;
        let beside = Beside(path.parent());
        let plan = Plan::parse(&file, &text, quick, &beside)?;
        let sweep = Sweep::new(plan, registry, &beside).map_err(|error| Failure::from(*error))?;
        Ready::of(sweep, &beside, registry)
    }

    /// The same plan with one setting changed, for what these claims need. `None` where that cannot be: the plan varies the setting itself,
    /// or has nothing that it is a setting of.
    pub(crate) fn changed(
        &self,
        path: &Path,
        change: Option<&Ablation>,
        claims: &[&Claim],
        registry: &Registry,
    ) -> Result<Option<Self>, Failure> {
        let beside = Beside(path.parent());
        let plan = match change {
            None => Some(self.sweep.plan.clone()),
            Some(change) => self.sweep.plan.with(change),
        };
        let Some(Ok(sweep)) = plan.map(|plan| Sweep::new(plan, registry, &beside)) else { return Ok(None) };
        let needed = needs(&sweep, claims);
        Ready::of(sweep.only(&needed), &beside, registry).map(Some)
    }

    /// Whether both make the same runs.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.hash == other.hash
    }

    fn of(sweep: Sweep, beside: &Beside<'_>, registry: &Registry) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for (i, scenario) in sweep.plan.scenarios.iter().enumerate() {
            let place = beside.find(&scenario.from);
            let mut traces = Traces::new(place.parent());
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
        Ok(Ready { sweep, files, hash, program: this_program()? })
    }

    /// What the first line of a shard's file says.
    pub(crate) fn header(&self, shard: usize, shards: usize) -> Header {
        Header {
            sweep_format: FORMAT,
            plan: self.sweep.plan.name.clone(),
            plan_hash: self.hash.clone(),
            program: self.program.clone(),
            shard,
            shards,
            runs: self.sweep.len(),
        }
    }

    /// Makes the runs of a shard that are not in `folder` yet. Returns whether all of them are there now: not so after Ctrl-C.
    pub(crate) fn run(
        &self,
        folder: &Path,
        (shard, shards): (usize, usize),
        existing: Existing,
        jobs: Option<NonZero<usize>>,
        registry: &Registry,
        engine: &Engine,
    ) -> Result<bool, Failure> {
        let path = folder.join(file_name(shard, shards));
        fs::create_dir_all(folder).map_err(Failure::writing(folder.display()))?;
        let header = self.header(shard, shards);
        let before = found(&path, &header, existing)?;
        let mut wanted = self.sweep.shard(shard, shards);
        if let Some(before) = &before {
            let done: Vec<usize> = before.records.iter().map(|r| r.run).collect();
            wanted.retain(|number| !done.contains(number));
        }
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
            // What follows the whole lines was torn.
            let whole = before.as_ref().map_or(0, |b| b.whole_bytes as u64);
            file.set_len(whole)?;
            file.seek(SeekFrom::Start(whole))?;
            if before.is_none() {
                file.write_all(header.line().as_bytes())?;
            }
            Ok(file)
        };
        let file = open().map_err(Failure::writing(path.display()))?;
        if !self.make(&wanted, file, jobs, registry, engine).map_err(Failure::writing(path.display()))? {
            return Ok(false);
        }
        // The file becomes the same for any number of threads, in one step.
        let complete = read(&path)?.map(|shard| shard.sorted()).unwrap_or_default();
        // A name of its own, so that it is never taken for a shard.
        let new = path.with_extension("new");
        fs::write(&new, complete).and_then(|()| fs::rename(&new, &path)).map_err(Failure::writing(path.display()))?;
        Ok(true)
    }

    /// Makes runs on threads; each is a line of `file` as soon as it is done. Returns whether all were made.
    fn make(
        &self,
        wanted: &[usize],
        file: File,
        jobs: Option<NonZero<usize>>,
        registry: &Registry,
        engine: &Engine,
    ) -> io::Result<bool> {
        let progress = Progress::new(wanted.len());
        let out = Mutex::new((file, None::<io::Error>));
        let (at, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            while !progress.stop()
                && let Some(number) = wanted.get(at.fetch_add(1, Ordering::SeqCst))
            {
                let line = self.one(*number, registry, engine).line();
                let (file, error) = &mut *out.lock().unwrap_or_else(|e| e.into_inner());
                if error.is_some() {
                    return;
                }
                match file.write_all(line.as_bytes()) {
                    Ok(()) => made.fetch_add(1, Ordering::SeqCst),
                    Err(new) => {
                        *error = Some(new);
                        return;
                    }
                };
                progress.finished_one();
            }
        };
        let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = jobs.map_or_else(processors, NonZero::get).min(wanted.len().max(1));
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        drop(progress);
        let (_, error) = out.into_inner().unwrap_or_else(|e| e.into_inner());
        match error {
            Some(error) => Err(error),
            None => Ok(made.into_inner() == wanted.len()),
        }
    }

    fn one(&self, number: usize, registry: &Registry, engine: &Engine) -> Record {
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

    /// The runs of all shards in `folder`; `None` while some are missing. Files of other plans are an error, as are files of two
    /// different numbers of shards.
    pub(crate) fn all_records(&self, folder: &Path, shards: usize) -> Result<Option<Vec<Record>>, Failure> {
        let mut records = Vec::new();
        for shard in 1..=shards {
            let path = folder.join(file_name(shard, shards));
            let Some(found) = read(&path)? else { return Ok(None) };
            if found.header.plan_hash != self.hash || found.header.program != self.program {
                return Err(other(&path, &found.header, &self.hash));
            }
            records.extend(found.records);
        }
        records.sort_by_key(|r| r.run);
        records.dedup_by_key(|r| r.run);
        Ok((records.len() == self.sweep.len()).then_some(records))
    }
}

fn file_name(shard: usize, shards: usize) -> String {
    format!("runs-{shard}-of-{shards}.jsonl")
}

/// The version of this program and the hash of its file.
fn this_program() -> Result<String, Failure> {
    let bytes = std::env::current_exe().and_then(fs::read);
    let bytes = bytes.map_err(|e| Failure::Output(format!("this program's own file: {e}")))?;
    Ok(program(env!("CARGO_PKG_VERSION"), &bytes))
}

/// A file of runs; `None` if there is none or not even its first line is whole.
fn read(path: &Path) -> Result<Option<Shard>, Failure> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?,
    };
    Shard::read(&bytes).map_err(|(line, reason)| {
        Failure::Input(format!("{}:{line}: this is no run of a sweep: {reason}", path.display()))
    })
}

/// The runs that are there already and count.
fn found(path: &Path, header: &Header, existing: Existing) -> Result<Option<Shard>, Failure> {
    if existing == Existing::Refuse && path.exists() {
        let path = path.display();
        return Err(Failure::Input(format!("{path}: runs are there already; --resume goes on with them")));
    }
    match read(path) {
        Ok(Some(shard)) if shard.header == *header => Ok(Some(shard)),
        Ok(None) => Ok(None),
        _ if existing == Existing::ResumeOrReplace => Ok(None),
        Ok(Some(shard)) => Err(other(path, &shard.header, &header.plan_hash)),
        Err(failure) => Err(failure),
    }
}

fn other(path: &Path, found: &Header, plan_hash: &str) -> Failure {
    let what = match () {
        () if found.plan_hash != *plan_hash => "the plan has changed since",
        () => "another version of this program made them",
    };
    Failure::Input(format!("{}: these runs cannot be gone on with: {what}; use another folder", path.display()))
}
