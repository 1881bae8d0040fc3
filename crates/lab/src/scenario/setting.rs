//! The settings of links, paths and connections, each declared once: reading, writing, errors and the JSON Schema
//! come from here.

use super::data::{Connection, Direction, Path, PathMode, Scenario, TraceStart};
use super::form::{Bool, Form, Number, PositiveTime, Share, Size, Text, Time, Whole, Wrong, words};
use super::kinds::{
    AlgorithmForm, JitterForm, LossForm, PathManagerForm, QueueForm, RateForm, ReceiveBufferForm, ReorderForm,
    TraceForm, WorkloadForm,
};
use super::link::{LinkChange, LinkSettings, LossPosition, OnDown};
use pathweave_proto::config::{FailureDetection, LossRecovery};
use schemars::Schema;

/// One setting of a `T`.
pub(crate) struct Setting<T> {
    /// Its key.
    pub(crate) key: &'static str,
    /// What it is, with its unit where the value shows none.
    pub(crate) about: &'static str,
    /// Puts a written value in place.
    pub(crate) set: fn(&mut T, &str) -> Result<(), Wrong>,
    /// The value as it would be written; nothing where it has no written form (then leaving the key out means it).
    pub(crate) get: fn(&T) -> Option<String>,
    /// JSON Schema of its values.
    pub(crate) schema: fn() -> Schema,
}

/// `Form, field, "about"` for each setting whose key is its field's name, or `Form, field as "key", "about"`.
macro_rules! settings {
    ($type:ty { $($form:ty, $($field:ident).+ as $key:literal, $about:literal;)+ }) => {
        &[$(Setting::<$type> {
            key: $key,
            about: $about,
            set: |t, text| {
                t.$($field).+ = <$form>::read(text)?;
                Ok(())
            },
            get: |t| Some(<$form>::write(&t.$($field).+)),
            schema: <$form>::schema,
        }),+]
    };
}

/// Of the scenario itself.
pub(crate) const SCENARIO: &[Setting<Scenario>] = settings!(Scenario {
    Text, name as "name", "Name";
    Text, description as "description", "What it shows";
    Text, source as "source", "Paper and section, or where else it comes from";
    PositiveTime, duration as "duration", "Length of a run; time limit of sized transfers";
    Time, measure_from as "measure_from", "Metrics count what is sent or arrives from this time on";
    PositiveTime, series_step as "series_step", "Step of the time series";
    TraceStartForm, trace_start as "trace_start",
        "Where recorded traces start: seeded (each seed starts somewhere else in them) or beginning";
});

/// Of one direction of a link.
pub(crate) const LINK: &[Setting<LinkSettings>] = settings!(LinkSettings {
    RateForm, rate as "rate", "Rate limit";
    Whole<0, 1000>, overhead as "overhead", "Bytes that each packet takes beyond its IP packet (Ethernet: 14)";
    QueueForm, queue as "queue", "Waiting room";
    Time, delay as "delay", "Propagation delay, one way";
    JitterForm, jitter as "jitter", "Variation of the delay";
    Bool, keep_order as "keep_order", "Jitter lets no packet overtake another";
    ReorderForm, reorder as "reorder", "Explicit reordering";
    LossForm, loss as "loss", "Random loss";
    LossPositionForm, loss_position as "loss_position", "Random loss before the queue or after transmission";
    Share, duplicate as "duplicate", "Probability that a packet arrives twice";
    Share, corrupt as "corrupt", "Probability that a packet arrives damaged";
    OnDownForm, on_down as "on_down", "What happens to waiting packets when the link stops working";
});

/// In the place of `rate`.
pub(crate) const TRACE: Setting<LinkSettings> = Setting {
    key: "trace",
    about: "Instead of a rate: a file in mahimahi's format, or a generator",
    set: |link, text| {
        link.rate = TraceForm::read(text)?;
        Ok(())
    },
    get: |link| Some(TraceForm::write(&link.rate)),
    schema: TraceForm::schema,
};

/// The change that gives a link the setting `key` as it is in `settings`.
pub(crate) fn change_of(key: &str, settings: &LinkSettings) -> Option<LinkChange> {
    Some(match key {
        "rate" | "trace" => LinkChange::Rate(settings.rate.clone()),
        "overhead" => LinkChange::Overhead(settings.overhead),
        "queue" => LinkChange::Queue(settings.queue),
        "delay" => LinkChange::Delay(settings.delay),
        "jitter" => LinkChange::Jitter(settings.jitter),
        "keep_order" => LinkChange::KeepOrder(settings.keep_order),
        "reorder" => LinkChange::Reorder(settings.reorder),
        "loss" => LinkChange::Loss(settings.loss),
        "loss_position" => LinkChange::LossPosition(settings.loss_position),
        "duplicate" => LinkChange::Duplicate(settings.duplicate),
        "corrupt" => LinkChange::Corrupt(settings.corrupt),
        "up" => LinkChange::Up(settings.up),
        "on_down" => LinkChange::OnDown(settings.on_down),
        _ => return None,
    })
}

