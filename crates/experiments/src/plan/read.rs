//! Turns the tree of a plan's document into a [`Plan`].

use super::claims::{claims, figures, printed};
use super::column;
use super::points;
use super::reader::{Read, Result};
use super::{Ablation, Design, Parameter, Plan, PlanFiles, PlanScenario, PlanVariant, What};
use pathweave_lab::benefit::plain_tcp_path;
use pathweave_lab::scenario::{Document, Entry, Problem, Reader};

const TOP: &[&str] = &[
    "format",
    "name",
    "title",
    "source",
    "scenarios",
    "scenario",
    "schedulers",
    "variant",
    "baselines",
    "design",
    "points",
    "parameter",
    "seeds",
    "set",
    "metrics",
    "quick",
    "figure",
    "claim",
    "printed",
    "ablation",
];
const SEEDS: u64 = 5;

/// Reads a whole plan.
pub(super) fn plan(document: Document, quick: bool, files: &dyn PlanFiles) -> Result<Plan> {
    let read = Read { reader: Reader { document: &document } };
    let top = document.root().entries();
    read.reader.check_keys(top, TOP)?;
    match read.find(top, "format") {
        Some(entry) if read.reader.text("format", &entry.value)? == "1" => {}
        Some(entry) => return Err(read.reader.wrong("format", &entry.value, "1")),
        None => return Err(read.missing("format", "1")),
    }
    let quick_table = read.reader.table(top, "quick")?.unwrap_or(&[]);
    read.reader.check_keys(quick_table, &["seeds", "set", "points"])?;
    let quick_table = if quick { quick_table } else { &[] };

    let name = read.text(top, "name")?.ok_or_else(|| read.missing("name", "the plan's name"))?;
    let scenarios = scenarios(&read, top)?;
    let variants = variants(&read, top)?;
    let mut parameters = parameters(&read, top, quick)?;
    let points = design(&read, top, quick_table, &mut parameters, files)?;
    let seeds = match read.count(quick_table, "seeds")? {
        Some(seeds) => seeds,
        None => read.count(top, "seeds")?.unwrap_or(SEEDS),
    };
    let mut set = read.overrides(top, "set")?;
    set.extend(read.overrides(quick_table, "set")?);
    let mut metrics = Vec::new();
    for (name, value) in read.list(top, "metrics")? {
        metrics.push(read.metric("metrics", &name, value)?);
    }
    let baselines = read.truth(top, "baselines")?.unwrap_or(true);
    let mut plan = Plan {
        title: read.text(top, "title")?.unwrap_or_else(|| name.clone()),
        source: read.text(top, "source")?.unwrap_or_default(),
        name,
        scenarios,
        variants,
        baselines,
        parameters,
        columns: Vec::new(),
        points,
        seeds,
        set,
        metrics,
        figures: Vec::new(),
        claims: Vec::new(),
        printed: Vec::new(),
        ablations: ablation_tables(&read, top)?,
        changed: None,
        document: document.clone(),
    };
    plan.columns = column::columns(&plan);
    plan.figures = figures(&read, top, &plan)?;
    plan.claims = claims(&read, top, &plan)?;
    plan.printed = printed(&read, top, &plan)?;
    Ok(plan)
}

/// Reads a file that has only `[[ablation]]` tables.
pub(super) fn ablations(document: &Document) -> Result<Vec<Ablation>> {
    let read = Read { reader: Reader { document } };
    let top = document.root().entries();
    read.reader.check_keys(top, &["ablation"])?;
    ablation_tables(&read, top)
}

fn ablation_tables(read: &Read<'_>, top: &[Entry]) -> Result<Vec<Ablation>> {
    let mut all = Vec::new();
    for (value, table) in read.reader.tables(top, "ablation")? {
        read.reader.check_keys(table, &["name", "set", "run"])?;
        let name = read.text(table, "name")?;
        let name = name.ok_or_else(|| read.reader.missing(value.place, "name", "what is different, for people"))?;
        let run = read.list(table, "run")?.into_iter().map(|(text, _)| text).collect();
        all.push(Ablation { name, set: read.overrides(table, "set")?, run });
    }
    Ok(all)
}

fn scenarios(read: &Read<'_>, top: &[Entry]) -> Result<Vec<PlanScenario>> {
    let mut all: Vec<PlanScenario> = Vec::new();
    for (name, value) in read.list(top, "scenarios")? {
        all.push(PlanScenario { name: name.clone(), from: name, set: Vec::new(), open: false, place: value.place });
    }
    for (value, table) in read.reader.tables(top, "scenario")? {
        read.reader.check_keys(table, &["name", "from", "set", "open"])?;
        let from = read.text(table, "from")?;
        let from = from.ok_or_else(|| read.reader.missing(value.place, "from", "a built-in scenario or a file"))?;
        let place = read.find(table, "from").map_or(value.place, |e| e.value.place);
        let name = read.text(table, "name")?.unwrap_or_else(|| from.clone());
        if all.iter().any(|s| s.name == name) {
            return Err(read.reader.wrong("name", value, format!("a name other than {name}, which is taken")));
        }
        let set = read.overrides(table, "set")?;
        let open = read.truth(table, "open")?.unwrap_or(false);
        all.push(PlanScenario { name, from, set, open, place });
    }
    if all.is_empty() {
        return Err(read.missing("scenarios", "a list of built-in scenarios and files"));
    }
    Ok(all)
}

