//! Keeps a plan and its finished runs, and answers requests about them.

use crate::answer::answer;
use crate::request::{Item, Offer, Planned, Ran, Request, Text};
use pathweave_algorithms::Registry;
use pathweave_lab::results::RunResult;
use pathweave_lab::scenario::{BUILTIN, Document, Scenario};
use pathweave_report::explain_page;
use pathweave_runner::{Explained, Failure, Run, RunPlan, Source, TELLING, explanation, plans, simulate, version};
use pathweave_scheduler::parameter::Described;
use serde::Serialize;

/// The laboratory of one page: at most one plan at a time, with its finished runs.
#[derive(Debug)]
pub struct Laboratory {
    registry: Registry,
    asked: Option<Asked>,
}

/// A plan and its finished runs. The plan's seeds are those that a request to run has named.
#[derive(Debug)]
struct Asked {
    source: Source,
    plan: RunPlan,
    results: Vec<RunResult>,
}

impl Default for Laboratory {
    fn default() -> Self {
        Laboratory::new()
    }
}

impl Laboratory {
    /// A laboratory with the built-in algorithms and without a plan.
    pub fn new() -> Self {
        Laboratory { registry: Registry::builtin(), asked: None }
    }

    /// Answers one request (see the crate's documentation). The request and the answer are JSON.
    pub fn reply(&mut self, request: &str) -> String {
        let reply = serde_json::from_str(request)
            .map_err(|error| Failure::Input(format!("not a request: {error}")))
            .and_then(|request| self.carry_out(request));
        reply.unwrap_or_else(|failure| {
            #[derive(Serialize)]
            struct Error {
                error: String,
            }
            json(&Error { error: failure.to_string() })
        })
    }

    fn carry_out(&mut self, request: Request) -> Result<String, Failure> {
        match request {
            Request::Offer => Ok(json(&self.offer())),
            Request::Plan { file, toml, schedulers } => {
                self.plan(&file, &toml, &schedulers).map(|planned| json(&planned))
            }
            Request::Run { variant, seed } => self.run(variant, seed).map(|ran| json(&ran)),
            Request::Compare => {
                let Asked { plan, results, .. } = self.asked.as_mut().ok_or_else(no_plan)?;
                Ok(json(&answer(plan, results, &self.registry)))
            }
            Request::Explain { scheduler, seed, from, to } => {
                let Asked { source, .. } = self.asked.as_ref().ok_or_else(no_plan)?;
                let what =
                    Explained { scheduler: &scheduler, seed, from: Some(&from), to: Some(&to), connection: None };
                let explanation = explanation(source, &what, &self.registry)?;
                Ok(json(&explain_page(&explanation)))
            }
        }
    }

    fn offer(&self) -> Offer {
        let item =
            |algorithm: &dyn Described| Item { name: algorithm.name().into(), summary: algorithm.summary().into() };
        Offer {
            version: version(),
            schedulers: self.registry.schedulers().iter().map(|factory| item(&**factory)).collect(),
            telling: &TELLING,
            controllers: self.registry.controllers().iter().map(|factory| item(&**factory)).collect(),
            scenarios: BUILTIN.iter().map(|(name, toml)| Text { name, toml }).collect(),
        }
    }

    fn plan(&mut self, file: &str, toml: &str, schedulers: &str) -> Result<Planned, Failure> {
        self.asked = None;
        let source = Source { argument: file.into(), document: Document::parse(file, toml)?, folder: None };
        let request = pathweave_runner::Request {
            schedulers: Some(schedulers.into()),
            against: None,
            why: None,
            seeds: Vec::new(),
        };
        let plan = plans(&request, [Ok(source.clone())], &self.registry)?;
        let plan = plan.into_iter().next().ok_or_else(no_plan)?;
        let first = plan.variants.first().map(|(_, scenario)| scenario);
        let planned = Planned {
            name: plan.name.clone(),
            runs: plan.variants.iter().map(|(variant, _)| variant.label()).collect(),
            warnings: first.map(Scenario::warnings).unwrap_or_default(),
            duration_s: first.map_or(0.0, |scenario| scenario.duration.as_secs_f64()),
            measure_from_s: first.map_or(0.0, |scenario| scenario.measure_from.as_secs_f64()),
        };
        self.asked = Some(Asked { source, plan, results: Vec::new() });
        Ok(planned)
    }

    fn run(&mut self, variant: usize, seed: u64) -> Result<Ran, Failure> {
        let Asked { plan, results, .. } = self.asked.as_mut().ok_or_else(no_plan)?;
        let wrong = || Failure::Input(format!("the plan has no run {variant}"));
        let (variant, scenario) = plan.variants.get(variant).ok_or_else(wrong)?;
        let result = simulate(&Run {
            document: &plan.document,
            scenario,
            variant,
            seed,
            registry: &self.registry,
            files: &plan.traces,
            prepare: None,
            number: results.len(),
        });
        let ran = Ran {
            scheduler: result.scheduler.clone(),
            seed,
            status: result.status,
            reason: result.reason.clone(),
            digest: result.digest.clone(),
        };
        if !plan.seeds.contains(&seed) {
            plan.seeds.push(seed);
        }
        results.retain(|other| (&other.scheduler, other.seed) != (&result.scheduler, seed));
        results.push(result);
        Ok(ran)
    }
}

fn no_plan() -> Failure {
    Failure::Input("there is no plan".into())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain numbers and text have a JSON form")
}
