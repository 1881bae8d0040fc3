//! Ablations: changes that are tried if a claim does not hold everywhere.

use super::{Override, Plan, PlanVariant, What};

/// An ablation: a change of settings, or of a scheduler's parameters.
#[derive(Clone, Debug)]
pub struct Ablation {
    /// A name for people.
    pub name: String,
    /// The settings that the ablation changes, in every scenario and at every point.
    pub set: Vec<Override>,
    /// Schedulers with the parameters that all their variants get: `blest:delta=0.001`.
    pub run: Vec<String>,
}

impl Ablation {
    /// Both changes together; `None` if both change the same setting or scheduler.
    pub fn and(&self, other: &Ablation) -> Option<Self> {
        let same_setting = self.set.iter().any(|own| other.set.iter().any(|o| setting(o) == setting(own)));
        let same_scheduler = self.run.iter().any(|own| other.run.iter().any(|o| scheduler(o) == scheduler(own)));
        (!same_setting && !same_scheduler).then(|| Ablation {
            name: format!("{} and {}", self.name, other.name),
            set: [&self.set[..], &other.set[..]].concat(),
            run: [&self.run[..], &other.run[..]].concat(),
        })
    }
}

impl Plan {
    /// The plan with an ablation applied. `None` if the plan varies what the ablation changes, or does not run the
    /// ablation's scheduler.
    pub fn with(&self, ablation: &Ablation) -> Option<Self> {
        let varied: Vec<&str> = self.parameters.iter().flat_map(|p| &p.set).map(setting).collect();
        if ablation.set.iter().any(|o| varied.contains(&setting(o))) {
            return None;
        }
        let mut plan = Plan { changed: Some(ablation.clone()), ..self.clone() };
        for run in &ablation.run {
            let own = |v: &&mut PlanVariant| scheduler(text(v)) == scheduler(run);
            let own: Vec<&mut PlanVariant> = plan.variants.iter_mut().filter(own).collect();
            if own.is_empty() || own.iter().any(|v| replaced(text(v), run).any(|old| old.contains('{'))) {
                return None;
            }
            for variant in own {
                variant.run = What::Scheduler(with_parameters(text(variant), run));
            }
        }
        Some(plan)
    }
}

/// The name of a setting without its table: `receive_buffer`.
fn setting(o: &Override) -> &str {
    o.key.rsplit('.').next().unwrap_or_default()
}

/// The name of a scheduler before its parameters.
fn scheduler(run: &str) -> &str {
    run.split(':').next().unwrap_or_default()
}

/// The scheduler of a variant with its parameters; empty for plain TCP.
fn text(variant: &PlanVariant) -> &str {
    match &variant.run {
        What::Scheduler(text) => text,
        What::PlainTcp(_) => "",
    }
}

fn parameters(run: &str) -> impl Iterator<Item = &str> {
    run.split(':').skip(1)
}

/// Whether `change` has a value for this parameter.
fn replaces(change: &str, parameter: &str) -> bool {
    let key = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_owned();
    parameters(change).any(|new| key(new) == key(parameter))
}

/// The parameters in `text` that `change` replaces.
fn replaced<'a>(text: &'a str, change: &'a str) -> impl Iterator<Item = &'a str> {
    parameters(text).filter(move |old| replaces(change, old))
}

fn with_parameters(text: &str, change: &str) -> String {
    let kept = parameters(text).filter(|old| !replaces(change, old));
    let parts: Vec<&str> = [scheduler(text)].into_iter().chain(kept).chain(parameters(change)).collect();
    parts.join(":")
}

#[cfg(test)]
mod tests {
    use super::Ablation;
    use crate::plan::Plan;
    use crate::testing;

    const PLAN: &str = r#"
format = 1
name = "made-up"
scenarios = ["cp-asymmetric"]
schedulers = ["minrtt", "blest:delta=0.01:pr=true", "blest-kernel"]
[[parameter]]
name = "buffer"
values = [40, 100]
set = { "connection.receive_buffer" = "{}KB" }
[[ablation]]
name = "δ = 0.001"
run = "blest:delta=0.001"
[[ablation]]
name = "no pr"
set = { "connection.pr" = "false" }
[[ablation]]
name = "large buffers"
set = { "connection.receive_buffer" = "16MiB" }
[[ablation]]
name = "another scheduler"
run = "otias:pr=true"
"#;

    /// The schedulers of the plan's variants.
    fn runs(plan: &Plan) -> Vec<&str> {
        plan.variants.iter().map(super::text).collect()
    }

    #[test]
    fn a_schedulers_parameter_is_replaced_in_all_its_variants() {
        let plan = testing::sweep(PLAN).plan;
        let [delta, no_pr, buffers, other] = &plan.ablations[..] else { panic!("four ablations") };
        let changed = plan.with(delta).expect("the plan runs blest");
        assert_eq!(runs(&changed), ["minrtt", "blest:pr=true:delta=0.001", "blest-kernel"]);
        let both = delta.and(no_pr).expect("they change different things");
        assert_eq!(both.name, "δ = 0.001 and no pr");
        let changed = plan.with(&both).expect("the plan varies neither");
        assert_eq!(runs(&changed)[1], "blest:pr=true:delta=0.001");
        assert_eq!(changed.changed.map(|c| c.set.len()), Some(1));
        assert!(plan.with(buffers).is_none(), "the plan varies the buffer");
        assert!(plan.with(other).is_none(), "the plan does not run otias");
        let again = Ablation { name: "δ = 0".into(), run: vec!["blest:delta=0".into()], ..delta.clone() };
        assert!(delta.and(&again).is_none(), "both change blest");
    }

    #[test]
    fn a_parameter_that_the_plan_varies_is_left_alone() {
        let text = PLAN.replace("delta=0.01", "delta=0.{buffer}");
        let plan = testing::sweep(&text).plan;
        assert!(plan.with(&plan.ablations[0]).is_none());
    }
}
