//! The types of the C interface. `Path`, `View` and `Decision` begin with their size, so that later versions can add
//! fields at their ends; `Range` and `Parameter` stay as they are.
//!
//! `Path` and `View` are read as bytes into a zeroed value (`pointers.rs`), so every bit pattern must be a value: no
//! `bool`, no enum, no reference.

use core::ffi::c_char;

/// Most paths that can be up at one time. Paths are numbered from 0.
pub const MAX_PATHS: u32 = 32;

/// "No path", in place of a path's number.
pub const NO_PATH: u32 = u32::MAX;

/// The `acknowledged_end` of a transport that has no such number. Unknown fields of structs are 0 instead.
pub const UNKNOWN: u64 = u64::MAX;

/// The path should carry data only while no other path can (`flags` of a path).
pub const PATH_BACKUP: u32 = 1;
/// The path shows no sign of life: an answer is overdue. It gets no data while a path without this flag is up (`flags`
/// of a path).
pub const PATH_STALE: u32 = 2;
/// The program had less to send than the congestion window allows, so the path may deliver more than
/// `delivery_rate_bytes_per_s` (`flags` of a path).
pub const PATH_APPLICATION_LIMITED: u32 = 4;
/// The path has a quota, of which `quota_left_bytes` are left (`flags` of a path).
pub const PATH_QUOTA: u32 = 8;

/// The application has more data than the send buffer takes (`flags` of a view).
pub const VIEW_WRITER_WAITS: u32 = 1;

/// A parameter of a scheduler, as two texts in UTF-8, such as "objective" and "latency".
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The parameter's name.
    pub name: *const c_char,
    /// The value, as on the command line of `pathweave`: a number, a time such as "10ms", a word, "true" or "false".
    pub value: *const c_char,
}

/// Bytes of the stream from `start` up to `end`, without the byte at `end`. The stream's first byte is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
}

/// The phase of a path's congestion control.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Unknown. Slow start is assumed while the window is below the threshold, else congestion avoidance.
    Unknown = 0,
    /// The window doubles each round.
    SlowStart = 1,
    /// Congestion avoidance.
    Avoidance = 2,
    /// Recovery from a loss that was found by acknowledgements.
    Recovery = 3,
    /// Recovery from a timeout.
    Timeout = 4,
}

/// How a loss was found.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// By acknowledgements of later data.
    Acknowledgements = 0,
    /// By a timeout.
    Timeout = 1,
}

