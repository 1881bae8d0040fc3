//! Writes the document with the verdict of every claim of the papers, and checks that small runs give the same verdicts
//! as the full ones.

mod check;
mod provenance;

pub(crate) use check::check;

use crate::experiments::{entries, read};
use crate::results::{self, pathweave, put};
use crate::run::{root, run, target};
use crate::steps::processor_time;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The folder of the document's figures.
const FIGURES: &str = "docs/reproduction";
/// The folder with the full runs' values, and the settings tried for claims that do not hold everywhere.
const TABLES: &str = "docs/reproduction/tables";
/// The beginning of the document.
const INTRODUCTION: &str = "\
# The papers' experiments, reproduced

`cargo xtask reproduction` writes this document. It runs `pathweave reproduce` with the plans in [experiments](../experiments);
[experiments.md](experiments.md#claims) says what a verdict means. Each paper has a page with its figures and claims. The figures
are ours; a claim is the paper's, in our words. A claim that fails is a finding, and none was tuned. The values of all runs are in
[reproduction/tables](reproduction/tables), to four digits; `cargo xtask reproduction --from-tables` writes the document from them
alone.

";
/// The beginning of a paper's page.
const BACK: &str = "\
`cargo xtask reproduction` writes this page. [The overview](../reproduction.md) has the papers' promises and the tally, and
[experiments.md](../experiments.md#claims) says what a verdict means. A claim marked \"(ours)\" is not the paper's.";
/// Least effect that must have the same sign in small and in full runs. An effect is the difference as a fraction of
/// the larger side.
const EFFECT: f64 = 0.1;

/// Makes the experiments of `named` plans (of all if there are none), and then the document. Continues an interrupted
/// run.
///
/// # Errors
/// If a plan is unknown, a command fails or a file cannot be written.
pub(crate) fn make(named: &[String]) -> Result<(), String> {
    let all = plans()?;
    if let Some(unknown) = named.iter().find(|plan| !all.contains(plan)) {
        return Err(format!("there is no plan {unknown}; the plans are {}", all.join(", ")));
    }
    results::build()?;
    let out = target().join("reproduction");
    let ablations = format!("{TABLES}/ablations.jsonl");
    for plan in if named.is_empty() { &all } else { named } {
        let before = processor_time();
        let reproduce = |arguments: &[&str]| {
            run(pathweave().arg("reproduce").arg(plan).args(arguments).arg("--out").arg(&out).current_dir(root()))
        };
        reproduce(&["--tables", TABLES])?;
        let spent = processor_time().zip(before).map(|(after, before)| after.saturating_sub(before));
        provenance::note(&table(plan), spent)?;
        reproduce(&["--from-tables", TABLES, "--ablate"])?;
        let earlier = read(&root().join(&ablations)).unwrap_or_default();
        let tried = with_tried(&earlier, &read(&out.join("ablations.jsonl"))?, plan, &all)?;
        put(&ablations, tried.as_bytes())?;
    }
    document()
}

/// The lines of ablations with those of `plan` replaced by its lines in `new`, in the order of the plans. Lines of plans
/// that are gone are left out.
fn with_tried(earlier: &str, new: &str, plan: &str, plans: &[String]) -> Result<String, String> {
    let of = |line: &str| -> Result<String, String> {
        let tried: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
        let text = |key: &str| tried[key].as_str().unwrap_or_default().to_owned();
        Ok(format!("{}/{}", text("paper"), text("id")))
    };
    let own = |line: &&str| of(line).is_ok_and(|it| it == plan);
    let mut lines = Vec::new();
    for line in earlier.lines().filter(|line| !own(line)).chain(new.lines().filter(own)) {
        lines.push((of(line)?, line));
    }
    let in_order = plans.iter().flat_map(|plan| lines.iter().filter(move |(of, _)| of == plan));
    Ok(in_order.map(|(_, line)| format!("{line}\n")).collect())
}

/// The plans in `experiments/`, such as `cp/fig5`.
fn plans() -> Result<Vec<String>, String> {
    let name = |path: &Path| path.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut plans = Vec::new();
    for paper in entries(&root().join("experiments"))?.iter().filter(|p| p.is_dir()) {
        for file in entries(paper)?.iter().filter(|f| f.extension().is_some_and(|e| e == "toml")) {
            if !name(file).starts_with('_') {
                plans.push(format!("{}/{}", name(paper), name(file)));
            }
        }
    }
    Ok(plans)
}

/// The name of a plan's table: `cp-fig5`.
fn table(plan: &str) -> String {
    plan.replace('/', "-")
}

/// Writes `docs/reproduction.md` and its figures from the tables.
///
/// # Errors
/// If the command fails or a file cannot be written.
pub(crate) fn write() -> Result<(), String> {
    results::build()?;
    document()
}

fn document() -> Result<(), String> {
    let out = target().join("reproduction/from-tables");
    let _ = fs::remove_dir_all(&out);
    let mut command = pathweave();
    command.args(["reproduce", "--from-tables", TABLES, "--out"]).arg(&out);
    run(command.current_dir(root()))?;
    let text = read(&out.join("reproduction.md"))?;
    let (pages, rest): (Vec<Section<'_>>, Vec<Section<'_>>) =
        sections(&text).into_iter().partition(Section::is_a_papers);
    let mut document = String::from(INTRODUCTION);
    document.push_str(&tally(&pages));
    for section in &rest {
        document.push_str(&format!("## {}\n{}\n", section.title, section.text.replace("](", "](reproduction/")));
    }
    document.push_str(&format!("{}\n", provenance::sentence(&provenance::rows()?)));
    put("docs/reproduction.md", (document.trim_end().to_owned() + "\n").as_bytes())?;
    for page in &pages {
        let text = format!("# {}: figures and claims\n\n{BACK}\n{}", page.title, page.text);
        put(&page.file(), (text.trim_end().to_owned() + "\n").as_bytes())?;
    }
    for picture in entries(&root().join(FIGURES))?.iter().filter(|p| is_picture(p)) {
        fs::remove_file(picture).map_err(|e| format!("{}: {e}", picture.display()))?;
    }
    for picture in entries(&out)?.iter().filter(|p| is_picture(p)) {
        let name = picture.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        put(&format!("{FIGURES}/{name}"), read(picture)?.as_bytes())?;
    }
    Ok(())
}

/// A part of the document that `pathweave reproduce` writes.
struct Section<'a> {
    title: &'a str,
    text: &'a str,
}

impl Section<'_> {
    /// Whether it has a paper's figures and claims. Only such sections have headings of the third level.
    fn is_a_papers(&self) -> bool {
        self.text.contains("\n### ")
    }

    /// The file of a paper's page.
    fn file(&self) -> String {
        format!("{FIGURES}/{}.md", self.title.to_lowercase())
    }
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let whole = text.strip_prefix("## ").unwrap_or(text);
    let parts = whole.split("\n## ").filter_map(|part| part.split_once('\n'));
    parts.map(|(title, text)| Section { title, text }).collect()
}

fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "svg")
}

/// Makes the small runs that the abstracts' promises need, and compares them with the full runs' tables.
///
/// # Errors
/// Each comparison whose effect has another sign.
pub(crate) fn quick() -> Result<(), String> {
    results::build()?;
    let out = target().join("reproduction");
    let [quick, full] = ["quick.jsonl", "full.jsonl"].map(|name| out.join(name));
    fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let mut small = pathweave();
    small.args(["reproduce", "--quick", "--promises", "--out"]).arg(&out).arg("--jsonl").arg(&quick);
    run(small.current_dir(root()))?;
    let mut from_tables = pathweave();
    from_tables.args(["reproduce", "--from-tables", TABLES, "--out"]).arg(out.join("from-tables"));
    run(from_tables.arg("--jsonl").arg(&full).current_dir(root()))?;
    let (small, full) = (effects(&read(&quick)?)?, effects(&read(&full)?)?);
    let turned: Vec<String> = full.iter().filter_map(|(at, f)| turned(at, small.get(at)?, f)).collect();
    let both = full.keys().filter(|at| small.contains_key(*at)).count();
    println!("{both} comparisons are in small and in full runs; {} have another sign", turned.len());
    if turned.is_empty() { Ok(()) } else { Err(turned.join("\n")) }
}

/// A comparison's effect, and whether its interval leaves out zero.
#[derive(Clone, Copy, Debug)]
struct Effect {
    part: f64,
    certain: bool,
}

fn turned(at: &str, small: &Effect, full: &Effect) -> Option<String> {
    let large = |e: &Effect| e.part.abs() > EFFECT && e.certain;
    let turned = small.part * full.part < 0.0 && (large(small) || large(full));
    turned
        .then(|| format!("{at}: {:+.1} % in small runs, {:+.1} % in full ones", small.part * 100.0, full.part * 100.0))
}

/// A place without the number of points at its end.
fn whatever_the_points(place: &str) -> String {
    let number = |text: &str| text.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    place.strip_suffix(" points").map_or(place.to_owned(), |rest| format!("{}all points", &rest[..number(rest)]))
}

