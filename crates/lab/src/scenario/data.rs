//! A scenario as plain data: the network and the connections over it.

use pathweave_proto::config::{FailureDetection, PathManager, ReceiveBuffer, TcpConfig};
use pathweave_units::{Bitrate, Duration, Probability};

/// Everything that a run is made from, beside its seed and the trace files that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it shows, in a line or two.
    pub description: String,
    /// Paper and section, or where else it comes from.
    pub source: String,
    /// Length of a run. Where every measured connection has a sized workload the run ends with the last of them, and this is the
    /// time limit after which it counts as stalled.
    pub duration: Duration,
    /// Metrics count from here; what is before is discarded.
    pub measure_from: Duration,
    /// Step of the time series.
    pub series_step: Duration,
    /// Hosts and routers. Paths in short form lie between `client` and `server`, which are then the first two.
    pub nodes: Vec<Node>,
    /// Links, one per direction: `NAME.up` from the client's side, then `NAME.down` back, for every link and every path in short form.
    pub links: Vec<Link>,
    /// Ways from a client to a server.
    pub paths: Vec<Path>,
    /// Connections over the paths.
    pub connections: Vec<Connection>,
}

impl Scenario {
    /// Whether the run ends when all measured data has arrived; otherwise it lasts its full duration.
    pub fn ends_with_data(&self) -> bool {
        self.connections.iter().filter(|c| c.measured).all(|c| c.workload.size().is_some())
    }

    /// How many plain TCP baselines there are: `tcp-path0`, `tcp-path1`, ... up to this number (see
    /// [`Variant::PlainTcp`](super::Variant::PlainTcp)).
    pub fn baselines(&self) -> usize {
        let measured = self.connections.iter().filter(|c| c.measured);
        measured.map(|c| c.paths.len()).max().unwrap_or(0)
    }
}

/// A host or a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
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

/// What one direction of a link does to packets.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// Rate limit.
    pub rate: Rate,
    /// Bytes that each packet takes on the link beyond its IP packet (Ethernet's header: 14).
    pub overhead: u32,
    /// Waiting room before the rate limit.
    pub queue: Queue,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// Jitter, and a shorter delay, let no packet overtake another.
    pub keep_order: bool,
    /// Explicit reordering.
    pub reorder: Reorder,
    /// Random loss.
    pub loss: Loss,
    /// Where random loss happens.
    pub loss_position: LossPosition,
    /// Probability that a packet arrives twice.
    pub duplicate: Probability,
    /// Probability that a packet arrives damaged, which its receiver notices.
    pub corrupt: Probability,
    /// Whether the link works.
    pub up: bool,
    /// What happens to waiting packets when it stops working.
    pub on_down: OnDown,
}

impl Default for LinkSettings {
    /// Unlimited and ideal but for Ethernet's header, with a queue of 100 packets.
    fn default() -> Self {
        LinkSettings {
            rate: Rate::Unlimited,
            overhead: 14,
            queue: Queue { limit: QueueLimit::Packets(100), codel: None },
            delay: Duration::ZERO,
            jitter: Jitter::None,
            keep_order: true,
            reorder: Reorder { probability: Probability::ZERO, extra: Duration::ZERO },
            loss: Loss::None,
            loss_position: LossPosition::After,
            duplicate: Probability::ZERO,
            corrupt: Probability::ZERO,
            up: true,
            on_down: OnDown::Drop,
        }
    }
}

/// A rate limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// None.
    Unlimited,
    /// One packet after the other. Zero stops the link; what waits, waits.
    Constant(Bitrate),
    /// A token bucket as Linux' tbf.
    TokenBucket {
        /// At which tokens come.
        rate: Bitrate,
        /// Depth, bytes.
        burst: u64,
    },
    /// Delivery opportunities of 1500 bytes from a file in mahimahi's format, named as the [`Files`](super::Files) know it.
    TraceFile(String),
    /// Delivery opportunities of a made-up cellular link.
    Cellular(Cellular),
}

/// A generator of cellular-like traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cellular {
    /// Mean rate over the trace.
    pub mean: Bitrate,
    /// Standard deviation of the rate's logarithm: 0 is constant, 0.5 moderate, 1 as wild as while driving.
    pub variation: f64,
    /// Time over which the rate forgets its past.
    pub coherence: Duration,
    /// Mean time from one outage to the next; zero: no outages.
    pub outage_every: Duration,
    /// Mean length of an outage.
    pub outage: Duration,
    /// Length of the trace, after which it repeats.
    pub period: Duration,
    /// The trace's own seed. Nothing: every run's seed gives another trace.
    pub seed: Option<u32>,
}

/// A waiting room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// What fits.
    pub limit: QueueLimit,
    /// Active queue management beside the limit.
    pub codel: Option<Codel>,
}

/// How much waits at most; what does not fit is dropped on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Packets.
    Packets(u32),
    /// Bytes of frames.
    Bytes(u64),
    /// What the link sends in this time.
    Time(Duration),
}

/// Parameters of CoDel (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codel {
    /// Acceptable standing delay.
    pub target: Duration,
    /// Time over which the delay must stay above the target.
    pub interval: Duration,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Random variation of the delay, drawn for every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// None.
    None,
    /// Uniform, up to this much to either side.
    Uniform(Duration),
    /// Normal, with this standard deviation.
    Normal(Duration),
}

