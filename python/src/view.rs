//! The view of a scheduler in Python.

use pathweave_scheduler::{
    BlockedBy, ClippedBy, DataSeq, Event as CoreEvent, LossKind, Phase, SubflowId, SubflowSet,
    SubflowView as CoreSubflow, View as CoreView,
};
use pathweave_units::{Duration, Instant};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::ops::Range;

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn ids(set: SubflowSet) -> Vec<u8> {
    set.iter().map(|id| id.0).collect()
}

/// One subflow as a scheduler sees it.
#[pyclass(module = "pathweave._native", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct SubflowView(pub(crate) CoreSubflow);

#[pymethods]
impl SubflowView {
    /// The subflow's number, from 0 in the order in which subflows came up.
    #[getter]
    fn id(&self) -> u8 {
        self.0.id.0
    }
    /// Carries data only while no other subflow can.
    #[getter]
    fn backup(&self) -> bool {
        self.0.backup
    }
    /// Whether the subflow gives no answers: it should get no new data while another subflow works.
    #[getter]
    fn stale(&self) -> bool {
        self.0.stale
    }
    /// Data bytes of a full segment.
    #[getter]
    fn mss_bytes(&self) -> u32 {
        self.0.mss
    }
    /// Smoothed round-trip time, ms; infinite before the first sample.
    #[getter]
    fn srtt_ms(&self) -> f64 {
        // Before the first sample no path is known to be fast.
        self.0.rtt.smoothed.map_or(f64::INFINITY, ms)
    }
    /// Round-trip time variation (RFC 6298), ms.
    #[getter]
    fn rtt_variation_ms(&self) -> f64 {
        ms(self.0.rtt.variation)
    }
    /// Smallest round-trip time so far, ms; `None` before the first sample.
    #[getter]
    fn min_rtt_ms(&self) -> Option<f64> {
        self.0.rtt.min.map(ms)
    }
    /// The latest sample, ms; `None` before the first.
    #[getter]
    fn latest_rtt_ms(&self) -> Option<f64> {
        self.0.rtt.latest.map(ms)
    }
    /// Congestion window, segments.
    #[getter]
    fn cwnd_segments(&self) -> u32 {
        self.0.window.cwnd
    }
    /// Slow start threshold, segments.
    #[getter]
    fn ssthresh_segments(&self) -> u32 {
        self.0.window.ssthresh
    }
    /// Segments sent and thought to be in the network.
    #[getter]
    fn in_flight_segments(&self) -> u32 {
        self.0.window.in_flight
    }
    /// Segments assigned and not sent yet.
    #[getter]
    fn unsent_segments(&self) -> u32 {
        self.0.queue.unsent
    }
    /// Bytes assigned and not acknowledged, sent or not.
    #[getter]
    fn queued_bytes(&self) -> u64 {
        self.0.queue.bytes
    }
    /// Bytes that the subflow's send buffer still takes.
    #[getter]
    fn free_bytes(&self) -> u64 {
        self.0.queue.space
    }
    /// Segments that the congestion window lets out now, beyond those assigned already.
    #[getter]
    fn window_space(&self) -> u32 {
        self.0.window_space()
    }
    /// Whether a segment can go out now.
    #[getter]
    fn has_space(&self) -> bool {
        self.0.has_space()
    }
    /// The congestion window was not filled when last checked.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.window.app_limited
    }
    /// Phase of congestion control: `slow-start`, `avoidance`, `recovery` or `loss` (after a timeout).
    #[getter]
    fn phase(&self) -> &'static str {
        match self.0.window.phase {
            Phase::SlowStart => "slow-start",
            Phase::Avoidance => "avoidance",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }
    /// Part of the segments that were lost, smoothed over segments, 0 to 1.
    #[getter]
    fn loss(&self) -> f64 {
        self.0.delivery.loss
    }
    /// Rate of newly acknowledged data over the last round, Mbit/s; 0 before the first.
    #[getter]
    fn rate_mbps(&self) -> f64 {
        self.0.delivery.rate * 8.0 / 1e6
    }
    /// The rate at which the window would be sent, Mbit/s.
    #[getter]
    fn pacing_rate_mbps(&self) -> f64 {
        self.0.delivery.pacing_rate * 8.0 / 1e6
    }
    /// The path's priority; lower is preferred.
    #[getter]
    fn priority(&self) -> u32 {
        self.0.path.priority
    }
    /// The price of a gigabyte on the path.
    #[getter]
    fn cost(&self) -> f64 {
        self.0.path.cost
    }
    /// Bytes left of the path's quota, if it has one.
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

