//! Requirements on the plans in `experiments/`.

use pathweave_experiments::ablation;
use pathweave_experiments::plan::{Plan, PlanFiles, Side};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

struct Beside(PathBuf);

impl PlanFiles for Beside {
    fn read(&self, name: &str) -> Result<String, String> {
        fs::read_to_string(self.0.join(name)).map_err(|e| e.to_string())
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("an entry").path()).collect();
    all.sort();
    all
}

fn plans(quick: bool) -> Vec<Plan> {
    named_plans(quick).into_iter().map(|(_, plan)| plan).collect()
}

/// The plans with their names, such as `cp-fig5`.
fn named_plans(quick: bool) -> Vec<(String, Plan)> {
    let mut plans = Vec::new();
    for paper in entries(&folder()).into_iter().filter(|p| p.is_dir()) {
        for file in entries(&paper).into_iter().filter(|f| f.extension().is_some_and(|e| e == "toml")) {
            let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
            if name.starts_with('_') {
                continue;
            }
            let text = fs::read_to_string(&file).expect("it can be read");
            let plan = Plan::parse(&file.display().to_string(), &text, quick, &Beside(paper.clone()));
            let plan = plan.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let paper = paper.file_name().expect("a name").to_string_lossy().into_owned();
            plans.push((format!("{paper}-{name}"), plan));
        }
    }
    plans
}

#[test]
fn every_plan_has_a_figure_and_a_claim_in_full_and_in_small_runs() {
    let (full, quick) = (plans(false), plans(true));
    assert!(full.len() > 40, "{} plans", full.len());
    for (full, quick) in full.iter().zip(&quick) {
        assert!(!full.figures.is_empty() && !full.claims.is_empty(), "{}", full.name);
        assert!(!full.source.is_empty() && full.claims.iter().all(|c| !c.source.is_empty()), "{}", full.name);
        assert_eq!(full.claims.len(), quick.claims.len(), "{}", full.name);
        assert!(quick.seeds <= full.seeds && quick.points.len() <= full.points.len(), "{}", full.name);
    }
}

#[test]
fn every_margin_and_factor_says_why() {
    for plan in plans(false) {
        for claim in &plan.claims {
            for comparison in &claim.comparisons {
                let exact = comparison.margin == 0.0 && comparison.factor == 1.0;
                assert!(exact || !comparison.because.is_empty(), "{}: {}", plan.name, claim.id);
            }
        }
    }
}

#[test]
fn the_common_ablations_can_be_read() {
    let text = fs::read_to_string(folder().join("ablations.toml")).expect("it is there");
    let all = ablation::list("ablations.toml", &text).expect("it can be read");
    assert!(all.iter().all(|a| !a.set.is_empty() || !a.run.is_empty()) && all.len() > 20);
}

/// No figure or claim uses a metric that has the same value in each run, because such a metric measures nothing there.
#[test]
fn no_figure_or_claim_reads_a_metric_that_is_the_same_in_every_run() {
    let tables = folder().join("../docs/reproduction/tables");
    for (name, plan) in named_plans(false) {
        let file = tables.join(format!("{name}.csv"));
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut lines = text.lines().filter(|l| !l.starts_with('#'));
        // From the last field on: those before the metrics may have commas within quotes.
        let columns: Vec<&str> = lines.next().expect("names of columns").rsplit(',').collect();
        let rows: Vec<Vec<&str>> = lines.map(|l| l.rsplit(',').collect()).collect();
        let claimed = plan.claims.iter().flat_map(|c| &c.comparisons).flat_map(|c| [&c.left, &c.right]);
        let claimed = claimed.filter_map(|side| match side {
            Side::Measured { metric, .. } => Some(metric),
            Side::Constant(_) => None,
        });
        for metric in plan.figures.iter().map(|f| &f.metric).chain(claimed) {
            let Some(column) = columns.iter().position(|c| c == metric) else { continue };
            let values: BTreeSet<&str> = rows.iter().map(|row| row[column]).filter(|v| !v.is_empty()).collect();
            let of_the_scenario = metric == "acceptable_rtt_difference_ms";
            assert!(
                values.len() > 1 || of_the_scenario,
                "{name}: {metric} is {values:?} in all of {} runs",
                rows.len()
            );
        }
    }
}

/// The figures and tables of the papers: the numbers of the last figure and of the last table.
const PAPERS: [(&str, usize, usize); 5] =
    [("blest", 15, 5), ("cp", 27, 3), ("dpsaf", 21, 1), ("eval", 8, 0), ("rems", 26, 9)];

/// The figures and tables that a text names: `Figs. 5 and 6` and `Table IV` give `Fig. 5`, `Fig. 6` and `Table 4`.
fn named(text: &str) -> BTreeSet<String> {
    let (mut all, mut kind, mut last, mut range) = (BTreeSet::new(), None, 0, false);
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        match (word, number(word), kind) {
            ("Fig" | "Figs", ..) => kind = Some("Fig."),
            ("Table" | "Tables", ..) => kind = Some("Table"),
            ("and", None, Some(_)) => {}
            ("to", None, Some(_)) => range = true,
            (_, Some(number), Some(kind)) => {
                let first = if range { last + 1 } else { number };
                all.extend((first..=number).map(|n| format!("{kind} {n}")));
                (last, range) = (number, false);
            }
            _ => (kind, range) = (None, false),
        }
    }
    all
}

/// `4b` is 4, `IV` is 4.
fn number(word: &str) -> Option<usize> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let roman = ["I", "II", "III", "IV", "V"].iter().position(|r| *r == word);
    digits.parse().ok().or(roman.map(|i| i + 1))
}

/// What the first column of a table in `missing.md` names, by paper.
fn missing(table: usize) -> BTreeSet<(String, String)> {
    let text = fs::read_to_string(folder().join("missing.md")).expect("it is there");
    let tables = text.split("\n\n").filter(|part| part.starts_with('|'));
    let rows: Vec<&str> = tables.collect::<Vec<_>>()[table].lines().skip(2).collect();
    let cells = rows.iter().filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split(';'));
    let paper = |part: &str| part.split_whitespace().next().unwrap_or_default().to_lowercase();
    cells.flat_map(|part| named(part).into_iter().map(move |name| (paper(part), name))).collect()
}

#[test]
fn every_figure_and_table_of_the_papers_has_a_plan_or_a_reason() {
    assert_eq!(named("Over 3 s (Figs. 1, 5 to 7, Table IV)").len(), 5);
    let mut shown = BTreeSet::new();
    for (name, plan) in named_plans(false) {
        let paper = name.split('-').next().expect("a name").to_owned();
        let titles = plan.figures.iter().map(|f| f.title.as_str()).chain([plan.title.as_str()]);
        shown.extend(titles.flat_map(named).map(|name| (paper.clone(), name)));
    }
    let without = missing(0);
    for (paper, figures, tables) in PAPERS {
        let figures = (1..=figures).map(|n| format!("Fig. {n}"));
        for name in figures.chain((1..=tables).map(|n| format!("Table {n}"))) {
            let at = (paper.to_owned(), name);
            assert!(
                shown.contains(&at) || without.contains(&at),
                "{at:?} has neither a plan nor a reason in missing.md"
            );
        }
    }
    let less = missing(1);
    let no_plan: Vec<_> = less.iter().filter(|at| !shown.contains(at)).collect();
    assert!(no_plan.is_empty(), "missing.md says that these show less, and no plan shows them: {no_plan:?}");
}