/// The effects of all comparisons by their places. A comparison over all points has the same place for any number of them.
fn effects(lines: &str) -> Result<BTreeMap<String, Effect>, String> {
    let mut all = BTreeMap::new();
    for line in lines.lines() {
        let claim: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
        let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
        for atom in claim["measured"].as_array().into_iter().flatten() {
            let (Some(left), Some(right)) = (atom["left"].as_f64(), atom["right"].as_f64()) else { continue };
            let interval = [&atom["interval"][0], &atom["interval"][1]].map(Value::as_f64);
            let certain = matches!(interval, [Some(low), Some(high)] if low > 0.0 || high < 0.0);
            let place = text(atom, "at");
            let place = whatever_the_points(&place);
            let names = ["paper", "id", "claim_id"].map(|key| text(&claim, key)).join("/");
            let at = format!("{names} {place}: {}", text(atom, "compare"));
            let part = (left - right) / left.abs().max(right.abs()).max(f64::MIN_POSITIVE);
            all.insert(at, Effect { part, certain });
        }
    }
    Ok(all)
}

/// The number of each paper's claims with each verdict, and links to the pages. Our own claims are marked behind the
/// verdict and do not count.
fn tally(pages: &[Section<'_>]) -> String {
    const WORDS: [&str; 4] = ["holds", "partly", "undecided", "fails"];
    let mut out = format!("| paper | {} |\n|---|---|---|---|---|\n", WORDS.join(" | "));
    for page in pages {
        let counts = WORDS.map(|word| page.text.matches(&format!("| **{word}** |")).count().to_string());
        let file = page.file();
        let link = file.strip_prefix("docs/").unwrap_or(&file);
        out.push_str(&format!("| [{}]({link}) | {} |\n", page.title, counts.join(" | ")));
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::{effects, turned, with_tried};

    fn line(left: f64, interval: &str, at: &str) -> String {
        format!(
            "{{\"paper\":\"cp\",\"id\":\"fig5\",\"claim_id\":\"c\",\"measured\":[{{\"at\":\"{at}\",\"compare\":\"a < b\",\
             \"left\":{left},\"right\":10.0,\"interval\":{interval}}}]}}"
        )
    }

    fn turns(small: &str, full: &str) -> usize {
        let (small, full) = (effects(small).expect("it is JSON"), effects(full).expect("it is JSON"));
        full.iter().filter(|(at, f)| small.get(*at).is_some_and(|s| turned(at, s, f).is_some())).count()
    }

    #[test]
    fn an_effect_that_is_large_and_certain_may_not_turn() {
        let [more, less, little] =
            [line(12.0, "[1.0,3.0]", ""), line(8.0, "[-3.0,-1.0]", ""), line(9.5, "[-1.0,0.5]", "")];
        assert_eq!(turns(&more, &less), 1);
        assert_eq!(turns(&little, &more), 1, "the full runs are certain");
        assert_eq!(turns(&more, &more), 0);
        assert_eq!(turns(&little, &line(10.5, "[-1.0,2.0]", "")), 0, "both are small");
    }

    #[test]
    fn a_plan_that_is_made_again_replaces_its_own_ablations_only() {
        let line = |id: &str, claim: &str| format!("{{\"paper\":\"cp\",\"id\":\"{id}\",\"claim_id\":\"{claim}\"}}\n");
        let earlier = line("fig1", "a") + &line("fig5", "old") + &line("gone", "b");
        let plans = ["cp/fig1", "cp/fig5", "cp/fig7"].map(str::to_owned);
        let made = |plan: &str, new: &str| with_tried(&earlier, new, plan, &plans);
        let new = line("fig1", "of another folder") + &line("fig5", "new");
        assert_eq!(made("cp/fig5", &new), Ok(line("fig1", "a") + &line("fig5", "new")));
        assert_eq!(made("cp/fig5", ""), Ok(line("fig1", "a")), "nothing is tried if each claim holds");
        assert_eq!(
            made("cp/fig7", &line("fig7", "c")),
            Ok(line("fig1", "a") + &line("fig5", "old") + &line("fig7", "c"))
        );
    }

    #[test]
    fn so_many_points_are_all_points() {
        assert_eq!(turns(&line(12.0, "[1.0,3.0]", "16 points"), &line(8.0, "[-3.0,-1.0]", "60 points")), 1);
        let both = |first: &str, second: &str, points: &str| {
            line(12.0, first, &format!("buffer 1MB, {points}"))
                + "\n"
                + &line(8.0, second, &format!("buffer 2MB, {points}"))
        };
        let (small, full) =
            (both("[1.0,3.0]", "[-3.0,-1.0]", "16 points"), both("[1.0,3.0]", "[-3.0,-1.0]", "60 points"));
        assert_eq!(effects(&full).expect("it is JSON").len(), 2, "of each buffer");
        assert_eq!(turns(&small, &full), 0);
    }
}
