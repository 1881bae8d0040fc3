//! A scenario as plain data: its paths and connections, which hold the engine's settings. Links are in `link.rs`.

use super::link::Link;
use crate::middlebox::Middlebox;
use crate::value_parser::words;
use pathweave_proto::config::{ConnectionConfig, PathMtuDiscovery, ReceiveBuffer, TcpConfig};
use pathweave_proto::host::Host;
use pathweave_units::{Bitrate, Duration};
use serde::{Deserialize, Serialize};

/// Time limit of scenarios in which every measured connection ends by itself.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Everything that determines a run, except its seed and the contents of the trace files that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The scenario's name.
    pub name: String,
    /// A line or two about what the scenario shows.
    pub description: String,
    /// The source of the scenario's values, such as a paper and its section.
    pub source: String,
    /// Length of a run. If every measured connection ends by itself, the run ends with the last of them; it counts as
    /// stalled if it takes longer than this.
    pub duration: Duration,
    /// The connections that a run waits for, if it ends by itself.
    pub ends_with: EndsWith,
    /// Time from which on metrics count.
    pub measure_from: Duration,
    /// Step of the time series.
    pub series_step: Duration,
    /// Position at which recorded traces start.
    pub trace_start: TraceStart,
    /// Hosts and routers. Paths in short form lie between `client` and `server`, which are then the first two.
    pub nodes: Vec<Node>,
    /// Links, one per direction: `NAME.up` from the client's side, then `NAME.down` back, for every link and every
    /// path in short form.
    pub links: Vec<Link>,
    /// The paths, each from a client to a server.
    pub paths: Vec<Path>,
    /// Connections over the paths.
    pub connections: Vec<Connection>,
    /// UDP packets over the paths, which take room from the connections.
    pub traffic: Vec<Traffic>,
}

impl Scenario {
    /// Whether the run ends when all measured data has arrived; otherwise it lasts its full duration.
    pub fn ends_with_data(&self) -> bool {
        self.connections.iter().filter(|c| c.measured).all(|c| c.workload.ends())
    }

    /// Number of plain TCP baselines: `tcp-path0`, `tcp-path1`, ... (see
    /// [`Variant::PlainTcp`](super::Variant::PlainTcp)).
    pub fn baselines(&self) -> usize {
        let measured = self.connections.iter().filter(|c| c.measured);
        measured.map(|c| c.paths.len()).max().unwrap_or(0)
    }

    /// The connections in groups of neighbours that differ only in their names, as those of a table with `count` do.
    pub fn alike(&self) -> Vec<&[Connection]> {
        let unnamed = |c: &Connection| Connection { name: String::new(), page: String::new(), ..c.clone() };
        self.connections.chunk_by(|a, b| unnamed(a) == unnamed(b)).collect()
    }
}

/// The connections that a run waits for, if all measured connections end by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndsWith {
    /// The measured connections.
    #[default]
    Measured,
    /// All connections that end by themselves, so that competitors' completion times are known too.
    All,
}

/// Position at which recorded traces start. Generated traces depend on their own seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceStart {
    /// A position that the run's seed decides. Each seed then sees another part of the recording, so that the spread
    /// over the seeds says something about the network. Both directions of a link start at the same part of their
    /// traces.
    #[default]
    Seeded,
    /// At the first line.
    Beginning,
}

/// A host or a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node's name.
    pub name: String,
}

/// A path from a client to a server and back.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The path's name.
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
    /// Quota in bytes, shown to schedulers.
    pub quota: Option<u64>,
    /// Priority, shown to schedulers; lower is preferred.
    pub priority: u32,
    /// Whether subflows on this path are backups (the B bit of MP_JOIN and MP_PRIO).
    pub backup: bool,
    /// The middleboxes on the path, beginning next to the client.
    pub middleboxes: Vec<Middlebox>,
}

impl Path {
    /// Indices of the links for data that is sent in this direction, and of the links for its acknowledgements.
    pub fn links(&self, direction: Direction) -> (&[usize], &[usize]) {
        match direction {
            Direction::Upload => (&self.up, &self.down),
            Direction::Download => (&self.down, &self.up),
        }
    }
}

