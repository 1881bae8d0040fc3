//! The answers of schedulers in Python.

use crate::view::SubflowView;
use pathweave_scheduler::{Assign as CoreAssign, DataSeq, Decision, Reason, SubflowId, View as CoreView, WindowUse};
use pathweave_units::{Duration, Instant};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Most different words of schedulers in Python that are kept for the reasons of their decisions.
const MOST_WORDS: usize = 10_000;

/// A word that lives as long as the program. Reasons hold such words, because rules in Rust have no others.
pub(crate) fn word(text: &str) -> &'static str {
    static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(text) {
        return known;
    }
    if words.len() >= MOST_WORDS {
        return "(more different reasons than are kept; put numbers into terms)";
    }
    let new: &'static str = Box::leak(text.to_owned().into_boxed_str());
    words.insert(new);
    new
}

/// Gives a part of the stream to a subflow: the next `segments` segments that are not assigned, or the bytes from `start` to `end`, which
/// may be ahead of others or carried by another subflow already.
///
/// With `queue`, the assigned bytes may exceed the congestion window, up to the subflow's send buffer. `reason` is a
/// sentence with the names of its `terms` in braces, such as `"{rtt_ms} is the shortest"`; `explain` shows the
/// sentence with the terms' values.
#[pyclass(module = "pathweave._native", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct Assign {
    subflow: u8,
    segments: u32,
    start: Option<u64>,
    end: Option<u64>,
    queue: bool,
    reason: Reason,
}

#[pymethods]
impl Assign {
    #[new]
    #[pyo3(signature = (subflow, segments=1, *, start=None, end=None, queue=false, reason="", terms=BTreeMap::new()))]
    fn new(
        subflow: &Bound<'_, PyAny>,
        segments: u32,
        start: Option<u64>,
        end: Option<u64>,
        queue: bool,
        reason: &str,
        terms: BTreeMap<String, f64>,
    ) -> PyResult<Self> {
        if start.is_some() != end.is_some() {
            return Err(PyValueError::new_err("start and end are given together, or neither"));
        }
        Ok(Assign { subflow: subflow_id(subflow)?, segments, start, end, queue, reason: reason_of(reason, &terms) })
    }

    fn __repr__(&self) -> String {
        format!("Assign(subflow={}, reason={:?})", self.subflow, self.reason.to_string())
    }
}

/// Assigns nothing for now.
///
/// The rule is asked again after the next acknowledgement, and at `until_s` (seconds from the start of the run) at
/// the latest. Without a time, a wait is only possible while data is in flight. `reason` and `terms` are as in
/// `Assign`.
#[pyclass(module = "pathweave._native", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct Wait {
    until_s: Option<f64>,
    for_subflow: Option<u8>,
    reason: Reason,
}

#[pymethods]
impl Wait {
    #[new]
    #[pyo3(signature = (*, until_s=None, for_subflow=None, reason="", terms=BTreeMap::new()))]
    fn new(
        until_s: Option<f64>,
        for_subflow: Option<&Bound<'_, PyAny>>,
        reason: &str,
        terms: BTreeMap<String, f64>,
    ) -> PyResult<Self> {
        if until_s.is_some_and(|time| !time.is_finite() || !(0.0..1e9).contains(&time)) {
            return Err(PyValueError::new_err("until_s is a time in seconds from the start of the run, from 0 to 1e9"));
        }
        Ok(Wait { until_s, for_subflow: for_subflow.map(subflow_id).transpose()?, reason: reason_of(reason, &terms) })
    }

    fn __repr__(&self) -> String {
        format!("Wait(until_s={:?}, reason={:?})", self.until_s, self.reason.to_string())
    }
}

/// A subflow, or its number.
fn subflow_id(subflow: &Bound<'_, PyAny>) -> PyResult<u8> {
    match subflow.cast::<SubflowView>() {
        Ok(view) => Ok(view.get().0.id.0),
        Err(_) => subflow.extract(),
    }
}

/// The reason that `explain` shows if a rule gives none.
const NO_REASON: &str = "the rule gave no reason";

fn reason_of(reason: &str, terms: &BTreeMap<String, f64>) -> Reason {
    let rule = if reason.is_empty() { NO_REASON } else { word(reason) };
    terms.iter().fold(Reason::new(rule), |reason, (term, value)| reason.with(word(term), *value))
}

/// Converts the answer of `decide`: `None`, a subflow, `Assign` or `Wait`.
pub(crate) fn decision(answer: &Bound<'_, PyAny>, view: &CoreView<'_>) -> PyResult<Decision> {
    if answer.is_none() {
        return Ok(Decision::wait(NO_REASON));
    }
    if let Ok(subflow) = answer.cast::<SubflowView>() {
        let reason = Reason::new(NO_REASON);
        return Ok(assigned(subflow.get().0.id, 1, None, WindowUse::Respect, reason, view));
    }
    if let Ok(assign) = answer.cast::<Assign>() {
        let Assign { subflow, segments, start, end, queue, reason } = assign.get().clone();
        let range = start.zip(end).map(|(start, end)| DataSeq(start)..DataSeq(end));
        let window = if queue { WindowUse::Queue } else { WindowUse::Respect };
        return Ok(assigned(SubflowId(subflow), segments, range, window, reason, view));
    }
    if let Ok(wait) = answer.cast::<Wait>() {
        let Wait { until_s, for_subflow, reason } = wait.get().clone();
        let until = until_s.map(|time| Instant::ZERO + Duration::from_secs_f64(time));
        return Ok(Decision::Wait { until, for_subflow: for_subflow.map(SubflowId), reason });
    }
    let class = answer.get_type().name()?;
    Err(PyTypeError::new_err(format!("decide answers with a subflow, Assign, Wait or None, not with {class}")))
}

fn assigned(
    subflow: SubflowId,
    segments: u32,
    range: Option<Range<DataSeq>>,
    window: WindowUse,
    reason: Reason,
    view: &CoreView<'_>,
) -> Decision {
    let next = || view.subflow(subflow).map_or_else(|| view.sendable(), |s| view.next_for(s, segments));
    match range.or_else(next) {
        Some(range) => Decision::Assign(CoreAssign { subflow, range, window, reason }),
        None => Decision::nothing_to_send(),
    }
}
