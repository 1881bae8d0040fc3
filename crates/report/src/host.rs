//! Rows that ran on another host than most of the rows beside them: they differ by more than the scheduler.

use crate::summary::{Comparison, Summary};
use pathweave_lab::scenario::HostModel;

impl Comparison {
    /// The host of most rows; where there are as many of several, the plainest.
    fn usual_host(&self) -> HostModel {
        let rows = |host: HostModel| self.summaries.iter().filter(|s| s.host == host).count();
        // The last of several largest ones.
        [HostModel::MptcpOrg, HostModel::Linux, HostModel::Rfc].into_iter().max_by_key(|h| rows(*h)).unwrap_or_default()
    }

    /// [`Comparison::label`], with a mark where the row's host differs from that of most.
    pub fn marked_label(&self, summary: &Summary) -> String {
        let mark = if summary.host == self.usual_host() { "" } else { " †" };
        self.label(summary) + mark
    }

    /// What the mark means; nothing where all rows have the same host.
    pub fn host_note(&self) -> Option<String> {
        let usual = self.usual_host();
        let mut others: Vec<HostModel> = Vec::new();
        for summary in self.summaries.iter().filter(|s| s.host != usual) {
            if !others.contains(&summary.host) {
                others.push(summary.host);
            }
        }
        let one = |host: &HostModel| match host {
            HostModel::Rfc => "an RFC host",
            HostModel::Linux => "a Linux host",
            HostModel::MptcpOrg => "an mptcp.org host",
        };
        let marked: Vec<&str> = others.iter().map(one).collect();
        (!marked.is_empty()).then(|| format!("†: on {}, the others on {}", marked.join(" or "), in_words(usual)))
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
        HostModel::MptcpOrg => "mptcp.org hosts",
    }
}
