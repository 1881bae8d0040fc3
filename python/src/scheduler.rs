//! Schedulers that are written in Python, as factories of the registry.

use crate::answer::{decision, word};
use crate::view::{Event, View};
use pathweave_algorithms::Registry;
use pathweave_runner::SchedulerFault;
use pathweave_scheduler::parameter::{Described, Kind, Parameter, ParameterError, Values};
use pathweave_scheduler::{Decision, Event as CoreEvent, Quantity, Scheduler, SchedulerFactory, View as CoreView};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

/// Pathweave's own schedulers and these: descriptions made by `pathweave._schedulers`.
pub(crate) fn registry(own: &[Bound<'_, PyAny>]) -> PyResult<Registry> {
    own.iter().try_fold(Registry::builtin(), |registry, description| {
        let factory: Arc<dyn SchedulerFactory> = Arc::new(Factory::read(description)?);
        Ok(registry.with_scheduler(factory))
    })
}

/// Pathweave's own schedulers and those that are registered in Python: what a scenario may name.
pub(crate) fn registered(py: Python<'_>) -> PyResult<Registry> {
    let all: Vec<Bound<'_, PyAny>> = py.import("pathweave.schedulers")?.call_method0("descriptions")?.extract()?;
    registry(&all)
}

/// A class whose objects decide.
struct Factory {
    name: String,
    source: String,
    summary: String,
    parameters: Vec<Declared>,
    queues: bool,
    duplicates: bool,
    sees_carried: bool,
    class: Py<PyAny>,
}

/// A parameter with its texts.
#[derive(Clone)]
struct Declared {
    name: String,
    kind: String,
    min: f64,
    max: f64,
    choices: String,
    unit: String,
    default: String,
    description: String,
}

impl Factory {
    fn read(description: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = |of: &Bound<'_, PyAny>, name: &str| of.getattr(name)?.extract::<String>();
        let truth = |name: &str| description.getattr(name)?.extract::<bool>();
        let mut parameters = Vec::new();
        for parameter in description.getattr("parameters")?.try_iter()? {
            let p = parameter?;
            parameters.push(Declared {
                name: text(&p, "name")?,
                kind: text(&p, "kind")?,
                min: p.getattr("min")?.extract()?,
                max: p.getattr("max")?.extract()?,
                choices: text(&p, "choices")?,
                unit: text(&p, "unit")?,
                default: text(&p, "default")?,
                description: text(&p, "description")?,
            });
        }
        Ok(Factory {
            name: text(description, "name")?,
            source: text(description, "source")?,
            summary: text(description, "summary")?,
            parameters,
            queues: truth("queues")?,
            duplicates: truth("duplicates")?,
            sees_carried: truth("sees_carried")?,
            class: description.getattr("factory")?.unbind(),
        })
    }

    fn make(&self, py: Python<'_>, values: &Values) -> PyResult<Rule> {
        let arguments = PyDict::new(py);
        for Declared { name, kind, .. } in &self.parameters {
            match kind.as_str() {
                "number" => arguments.set_item(name, values.number(name))?,
                "integer" => arguments.set_item(name, values.integer(name))?,
                "bool" => arguments.set_item(name, values.bool(name))?,
                "choice" => arguments.set_item(name, values.choice(name))?,
                _ => arguments.set_item(name, values.text(name))?,
            }
        }
        let object = self.class.bind(py).call((), Some(&arguments))?;
        let method = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            Ok(object.getattr_opt(name)?.filter(|method| method.is_callable()).map(Bound::unbind))
        };
        let decide = object.getattr("decide")?.unbind();
        Ok(Rule {
            decide,
            on_event: method("on_event")?,
            quantities: method("quantities")?,
            carried: self.sees_carried,
        })
    }
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Described for Factory {
    fn name(&self) -> &str {
        &self.name
    }
    fn source(&self) -> &str {
        &self.source
    }
    fn summary(&self) -> &str {
        &self.summary
    }
    fn parameters(&self) -> Vec<Parameter<'_>> {
        let parameter = |p: &'_ Declared| Parameter {
            name: word(&p.name),
            kind: match p.kind.as_str() {
                "number" => Kind::Number { min: p.min, max: p.max },
                "integer" => Kind::Integer { min: p.min as u64, max: p.max as u64 },
                "bool" => Kind::Bool,
                "choice" => Kind::Choice(word(&p.choices)),
                _ => Kind::Text,
            },
            unit: word(&p.unit),
            default: word(&p.default),
            description: word(&p.description),
            source: "",
        };
        self.parameters.iter().map(parameter).collect()
    }
}

impl SchedulerFactory for Factory {
    fn queues(&self) -> bool {
        self.queues
    }
    fn duplicates(&self) -> bool {
        self.duplicates
    }
    fn build(&self, values: &Values) -> Result<Box<dyn Scheduler>, ParameterError> {
        Python::attach(|py| self.make(py, values).map_err(|error| traceback(py, &error)))
            .map(|rule| Box::new(rule) as Box<dyn Scheduler>)
            .map_err(|text| ParameterError {
                name: "scheduler".into(),
                value: self.name.clone(),
                allowed: format!("a class that can be made: {text}"),
            })
    }
}

/// An object that decides for one connection.
struct Rule {
    decide: Py<PyAny>,
    on_event: Option<Py<PyAny>>,
    quantities: Option<Py<PyAny>>,
    carried: bool,
}

impl Scheduler for Rule {
    fn decide(&mut self, view: &CoreView<'_>) -> Decision {
        with_python(|py| {
            let answer = self.decide.bind(py).call1((View::of(view, self.carried),))?;
            decision(&answer, view)
        })
    }

    fn on_event(&mut self, event: &CoreEvent<'_>, view: &CoreView<'_>) {
        if let Some(on_event) = &self.on_event {
            with_python(|py| on_event.bind(py).call1((Event::of(event), View::of(view, self.carried))).map(drop));
        }
    }

    fn wants_events(&self) -> bool {
        self.on_event.is_some()
    }

    fn quantities(&self, put: &mut dyn FnMut(Quantity)) {
        let Some(quantities) = &self.quantities else { return };
        let values: std::collections::BTreeMap<String, f64> = with_python(|py| quantities.bind(py).call0()?.extract());
        values.iter().for_each(|(name, value)| put(Quantity { name: word(name), subflow: None, value: *value }));
    }
}

/// Calls Python. An exception ends this run, and is its error.
fn with_python<R>(work: impl FnOnce(Python<'_>) -> PyResult<R>) -> R {
    let answer = Python::attach(|py| work(py).map_err(|error| traceback(py, &error)));
    // It is no panic, so nothing is written to standard error; whoever makes the run catches it.
    answer.unwrap_or_else(|text| resume_unwind(Box::new(SchedulerFault(text))))
}

/// An exception as Python shows it.
fn traceback(py: Python<'_>, error: &PyErr) -> String {
    let format = || -> PyResult<String> {
        let lines = py.import("traceback")?.getattr("format_exception")?;
        let lines = lines.call1((error.get_type(py), error.value(py), error.traceback(py)))?;
        lines.extract::<Vec<String>>().map(|lines| lines.concat())
    };
    format().map_or_else(|_| error.to_string(), |text| text.trim_end().to_owned())
}
