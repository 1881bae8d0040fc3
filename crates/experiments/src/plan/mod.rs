//! Plan files: the runs to make, the figures to draw from them, and the claims that they decide.
//!
//! A plan is TOML. Every value that differs between the runs is an override of a scenario in the form of `--set`, so a
//! plan can vary every setting of a scenario.

mod ablation;
mod claims;
mod column;
mod points;
mod read;
mod reader;

pub use ablation::Ablation;
pub use column::{ParameterColumn, Value};
use pathweave_lab::scenario::{Document, Place, ScenarioError};

/// An override of a scenario, and its place in the plan.
#[derive(Clone, Debug)]
pub struct Override {
    /// The setting, as after `--set`: `connection.receive_buffer`.
    pub key: String,
    /// The setting's value. `{NAME}` stands for the value of the parameter NAME; in a parameter, `{}` stands for the
    /// parameter's own value.
    pub value: String,
    /// The place in the plan.
    pub place: Place,
}

/// A scenario that the plan starts from.
#[derive(Clone, Debug)]
pub struct PlanScenario {
    /// The name that figures and claims use.
    pub name: String,
    /// A built-in scenario, or a file in the plan's folder or the current one.
    pub from: String,
    /// The settings that the plan changes in it.
    pub set: Vec<Override>,
    /// Whether the scenario is one of several that the source may have used. A claim is then decided for each of them
    /// separately.
    pub open: bool,
    /// The place in the plan.
    pub place: Place,
}

/// A variant that is run on every scenario.
#[derive(Clone, Debug)]
pub struct PlanVariant {
    /// The name that figures and claims use.
    pub name: String,
    /// A scheduler, or plain TCP on one path.
    pub run: What,
    /// The settings that only this variant changes in the scenario.
    pub set: Vec<Override>,
    /// The place in the plan; `None` if the variant was added as a baseline.
    pub place: Option<Place>,
}

/// The run of a variant: a scheduler, or plain TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Multipath TCP with this scheduler, in the form of `--schedulers`. `{NAME}` stands for the value of the parameter
    /// NAME.
    Scheduler(String),
    /// Plain TCP on the path with this number.
    PlainTcp(usize),
}

/// A parameter, which takes several values in the plan.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name that claims and figures use.
    pub name: String,
    /// The label of an axis: the name, or a longer text.
    pub label: String,
    /// The values as written. If points come from a file, the values that occur in them.
    pub values: Vec<String>,
    /// The settings that each value changes.
    pub set: Vec<Override>,
    /// Whether the source leaves the value open. Then a claim is decided for each value separately.
    pub open: bool,
}

/// How values of the parameters are combined to points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Each combination of values is a point.
    Grid,
    /// The first values of all parameters are a point, the second values are the next, and so on.
    List,
}

/// The form of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line for each variant over a parameter, with the interval of the seeds.
    Lines,
    /// A bar for each variant, grouped by a parameter's value.
    Bars,
    /// A box for each variant over all points.
    Boxes,
    /// The cumulative distribution over all runs, a line for each variant.
    Cdf,
}

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The heading.
    pub title: String,
    /// The form in which the figure is drawn.
    pub form: Form,
    /// The index of the horizontal axis's parameter; `None` for boxes and distributions.
    pub x: Option<usize>,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// The name of the metric that is drawn.
    pub metric: String,
    /// The indices of the variants; empty for all variants.
    pub variants: Vec<usize>,
    /// The indices of the variants whose sum is one more line; empty for no such line.
    pub sum: Vec<usize>,
    /// The values that a box or a distribution shows: those of all points, or those of a point's seeds, with a panel for
    /// each point.
    pub sample: Sample,
    /// Whether the bound on the goodput is drawn too.
    pub bound: bool,
}

/// The relation that a comparison claims between its left side and its right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The left side is smaller: the difference is below zero at 95 % confidence.
    Below,
    /// The left side is larger: the difference is above zero at 95 % confidence.
    Above,
    /// The left side exceeds the right side by at most the margin, at 95 % confidence.
    AtMost,
    /// The left side falls short of the right side by at most the margin, at 95 % confidence.
    AtLeast,
    /// The sides differ by at most the margin, at 95 % confidence.
    Equal,
}

/// The value that all points together give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Over {
    /// The mean.
    Mean,
    /// The median.
    Median,
    /// The smallest.
    Least,
    /// The largest.
    Most,
    /// The fraction of the points whose value is below this.
    ShareBelow(f64),
    /// The fraction of the points whose value is above this.
    ShareAbove(f64),
}

