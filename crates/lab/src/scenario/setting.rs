//! The settings of links, paths and connections. Each is declared once here, for reading, writing, errors and the JSON
//! Schema.

use super::data::{Connection, Direction, EndsWith, HostParser, Path, PathMode, Scenario, TraceStart, Traffic};
use super::kinds::{
    ControllerParser, JitterParser, LossParser, PacingParser, PathManagerParser, QueueParser, RateParser,
    ReceiveBufferParser, ReorderParser, SchedulerParser, TraceParser, TrafficPatternParser, WorkloadParser,
};
use super::link::{LinkChange, LinkSettings};
use crate::value_parser::compound::Kind;
use crate::value_parser::{Bool, Number, PositiveTime, Share, Size, Text, Time, ValueParser, Whole, Wrong, words};
use pathweave_netsim::{LossPosition, OnDown};
use pathweave_proto::config::{FailureDetection, LossRecovery, PathMtuDiscovery};
use schemars::Schema;

/// One setting of a `T`.
pub(crate) struct Setting<T> {
    /// The setting's key.
    pub(crate) key: &'static str,
    /// A description, with the unit if the value shows none.
    pub(crate) about: &'static str,
    /// Sets a value from its text.
    pub(crate) set: fn(&mut T, &str) -> Result<(), Wrong>,
    /// The value as text; `None` if it has no written form. Such a value is only set by leaving the key out.
    pub(crate) get: fn(&T) -> Option<String>,
    /// JSON Schema of its values.
    pub(crate) schema: fn() -> Schema,
    /// The allowed values, in words.
    pub(crate) allowed: fn() -> String,
    /// Examples of values.
    pub(crate) examples: fn() -> &'static [&'static str],
    /// The kinds of values, if the kinds have parts.
    pub(crate) kinds: fn() -> &'static [Kind],
}

/// Declares settings: `ValueParser, field, "about"` for a setting whose key is its field's name, or `ValueParser, field
/// as "key", "about"`.
macro_rules! settings {
    ($type:ty { $($parser:ty, $($field:ident).+ as $key:literal, $about:literal;)+ }) => {
        &[$(Setting::<$type> {
            key: $key,
            about: $about,
            set: |t, text| {
                t.$($field).+ = <$parser>::read(text)?;
                Ok(())
            },
            get: |t| Some(<$parser>::write(&t.$($field).+)),
            schema: <$parser>::schema,
            allowed: <$parser>::allowed,
            examples: <$parser>::examples,
            kinds: <$parser>::kinds,
        }),+]
    };
}

/// Settings of the scenario itself.
pub(crate) const SCENARIO: &[Setting<Scenario>] = settings!(Scenario {
    Text, name as "name", "The scenario's name";
    Text, description as "description", "What the scenario shows, in a line or two";
    Text, source as "source", "Where the scenario comes from, such as a paper and its section";
    PositiveTime, duration as "duration", "Length of a run; if all measured workloads end by themselves, its time limit";
    EndsWithParser, ends_with as "ends_with",
        "If all measured workloads end by themselves: whether the run ends with the last of them (measured), or with the last of all connections whose workload ends (all)";
    Time, measure_from as "measure_from", "The metrics count only what is sent or arrives after this time";
    PositiveTime, series_step as "series_step", "Length of a step in the time series";
    TraceStartParser, trace_start as "trace_start",
        "Where recorded traces start: seeded (at a different place for each seed) or beginning";
});

/// Declares the settings of one direction of a link: `ValueParser, field as "key" => Change, "about"`. Makes [`LINK`]
/// and [`change_of`].
macro_rules! link_settings {
    ($($parser:ty, $field:ident as $key:literal => $change:ident, $about:literal;)+) => {
        /// Settings of one direction of a link.
        pub(crate) const LINK: &[Setting<LinkSettings>] = settings!(LinkSettings { $($parser, $field as $key, $about;)+ });

        /// The change that gives a link the value of the setting `key` in `settings`.
        pub(crate) fn change_of(key: &str, settings: &LinkSettings) -> Option<LinkChange> {
            let settings = settings.clone();
            Some(match key {
                $($key => LinkChange::$change(settings.$field),)+
                "trace" => LinkChange::Shaper(settings.shaper),
                "up" => LinkChange::Up(settings.up),
                _ => return None,
            })
        }
    };
}

