//! `pathweave arena`.

use crate::args::ArenaOptions;
use crate::shard::{Existing, Ready};
use crate::sweep::problems;
use crate::terminal;
use pathweave_algorithms::Registry;
use pathweave_experiments::arena;
use pathweave_experiments::results::Results;
use pathweave_runner::{Arena, Competition, Engine, Failure, Points, version};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// The options' names in messages.
const FROM: &str = "--from";
const POINTS: &str = "--points";

/// Makes the arena's plans with the schedulers that `options` names, and says which scheduler wins on which points.
pub(crate) fn arena(options: &ArenaOptions, registry: &Registry, engine: &Engine) -> Result<u8, Failure> {
    let competition = competition(options, registry)?;
    let chosen = chosen(options)?;
    let mut plans = plans(options)?;
    plans.with_points(&chosen, POINTS)?;
    if let Some(reason) = plans.leave_out_recorded(FROM)? {
        eprintln!("Left out: {reason}.");
    }
    terminal::listen_for_interrupt();
    let (mut scores, mut failures, mut seeds) = (Vec::new(), 0, 0);
    for name in plans.plans() {
        let ready = Ready::of(plans.read_points(name, &chosen, &competition, (POINTS, registry))?)?;
        let sweep = &ready.plan.sweep;
        let references = sweep.variants.len() - competition.schedulers.len() - sweep.plain_tcp().count();
        // A few points do not replace the runs of all points.
        let folder = options.out.join(if chosen.is_empty() { name.clone() } else { format!("{name}-chosen") });
        if !ready.run(&folder, (1, 1), Existing::ResumeOrReplace, options.jobs.at_once, registry, engine)? {
            eprintln!("Stopped early; the same command goes on with what is missing.");
            return Ok(terminal::INTERRUPTED);
        }
        let Some(records) = ready.all_records(&folder, 1)? else {
            return Err(Failure::Output(format!("{}: runs are missing", folder.display())));
        };
        let results = Results::new(sweep, &records);
        eprint!("{}", problems(&results));
        failures += results.failures;
        seeds = sweep.plan.seeds.max(seeds);
        arena::add(&mut scores, sweep, &results, references);
    }
    let page = arena::text(&scores, seeds);
    let path = options.out.join("arena.txt");
    fs::write(&path, &page).map_err(Failure::writing(path.display()))?;
    let path = options.out.join("arena.html");
    let html = arena::html_page(&scores, seeds, &command(options, &competition.schedulers), version());
    fs::write(&path, html).map_err(Failure::writing(path.display()))?;
    let text = format!("{page}\nAs a page: {}\n", path.display());
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
    Ok(u8::from(failures > 0))
}

/// The schedulers that compete, and how.
pub(crate) fn competition(options: &ArenaOptions, registry: &Registry) -> Result<Competition, Failure> {
    let asked = Competition::new(options.schedulers.as_deref(), options.against.as_deref(), registry)?;
    Ok(Competition { seeds: options.seeds, quick: options.quick, ..asked })
}

/// The plans that `--from` and `--only` select.
pub(crate) fn plans(options: &ArenaOptions) -> Result<Arena, Failure> {
    let mut plans = Arena::open(options.from.as_deref(), FROM)?;
    if let Some(only) = &options.only {
        plans.only(only, "--only")?;
    }
    Ok(plans)
}

/// The points that `--points` names.
fn chosen(options: &ArenaOptions) -> Result<Vec<Points>, Failure> {
    let words = options.points.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|word| !word.is_empty());
    let read = |word: &str| {
        let wrong = || format!("{POINTS} = {word}: write FAMILY, FAMILY/N or FAMILY/N-M, such as bulk-evaluation/1-3");
        Points::parse(word).ok_or_else(|| Failure::Input(wrong()))
    };
    words.map(read).collect()
}

/// The command that opens a point with the first two schedulers, without the point.
fn command(options: &ArenaOptions, names: &[String]) -> String {
    let mut words = vec![format!("pathweave arena {}", names.iter().take(2).cloned().collect::<Vec<_>>().join(","))];
    words.extend(options.quick.then(|| "--quick".to_owned()));
    words.extend(options.seeds.map(|seeds| format!("--seeds {seeds}")));
    words.extend(options.from.as_ref().map(|folder| format!("--from {}", folder.display())));
    let other = options.out != Path::new("pathweave-arena");
    words.extend(other.then(|| format!("--out {}", options.out.display())));
    words.join(" ")
}
