//! What a scheduler in Python sees and answers.

use pathweave_proto::congestion::{LossKind, Phase};
use pathweave_proto::scheduler::{
    Assign as CoreAssign, BlockedBy, ClippedBy, Decision, Event as CoreEvent, Reason, SubflowView as CoreSubflow,
    View as CoreView, WindowUse,
};
use pathweave_proto::{DataSeq, SubflowId, SubflowSet};
use pathweave_units::{Duration, Instant};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// So many different words of schedulers in Python are kept for the reasons of their decisions.
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

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn ids(set: SubflowSet) -> Vec<u8> {
    set.iter().map(|id| id.0).collect()
}

/// One subflow as a scheduler sees it.
#[pyclass(module = "pathweave._native", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct SubflowView(CoreSubflow);

#[pymethods]
impl SubflowView {
    #[getter]
    fn id(&self) -> u8 {
        self.0.id.0
    }
    #[getter]
    fn backup(&self) -> bool {
        self.0.backup
    }
    #[getter]
    fn stale(&self) -> bool {
        self.0.stale
    }
    #[getter]
    fn mss_bytes(&self) -> u32 {
        self.0.mss
    }
    #[getter]
    fn srtt_ms(&self) -> f64 {
        // Before the first sample no path is known to be fast.
        self.0.rtt.smoothed.map_or(f64::INFINITY, ms)
    }
    #[getter]
    fn rtt_variation_ms(&self) -> f64 {
        ms(self.0.rtt.variation)
    }
    #[getter]
    fn min_rtt_ms(&self) -> Option<f64> {
        self.0.rtt.min.map(ms)
    }
    #[getter]
    fn latest_rtt_ms(&self) -> Option<f64> {
        self.0.rtt.latest.map(ms)
    }
    #[getter]
    fn cwnd_segments(&self) -> u32 {
        self.0.window.cwnd
    }
    #[getter]
    fn ssthresh_segments(&self) -> u32 {
        self.0.window.ssthresh
    }
    #[getter]
    fn in_flight_segments(&self) -> u32 {
        self.0.window.in_flight
    }
    #[getter]
    fn unsent_segments(&self) -> u32 {
        self.0.queue.unsent
    }
    #[getter]
    fn queued_bytes(&self) -> u64 {
        self.0.queue.bytes
    }
    #[getter]
    fn free_bytes(&self) -> u64 {
        self.0.queue.space
    }
    #[getter]
    fn window_space(&self) -> u32 {
        self.0.window_space()
    }
    #[getter]
    fn has_space(&self) -> bool {
        self.0.has_space()
    }
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.window.app_limited
    }
    #[getter]
    fn phase(&self) -> &'static str {
        match self.0.window.phase {
            Phase::SlowStart => "slow-start",
            Phase::Avoidance => "avoidance",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }
    #[getter]
    fn loss(&self) -> f64 {
        self.0.delivery.loss
    }
    #[getter]
    fn rate_mbps(&self) -> f64 {
        self.0.delivery.rate * 8.0 / 1e6
    }
    #[getter]
    fn pacing_rate_mbps(&self) -> f64 {
        self.0.delivery.pacing_rate * 8.0 / 1e6
    }
    #[getter]
    fn priority(&self) -> u32 {
        self.0.path.priority
    }
    #[getter]
    fn cost(&self) -> f64 {
        self.0.path.cost
    }
    #[getter]
    fn quota_left_bytes(&self) -> Option<u64> {
        self.0.path.quota_left
    }
    fn __repr__(&self) -> String {
        let Self(s) = self;
        format!(
            "<subflow {}: srtt {:.1} ms, {} of {} segments in flight>",
            s.id.0,
            ms(s.rtt.smoothed_or_zero()),
            s.window.in_flight,
            s.window.cwnd
        )
    }
}

/// A connection as a scheduler sees it: how it was when the scheduler was asked.
#[pyclass(module = "pathweave._native", frozen)]
pub(crate) struct View {
    now: Instant,
    subflows: Vec<CoreSubflow>,
    candidates: SubflowSet,
    first_unacked: u64,
    written_end: u64,
    assigned_end: u64,
    assigned: u64,
    unassigned: u64,
    sendable: Option<Range<DataSeq>>,
    send_window_end: u64,
    #[pyo3(get)]
    send_window_bytes: u64,
    #[pyo3(get)]
    send_buffer_free_bytes: u64,
    #[pyo3(get)]
    send_buffer_bytes: u64,
    #[pyo3(get)]
    send_window_free_bytes: u64,
    #[pyo3(get)]
    message_end: Option<u64>,
    spans: Option<Vec<(u64, u64, Vec<u8>)>>,
}

impl View {
    /// `spans`: with who carries what, which costs a copy of it.
    pub(crate) fn of(view: &CoreView<'_>, spans: bool) -> Self {
        let copied = || {
            let all = view.queue.spans_from(view.first_unacked());
            all.map(|(range, set)| (range.start.0, range.end.0, ids(set))).collect()
        };
        View {
            now: view.now,
            subflows: view.subflows.to_vec(),
            candidates: view.candidates().fold(SubflowSet::EMPTY, |set, subflow| set.with(subflow.id)),
            first_unacked: view.first_unacked().0,
            written_end: view.queue.written_end().0,
            assigned_end: view.queue.assigned_end().0,
            assigned: view.queue.assigned_bytes(),
            unassigned: view.queue.unassigned_bytes(),
            sendable: view.sendable(),
            send_window_end: view.send_window_end.0,
            send_window_bytes: view.send_window,
            send_buffer_free_bytes: view.send_buffer_free,
            send_buffer_bytes: view.send_buffer,
            send_window_free_bytes: view.send_window_free(),
            message_end: view.message_end.map(|end| end.0),
            spans: spans.then(copied),
        }
    }
}

