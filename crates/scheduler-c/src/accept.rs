//! A path as C describes it becomes a subflow as schedulers see it. What C leaves out is filled in as the header says.

use crate::status::{Fault, Status};
use crate::types::{MAX_PATHS, PATH_APPLICATION_LIMITED, PATH_BACKUP, PATH_QUOTA, PATH_STALE, Path, Phase as PhaseInC};
use core::fmt::Display;
use pathweave_scheduler::{
    Delivery, Growth, PathTerms, Phase, QueueState, RoundTrip, SubflowId, SubflowView, WindowState,
};
use pathweave_units::{Duration, Instant};

/// Bytes that stand for "no limit": 1 TiB.
pub(crate) const NO_LIMIT: u64 = 1 << 40;
/// Largest offset in the stream, and largest number of bytes anywhere: the largest integer of QUIC (RFC 9000 §16). The
/// sum of two of them does not overflow.
pub(crate) const MOST_BYTES: u64 = (1 << 62) - 1;
/// Latest time, nanoseconds: 146 years after the zero of the program's clock.
pub(crate) const LATEST: u64 = (1 << 62) - 1;
/// Longest round trip, nanoseconds: a day.
pub(crate) const LONGEST: u64 = 24 * 60 * 60 * 1_000_000_000;
/// Largest full packet, bytes.
const LARGEST_MSS: u32 = 1 << 16;
/// Most segments of a congestion window.
const MOST_SEGMENTS: u64 = 1 << 24;

const FLAGS: u32 = PATH_BACKUP | PATH_STALE | PATH_APPLICATION_LIMITED | PATH_QUOTA;

/// The path's number as a subflow's name.
pub(crate) fn number(path: u32) -> Result<SubflowId, Fault> {
    match u8::try_from(path) {
        Ok(id) if path < MAX_PATHS => Ok(SubflowId(id)),
        _ => Err(Fault::new(Status::PathNumber, format!("path {path}: allowed: 0 to {}", MAX_PATHS - 1))),
    }
}

/// The fault of a value that is not allowed: its owner `of`, its field, the value, and the allowed ones.
pub(crate) fn wrong(of: impl Display, field: &str, value: impl Display, allowed: impl Display) -> Fault {
    Fault::new(Status::Value, format!("{of}: {field} is {value}; allowed: {allowed}"))
}

/// The subflow that `path` describes. `last_sent`: the time at which the path was last given data.
pub(crate) fn subflow(path: &Path, last_sent: Option<Instant>) -> Result<SubflowView, Fault> {
    let id = number(path.id)?;
    let of = || format!("path {}", id.0);
    check(path, &of)?;
    let mss = u64::from(path.mss_bytes);
    let segments = |bytes: u64| bytes.min(MOST_SEGMENTS * mss).div_ceil(mss) as u32;
    let time = |ns: u64| (ns > 0).then(|| Duration::from_nanos(ns));
    let smoothed = time(path.smoothed_rtt_ns);
    let cwnd = (path.congestion_window_bytes / mss).min(MOST_SEGMENTS) as u32;
    let ssthresh = match path.slow_start_threshold_bytes / mss {
        _ if path.slow_start_threshold_bytes == 0 => WindowState::NO_THRESHOLD,
        segments => segments.min(MOST_SEGMENTS) as u32,
    };
    let unacknowledged = path.unacknowledged_bytes.max(path.in_flight_bytes);
    let bytes = unacknowledged.saturating_add(path.queued_bytes);
    let each_round = |rtt: Duration| path.congestion_window_bytes.min(NO_LIMIT) as f64 / rtt.as_secs_f64();
    Ok(SubflowView {
        id,
        backup: path.flags & PATH_BACKUP != 0,
        stale: path.flags & PATH_STALE != 0,
        mss: path.mss_bytes,
        path: PathTerms {
            priority: path.priority,
            cost: path.cost_per_gigabyte,
            quota_left: (path.flags & PATH_QUOTA != 0).then_some(path.quota_left_bytes),
        },
        rtt: RoundTrip {
            smoothed,
            variation: Duration::from_nanos(path.rtt_variation_ns),
            min: time(path.min_rtt_ns).or(smoothed),
            max: time(path.max_rtt_ns).or(smoothed),
            latest: time(path.latest_rtt_ns).or(smoothed),
        },
        window: WindowState {
            cwnd,
            ssthresh,
            in_flight: segments(path.in_flight_bytes),
            unacked: segments(unacknowledged),
            app_limited: path.flags & PATH_APPLICATION_LIMITED != 0,
            phase: phase(path.phase)
                .ok_or_else(|| wrong(of(), "phase", path.phase, "a pathweave_phase"))?
                .unwrap_or(if cwnd < ssthresh { Phase::SlowStart } else { Phase::Avoidance }),
            growth: Growth::default(),
        },
        queue: QueueState {
            unsent: segments(path.queued_bytes),
            bytes,
            memory: bytes,
            space: match path.queue_limit_bytes {
                0 => NO_LIMIT,
                // Larger limits are as good as none. Sums and multiples of `space` must not overflow.
                limit => limit.min(MOST_BYTES).saturating_sub(bytes),
            },
        },
        delivery: Delivery {
            loss: path.loss_ratio,
            rate: path.delivery_rate_bytes_per_s as f64,
            pacing_rate: match path.pacing_rate_bytes_per_s {
                0 => smoothed.map_or(0.0, each_round),
                rate => rate as f64,
            },
            round_start: (path.round_start_ns > 0).then(|| Instant::from_nanos(path.round_start_ns)),
            last_sent,
        },
    })
}