link_settings! {
    RateParser, shaper as "rate" => Shaper, "Rate of the link";
    Whole<0, 1000, i32>, overhead_bytes as "overhead" => Overhead,
        "Bytes that each packet takes on the link beyond its IP packet (14 for Ethernet)";
    QueueParser, queue as "queue" => Queue, "How much can wait for the link; packets that do not fit are dropped";
    Time, delay as "delay" => Delay, "Propagation delay, one way";
    JitterParser, jitter as "jitter" => Jitter, "Variation of the delay";
    Bool, keep_order as "keep_order" => KeepOrder, "Whether packets stay in order although their delays differ";
    ReorderParser, reorder as "reorder" => Reorder, "Holds some packets back, so that others overtake them";
    LossParser, loss as "loss" => Loss, "Random loss";
    LossPositionParser, loss_position as "loss_position" => LossPosition,
        "Where random loss happens: before the queue, or after transmission, when the packet has already taken its time on the link";
    Share, duplicate as "duplicate" => Duplicate, "Probability that a packet arrives twice";
    Share, corrupt as "corrupt" => Corrupt, "Probability that a packet arrives damaged and is dropped by the receiver";
    OnDownParser, on_down as "on_down" => OnDown,
        "What happens to waiting packets when the link goes down: they stay (hold) or are dropped (drop)";
}

/// The setting `trace`, in place of `rate`.
pub(crate) const TRACE: Setting<LinkSettings> = Setting {
    key: "trace",
    about: "Replaces rate: the name of a recorded trace in mahimahi's format, in the folder of the scenario file, or a generator",
    set: |link, text| {
        link.shaper = TraceParser::read(text)?;
        Ok(())
    },
    get: |link| Some(TraceParser::write(&link.shaper)),
    schema: TraceParser::schema,
    allowed: TraceParser::allowed,
    examples: TraceParser::examples,
    kinds: TraceParser::kinds,
};

/// Settings of a path for connections.
pub(crate) const PATH: &[Setting<Path>] = &[
    Setting {
        key: "quota",
        about: "How much may be sent over the path; schedulers see how much is left",
        set: |path, text| {
            path.quota = Some(Size::read(text)?);
            Ok(())
        },
        get: |path| path.quota.as_ref().map(Size::write),
        schema: Size::schema,
        allowed: Size::allowed,
        examples: Size::examples,
        kinds: Size::kinds,
    },
    Setting {
        key: "cost",
        about: "The price of a gigabyte on the path",
        set: |path, text| {
            path.cost = Number::read(text)?;
            Ok(())
        },
        get: |path| Some(Number::write(&path.cost)),
        schema: Number::schema,
        allowed: Number::allowed,
        examples: Number::examples,
        kinds: Number::kinds,
    },
    Setting {
        key: "priority",
        about: "The path's priority; lower is preferred",
        set: |path, text| {
            path.priority = Whole::<0, 1000>::read(text)?;
            Ok(())
        },
        get: |path| Some(path.priority.to_string()),
        schema: Whole::<0, 1000>::schema,
        allowed: Whole::<0, 1000>::allowed,
        examples: Whole::<0, 1000>::examples,
        kinds: Whole::<0, 1000>::kinds,
    },
    Setting {
        key: "backup",
        about: "Whether the path carries data only while no other path works",
        set: |path, text| {
            path.backup = Bool::read(text)?;
            Ok(())
        },
        get: |path| Some(path.backup.to_string()),
        schema: Bool::schema,
        allowed: Bool::allowed,
        examples: Bool::examples,
        kinds: Bool::kinds,
    },
];

