//! Plan files: which runs to make, what they are to show, and which claims they decide.
//!
//! A plan is TOML. Every value that differs between the runs is an override of a scenario, as `--set` writes it, so whatever a
//! scenario can say, a plan can vary.

mod claims;
mod points;
mod read;

use pathweave_lab::scenario::{Document, Place, ScenarioError};

/// An override of a scenario, and where the plan says so.
#[derive(Clone, Debug)]
pub struct Override {
    /// The setting, as after `--set`: `connection.receive_buffer`.
    pub key: String,
    /// Its value. `{NAME}` stands for the value of the parameter NAME, and in a parameter `{}` for its own.
    pub value: String,
    /// Where it stands in the plan.
    pub place: Place,
}

/// A scenario that the plan starts from.
#[derive(Clone, Debug)]
pub struct PlanScenario {
    /// What figures and claims call it.
    pub name: String,
    /// A built-in scenario or a file, beside the plan if it is there.
    pub from: String,
    /// What is different from it.
    pub set: Vec<Override>,
    /// Where it stands in the plan.
    pub place: Place,
}

/// What is run on a scenario.
#[derive(Clone, Debug)]
pub struct PlanVariant {
    /// What figures and claims call it.
    pub name: String,
    /// A scheduler, or plain TCP on one path.
    pub run: What,
    /// What is different from the scenario for it alone.
    pub set: Vec<Override>,
    /// Where it stands in the plan; `None`: it was added as a baseline.
    pub place: Option<Place>,
}

/// A scheduler, or plain TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Multipath TCP with this scheduler, as after `--schedulers`. `{NAME}` stands for the value of the parameter NAME.
    Scheduler(String),
    /// Plain TCP on the path with this number.
    PlainTcp(usize),
}

/// Something that takes several values.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// What claims and figures call it.
    pub name: String,
    /// What an axis says: the name, or more than that.
    pub label: String,
    /// Its values, as written; in a design of points, those of the points.
    pub values: Vec<String>,
    /// What each value sets.
    pub set: Vec<Override>,
    /// The source leaves its value open: a claim is decided for each of its values by itself.
    pub open: bool,
}

/// Which values of the parameters come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Each value of each parameter with each of all others.
    Grid,
    /// The first values of all parameters, then the second ones, and so on.
    List,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line for each variant over a parameter, with the interval of the seeds.
    Lines,
    /// A bar for each variant, in groups by a parameter's value.
    Bars,
    /// A box for each variant over all points.
    Boxes,
    /// The share of all runs that is below a value, a line for each variant.
    Cdf,
}

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its heading.
    pub title: String,
    /// How it is drawn.
    pub form: Form,
    /// The parameter of the horizontal axis, an index; nothing for boxes and distributions.
    pub x: Option<usize>,
    /// The horizontal axis is logarithmic.
    pub log_x: bool,
    /// What is drawn.
    pub metric: String,
    /// Variants, indices; all that there are if the plan names none.
    pub variants: Vec<usize>,
    /// The bound on the goodput is drawn too.
    pub bound: bool,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The difference is below zero at 95 % confidence.
    Below,
    /// The difference is above zero at 95 % confidence.
    Above,
    /// Not more than the margin above, at 95 % confidence.
    AtMost,
    /// Not more than the margin below, at 95 % confidence.
    AtLeast,
    /// Within the margin on both sides, at 95 % confidence.
    Equal,
}

/// What is taken of all points together.
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
    /// The share of the points whose value is below this.
    ShareBelow(f64),
    /// The share of the points whose value is above this.
    ShareAbove(f64),
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub enum Side {
    /// A variant's metric.
    Measured {
        /// The variant, an index.
        variant: usize,
        /// The metric's name.
        metric: String,
        /// The scenario, an index; nothing: the one that is compared.
        scenario: Option<usize>,
        /// Values of parameters that replace those of the point that is compared: parameter and value.
        at: Vec<(usize, String)>,
    },
    /// A number of the paper.
    Constant(f64),
}

/// Which values of a parameter are meant.
#[derive(Clone, Debug)]
pub enum Condition {
    /// One of these.
    OneOf(Vec<String>),
    /// Numbers below, at most, at least or above this one.
    Compared(&'static str, f64),
}

impl Condition {
    /// Whether this is one of the values that are meant.
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

/// A comparison that is made at every point that it is about.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The left side.
    pub left: Side,
    /// The relation.
    pub relation: Relation,
    /// The right side.
    pub right: Side,
    /// The right side is multiplied by this first.
    pub factor: f64,
    /// How far apart is still equal, as a part of the right side.
    pub margin: f64,
    /// Why this factor or margin.
    pub because: String,
    /// The points that it is about: parameter, an index, and condition.
    pub only: Vec<(usize, Condition)>,
    /// The scenarios that it is about, indices; empty: all.
    pub scenarios: Vec<usize>,
    /// All points together give one value.
    pub over: Option<Over>,
}

impl Comparison {
    /// Whether it is about this point.
    pub(crate) fn is_about(&self, plan: &Plan, point: usize) -> bool {
        let values = plan.values(point);
        self.only.iter().all(|(parameter, condition)| condition.holds(values[*parameter]))
    }

