//! Figures and claims of a plan.

use super::reader::{Read, Result};
use super::{Claim, Comparison, Condition, Figure, Form, Over, Plan, Printed, Relation, Sample, Side};
use pathweave_lab::scenario::{Data, Entry, Value};

const FORMS: &[(&str, Form)] =
    &[("lines", Form::Lines), ("bars", Form::Bars), ("boxes", Form::Boxes), ("cdf", Form::Cdf)];
const RELATIONS: &[(&str, Relation)] = &[
    ("<", Relation::Below),
    (">", Relation::Above),
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("=", Relation::Equal),
];
const FIGURE: &[&str] = &["title", "form", "x", "log_x", "metric", "variants", "sum", "sample", "bound"];
const CLAIM: &[&str] = &["id", "says", "source", "expected", "finding", "promise", "effect", "ours", "compare"];
const COMPARE: &[&str] = &[
    "left",
    "is",
    "right",
    "metric",
    "right_metric",
    "factor",
    "margin",
    "because",
    "where",
    "scenarios",
    "left_scenario",
    "right_scenario",
    "left_at",
    "right_at",
    "over",
    "sample",
];
const SAMPLES: &[(&str, Sample)] = &[("seeds", Sample::Seeds), ("points", Sample::Points)];

/// `[[figure]]`.
pub(super) fn figures(read: &Read<'_>, top: &[Entry], plan: &Plan) -> Result<Vec<Figure>> {
    let mut all = Vec::new();
    for (value, table) in read.reader.tables(top, "figure")? {
        read.reader.check_keys(table, FIGURE)?;
        let form = read.choice(table, "form", FORMS)?.unwrap_or(Form::Lines);
        let x = match read.find(table, "x") {
            Some(entry) => Some(parameter(read, plan, "x", &read.reader.text("x", &entry.value)?, &entry.value)?),
            None if form == Form::Lines => {
                return Err(read.reader.missing(value.place, "x", names(plan.parameters.iter().map(|p| &p.name))));
            }
            None => None,
        };
        let metric = metric(read, table, "metric")?;
        // What is drawn of the goodput has the bound too.
        let bound = metric.as_deref().is_none_or(|m| m == "goodput_mbps");
        let named = |key: &str| -> Result<Vec<usize>> {
            read.list(table, key)?.into_iter().map(|(name, value)| variant(read, plan, key, &name, value)).collect()
        };
        all.push(Figure {
            title: read.text(table, "title")?.unwrap_or_else(|| plan.title.clone()),
            form,
            x,
            log_x: read.truth(table, "log_x")?.unwrap_or(false),
            metric: metric.unwrap_or_else(|| "goodput_mbps".into()),
            variants: named("variants")?,
            sum: named("sum")?,
            sample: read.choice(table, "sample", SAMPLES)?.unwrap_or(Sample::Points),
            bound: read.truth(table, "bound")?.unwrap_or(bound),
        });
    }
    Ok(all)
}

/// `[[claim]]`.
pub(super) fn claims(read: &Read<'_>, top: &[Entry], plan: &Plan) -> Result<Vec<Claim>> {
    let mut all: Vec<Claim> = Vec::new();
    for (value, table) in read.reader.tables(top, "claim")? {
        read.reader.check_keys(table, CLAIM)?;
        let needed =
            |key: &str, what: &str| read.text(table, key)?.ok_or_else(|| read.reader.missing(value.place, key, what));
        let id = needed("id", "a name within the plan")?;
        if all.iter().any(|c| c.id == id) {
            return Err(read.reader.wrong("id", value, format!("a name other than {id}, which is taken")));
        }
        if plan.seeds < 2 {
            return Err(read.reader.wrong("claim", value, "claims only with two seeds or more"));
        }
        let mut comparisons = Vec::new();
        for (value, table) in read.reader.tables(table, "compare")? {
            comparisons.push(comparison(read, plan, value, table)?);
        }
        if comparisons.is_empty() {
            return Err(read.reader.missing(value.place, "compare", "at least one [[claim.compare]]"));
        }
        all.push(Claim {
            id,
            says: needed("says", "the sentence that is claimed")?,
            source: needed("source", "where the claim comes from")?,
            expected: read.text(table, "expected")?.unwrap_or_default(),
            finding: read.text(table, "finding")?.unwrap_or_default(),
            promise: read.text(table, "promise")?,
            effect: read.number(table, "effect")?,
            ours: read.truth(table, "ours")?.unwrap_or(false),
            comparisons,
        });
    }
    Ok(all)
}