/// Settings of a connection. A scheduler entry can override each.
pub(crate) const CONNECTION: &[Setting<Connection>] = settings!(Connection {
    Bool, engine.mptcp as "mptcp", "Whether this is Multipath TCP; otherwise it is plain TCP on the first of its paths";
    Bool, measured as "measured", "Whether the metrics count this connection, and whether it uses the compared schedulers (by default the same as mptcp)";
    Time, start as "start", "When the connection is opened";
    Time, start_spread as "start_spread", "The connection is opened up to this much later, at a time that the seed chooses";
    DirectionParser, direction as "direction", "Who sends: the client (upload) or the server (download)";
    WorkloadParser, workload as "workload", "What is sent";
    Text, page as "page", "Connections with the same page load its objects together (workload web); by default each [[connection]] has a page of its own";
    SchedulerParser, engine.scheduler as "scheduler", "The packet scheduler (`pathweave list schedulers`)";
    ControllerParser, engine.congestion as "congestion", "The congestion controller of each subflow (`pathweave list controllers`)";
    Size, engine.send_buffer as "send_buffer", "Size of the send buffer";
    ReceiveBufferParser, engine.receive_buffer as "receive_buffer", "Size of the receive buffer, which is the largest window that is offered; auto grows it as Linux does";
    HostParser, host as "host",
        "What the hosts do where the RFCs leave a choice: what a Linux kernel does (linux), what the kernel of mptcp.org did, with which papers measured (mptcp-0.9x; mptcp-0.88 has also its deferral of segments), or the simplest thing (rfc)";
    Bool, engine.tcp.send_buffer_tuning as "send_buffer_tuning", "Whether the send buffer grows with the subflows' windows, up to send_buffer, as in Linux";
    Bool, engine.nagle as "nagle", "Nagle's rule: a short last segment waits while earlier data is unacknowledged";
    Bool, engine.pr as "pr", "Opportunistic retransmission and penalisation";
    FailureDetectionParser, engine.failure_detection as "failure_detection",
        "How quickly a dark path is noticed: after the first timeout (fast), or as slowly as mainline Linux does it, whatever the scheduler (linux)";
    PathManagerParser, engine.path_manager as "path_manager", "Which subflows the client opens";
    Bool, engine.join_initial_address as "join_initial_address",
        "Whether further local addresses connect to the peer's first address when it announces no other";
    Bool, engine.protect_initial_address as "protect_initial_address",
        "Whether further subflows are refused at the address that was first connected to";
    PathModeParser, path_mode as "path_mode", "How the paths are used: all at once (primary), the first with the others as backups (backup), or one at a time (single)";
    Whole<1, 32, u8>, engine.max_subflows as "max_subflows", "The largest number of subflows";
    Whole<0, 31, u8>, engine.accepted_addresses as "accepted_addresses", "How many addresses that the peer announces are used at once";
    Bool, engine.accept_priorities as "accept_priorities", "Whether the peer may make a subflow a backup, or no backup, while it lives (MP_PRIO)";
    Bool, engine.accept_removals as "accept_removals", "Whether the peer may remove addresses (REMOVE_ADDR)";
    Bool, engine.share_data_acks as "share_data_acks",
        "Whether a DATA_ACK also leaves on the subflow that brings it back soonest, with a small window and the host rfc; other hosts acknowledge where the data came";
    Bool, engine.checksum as "checksum", "Whether DSS checksums are used";
    Time, engine.keep_alive as "keep_alive", "A subflow on which nothing has arrived for this long is probed (0s: never)";
    PositiveTime, engine.close_timeout as "close_timeout", "How long the connection lives without a working subflow, and how long a close may take";
    Whole<576, 65535>, engine.tcp.mtu as "mtu", "Size of the largest IP packet, bytes";
    PathMtuDiscoveryParser, engine.tcp.path_mtu_discovery as "path_mtu_discovery",
        "How a path's packet size is found: from routers' messages only (messages), also after timeouts (black-holes), or also by trying a larger one from time to time (probing)";
    PacingParser, engine.tcp.pacing as "pacing", "Whether data leaves at a steady rate (on) or as soon as the windows let it (off)";
    Whole<1, 1000>, engine.tcp.initial_window as "initial_window", "Initial congestion window, segments";
    PositiveTime, engine.tcp.min_rto as "min_rto", "Smallest retransmission timeout";
    PositiveTime, engine.tcp.max_rto as "max_rto", "Largest retransmission timeout";
    Bool, engine.tcp.timestamps as "timestamps", "Whether TCP timestamps are used";
    Bool, engine.tcp.window_scaling as "window_scaling", "Whether TCP window scaling is used";
    Whole<0, 14>, engine.tcp.least_window_shift as "least_window_shift", "The smallest window scale; windows are offered in steps of 2 to this power";
    Bool, engine.tcp.delayed_ack as "delayed_ack", "Whether acknowledgements are delayed";
    Time, engine.tcp.delayed_ack_timeout as "delayed_ack_timeout", "The longest delay of an acknowledgement";
    Time, engine.tcp.timer_tick as "timer_tick", "Step of the clock that timers run on (1ms or 4ms in Linux; 0s: exact)";
    Whole<0, 1000>, engine.tcp.quick_acks as "quick_acks", "How many segments are acknowledged immediately at the start";
    RecoveryParser, engine.tcp.recovery as "recovery", "How losses are detected and repaired: RACK-TLP (rack), RFC 6675 (sack) or NewReno (newreno)";
    Bool, engine.tcp.prr as "prr", "Whether proportional rate reduction is used during recovery";
    Bool, engine.tcp.limited_transmit as "limited_transmit", "Whether limited transmit is used (RFC 3042)";
    Bool, engine.tcp.restart_after_idle as "restart_after_idle", "Whether the congestion window starts again small after an idle period";
    Bool, engine.tcp.ecn as "ecn", "Whether explicit congestion notification is used";
    Whole<1, 100>, engine.tcp.max_retransmissions as "max_retransmissions", "How many retransmissions of a segment are tried before the subflow is given up";
    PositiveTime, engine.tcp.time_wait as "time_wait", "How long a closed subflow keeps its addresses and ports from new ones (TIME_WAIT)";
});

