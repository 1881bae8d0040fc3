//! The events of a run: a line of JSON each.

use serde::Serialize;
use std::collections::BTreeMap;

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Time of the event, seconds.
    pub time_s: f64,
    /// The connection, if the scenario measures several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// The event itself.
    #[serde(flatten)]
    pub what: What,
}

/// Kinds of events.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// The scheduler was asked.
    Decision {
        /// The scheduler's input.
        saw: SawEntry,
        /// The scheduler's answer.
        verdict: DecisionEntry,
        /// The reason of the answer.
        reason: ReasonEntry,
        /// How the connection carried the answer out.
        outcome: DecisionOutcome,
    },
    /// The connection assigned data to one more subflow, which was assigned before.
    Repeated {
        /// The subflow.
        #[serde(flatten)]
        subflow: Named,
        /// The data, bytes.
        range: [u64; 2],
        /// The mechanism that caused it.
        reason: ReasonEntry,
    },
    /// Data waits and some subflow has window space, but from now on the send window or the send buffer is full.
    WindowBlocked {
        /// The one that is full.
        by: Limit,
        /// The first of `holders`.
        holder: Option<Named>,
        /// The subflows that carry the first unacknowledged byte.
        holders: Vec<Named>,
    },
    /// There is room again, or no data waits for room any more.
    WindowUnblocked,
}

impl What {
    /// Whether the event is a decision.
    pub fn is_decision(&self) -> bool {
        matches!(self, What::Decision { .. })
    }
}

/// The limits that hold a connection back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The peer's receive window.
    SendWindow,
    /// The connection's own send buffer.
    SendBuffer,
}

/// A subflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Number of the subflow.
    pub subflow: u8,
    /// Name of the subflow's path.
    pub path: String,
}

/// The input of a scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SawEntry {
    /// The subflows.
    pub subflows: Vec<SubflowEntry>,
    /// The send window that the peer offers, bytes.
    pub send_window_bytes: u64,
    /// Room between the highest assigned byte and the window's end, bytes.
    pub send_window_free_bytes: u64,
    /// First unacknowledged byte.
    pub first_unacked: u64,
    /// First unassigned byte.
    pub first_unassigned: Option<u64>,
    /// Bytes written and not assigned.
    pub unassigned_bytes: u64,
    /// Bytes assigned and not acknowledged.
    pub in_flight_bytes: u64,
}

/// A subflow in the input of a scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubflowEntry {
    /// The subflow.
    #[serde(flatten)]
    pub name: Named,
    /// Smoothed round-trip time, ms.
    pub srtt_ms: Option<f64>,
    /// Congestion window, segments.
    pub cwnd_segments: u32,
    /// Segments in the network.
    pub in_flight_segments: u32,
    /// Segments assigned and not sent.
    pub unsent_segments: u32,
    /// Segments that the window allows beyond those assigned.
    pub window_space_segments: u32,
    /// Bytes assigned and not acknowledged.
    pub queued_bytes: u64,
    /// Free space of the subflow's send buffer, bytes.
    pub send_buffer_space_bytes: u64,
    /// Whether the subflow is a backup.
    pub backup: bool,
    /// Whether the subflow is dark: it has given no answer for a while.
    pub stale: bool,
}

/// Answers of a scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionEntry {
    /// Data is assigned to a subflow.
    Assign {
        /// The subflow.
        #[serde(flatten)]
        subflow: Named,
        /// The data, bytes.
        range: [u64; 2],
        /// Whether the data may exceed the congestion window.
        queue: bool,
    },
    /// No data is assigned.
    Wait {
        /// The subflow that the scheduler waits for.
        #[serde(rename = "for")]
        for_subflow: Option<Named>,
        /// Latest end of the wait, seconds.
        until_s: Option<f64>,
    },
}

/// A reason with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReasonEntry {
    /// The reason as a sentence with the numbers.
    pub text: String,
    /// The reason without the numbers.
    pub rule: String,
    /// The numbers, with units in the names.
    pub terms: BTreeMap<String, f64>,
}

/// Ways in which the connection carries out a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionOutcome {
    /// The data was assigned.
    Assigned(GivenEntry),
    /// A short segment is held back.
    HeldBack {
        /// The rule that holds it back.
        by: &'static str,
    },
    /// The subflow gets the data at the end of this instant.
    Delegated,
    /// The connection waits.
    Waiting,
    /// The default scheduler's decision was carried out instead.
    Replaced {
        /// The reason.
        why: String,
        /// The data that the default scheduler assigned.
        by: Option<GivenEntry>,
    },
}

impl DecisionOutcome {
    /// The assigned data, if there is any.
    pub fn given(&self) -> Option<&GivenEntry> {
        match self {
            DecisionOutcome::Assigned(given) | DecisionOutcome::Replaced { by: Some(given), .. } => Some(given),
            _ => None,
        }
    }
}

/// Data that was assigned to a subflow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GivenEntry {
    /// The subflow.
    #[serde(flatten)]
    pub subflow: Named,
    /// The data, bytes.
    pub range: [u64; 2],
    /// The limit that shortened the assignment, if one did.
    pub clipped_by: Option<&'static str>,
}