/// A connection from a client to a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// The connection's name.
    pub name: String,
    /// Indices of the paths that the connection may use. It connects on the first.
    pub paths: Vec<usize>,
    /// Whether the metrics count this connection, and whether it uses the compared schedulers. The other connections
    /// are competitors.
    pub measured: bool,
    /// Time at which the connection connects, from the start of the run.
    pub start: Duration,
    /// Largest delay of the connect after `start`. The seed draws the delay from a uniform distribution.
    pub start_spread: Duration,
    /// The sending side.
    pub direction: Direction,
    /// The data to send.
    pub workload: Workload,
    /// The web page whose objects the connection loads, together with every other connection that names this page.
    /// Empty means a page of its own.
    pub page: String,
    /// Use of the paths.
    pub path_mode: PathMode,
    /// The operating system that both ends behave like.
    pub host: HostModel,
    /// The engine's settings, with the algorithms as written. [`Connection::config`] chooses the algorithms and sets
    /// what follows from the settings above. Without Multipath TCP, the connection is plain TCP on the first of the
    /// paths.
    pub engine: ConnectionConfig<Algorithm, Algorithm>,
}

impl Connection {
    /// Whether the subflow over the `index`-th path of the connection is a backup.
    pub fn is_backup(&self, index: usize, paths: &[Path]) -> bool {
        let declared = self.paths.get(index).and_then(|path| paths.get(*path)).is_some_and(|path| path.backup);
        declared || (self.path_mode == PathMode::Backup && index > 0)
    }
}

/// Declares the host models, one a line: the variant, which has the name of the engine's [`Host`], the word in scenarios
/// and results, and words for one such host.
macro_rules! host_models {
    ($($(#[$about:meta])* $host:ident = $word:literal, $in_words:literal;)+) => {
        /// The operating system whose habits a host has, beyond the RFCs.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum HostModel {
            $($(#[$about])* #[serde(rename = $word)] $host,)+
        }

        words!(/// Whose habits a host has.
        HostParser: HostModel { $($word => HostModel::$host),+ });

        impl HostModel {
            /// All host models, the simplest first.
            pub const ALL: [HostModel; [$($word),+].len()] = [$(HostModel::$host),+];

            /// Words for one host of this model.
            pub fn in_words(self) -> &'static str {
                match self {
                    $(HostModel::$host => $in_words,)+
                }
            }
        }

        impl From<HostModel> for Host {
            fn from(model: HostModel) -> Self {
                match model {
                    $(HostModel::$host => Host::$host,)+
                }
            }
        }
    };
}

host_models! {
    /// Habits of the RFCs alone.
    #[default]
    Rfc = "rfc", "an RFC host";
    /// Habits of a Linux kernel.
    Linux = "linux", "a Linux host";
    /// Habits of an mptcp.org kernel.
    MptcpOrg = "mptcp-0.9x", "an mptcp.org host";
    /// Habits of an mptcp.org kernel of versions 0.86 to 0.88, which let data wait for more room on its subflow.
    Mptcp088 = "mptcp-0.88", "a host with mptcp.org's version 0.88";
}

/// The sending side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The client sends to the server.
    Upload,
    /// The server sends to the client.
    Download,
}

/// How a connection uses its paths (REMS §1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMode {
    /// All paths at once, except those that are declared backups.
    Primary,
    /// The first path; the others are backups.
    Backup,
    /// One path at a time: the next subflow is opened when the previous one is lost.
    Single,
}

/// The behaviour of the sending application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Writes without end.
    Bulk,
    /// Writes this much and closes.
    Transfer {
        /// Size, bytes.
        size: u64,
    },
    /// Writes messages of one size.
    Messages {
        /// Mean rate of the application's data.
        rate: Bitrate,
        /// Size of a message, bytes.
        message: u64,
        /// The time between two messages.
        gaps: Gaps,
        /// Bytes after which it closes; `None` if it writes to the end of the run.
        size: Option<u64>,
    },
    /// Loads a web page: the client asks for one object after the other, the server answers.
    Web {
        /// Number of the page's objects.
        objects: u32,
        /// Size of all objects together, bytes. All have the same size, except for a remainder.
        size: u64,
        /// Size of a request, bytes.
        request: u64,
        /// Number of connections that load the page together. Each asks for the next object when it has received one.
        connections: u8,
    },
}