/// Settings of UDP traffic.
pub(crate) const TRAFFIC: &[Setting<Traffic>] = settings!(Traffic {
    DirectionParser, direction as "direction", "From the client to the server (upload) or back (download)";
    TrafficPatternParser, pattern as "pattern", "Which packets are sent, and when";
    Time, start as "start", "When the first packet may be sent";
    Time, stop as "stop", "After this time no more packets are sent (0s: the end of the run)";
});

words!(/// Which connections a run waits for.
EndsWithParser: EndsWith { "measured" => EndsWith::Measured, "all" => EndsWith::All });
words!(/// Where recorded traces start.
TraceStartParser: TraceStart { "seeded" => TraceStart::Seeded, "beginning" => TraceStart::Beginning });
words!(/// Where random loss happens.
LossPositionParser: LossPosition { "before" => LossPosition::BeforeQueue, "after" => LossPosition::AfterQueue });
words!(/// Waiting packets of a link that goes down.
OnDownParser: OnDown { "hold" => OnDown::Hold, "drop" => OnDown::Drop });
words!(/// Who sends.
DirectionParser: Direction { "upload" => Direction::Upload, "download" => Direction::Download });
words!(/// How paths are used.
PathModeParser: PathMode { "primary" => PathMode::Primary, "backup" => PathMode::Backup, "single" => PathMode::Single });
words!(/// How quickly a dark path is noticed.
FailureDetectionParser: FailureDetection { "fast" => FailureDetection::Fast, "linux" => FailureDetection::Linux });
words!(/// How a smaller packet size is found out.
PathMtuDiscoveryParser: PathMtuDiscovery { "messages" => PathMtuDiscovery::Messages, "black-holes" => PathMtuDiscovery::BlackHoles, "probing" => PathMtuDiscovery::Probing });
words!(/// Loss recovery.
RecoveryParser: LossRecovery {
    "rack" => LossRecovery::RackTlp,
    "sack" => LossRecovery::Sack,
    "newreno" => LossRecovery::NewReno,
});