/// The state of a connection at the time when its scheduler was asked.
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
    /// The whole send window that the peer offers, bytes.
    #[pyo3(get)]
    send_window_bytes: u64,
    /// Bytes that the connection's send buffer still takes.
    #[pyo3(get)]
    send_buffer_free_bytes: u64,
    /// The connection's send buffer, bytes.
    #[pyo3(get)]
    send_buffer_bytes: u64,
    /// Room between the highest assigned byte and the end of the send window, bytes.
    #[pyo3(get)]
    send_window_free_bytes: u64,
    /// The end of the message that the first unassigned byte belongs to, if there are messages.
    #[pyo3(get)]
    message_end: Option<u64>,
    spans: Option<Vec<(u64, u64, Vec<u8>)>>,
}

impl View {
    /// Copies a view. With `spans`, the copy includes which subflows carry which data.
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
    /// Now, seconds from the start of the run.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }
    /// All subflows that can carry data.
    #[getter]
    fn subflows(&self) -> Vec<SubflowView> {
        self.subflows.iter().cloned().map(SubflowView).collect()
    }
    /// The subflows that a rule should choose from: working ones that are not backups; if there are none, all working
    /// ones; else all.
    #[getter]
    fn candidates(&self) -> Vec<SubflowView> {
        let all = self.subflows.iter().filter(|s| self.candidates.contains(s.id));
        all.cloned().map(SubflowView).collect()
    }
    /// The first byte of the stream that is not acknowledged.
    #[getter]
    fn first_unacked(&self) -> u64 {
        self.first_unacked
    }
    /// The end of the written data, a byte of the stream.
    #[getter]
    fn written_end(&self) -> u64 {
        self.written_end
    }
    /// End of the highest range that was assigned to any subflow, a byte of the stream.
    #[getter]
    fn assigned_end(&self) -> u64 {
        self.assigned_end
    }
    /// Bytes assigned and not acknowledged.
    #[getter]
    fn in_flight_bytes(&self) -> u64 {
        self.assigned
    }
    /// Bytes written and not assigned.
    #[getter]
    fn unassigned_bytes(&self) -> u64 {
        self.unassigned
    }
    /// The first unassigned range inside the send window, start and end; `None` if there is none.
    #[getter]
    fn sendable(&self) -> Option<(u64, u64)> {
        self.sendable.as_ref().map(|range| (range.start.0, range.end.0))
    }
    /// No byte from here on may be sent: the receiver has no room for it.
    #[getter]
    fn send_window_end(&self) -> u64 {
        self.send_window_end
    }
    /// Data that is assigned and not acknowledged: start, end and the subflows that carry it. Needs `sees_carried =
    /// True`.
    #[getter]
    fn carried(&self) -> PyResult<Vec<(u64, u64, Vec<u8>)>> {
        let missing = "a scheduler that looks at `carried` must have the attribute `sees_carried = True`";
        self.spans.clone().ok_or_else(|| PyValueError::new_err(missing))
    }
}

/// Something that happened on the connection.
#[pyclass(module = "pathweave._native", frozen, get_all)]
#[derive(Default)]
pub(crate) struct Event {
    /// What happened: `acked`, `lost`, `rtt-sample`, `window-blocked`, `window-unblocked`, `subflow-up`, `subflow-down`, `data-written` or `assigned`.
    kind: &'static str,
    /// The subflow of the event, if it has one.
    subflow: Option<u8>,
    /// Bytes of the stream, start and end: what was acknowledged, written or assigned.
    ranges: Vec<(u64, u64)>,
    /// The data acknowledgement of the event.
    data_ack: Option<u64>,
    /// Whether the acknowledgement had a SACK block.
    has_sack: bool,
    /// The measured round trip, ms.
    rtt_ms: Option<f64>,
    /// How a loss was found: `fast-recovery` or `timeout`.
    loss: Option<&'static str>,
    /// What is full: `send-window` or `send-buffer`.
    blocked_by: Option<&'static str>,
    /// The subflows that carry the first unacknowledged byte.
    holders: Vec<u8>,
    /// Why less was assigned than asked for: `congestion-window`, `send-buffer`, `send-window` or `data`.
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