    /// Whether it is about this scenario.
    pub(crate) fn is_in(&self, scenario: usize) -> bool {
        self.scenarios.is_empty() || self.scenarios.contains(&scenario)
    }
}

/// The point with the values that a side replaces; `None` if the plan has no such point.
pub(crate) fn other_point(plan: &Plan, point: usize, side: &Side) -> Option<usize> {
    let Side::Measured { at, .. } = side else { return Some(point) };
    let mut values = plan.points[point].clone();
    for (parameter, value) in at {
        let condition = Condition::OneOf(vec![value.clone()]);
        values[*parameter] = plan.parameters[*parameter].values.iter().position(|v| condition.holds(v))?;
    }
    plan.points.iter().position(|p| *p == values)
}

/// A setting that is tried for claims that fail.
#[derive(Clone, Debug)]
pub struct Ablation {
    /// The setting, for people.
    pub name: String,
    /// What it sets, of every scenario and at every point.
    pub set: Vec<Override>,
}

/// A sentence that holds, holds partly or fails.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name within the plan.
    pub id: String,
    /// The sentence.
    pub says: String,
    /// Where it comes from.
    pub source: String,
    /// What the source expects, in its own numbers, where it has any.
    pub expected: String,
    /// What it consists of.
    pub comparisons: Vec<Comparison>,
    /// What was found out about a claim that does not hold.
    pub finding: String,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// Where it comes from.
    pub source: String,
    /// What it starts from; at least one.
    pub scenarios: Vec<PlanScenario>,
    /// What is run; at least one.
    pub variants: Vec<PlanVariant>,
    /// Plain TCP on each path is added where it is missing.
    pub baselines: bool,
    /// What is varied.
    pub parameters: Vec<Parameter>,
    /// The points: for each parameter an index into its values.
    pub points: Vec<Vec<usize>>,
    /// The seeds are 1 to this.
    pub seeds: u64,
    /// What holds for every run.
    pub set: Vec<Override>,
    /// The metrics of the tables.
    pub metrics: Vec<String>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Its claims.
    pub claims: Vec<Claim>,
    /// What is tried for those that fail, before what is tried for every plan.
    pub ablations: Vec<Ablation>,
    /// The ablation that is being tried.
    pub changed: Option<Ablation>,
    pub(crate) document: Document,
}

/// Gives a plan the files that it names.
pub trait PlanFiles {
    /// The text of the file called `name`, as the plan writes it.
    ///
    /// # Errors
    /// Why it cannot be read, for people.
    fn read(&self, name: &str) -> Result<String, String>;
}

impl Plan {
    /// Reads the text of the file called `file`. With `quick`, it is smaller as its table `[quick]` says.
    ///
    /// # Errors
    /// At the first key or value that is not allowed.
    pub fn parse(file: &str, text: &str, quick: bool, files: &dyn PlanFiles) -> Result<Self, ScenarioError> {
        read::plan(Document::parse(file, text)?, quick, files)
    }

    /// The list of `[[ablation]]`.
    pub(crate) fn ablations(document: &Document) -> Result<Vec<Ablation>, ScenarioError> {
        read::ablations(document)
    }

    /// The plan with one setting changed; `None` where it varies that setting itself.
    pub fn with(&self, ablation: &Ablation) -> Option<Self> {
        let setting = |o: &Override| o.key.rsplit('.').next().unwrap_or_default().to_owned();
        let varied: Vec<String> = self.parameters.iter().flat_map(|p| &p.set).map(setting).collect();
        let clashes = ablation.set.iter().any(|o| varied.contains(&setting(o)));
        (!clashes).then(|| Plan { changed: Some(ablation.clone()), ..self.clone() })
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

    /// The parameters whose names stand in braces in a value.
    fn named<'a>(&'a self, value: &'a str) -> impl Iterator<Item = usize> + 'a {
        (0..self.parameters.len()).filter(move |i| value.contains(&format!("{{{}}}", self.parameters[*i].name)))
    }

    /// A text with the values of a point in the place of the parameters' names.
    pub(crate) fn filled(&self, text: &str, point: usize) -> String {
        let values = self.values(point).into_iter().zip(&self.parameters);
        values.fold(text.to_owned(), |text, (value, parameter)| text.replace(&format!("{{{}}}", parameter.name), value))
    }
}
