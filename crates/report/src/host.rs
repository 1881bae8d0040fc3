//! Rows that ran on another host than most of the rows beside them: they differ by more than the scheduler.

use crate::summary::{Comparison, Summary};
use pathweave_lab::scenario::HostModel;

impl Comparison {
    /// The host of most rows; where there are as many of each, the one that follows the RFCs.
    fn usual_host(&self) -> HostModel {
        let linux = self.summaries.iter().filter(|s| s.host == HostModel::Linux).count();
        if 2 * linux > self.summaries.len() { HostModel::Linux } else { HostModel::Rfc }
    }

    /// [`Comparison::label`], with a mark where the row's host differs from that of most.
    pub fn marked_label(&self, summary: &Summary) -> String {
        let mark = if summary.host == self.usual_host() { "" } else { " †" };
        self.label(summary) + mark
    }

    /// What the mark means; nothing where all rows have the same host.
    pub fn host_note(&self) -> Option<&'static str> {
        let usual = self.usual_host();
        self.summaries.iter().any(|s| s.host != usual).then_some(match usual {
            HostModel::Rfc => "†: on a Linux host, the others on RFC hosts",
            HostModel::Linux => "†: on an RFC host, the others on Linux hosts",
        })
    }
}

/// A host as in scenarios and results.
pub(crate) fn name(host: HostModel) -> String {
    serde_json::to_value(host).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A host in words.
pub(crate) fn in_words(host: HostModel) -> &'static str {
    match host {
        HostModel::Rfc => "RFC hosts",
        HostModel::Linux => "Linux hosts",
    }
}