/// Rejects values with which a scheduler could not calculate.
fn check(path: &Path, of: &dyn Fn() -> String) -> Result<(), Fault> {
    if !(1..=LARGEST_MSS).contains(&path.mss_bytes) {
        return Err(wrong(of(), "mss_bytes", path.mss_bytes, format!("1 to {LARGEST_MSS}")));
    }
    if path.flags & !FLAGS != 0 {
        return Err(wrong(of(), "flags", path.flags, "a sum of the PATHWEAVE_PATH_ values"));
    }
    if path.reserved != 0 {
        return Err(wrong(of(), "reserved", path.reserved, 0));
    }
    if !(0.0..=1.0).contains(&path.loss_ratio) {
        return Err(wrong(of(), "loss_ratio", path.loss_ratio, "0 to 1"));
    }
    if !(0.0..f64::INFINITY).contains(&path.cost_per_gigabyte) {
        return Err(wrong(of(), "cost_per_gigabyte", path.cost_per_gigabyte, "0 or more"));
    }
    let round_trips = [
        ("smoothed_rtt_ns", path.smoothed_rtt_ns),
        ("rtt_variation_ns", path.rtt_variation_ns),
        ("min_rtt_ns", path.min_rtt_ns),
        ("max_rtt_ns", path.max_rtt_ns),
        ("latest_rtt_ns", path.latest_rtt_ns),
    ];
    let other = [
        ("slow_start_threshold_bytes", path.slow_start_threshold_bytes, MOST_BYTES),
        ("in_flight_bytes", path.in_flight_bytes, MOST_BYTES),
        ("unacknowledged_bytes", path.unacknowledged_bytes, MOST_BYTES),
        ("queued_bytes", path.queued_bytes, MOST_BYTES),
        ("round_start_ns", path.round_start_ns, LATEST),
    ];
    let round_trips = round_trips.into_iter().map(|(field, value)| (field, value, LONGEST));
    match round_trips.chain(other).find(|(_, value, most)| value > most) {
        Some((field, value, most)) => Err(wrong(of(), field, value, format!("up to {most}"))),
        None => Ok(()),
    }
}

/// The phase with this number; `Some(None)` for `PATHWEAVE_PHASE_UNKNOWN`, `None` for a number without a meaning.
fn phase(number: u32) -> Option<Option<Phase>> {
    let phases = [
        (PhaseInC::Unknown, None),
        (PhaseInC::SlowStart, Some(Phase::SlowStart)),
        (PhaseInC::Avoidance, Some(Phase::Avoidance)),
        (PhaseInC::Recovery, Some(Phase::Recovery)),
        (PhaseInC::Timeout, Some(Phase::Loss)),
    ];
    phases.into_iter().find(|(in_c, _)| *in_c as u32 == number).map(|(_, phase)| phase)
}