/// Explicit reordering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub probability: Probability,
    /// How much longer such a packet takes.
    pub extra: Duration,
}

/// Random loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// Each packet by itself.
    Bernoulli(Probability),
    /// In bursts: a chain of a good and a bad state, one step per packet.
    GilbertElliott {
        /// Probability per packet to go from good to bad.
        to_bad: Probability,
        /// Probability per packet to go from bad to good.
        to_good: Probability,
        /// Loss in the good state.
        loss_good: Probability,
        /// Loss in the bad state.
        loss_bad: Probability,
    },
}

/// Where random loss happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPosition {
    /// In front of the queue: a lost packet takes no capacity.
    Before,
    /// After transmission: a lost packet has taken its time on the link, as on a radio link.
    After,
}

/// What a link that goes down does with the packets that wait in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDown {
    /// They wait on.
    Hold,
    /// They are dropped.
    Drop,
}

/// A change of one setting of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When, from the start of the run.
    pub at: Duration,
    /// What.
    pub change: LinkChange,
}

/// A new value for one setting of a link; the fields of [`LinkSettings`].
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is documented as the field of LinkSettings")]
pub enum LinkChange {
    Rate(Rate),
    Overhead(u32),
    Queue(Queue),
    Delay(Duration),
    Jitter(Jitter),
    KeepOrder(bool),
    Reorder(Reorder),
    Loss(Loss),
    LossPosition(LossPosition),
    Duplicate(Probability),
    Corrupt(Probability),
    Up(bool),
    OnDown(OnDown),
}

/// A way from a client to a server and back.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its name.
    pub name: String,
    /// Index of the client's node.
    pub client: usize,
    /// Index of the server's node.
    pub server: usize,
    /// Indices of the links from client to server.
    pub up: Vec<usize>,
    /// Indices of the links from server to client.
    pub down: Vec<usize>,
    /// Cost per gigabyte, shown to schedulers.
    pub cost: f64,
    /// Bytes that may be sent over it, shown to schedulers.
    pub quota: Option<u64>,
    /// Shown to schedulers; lower is preferred.
    pub priority: u32,
    /// Its subflows are backups (MP_JOIN's and MP_PRIO's B bit).
    pub backup: bool,
}

/// A connection from a client to a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its name.
    pub name: String,
    /// Indices of the paths that it may use; the first is the one that it connects on.
    pub paths: Vec<usize>,
    /// Metrics are its, and the schedulers that are compared are tried on it. The others are competition.
    pub measured: bool,
    /// Multipath TCP; off: plain TCP on the first of its paths.
    pub mptcp: bool,
    /// When it connects, from the start of the run.
    pub start: Duration,
    /// Who sends.
    pub direction: Direction,
    /// What is sent.
    pub workload: Workload,
    /// The packet scheduler.
    pub scheduler: Algorithm,
    /// The congestion controller of each subflow.
    pub congestion: Algorithm,
    /// Send buffer, bytes beyond the first unacknowledged one.
    pub send_buffer: u64,
    /// Receive buffer: the window offered, bytes.
    pub receive_buffer: ReceiveBuffer,
    /// Opportunistic retransmission and penalisation.
    pub pr: bool,
    /// How quickly a dark path is noticed.
    pub failure_detection: FailureDetection,
    /// Which subflows the client opens.
    pub path_manager: PathManager,
    /// How the paths are used.
    pub path_mode: PathMode,
    /// The most subflows.
    pub max_subflows: u32,
    /// DSS checksums are asked for.
    pub checksum: bool,
    /// How long a connection survives without a living subflow, and how long a close may take.
    pub close_timeout: Duration,
    /// Transport settings of each subflow.
    pub tcp: TcpConfig,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The client, to the server.
    Upload,
    /// The server, to the client.
    Download,
}

/// How a connection uses its paths (REMS §1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMode {
    /// All at once, but for those that are declared backups.
    Primary,
    /// The first; the others are backups.
    Backup,
    /// One at a time: the next subflow is opened when the one before is lost.
    Single,
}

/// What the sending application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Writes all the time.
    Bulk,
    /// Writes this much and closes.
    Transfer {
        /// Bytes.
        size: u64,
    },
    /// Writes messages of one size at a constant rate.
    Cbr {
        /// Of the application's data.
        rate: Bitrate,
        /// Bytes of a message.
        message: u64,
        /// Bytes after which it closes; nothing: it writes to the end of the run.
        size: Option<u64>,
    },
}

impl Workload {
    /// How much is sent in all, where that is limited; bytes.
    pub fn size(&self) -> Option<u64> {
        match self {
            Workload::Bulk => None,
            Workload::Transfer { size } => Some(*size),
            Workload::Cbr { size, .. } => *size,
        }
    }
}

/// A scheduler or a congestion controller as written: `name:key=value:key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its name in the registry.
    pub name: String,
    /// Parameters that differ from their defaults: name and value as written.
    pub given: Vec<(String, String)>,
}

impl core::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.name)?;
        self.given.iter().try_for_each(|(key, value)| write!(f, ":{key}={value}"))
    }
}