/// The times between messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Equal times, which is a constant rate.
    Even,
    /// Exponentially distributed times, which is a Poisson process.
    Exponential,
}

impl Workload {
    /// Bytes that the sender writes before it closes; `None` if it does not close by itself.
    pub fn size(&self) -> Option<u64> {
        match self {
            Workload::Bulk | Workload::Web { .. } => None,
            Workload::Transfer { size } => Some(*size),
            Workload::Messages { size, .. } => *size,
        }
    }

    /// Whether the workload ends by itself.
    pub fn ends(&self) -> bool {
        self.size().is_some() || matches!(self, Workload::Web { .. })
    }
}

/// A scheduler or a congestion controller as written: `name:key=value:key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// The algorithm's name in the registry.
    pub name: String,
    /// Parameters that differ from their defaults: name and value as written.
    pub given: Vec<(String, String)>,
}

impl Algorithm {
    /// Whether a parameter is given.
    pub(super) fn has(&self, key: &str) -> bool {
        self.given.iter().any(|(given, _)| given == key)
    }
}

impl core::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.name)?;
        self.given.iter().try_for_each(|(key, value)| write!(f, ":{key}={value}"))
    }
}

/// A connection with all defaults.
pub(crate) fn default_connection() -> Connection {
    let algorithm = |name: &str| Algorithm { name: name.into(), given: Vec::new() };
    Connection {
        name: String::new(),
        paths: Vec::new(),
        measured: true,
        start: Duration::ZERO,
        start_spread: Duration::ZERO,
        direction: Direction::Upload,
        workload: Workload::Bulk,
        page: String::new(),
        path_mode: PathMode::Primary,
        host: HostModel::Rfc,
        engine: ConnectionConfig {
            send_buffer: 16 << 20,
            receive_buffer: ReceiveBuffer::Auto { initial: 128 << 10, max: 6 << 20 },
            // No probes, as in Linux (`net.ipv4.tcp_mtu_probing` is 0).
            tcp: TcpConfig { path_mtu_discovery: PathMtuDiscovery::Messages, ..TcpConfig::default() },
            ..ConnectionConfig::new(algorithm("minrtt"), algorithm("reno"))
        },
    }
}

/// A source of UDP packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// The source's name.
    pub name: String,
    /// Index of the path that the packets take.
    pub path: usize,
    /// Direction of the packets: from the client to the server (upload) or back.
    pub direction: Direction,
    /// Times and sizes of the packets.
    pub pattern: TrafficPattern,
    /// Time of the first packet at the earliest.
    pub start: Duration,
    /// Time of the end; zero means the end of the run.
    pub stop: Duration,
}

/// Times at which UDP packets are sent. Sizes are bytes of UDP payload; 28 bytes of headers are added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrafficPattern {
    /// At even intervals.
    Constant {
        /// Rate of the payload.
        rate: Bitrate,
        /// Bytes of a packet's payload.
        packet: u16,
    },
    /// At exponentially distributed intervals.
    Poisson {
        /// Mean rate of the payload.
        rate: Bitrate,
        /// Bytes of a packet's payload.
        packet: u16,
    },
    /// At even intervals in on-periods, and never in off-periods.
    OnOff {
        /// Mean rate of the payload, pauses included.
        rate: Bitrate,
        /// Bytes of a packet's payload.
        packet: u16,
        /// Mean length of an on-period; Pareto distributed.
        on: Duration,
        /// Mean length of an off-period; exponentially distributed.
        off: Duration,
        /// The Pareto distribution's shape, more than 1. The smaller it is, the more very long on-periods there are.
        shape: f64,
    },
}

/// Traffic with all defaults.
pub(crate) fn default_traffic() -> Traffic {
    let pattern = TrafficPattern::Constant { rate: Bitrate::from_mbps(1), packet: 1000 };
    let (start, stop) = (Duration::ZERO, Duration::ZERO);
    Traffic { name: String::new(), path: 0, direction: Direction::Upload, pattern, start, stop }
}