/// `[[printed]]`.
pub(super) fn printed(read: &Read<'_>, top: &[Entry], plan: &Plan) -> Result<Vec<Printed>> {
    let mut all = Vec::new();
    for (value, table) in read.reader.tables(top, "printed")? {
        read.reader.check_keys(table, &["variant", "metric", "value", "source", "where", "calibrates"])?;
        let missing = |key: &str, what: &str| read.reader.missing(value.place, key, what);
        let named = read.find(table, "variant").ok_or_else(|| missing("variant", "a variant's name"))?;
        let name = read.reader.text("variant", &named.value)?;
        all.push(Printed {
            variant: variant(read, plan, "variant", &name, &named.value)?,
            metric: metric(read, table, "metric")?.unwrap_or_else(|| "goodput_mbps".into()),
            value: read.number(table, "value")?.ok_or_else(|| missing("value", "the source's number"))?,
            source: read.text(table, "source")?.ok_or_else(|| missing("source", "where the number is"))?,
            only: conditions(read, plan, table)?,
            calibrates: read.truth(table, "calibrates")?.unwrap_or(false),
        });
    }
    Ok(all)
}

/// `where`: conditions on the points.
fn conditions(read: &Read<'_>, plan: &Plan, table: &[Entry]) -> Result<Vec<(usize, Condition)>> {
    let mut only = Vec::new();
    for entry in read.reader.table(table, "where")?.unwrap_or(&[]) {
        let index = parameter(read, plan, "where", &entry.key, &entry.value)?;
        only.push((index, condition(read, plan, index, entry)?));
    }
    Ok(only)
}

fn comparison(read: &Read<'_>, plan: &Plan, value: &Value, table: &[Entry]) -> Result<Comparison> {
    read.reader.check_keys(table, COMPARE)?;
    let metric_of_both = metric(read, table, "metric")?.unwrap_or_else(|| "goodput_mbps".into());
    let right_metric = metric(read, table, "right_metric")?;
    let left = side(read, plan, value, table, ("left", "left_scenario", "left_at"), &metric_of_both)?;
    let metric_of_right = right_metric.unwrap_or(metric_of_both);
    let right = side(read, plan, value, table, ("right", "right_scenario", "right_at"), &metric_of_right)?;
    let only = conditions(read, plan, table)?;
    let about = |point: usize| {
        let values = plan.values(point);
        only.iter().all(|(parameter, condition): &(usize, Condition)| condition.holds(values[*parameter]))
    };
    if !(0..plan.points.len()).any(about) {
        let place = read.find(table, "where").map_or(value, |e| &e.value);
        return Err(read.reader.wrong("where", place, "values of which the plan has a point"));
    }
    let mut scenarios = Vec::new();
    for (name, value) in read.list(table, "scenarios")? {
        scenarios.push(scenario(read, plan, "scenarios", &name, value)?);
    }
    let over = over(read, table)?;
    let sample = read.choice(table, "sample", SAMPLES)?.unwrap_or(Sample::Seeds);
    let each_point_counts = matches!(over, Some(Over::Mean | Over::ShareBelow(_) | Over::ShareAbove(_)));
    if let (Sample::Points, Some(entry), false) = (sample, read.find(table, "sample"), each_point_counts) {
        return Err(read.reader.wrong("sample", &entry.value, "seeds, or points where over is mean or a share"));
    }
    let words: Vec<&str> = RELATIONS.iter().map(|(word, _)| *word).collect();
    let relation = read.choice(table, "is", RELATIONS)?;
    Ok(Comparison {
        left,
        relation: relation.ok_or_else(|| read.reader.missing(value.place, "is", words.join(", ")))?,
        right,
        factor: read.number(table, "factor")?.unwrap_or(1.0),
        margin: read.share(table, "margin")?.unwrap_or(0.0),
        because: read.text(table, "because")?.unwrap_or_default(),
        only,
        scenarios,
        over,
        sample,
    })
}