/// The sample whose differences decide a comparison over all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// The seeds: all points together give a value for each seed.
    Seeds,
    /// The points: all seeds together give a value for each point.
    Points,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub enum Side {
    /// A variant's metric.
    Measured {
        /// The index of the variant.
        variant: usize,
        /// The metric's name.
        metric: String,
        /// The index of the scenario; `None` for the scenario at which the comparison is made.
        scenario: Option<usize>,
        /// Parameters (by index) with values that replace those of the point at which the comparison is made.
        at: Vec<(usize, String)>,
    },
    /// A number from the source.
    Constant(f64),
}

/// A condition on the value of a parameter.
#[derive(Clone, Debug)]
pub enum Condition {
    /// The value is one of these.
    OneOf(Vec<String>),
    /// The value compares with this number by `<`, `<=`, `>=` or `>`.
    Compared(&'static str, f64),
}

impl Condition {
    /// Whether `value` meets the condition.
    pub fn holds(&self, value: &str) -> bool {
        let number = value.parse::<f64>().ok();
        match self {
            Condition::OneOf(list) => {
                list.iter().any(|one| one == value || (number.is_some() && one.parse::<f64>().ok() == number))
            }
            Condition::Compared(word, than) => number.is_some_and(|number| match *word {
                "<" => number < *than,
                "<=" => number <= *than,
                ">" => number > *than,
                _ => number >= *than,
            }),
        }
    }
}

/// A comparison, which is made at every point that meets its conditions.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The left side.
    pub left: Side,
    /// The relation.
    pub relation: Relation,
    /// The right side.
    pub right: Side,
    /// The factor by which the right side is multiplied first.
    pub factor: f64,
    /// The difference that still counts as equal, as a fraction of the right side.
    pub margin: f64,
    /// The reason for this factor or margin.
    pub because: String,
    /// The conditions on the points: parameters (by index) with conditions.
    pub only: Vec<(usize, Condition)>,
    /// The indices of the scenarios; empty for all scenarios.
    pub scenarios: Vec<usize>,
    /// How all points together give one value; `None` if the comparison is made at each point.
    pub over: Option<Over>,
    /// The sample of a comparison over all points.
    pub sample: Sample,
}

impl Comparison {
    /// Whether the comparison is made at this point.
    pub(crate) fn is_about(&self, plan: &Plan, point: usize) -> bool {
        let values = plan.values(point);
        self.only.iter().all(|(parameter, condition)| condition.holds(values[*parameter]))
    }

    /// Whether the comparison is made on this scenario.
    pub(crate) fn is_in(&self, scenario: usize) -> bool {
        self.scenarios.is_empty() || self.scenarios.contains(&scenario)
    }
}

/// The point that a side takes: `point` with the values that the side replaces. `None` if the plan has no such point.
pub(crate) fn other_point(plan: &Plan, point: usize, side: &Side) -> Option<usize> {
    let Side::Measured { at, .. } = side else { return Some(point) };
    let mut values = plan.points[point].clone();
    for (parameter, value) in at {
        let condition = Condition::OneOf(vec![value.clone()]);
        values[*parameter] = plan.parameters[*parameter].values.iter().position(|v| condition.holds(v))?;
    }
    plan.points.iter().position(|p| *p == values)
}

/// A number that the source prints.
#[derive(Clone, Debug)]
pub struct Printed {
    /// The index of the variant to which the number belongs.
    pub variant: usize,
    /// The metric's name.
    pub metric: String,
    /// The number.
    pub value: f64,
    /// The place in the source.
    pub source: String,
    /// The conditions on the points: parameters (by index) with conditions.
    pub only: Vec<(usize, Condition)>,
    /// Whether the variant is the baseline. The number then shows how close our networks are to the source's.
    pub calibrates: bool,
}

impl Printed {
    /// Whether the number is of this point.
    pub(crate) fn is_of(&self, plan: &Plan, point: usize) -> bool {
        let values = plan.values(point);
        self.only.iter().all(|(parameter, condition)| condition.holds(values[*parameter]))
    }
}