/// A path as the program knows it now. Fill the struct with zeros first: a field that stays 0 is unknown, and its
/// comment says what is assumed instead. Only `size`, `id`, `mss_bytes` and `congestion_window_bytes` must be set.
/// Round-trip times are at most a day.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// `sizeof(struct pathweave_path)`.
    pub size: usize,
    /// The path's number, 0 to `PATHWEAVE_MAX_PATHS - 1`.
    pub id: u32,
    /// `PATHWEAVE_PATH_BACKUP`, `PATHWEAVE_PATH_STALE`, `PATHWEAVE_PATH_APPLICATION_LIMITED` and
    /// `PATHWEAVE_PATH_QUOTA`, added up.
    pub flags: u32,
    /// Bytes of the stream that a full packet carries, 1 to 65536.
    pub mss_bytes: u32,
    /// A value of `enum pathweave_phase`.
    pub phase: u32,
    /// Bytes that may be in flight. Counts as whole packets of `mss_bytes`, rounded down.
    pub congestion_window_bytes: u64,
    /// Slow start threshold. 0: none, because there was no loss yet.
    pub slow_start_threshold_bytes: u64,
    /// Bytes sent that are thought to be in the network.
    pub in_flight_bytes: u64,
    /// Bytes sent that are not acknowledged on the path: in flight or lost. 0: as many as are in flight.
    pub unacknowledged_bytes: u64,
    /// Bytes given to the path that have not left the program.
    pub queued_bytes: u64,
    /// Most bytes that the path takes, unacknowledged and queued together. 0: no limit.
    pub queue_limit_bytes: u64,
    /// Smoothed round-trip time (SRTT of RFC 6298, smoothed_rtt of RFC 9002). 0: not measured yet.
    pub smoothed_rtt_ns: u64,
    /// Variation of the round-trip time (RTTVAR of RFC 6298, rttvar of RFC 9002). 0: no variation.
    pub rtt_variation_ns: u64,
    /// Smallest round-trip time. 0: the smoothed one.
    pub min_rtt_ns: u64,
    /// Largest round-trip time. 0: the smoothed one.
    pub max_rtt_ns: u64,
    /// The latest round-trip time. 0: the smoothed one.
    pub latest_rtt_ns: u64,
    /// Rate at which bytes were acknowledged over the last round trip. 0: not measured yet.
    pub delivery_rate_bytes_per_s: u64,
    /// Rate at which the program sends on the path. 0: a congestion window each smoothed round trip, if that is known.
    pub pacing_rate_bytes_per_s: u64,
    /// When the first packet of the present round trip was sent. 0: unknown.
    pub round_start_ns: u64,
    /// Fraction of the sent packets that was lost, smoothed, 0 to 1.
    pub loss_ratio: f64,
    /// Cost of a gigabyte, in any unit. 0: free.
    pub cost_per_gigabyte: f64,
    /// Bytes that the path may still carry, if `flags` has `PATHWEAVE_PATH_QUOTA`.
    pub quota_left_bytes: u64,
    /// Schedulers that read the priority prefer paths with a lower number.
    pub priority: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// The present state as the program knows it: the time, the receiver's window, and all paths that are up. Fill the
/// struct with zeros first. Only `size`, `now_ns`, `paths` and `path_count` must be set.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// `sizeof(struct pathweave_view)`.
    pub size: usize,
    /// The time now, by the program's monotonic clock. Not before that of an earlier call.
    pub now_ns: u64,
    /// All paths that are up, in any order, each once.
    pub paths: *const Path,
    /// Elements of `paths`, 0 to `PATHWEAVE_MAX_PATHS`.
    pub path_count: usize,
    /// End of the receiver's window, as an offset in the stream: the byte there and all later ones may not be sent. In
    /// QUIC, the limit of MAX_STREAM_DATA; in TCP, the acknowledged end plus the window. 0: no limit.
    pub send_window_end: u64,
    /// Size of the receiver's window. 0: from the acknowledged end to `send_window_end`.
    pub send_window_bytes: u64,
    /// Size of the buffer that keeps data until it is acknowledged. 0: no limit.
    pub send_buffer_bytes: u64,
    /// End of the message that contains the first byte that no path carries. 0: unknown.
    pub message_end: u64,
    /// `PATHWEAVE_VIEW_WRITER_WAITS`, or 0.
    pub flags: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// The kind of a decision.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a range of the stream on a path, report it with `pathweave_scheduler_assigned`, and ask again.
    Send = 1,
    /// Send nothing until the next report, or until `wait_until_ns` if that is not 0.
    Wait = 2,
}

/// A decision. Set `size` before the call; the call fills the other fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// `sizeof(struct pathweave_decision)`.
    pub size: usize,
    /// Whether to send or to wait.
    pub action: Action,
    /// The path that shall carry the range. If `action` is a wait: the path that the scheduler waits for, or
    /// `PATHWEAVE_NO_PATH`.
    pub path: u32,
    /// The range to send. Its bytes may have gone out before, on another path. Empty if `action` is a wait.
    pub range: Range,
    /// Latest time at which to ask again. 0: no time, only after the next report.
    pub wait_until_ns: u64,
    /// 1: the range may be longer than the room in the congestion window; its rest waits on the path. Otherwise 0.
    pub queue: u32,
    /// Always 0.
    pub reserved: u32,
}
