//! Links as plain data: what each direction does to packets, and how that changes over time. The settings are the network
//! simulator's; only traces are not read yet.

use pathweave_netsim as net;
use pathweave_netsim::trace::Cellular;
use pathweave_units::Duration;

/// What one direction of a link does to packets.
pub type LinkSettings = net::LinkConfig<TraceSource>;

/// A new value for one setting of a link.
pub type LinkChange = net::LinkChange<TraceSource>;

/// A rate limit.
pub type Rate = net::Shaper<TraceSource>;

/// Where a trace comes from: delivery opportunities of 1500 bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceSource {
    /// A file in mahimahi's format, named as the [`Files`](super::Files) know it.
    File(String),
    /// A made-up cellular link.
    Cellular {
        /// What it looks like.
        model: Cellular,
        /// The trace's own seed. Nothing: it comes from the run's seed, so that every seed sees another trace.
        seed: Option<u32>,
    },
}

/// The settings of a link about which a file says nothing: unlimited and ideal but for Ethernet's header, with a queue of 100
/// packets.
pub(crate) fn default_link() -> LinkSettings {
    LinkSettings { overhead_bytes: 14, queue: net::QueueLimit::Packets(100).into(), ..LinkSettings::default() }
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// `NAME.up` or `NAME.down`; unique.
    pub name: String,
    /// Index of the node where packets enter.
    pub from: usize,
    /// Index of the node where they leave.
    pub to: usize,
    /// Settings at the start.
    pub settings: LinkSettings,
    /// Changes, by time; those of one time in the file's order.
    pub changes: Vec<Change>,
}

impl Link {
    /// Whether packets take time on it, at any time: they wait for their turn, or they are under way.
    pub(crate) fn takes_time(&self) -> bool {
        let takes_time = |s: &LinkSettings| s.shaper != Rate::Unlimited || !s.delay.is_zero();
        let mut settings = self.settings.clone();
        let mut always = takes_time(&settings);
        for (i, change) in self.changes.iter().enumerate() {
            change.change.clone().apply_to(&mut settings);
            // Changes of one time happen together.
            if self.changes.get(i + 1).is_none_or(|next| next.at > change.at) {
                always &= takes_time(&settings);
            }
        }
        always
    }

    /// Every rate that it has in the course of a run.
    pub(crate) fn rates(&self) -> impl Iterator<Item = &Rate> {
        let later = self.changes.iter().filter_map(|c| match &c.change {
            LinkChange::Shaper(rate) => Some(rate),
            _ => None,
        });
        [&self.settings.shaper].into_iter().chain(later)
    }
}

/// A change of one setting of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When, from the start of the run.
    pub at: Duration,
    /// What.
    pub change: LinkChange,
}