/// Of a path as connections see it.
pub(crate) const PATH: &[Setting<Path>] = &[
    Setting {
        key: "quota",
        about: "How much may be sent over it, shown to schedulers",
        set: |path, text| {
            path.quota = Some(Size::read(text)?);
            Ok(())
        },
        get: |path| path.quota.as_ref().map(Size::write),
        schema: Size::schema,
    },
    Setting {
        key: "cost",
        about: "Cost per gigabyte, shown to schedulers",
        set: |path, text| {
            path.cost = Number::read(text)?;
            Ok(())
        },
        get: |path| Some(Number::write(&path.cost)),
        schema: Number::schema,
    },
    Setting {
        key: "priority",
        about: "Shown to schedulers; lower is preferred",
        set: |path, text| {
            path.priority = Whole::<0, 1000>::read(text)?;
            Ok(())
        },
        get: |path| Some(path.priority.to_string()),
        schema: Whole::<0, 1000>::schema,
    },
    Setting {
        key: "backup",
        about: "Its subflows are backups",
        set: |path, text| {
            path.backup = Bool::read(text)?;
            Ok(())
        },
        get: |path| Some(path.backup.to_string()),
        schema: Bool::schema,
    },
];

/// Of a connection. A scheduler entry can override each.
pub(crate) const CONNECTION: &[Setting<Connection>] = settings!(Connection {
    Bool, mptcp as "mptcp", "Multipath TCP; off: plain TCP on the first path";
    Bool, measured as "measured", "Metrics are its, and schedulers are tried on it (default: mptcp)";
    Time, start as "start", "When it connects";
    Time, start_spread as "start_spread", "It connects up to this much later, by the seed: each time is as likely";
    DirectionForm, direction as "direction", "Who sends: upload is client to server";
    WorkloadForm, workload as "workload", "What is sent";
    AlgorithmForm, scheduler as "scheduler", "Packet scheduler";
    AlgorithmForm, congestion as "congestion", "Congestion controller";
    Size, send_buffer as "send_buffer", "Send buffer";
    ReceiveBufferForm, receive_buffer as "receive_buffer", "Receive buffer, which is the largest window offered";
    Bool, send_buffer_tuning as "send_buffer_tuning", "The send buffer follows the subflows' windows, up to send_buffer";
    Bool, nagle as "nagle", "The stream's last bytes wait while earlier ones are out";
    Bool, pr as "pr", "Opportunistic retransmission and penalisation";
    FailureDetectionForm, failure_detection as "failure_detection",
        "How quickly a dark path is noticed (default: fast; linux with scheduler linux)";
    PathManagerForm, path_manager as "path_manager", "Which subflows the client opens";
    Bool, join_initial_address as "join_initial_address",
        "Further local addresses join the peer's initial address where it announces no other";
    Bool, protect_initial_address as "protect_initial_address",
        "No further subflow may join the address that was connected to";
    PathModeForm, path_mode as "path_mode", "All paths at once, the others as backups, or one at a time";
    Whole<1, 32>, max_subflows as "max_subflows", "The most subflows";
    Bool, checksum as "checksum", "DSS checksums";
    Time, keep_alive as "keep_alive", "A subflow on which nothing came for so long is probed; 0s: never";
    PositiveTime, close_timeout as "close_timeout", "Survival without a living subflow, and longest close";
    Whole<576, 65535>, tcp.mtu as "mtu", "Largest IP packet, bytes";
    Whole<1, 1000>, tcp.initial_window as "initial_window", "Initial congestion window, segments";
    PositiveTime, tcp.min_rto as "min_rto", "Smallest retransmission timeout";
    PositiveTime, tcp.max_rto as "max_rto", "Largest retransmission timeout";
    Bool, tcp.timestamps as "timestamps", "TCP timestamps";
    Bool, tcp.window_scaling as "window_scaling", "TCP window scaling";
    Whole<0, 14>, tcp.least_window_shift as "least_window_shift", "The window scale is at least this";
    Bool, tcp.delayed_ack as "delayed_ack", "Delayed acknowledgements";
    Time, tcp.delayed_ack_timeout as "delayed_ack_timeout", "The longest that an acknowledgement is delayed";
    Time, tcp.timer_tick as "timer_tick", "The step of the clock that timers run on (Linux: 1ms or 4ms); 0s: exact";
    Whole<0, 1000>, tcp.quick_acks as "quick_acks", "Segments acknowledged at once at the start";
    RecoveryForm, tcp.recovery as "recovery", "Loss detection and recovery";
    Bool, tcp.prr as "prr", "Proportional rate reduction";
    Bool, tcp.limited_transmit as "limited_transmit", "Limited transmit";
    Bool, tcp.restart_after_idle as "restart_after_idle", "The window restarts after an idle period";
    Bool, tcp.ecn as "ecn", "Explicit congestion notification";
    Whole<1, 100>, tcp.max_retransmissions as "max_retransmissions", "Retransmissions before a subflow is given up";
});

words!(/// Where recorded traces start.
TraceStartForm: TraceStart { "seeded" => TraceStart::Seeded, "beginning" => TraceStart::Beginning });
words!(/// Where random loss happens.
LossPositionForm: LossPosition { "before" => LossPosition::Before, "after" => LossPosition::After });
words!(/// Waiting packets of a link that goes down.
OnDownForm: OnDown { "hold" => OnDown::Hold, "drop" => OnDown::Drop });
words!(/// Who sends.
DirectionForm: Direction { "upload" => Direction::Upload, "download" => Direction::Download });
words!(/// How paths are used.
PathModeForm: PathMode { "primary" => PathMode::Primary, "backup" => PathMode::Backup, "single" => PathMode::Single });
words!(/// How quickly a dark path is noticed.
FailureDetectionForm: FailureDetection { "fast" => FailureDetection::Fast, "linux" => FailureDetection::Linux });
words!(/// Loss recovery.
RecoveryForm: LossRecovery {
    "rack" => LossRecovery::RackTlp,
    "sack" => LossRecovery::Sack,
    "newreno" => LossRecovery::NewReno,
});