#[pymethods]
impl View {
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }
    #[getter]
    fn subflows(&self) -> Vec<SubflowView> {
        self.subflows.iter().cloned().map(SubflowView).collect()
    }
    #[getter]
    fn candidates(&self) -> Vec<SubflowView> {
        let all = self.subflows.iter().filter(|s| self.candidates.contains(s.id));
        all.cloned().map(SubflowView).collect()
    }
    #[getter]
    fn first_unacked(&self) -> u64 {
        self.first_unacked
    }
    #[getter]
    fn written_end(&self) -> u64 {
        self.written_end
    }
    #[getter]
    fn assigned_end(&self) -> u64 {
        self.assigned_end
    }
    #[getter]
    fn in_flight_bytes(&self) -> u64 {
        self.assigned
    }
    #[getter]
    fn unassigned_bytes(&self) -> u64 {
        self.unassigned
    }
    #[getter]
    fn sendable(&self) -> Option<(u64, u64)> {
        self.sendable.as_ref().map(|range| (range.start.0, range.end.0))
    }
    #[getter]
    fn send_window_end(&self) -> u64 {
        self.send_window_end
    }
    #[getter]
    fn carried(&self) -> PyResult<Vec<(u64, u64, Vec<u8>)>> {
        let missing = "a scheduler that looks at `carried` must have the attribute `sees_carried = True`";
        self.spans.clone().ok_or_else(|| PyValueError::new_err(missing))
    }
}

/// Gives a part of the stream to a subflow.
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

/// Gives nothing to anyone for now.
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

fn reason_of(reason: &str, terms: &BTreeMap<String, f64>) -> Reason {
    let rule = if reason.is_empty() { "the rule in Python says so" } else { word(reason) };
    terms.iter().fold(Reason::new(rule), |reason, (term, value)| reason.with(word(term), *value))
}

/// What `decide` answered: `None`, a subflow, `Assign` or `Wait`.
pub(crate) fn decision(answer: &Bound<'_, PyAny>, view: &CoreView<'_>) -> PyResult<Decision> {
    if answer.is_none() {
        return Ok(Decision::no_space());
    }
    if let Ok(subflow) = answer.cast::<SubflowView>() {
        let reason = Reason::new("the rule in Python says so");
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

/// Something that happened on the connection.
#[pyclass(module = "pathweave._native", frozen, get_all)]
#[derive(Default)]
pub(crate) struct Event {
    kind: &'static str,
    subflow: Option<u8>,
    ranges: Vec<(u64, u64)>,
    data_ack: Option<u64>,
    has_sack: bool,
    rtt_ms: Option<f64>,
    loss: Option<&'static str>,
    blocked_by: Option<&'static str>,
    holders: Vec<u8>,
    clipped_by: Option<&'static str>,
}

#[pymethods]
impl Event {
    fn __repr__(&self) -> String {
        format!("<event {}, subflow {:?}>", self.kind, self.subflow)
    }
}

impl Event {
    pub(crate) fn of(event: &CoreEvent<'_>) -> Self {
        let pair = |range: &Range<DataSeq>| (range.start.0, range.end.0);
        let of = |kind, subflow: SubflowId| Event { kind, subflow: Some(subflow.0), ..Event::default() };
        match event {
            CoreEvent::Acked { subflow, mappings, data_ack, has_sack } => Event {
                ranges: mappings.iter().map(pair).collect(),
                data_ack: Some(data_ack.0),
                has_sack: *has_sack,
                ..of("acked", *subflow)
            },
            CoreEvent::Lost { subflow, kind } => {
                let loss = match kind {
                    LossKind::FastRecovery => "fast-recovery",
                    LossKind::Timeout => "timeout",
                };
                Event { loss: Some(loss), ..of("lost", *subflow) }
            }
            CoreEvent::RttSample { subflow, rtt } => Event { rtt_ms: Some(ms(*rtt)), ..of("rtt-sample", *subflow) },
            CoreEvent::WindowBlocked { by, holders } => {
                let by = match by {
                    BlockedBy::SendWindow => "send-window",
                    BlockedBy::SendBuffer => "send-buffer",
                };
                Event { kind: "window-blocked", blocked_by: Some(by), holders: ids(*holders), ..Event::default() }
            }
            CoreEvent::WindowUnblocked => Event { kind: "window-unblocked", ..Event::default() },
            CoreEvent::SubflowUp(subflow) => of("subflow-up", *subflow),
            CoreEvent::SubflowDown(subflow) => of("subflow-down", *subflow),
            CoreEvent::DataWritten(range) => {
                Event { kind: "data-written", ranges: vec![pair(range)], ..Event::default() }
            }
            CoreEvent::Assigned { subflow, range, clipped_by } => {
                let clipped_by = clipped_by.map(|by| match by {
                    ClippedBy::CongestionWindow => "congestion-window",
                    ClippedBy::SendBuffer => "send-buffer",
                    ClippedBy::SendWindow => "send-window",
                    ClippedBy::Data => "data",
                });
                Event { ranges: vec![pair(range)], clipped_by, ..of("assigned", *subflow) }
            }
        }
    }
}