/// A variant, or a number.
fn side(
    read: &Read<'_>,
    plan: &Plan,
    value: &Value,
    table: &[Entry],
    (key, scenario_key, at_key): (&str, &str, &str),
    metric: &str,
) -> Result<Side> {
    let Some(entry) = read.find(table, key) else {
        return Err(read.reader.missing(value.place, key, "a variant of the plan, or a number"));
    };
    let text = read.reader.text(key, &entry.value)?;
    if let Ok(number) = text.parse::<f64>() {
        return Ok(Side::Constant(number));
    }
    let scenario = match read.find(table, scenario_key) {
        Some(entry) => {
            let name = read.reader.text(scenario_key, &entry.value)?;
            Some(scenario(read, plan, scenario_key, &name, &entry.value)?)
        }
        None => None,
    };
    let mut at = Vec::new();
    for entry in read.reader.table(table, at_key)?.unwrap_or(&[]) {
        let index = parameter(read, plan, at_key, &entry.key, &entry.value)?;
        at.push((index, read.reader.text(&entry.key, &entry.value)?));
    }
    let variant = variant(read, plan, key, &text, &entry.value)?;
    Ok(Side::Measured { variant, metric: metric.to_owned(), scenario, at })
}

/// `40`, `[40, 60]`, `"< 300"`.
fn condition(read: &Read<'_>, plan: &Plan, parameter: usize, entry: &Entry) -> Result<Condition> {
    if let Data::List(_) = entry.value.data {
        let list = read.list(std::slice::from_ref(entry), &entry.key)?;
        return Ok(Condition::OneOf(list.into_iter().map(|(text, _)| text).collect()));
    }
    let text = read.reader.text(&entry.key, &entry.value)?;
    for word in ["<=", ">=", "<", ">"] {
        if let Some(number) = text.strip_prefix(word) {
            return match number.trim().parse() {
                Ok(number) => Ok(Condition::Compared(word, number)),
                Err(_) => Err(read.reader.wrong(&entry.key, &entry.value, format!("a number after {word}"))),
            };
        }
    }
    let known = &plan.parameters[parameter].values;
    if text.parse::<f64>().is_err() && !known.contains(&text) {
        let allowed = format!("values of {}: {}", entry.key, known.join(", "));
        return Err(read.reader.wrong(&entry.key, &entry.value, allowed));
    }
    Ok(Condition::OneOf(vec![text]))
}

/// `mean`, `share below -0.02`.
fn over(read: &Read<'_>, table: &[Entry]) -> Result<Option<Over>> {
    let Some(entry) = read.find(table, "over") else { return Ok(None) };
    let text = read.reader.text("over", &entry.value)?;
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let over = match text.as_str() {
        "mean" => Some(Over::Mean),
        "median" => Some(Over::Median),
        "least" => Some(Over::Least),
        "most" => Some(Over::Most),
        other => match (other.strip_prefix("share below"), other.strip_prefix("share above")) {
            (Some(rest), _) => number(rest).map(Over::ShareBelow),
            (_, Some(rest)) => number(rest).map(Over::ShareAbove),
            _ => None,
        },
    };
    let allowed = "mean, median, least, most, share below NUMBER, share above NUMBER";
    over.map(Some).ok_or_else(|| read.reader.wrong("over", &entry.value, allowed))
}

fn metric(read: &Read<'_>, table: &[Entry], key: &str) -> Result<Option<String>> {
    let Some(entry) = read.find(table, key) else { return Ok(None) };
    read.metric(key, &read.reader.text(key, &entry.value)?, &entry.value).map(Some)
}

fn names<'a>(all: impl Iterator<Item = &'a String>) -> String {
    let all: Vec<&str> = all.map(String::as_str).collect();
    if all.is_empty() { "nothing: the plan has none".into() } else { all.join(", ") }
}

fn parameter(read: &Read<'_>, plan: &Plan, key: &str, name: &str, value: &Value) -> Result<usize> {
    let found = plan.parameters.iter().position(|p| p.name == name);
    found.ok_or_else(|| {
        let known = names(plan.parameters.iter().map(|p| &p.name));
        read.reader.wrong(key, value, format!("parameters of the plan: {known}"))
    })
}

/// A variant by its name; plain TCP that is added as a baseline too, which comes behind the plan's own.
fn variant(read: &Read<'_>, plan: &Plan, key: &str, name: &str, value: &Value) -> Result<usize> {
    let found = plan.variants.iter().position(|v| v.name == name);
    found.ok_or_else(|| read.reader.wrong(key, value, names(plan.variants.iter().map(|v| &v.name))))
}

fn scenario(read: &Read<'_>, plan: &Plan, key: &str, name: &str, value: &Value) -> Result<usize> {
    let found = plan.scenarios.iter().position(|s| s.name == name);
    found.ok_or_else(|| read.reader.wrong(key, value, names(plan.scenarios.iter().map(|s| &s.name))))
}