/// A sentence that the runs are to decide.
#[derive(Clone, Debug)]
pub struct Claim {
    /// A name within the plan.
    pub id: String,
    /// The sentence that is claimed.
    pub says: String,
    /// The place in the source.
    pub source: String,
    /// The source's own numbers, if it has any.
    pub expected: String,
    /// The promise of the source's abstract or conclusion that this claim is about, in the source's words.
    pub promise: Option<String>,
    /// Relative difference of the left side to the right side in the source, if the source prints both: 0.12 for "12 %
    /// more".
    pub effect: Option<f64>,
    /// Whether the claim is ours and not the source's: an ablation, another scheduler, an altered set-up. Such a claim
    /// does not count in the tally.
    pub ours: bool,
    /// The comparisons that the claim consists of.
    pub comparisons: Vec<Comparison>,
    /// The reason, if one was found, why the claim does not hold.
    pub finding: String,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The plan's name.
    pub name: String,
    /// A line that says what the plan shows.
    pub title: String,
    /// The source, for example a paper's figure.
    pub source: String,
    /// The scenarios, at least one.
    pub scenarios: Vec<PlanScenario>,
    /// The variants that are run, at least one.
    pub variants: Vec<PlanVariant>,
    /// Whether plain TCP on each path is added as a variant if it is missing.
    pub baselines: bool,
    /// The parameters that vary.
    pub parameters: Vec<Parameter>,
    /// The column of each parameter in tables.
    pub columns: Vec<ParameterColumn>,
    /// The points: for each parameter an index into its values.
    pub points: Vec<Vec<usize>>,
    /// The number of seeds, which are 1 to this.
    pub seeds: u64,
    /// The settings that every run changes.
    pub set: Vec<Override>,
    /// The metrics of the tables.
    pub metrics: Vec<String>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The numbers that the source prints.
    pub printed: Vec<Printed>,
    /// The plan's own ablations, which are tried before those for all plans.
    pub ablations: Vec<Ablation>,
    /// The ablation that is being tried.
    pub changed: Option<Ablation>,
    pub(crate) document: Document,
}

/// The source of the files that a plan names.
pub trait PlanFiles {
    /// The text of the file called `name` in the plan.
    ///
    /// # Errors
    /// If the file cannot be read: the reason, for people.
    fn read(&self, name: &str) -> Result<String, String>;
}

impl Plan {
    /// Reads a plan from its text. Errors call the plan `file`. With `quick`, the plan is reduced as its table
    /// `[quick]` says.
    ///
    /// # Errors
    /// At the first key or value that is not allowed.
    pub fn parse(file: &str, text: &str, quick: bool, files: &dyn PlanFiles) -> Result<Self, ScenarioError> {
        read::plan(Document::parse(file, text)?, quick, files)
    }

    /// Reads a list of `[[ablation]]` tables.
    pub(crate) fn ablations(document: &Document) -> Result<Vec<Ablation>, ScenarioError> {
        read::ablations(document)
    }

    /// The values of a point in tables, each with its column's name.
    pub(crate) fn cells(&self, point: usize) -> impl Iterator<Item = (String, Value)> + '_ {
        self.columns.iter().map(move |column| (column.name.clone(), column.values[point].clone()))
    }

    /// The values of a point, by parameter.
    pub fn values(&self, point: usize) -> Vec<&str> {
        let indices = &self.points[point];
        indices.iter().zip(&self.parameters).map(|(i, p)| p.values[*i].as_str()).collect()
    }

    /// The values of a point for people, by parameter. `{buffer}KB` becomes the value of `buffer` at the point, or `as buffer` if
    /// `varied` says that `buffer` has several values there.
    pub(crate) fn shown(&self, point: usize, varied: &dyn Fn(usize) -> bool) -> Vec<String> {
        let shown = |value: &str| match self.named(value).find(|i| varied(*i)) {
            Some(i) => format!("as {}", self.parameters[i].name),
            None => self.filled(value, point),
        };
        self.values(point).into_iter().map(shown).collect()
    }

    /// The values of a parameter for an axis: those that name another parameter are `as buffer`.
    pub(crate) fn axis(&self, parameter: usize) -> Vec<String> {
        let shown = |value: &String| match self.named(value).next() {
            Some(i) => format!("as {}", self.parameters[i].name),
            None => value.clone(),
        };
        self.parameters[parameter].values.iter().map(shown).collect()
    }

    /// The numbers of a parameter in ascending order, each with the value as written; empty if the values are no numbers.
    pub(crate) fn ticks(&self, parameter: usize) -> Vec<(f64, String)> {
        let label = |point: usize| self.filled(self.values(point)[parameter], point);
        let values = self.columns[parameter].values.iter().enumerate();
        let mut all: Vec<(f64, String)> = values.filter_map(|(i, v)| Some((v.number()?, label(i)))).collect();
        all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        all.dedup_by(|(a, _), (b, _)| a == b);
        all
    }

    /// The parameters whose names stand in braces in a value.
    fn named<'a>(&'a self, value: &'a str) -> impl Iterator<Item = usize> + 'a {
        (0..self.parameters.len()).filter(move |i| value.contains(&format!("{{{}}}", self.parameters[*i].name)))
    }

    /// A text in which each `{NAME}` is replaced by the value of the parameter NAME at a point.
    pub(crate) fn filled(&self, text: &str, point: usize) -> String {
        let values = self.values(point).into_iter().zip(&self.parameters);
        values.fold(text.to_owned(), |text, (value, parameter)| text.replace(&format!("{{{}}}", parameter.name), value))
    }
}
