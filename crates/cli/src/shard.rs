//! Makes the runs of a shard and keeps them in a file, so that an interrupted sweep can continue.

use crate::terminal::Progress;
use pathweave_algorithms::Registry;
use pathweave_experiments::ablation::needs;
use pathweave_experiments::plan::{Ablation, Claim};
use pathweave_experiments::record::{FORMAT, Header, Record, Shard, program};
use pathweave_experiments::runs::Sweep;
use pathweave_runner::{Engine, Failure, ReadyPlan, Watch};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// A plan that is ready to run, and the identity of the program that runs it.
pub(crate) struct Ready {
    pub(crate) plan: ReadyPlan,
    /// Version and hash of this program, taken at the start because the file may be replaced meanwhile.
    program: String,
}

/// Treatment of runs that exist already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Existing runs are an error.
    Refuse,
    /// Existing runs count. Runs of another plan or program are an error.
    Resume,
    /// Existing runs count. Runs of another plan or program are discarded.
    ResumeOrReplace,
}

impl Ready {
    /// Reads the plan and all files that it names.
    pub(crate) fn read(path: &Path, quick: bool, registry: &Registry) -> Result<Self, Failure> {
        let plan = ReadyPlan::read(path, quick, registry)?;
        Ok(Ready { plan, program: this_program()? })
    }

    /// A plan that has been read already.
    pub(crate) fn of(plan: ReadyPlan) -> Result<Self, Failure> {
        Ok(Ready { plan, program: this_program()? })
    }

    /// The same plan with one setting changed, reduced to what these claims need. `None` if the plan varies the setting
    /// itself, or has nothing to which the setting applies.
    pub(crate) fn changed(
        &self,
        change: Option<&Ablation>,
        claims: &[&Claim],
        registry: &Registry,
    ) -> Result<Option<Self>, Failure> {
        let plan = match change {
            None => Some(self.plan.sweep.plan.clone()),
            Some(change) => self.plan.sweep.plan.with(change),
        };
        let needed = |sweep: Sweep| {
            let needed = needs(&sweep, claims);
            sweep.only(&needed)
        };
        let changed = self.plan.changed(plan, needed, registry)?;
        Ok(changed.map(|plan| Ready { plan, program: self.program.clone() }))
    }

    /// The same plan, reduced to the promises of the source's abstract and the runs that they need. `None` if it has none.
    pub(crate) fn promised(&self, registry: &Registry) -> Result<Option<Self>, Failure> {
        let plan = &self.plan.sweep.plan;
        let claims: Vec<&Claim> = plan.claims.iter().filter(|claim| claim.promise.is_some()).collect();
        if claims.is_empty() {
            return Ok(None);
        }
        let mut ready = self.changed(None, &claims, registry)?;
        if let Some(ready) = &mut ready {
            ready.plan.sweep.plan.claims.retain(|claim| claim.promise.is_some());
        }
        Ok(ready)
    }

    /// Whether both plans make the same runs.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.plan.hash == other.plan.hash
    }

    /// The first line of a shard's file.
    pub(crate) fn header(&self, shard: usize, shards: usize) -> Header {
        Header {
            sweep_format: FORMAT,
            plan: self.plan.sweep.plan.name.clone(),
            plan_hash: self.plan.hash.clone(),
            program: self.program.clone(),
            shard,
            shards,
            runs: self.plan.sweep.len(),
        }
    }

    /// Makes the runs of a shard that `folder` lacks. Returns whether the shard is complete; it is not after Ctrl-C.
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
        let mut wanted = self.plan.sweep.shard(shard, shards);
        if let Some(before) = &before {
            let done: Vec<usize> = before.records.iter().map(|r| r.run).collect();
            wanted.retain(|number| !done.contains(number));
        }
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
            // The bytes behind the complete lines are of an incomplete one.
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

    /// Makes runs on threads and writes each to `file` when it is done. Returns whether all were made.
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
                let line = self.plan.run(*number, registry, engine).line();
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

    /// The runs of all shards in `folder`; `None` if some are missing.
    pub(crate) fn all_records(&self, folder: &Path, shards: usize) -> Result<Option<Vec<Record>>, Failure> {
        let records = self.records(folder, shards)?;
        Ok((records.len() == self.plan.sweep.len()).then_some(records))
    }

    /// The runs in `folder`, of all shards. It is an error if files are of other plans, or of different numbers of
    /// shards.
    pub(crate) fn records(&self, folder: &Path, shards: usize) -> Result<Vec<Record>, Failure> {
        let mut records = Vec::new();
        for shard in 1..=shards {
            let path = folder.join(file_name(shard, shards));
            let Some(found) = read(&path)? else { continue };
            if found.header.plan_hash != self.plan.hash || found.header.program != self.program {
                return Err(other(&path, &found.header, &self.plan.hash));
            }
            records.extend(found.records);
        }
        records.sort_by_key(|r| r.run);
        records.dedup_by_key(|r| r.run);
        Ok(records)
    }
}

/// Name of the file with a shard's runs.
pub(crate) fn file_name(shard: usize, shards: usize) -> String {
    format!("runs-{shard}-of-{shards}.jsonl")
}

/// The file with this program's code, if it is not the process's own file.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Names the file with this program's code. Only the first call has an effect.
pub(crate) fn set_program(file: PathBuf) {
    let _ = PROGRAM.set(file);
}

/// The version of this program and the hash of its file.
fn this_program() -> Result<String, Failure> {
    let file = || PROGRAM.get().map_or_else(std::env::current_exe, |file| Ok(file.clone()));
    let bytes = file().and_then(fs::read);
    let bytes = bytes.map_err(|e| Failure::Output(format!("this program's own file: {e}")))?;
    Ok(program(env!("CARGO_PKG_VERSION"), &bytes))
}

/// Reads a file of runs. `None` if the file does not exist, or if its first line is not complete.
fn read(path: &Path) -> Result<Option<Shard>, Failure> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?,
    };
    Shard::read(&bytes).map_err(|(line, reason)| {
        Failure::Input(format!("{}:{line}: this is not a run of a sweep: {reason}", path.display()))
    })
}

/// The existing runs that count.
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
    Failure::Input(format!("{}: these runs cannot be continued: {what}; use another folder", path.display()))
}
