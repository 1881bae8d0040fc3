//! Links as plain data: each direction's effects on packets, and their changes over time. The settings are those of the
//! network simulator, with traces that are not read yet.

use pathweave_netsim as net;
use pathweave_netsim::trace::Cellular;
use pathweave_units::Duration;

/// The settings of one direction of a link.
pub type LinkSettings = net::LinkConfig<TraceSource>;

/// A new value for one setting of a link.
pub type LinkChange = net::LinkChange<TraceSource>;

/// A rate limit.
pub type Rate = net::Shaper<TraceSource>;

/// The source of a trace, which has delivery opportunities of 1500 bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceSource {
    /// A file in mahimahi's format, with the name that the [`Files`](super::Files) know.
    File(String),
    /// A generated cellular link.
    Cellular {
        /// Parameters of the generator.
        model: Cellular,
        /// The trace's own seed. `None` means that it follows from the run's seed, so that every seed has another
        /// trace.
        seed: Option<u32>,
    },
}

/// The default settings of a link: unlimited and ideal except for Ethernet's header, with a queue of 100 packets.
pub(crate) fn default_link() -> LinkSettings {
    LinkSettings { overhead_bytes: 14, queue: net::QueueLimit::Packets(100).into(), ..LinkSettings::default() }
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The link's name, `NAME.up` or `NAME.down`; unique.
    pub name: String,
    /// Index of the node at which packets enter.
    pub from: usize,
    /// Index of the node at which packets leave.
    pub to: usize,
    /// Settings at the start.
    pub settings: LinkSettings,
    /// Changes ordered by time, and those of one time in the file's order.
    pub changes: Vec<Change>,
}

impl Link {
    /// Whether packets ever take time on it, in transmission or in propagation.
    pub(crate) fn takes_time(&self) -> bool {
        let takes_time = |s: &LinkSettings| s.shaper != Rate::Unlimited || !s.delay.is_zero();
        let mut settings = self.settings.clone();
        let mut always = takes_time(&settings);
        for (i, change) in self.changes.iter().enumerate() {
            change.change.clone().apply_to(&mut settings);
            // Changes at the same time happen together.
            if self.changes.get(i + 1).is_none_or(|next| next.at > change.at) {
                always &= takes_time(&settings);
            }
        }
        always
    }

    /// Every rate that it has during a run.
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
    /// Time of the change, from the start of the run.
    pub at: Duration,
    /// The new value.
    pub change: LinkChange,
}