fn variants(read: &Read<'_>, top: &[Entry]) -> Result<Vec<PlanVariant>> {
    let mut all: Vec<PlanVariant> = Vec::new();
    let what = |text: &str| match plain_tcp_path(text) {
        Some(path) => What::PlainTcp(path),
        None => What::Scheduler(text.to_owned()),
    };
    for (name, value) in read.list(top, "schedulers")? {
        all.push(PlanVariant { run: what(&name), name, set: Vec::new(), place: Some(value.place) });
    }
    for (value, table) in read.reader.tables(top, "variant")? {
        read.reader.check_keys(table, &["name", "run", "set"])?;
        let allowed = "a scheduler, or tcp-path0, tcp-path1, ...";
        let run = read.find(table, "run").ok_or_else(|| read.reader.missing(value.place, "run", allowed))?;
        let text = read.reader.text("run", &run.value)?;
        let name = read.text(table, "name")?.unwrap_or_else(|| text.clone());
        if all.iter().any(|v| v.name == name) {
            return Err(read.reader.wrong("name", value, format!("a name other than {name}, which is taken")));
        }
        let place = Some(run.value.place);
        all.push(PlanVariant { name, run: what(&text), set: read.overrides(table, "set")?, place });
    }
    if all.is_empty() {
        return Err(read.missing("schedulers", "a list of schedulers, and tcp-path0, tcp-path1, ... for plain TCP"));
    }
    Ok(all)
}

fn parameters(read: &Read<'_>, top: &[Entry], quick: bool) -> Result<Vec<Parameter>> {
    let mut all: Vec<Parameter> = Vec::new();
    for (value, table) in read.reader.tables(top, "parameter")? {
        read.reader.check_keys(table, &["name", "label", "values", "quick", "set", "open"])?;
        let name = read.text(table, "name")?;
        let name = name.ok_or_else(|| read.reader.missing(value.place, "name", "a name"))?;
        if all.iter().any(|p| p.name == name) {
            return Err(read.reader.wrong("name", value, format!("a name other than {name}, which is taken")));
        }
        let set = read.overrides(table, "set")?;
        if let Some(fixed) = set.iter().find(|o| !o.value.contains("{}")) {
            let allowed = format!("a value with {{}} in it, which stands for the value of {name}");
            let document = read.reader.document;
            return Err(document.error(Problem::Value, fixed.place, &fixed.key, fixed.value.clone(), allowed));
        }
        let mut values = read.list(table, "values")?;
        let few = read.list(table, "quick")?;
        if quick && !few.is_empty() {
            values = few;
        }
        let mut names = Vec::new();
        for (text, value) in values {
            if names.contains(&text) {
                return Err(read.reader.wrong("values", value, "each value once"));
            }
            names.push(text);
        }
        let label = read.text(table, "label")?.unwrap_or_else(|| name.clone());
        let open = read.truth(table, "open")?.unwrap_or(false);
        all.push(Parameter { name, label, values: names, set, open });
    }
    Ok(all)
}

/// The points of the plan's design, as indices into the parameters' values.
fn design(
    read: &Read<'_>,
    top: &[Entry],
    quick: &[Entry],
    parameters: &mut [Parameter],
    files: &dyn PlanFiles,
) -> Result<Vec<Vec<usize>>> {
    let mut points = match read.find(top, "points") {
        Some(entry) => points::read(read, &entry.value, parameters, files)?,
        None => {
            if let Some(empty) = parameters.iter().find(|p| p.values.is_empty()) {
                let wanted = format!("a list of values of {}", empty.name);
                return Err(read.missing("values", wanted));
            }
            match read.choice(top, "design", &[("grid", Design::Grid), ("list", Design::List)])? {
                Some(Design::List) => list(read, top, parameters)?,
                _ => grid(parameters),
            }
        }
    };
    if let Some(most) = read.count(quick, "points")? {
        points.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
    Ok(points)
}

fn grid(parameters: &[Parameter]) -> Vec<Vec<usize>> {
    parameters.iter().fold(vec![Vec::new()], |points, parameter| {
        let with = |point: &Vec<usize>, i: usize| point.iter().copied().chain([i]).collect::<Vec<_>>();
        points
            .iter()
            .flat_map(|point| (0..parameter.values.len()).map(|i| with(point, i)).collect::<Vec<_>>())
            .collect()
    })
}

fn list(read: &Read<'_>, top: &[Entry], parameters: &[Parameter]) -> Result<Vec<Vec<usize>>> {
    let length = parameters.first().map_or(1, |p| p.values.len());
    if let Some(other) = parameters.iter().find(|p| p.values.len() != length) {
        let entry = read.find(top, "design").map_or(read.reader.document.root(), |e| &e.value);
        let allowed = format!(
            "grid, or values of equal number: {} has {length} and {} has {}",
            parameters[0].name,
            other.name,
            other.values.len()
        );
        return Err(read.reader.wrong("design", entry, allowed));
    }
    Ok((0..length).map(|i| vec![i; parameters.len()]).collect())
}
