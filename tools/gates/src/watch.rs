//! Watches one run of a case.

use crate::case::{Case, Dark, Kind};
use pathweave_algorithms::Registry;
use pathweave_lab::results::Status;
use pathweave_lab::scenario::{Document, NoFiles, Variant};
use pathweave_lab::sim::{HostPacket, Simulation, path_of};
use pathweave_proto::config::TcpConfig;
use pathweave_proto::connection::{PathHealth, SubflowSnapshot};
use pathweave_units::{Duration, Instant};
use std::cell::RefCell;
use std::rc::Rc;

/// Time between two looks at a run, which is the resolution of stalls.
const LOOK: Duration = Duration::from_millis(10);
/// Longest stall that is always allowed, however short the timeouts are.
const LEAST_LIMIT: Duration = Duration::from_secs(1);
/// Most data of a segment, bytes.
const SEGMENT: u64 = 1460;
/// Round trips from the first answer of a path to its use.
const REUSE_ROUND_TRIPS: u64 = 2;
/// The longest time between two probes of a dark path.
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Observations of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The worst stall of the stream: its length divided by its limit, and its length. The limit is max(1 s, 3 RTO).
    /// RTO is the longest timeout by RFC 6298, without any doubling, of two groups of subflows: those that were usable
    /// when the stall began, and those whose path works during the stall. The second group counts because a path that
    /// carries the traffic of others has a longer queue and longer round trips.
    pub(crate) stall: (f64, Duration),
    /// Data bytes that arrived more than once, relative to the most that all subflows together had in flight.
    pub(crate) duplicates: f64,
    /// A description of lost or changed data, or of a wrong end.
    pub(crate) broken: Option<String>,
    /// Round trips from the first answer of a path that had been given up to data on it; `None` if there was no such
    /// path.
    pub(crate) reuse: Option<f64>,
    /// Round trips from that answer until data may be assigned to the path, and the same time relative to its limit.
    /// The limit is two round trips plus the time for which a receiver may delay the acknowledgement of a lone segment
    /// (RFC 5681 §4.2).
    pub(crate) offered: Option<(f64, f64)>,
    /// The longest time between two probes of a dark path.
    pub(crate) probe: Option<Duration>,
    /// If all paths are dark: time from the last answer to the error. If nothing was in flight then, time from the next
    /// assignment of data: a scheduler may wait for a path that no longer answers, and as long as nothing is sent no
    /// answer is missing.
    pub(crate) error: Option<Duration>,
    /// Time from the start of an outage until the path counted as dark, in timeouts of the outage's start.
    pub(crate) stale_after: Option<f64>,
}

/// Signs of a path's state in the packets at the sender.
#[derive(Clone, Copy, Debug, Default)]
struct PathWatch {
    dark: Option<(Instant, Instant)>,
    round_trip: Duration,
    last_sent: Instant,
    last_heard: Instant,
    /// Times of the first packet from the peer after the outage, and of the first data sent after that.
    sign: Option<Instant>,
    data_after_sign: Option<Instant>,
    /// Time since which no data may be assigned to the path, as known at the last look.
    unused_since: Option<Instant>,
    unused_at_sign: bool,
    /// Time from which on data may be assigned again, provided that there was data to assign since the path's first
    /// answer.
    offered: Option<Instant>,
    longest_gap: Duration,
    probed: bool,
    /// Whether its sender has to probe it, because it connects or has sent on it before.
    own: bool,
    rto: Duration,
    stale: Option<Instant>,
}

impl PathWatch {
    fn see(&mut self, packet: &HostPacket<'_>) {
        let now = packet.at;
        if packet.sent {
            self.note_gap(now);
            self.last_sent = now;
            if self.sign.is_some() && !packet.segment.payload.is_empty() {
                self.data_after_sign.get_or_insert(now);
            }
        } else {
            self.last_heard = now;
            if self.dark.is_some_and(|(_, until)| now >= until) && self.sign.is_none() {
                self.sign = Some(now);
                self.unused_at_sign = self.unused_since.is_some();
            }
        }
    }

    /// Notes the time since the last probe, while the path is dark and known to be dark.
    fn note_gap(&mut self, now: Instant) {
        let Some((_, until)) = self.dark else { return };
        if let Some(since) = self.unused_since
            && now < until
            && self.own
        {
            self.probed = true;
            self.longest_gap = self.longest_gap.max(now.since(self.last_sent.max(since)));
        }
    }

    /// Whether the path works, as far as its sender can know.
    fn works(&self, now: Instant) -> bool {
        let Some((from, until)) = self.dark else { return true };
        let known = until + PROBE_INTERVAL + self.round_trip;
        now < from || self.sign.is_some() || now >= known
    }

    fn look(&mut self, now: Instant, subflow: Option<&SubflowSnapshot>, pending: bool) {
        let Some((from, _)) = self.dark else { return };
        let unused = subflow.is_none_or(|s| !s.usable || s.health == PathHealth::Stale);
        self.own |= !unused;
        match subflow {
            Some(s) if now <= from => self.rto = s.rto,
            _ => {}
        }
        let gone = unused && now > from && self.sign.is_none() && pending;
        self.unused_since = if gone { self.unused_since.or(Some(now)) } else { None };
        if gone {
            self.stale.get_or_insert(now);
        }
        self.note_gap(now);
        if self.sign.is_some() && self.offered.is_none() {
            if !pending {
                // Without pending data, nothing is known about the use of the path.
                self.unused_at_sign = false;
            }
            if !unused {
                self.offered = Some(now);
            }
        }
    }
}

fn interval(dark: Dark) -> (Instant, Instant) {
    (Instant::from_millis(dark.from_ms), Instant::from_millis(dark.until_ms))
}

/// Runs a case with one scheduler.
///
/// # Panics
/// If the registry has no such scheduler.
pub(crate) fn run(case: &Case, scheduler: &str, registry: &Registry) -> Outcome {
    let text = case.scenario_text(scheduler, registry);
    let document = Document::parse("gate.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let scenario = document.scenario(registry, &Variant::AsWritten).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut sim = Simulation::new(&scenario, case.seed, registry, &NoFiles).expect("the scenario names no file");
    let watched = case.paths.iter().map(|p| PathWatch {
        dark: p.dark.map(interval),
        round_trip: Duration::from_millis(2 * p.delay_ms),
        own: !case.is_download(),
        ..PathWatch::default()
    });
    let paths: Rc<RefCell<Vec<PathWatch>>> = Rc::new(RefCell::new(watched.collect()));
    let seen = paths.clone();
    sim.set_host_capture(Box::new(move |packet| {
        if let Some(path) = seen.borrow_mut().get_mut(packet.path) {
            path.see(packet);
        }
    }));
    let mut stream = Stream::default();
    let mut at = Instant::ZERO;
    let (mut duplicates, mut window) = (0, 0);
    let (mut waits, mut waits_since) = (false, Instant::ZERO);
    while !sim.is_done() {
        at += LOOK;
        let goes_on = sim.run_until(at);
        let now = sim.now();
        let ends = sim.measured_ends().next();
        let (sender, receiver) = ends.unwrap_or((None, None));
        let subflows: Vec<SubflowSnapshot> = sender.into_iter().flat_map(|s| s.subflows()).collect();
        let sending = sender.filter(|s| s.is_connected()).map(|s| s.snapshot().sending);
        let unacked = sending.is_some_and(|s| !s.is_acked());
        let waited = std::mem::replace(&mut waits, sending.is_some_and(|s| s.assigned_bytes > 0));
        if waits && !waited {
            waits_since = now;
        }
        let unread = sending.is_some_and(|s| sim.received_bytes() < s.written_bytes);
        duplicates = receiver.map_or(duplicates, |r| r.snapshot().counters.duplicate_bytes);
        window = window.max(subflows.iter().map(|s| s.window.in_flight).sum());
        let mut paths = paths.borrow_mut();
        for (i, path) in paths.iter_mut().enumerate() {
            let living = subflows.iter().rev().find(|s| !s.closed && path_of(s.local.ip()) == Some(i));
            path.look(now, living, unacked);
        }
        let works =
            |s: &SubflowSnapshot| path_of(s.local.ip()).and_then(|path| paths.get(path)).is_some_and(|p| p.works(now));
        let can_go_on = unread && subflows.iter().any(|s| s.usable && works(s));
        let usable = || subflows.iter().filter(|s| s.usable);
        let timeouts = Timeouts {
            in_force: usable().map(|s| s.rto).max().unwrap_or_default(),
            of_working: usable().filter(|s| works(s)).filter_map(undoubled_rto).max().unwrap_or_default(),
        };
        stream.look(now, sim.received_bytes(), can_go_on, &timeouts);
        if !goes_on {
            break;
        }
    }
    let (end, received) = (sim.now(), sim.received_bytes());
    let measured = sim.finish();
    let reason = measured.reason.unwrap_or_default();
    let broken = match case.kind {
        Kind::All => reason != "all paths are dead",
        _ => measured.status != Status::Completed || received != case.size().max(1),
    };
    let paths = paths.borrow();
    let window = u64::from(window) * SEGMENT;
    let round_trips =
        |p: &PathWatch, until: Instant| until.since(p.sign.unwrap_or(until)).as_secs_f64() / p.round_trip.as_secs_f64();
    let offered = |p: &PathWatch| {
        let time = p.offered.unwrap_or(end).since(p.sign.unwrap_or(end));
        let limit = p.round_trip.saturating_mul(REUSE_ROUND_TRIPS) + TcpConfig::default().delayed_ack_timeout;
        (time.as_secs_f64() / p.round_trip.as_secs_f64(), time.as_secs_f64() / limit.as_secs_f64())
    };
    let back = || paths.iter().filter(|p| p.unused_at_sign && p.sign.is_some());
    let most = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::max);
    let unanswered_since = paths.iter().map(|p| p.last_heard).fold(waits_since, Instant::max);
    Outcome {
        stall: stream.worst,
        duplicates: if window > 0 { duplicates as f64 / window as f64 } else { 0.0 },
        broken: broken.then(|| format!("{:?} ({reason}), {received} of {} bytes", measured.status, case.size())),
        reuse: most(&mut back().filter_map(|p| Some(round_trips(p, p.data_after_sign?)))),
        offered: back().map(offered).reduce(|a, b| if b.1 > a.1 { b } else { a }),
        probe: paths.iter().filter(|p| p.probed).map(|p| p.longest_gap).max(),
        error: (case.kind == Kind::All).then(|| end.since(unanswered_since)),
        stale_after: most(
            &mut paths
                .iter()
                .filter_map(|p| Some(p.stale?.since(p.dark?.0).as_secs_f64() / p.rto.as_secs_f64().max(1e-3))),
        ),
    }
}

/// RFC 6298's timeout from the present estimates.
fn undoubled_rto(subflow: &SubflowSnapshot) -> Option<Duration> {
    let margin = subflow.rtt.variation.saturating_mul(4).max(TcpConfig::default().min_rto);
    Some(subflow.rtt.smoothed? + margin)
}

/// The longest timeouts at one moment.
struct Timeouts {
    /// Longest timeout of usable subflows, doubled or not.
    in_force: Duration,
    /// Longest timeout of subflows whose path works, without any doubling.
    of_working: Duration,
}

/// The stream as its reader sees it.
#[derive(Debug, Default)]
struct Stream {
    received: u64,
    /// Time at which the stream last continued, or could not continue; and the longest timeout of a subflow then and
    /// since.
    since: Instant,
    rto: Duration,
    worst: (f64, Duration),
}

impl Stream {
    fn look(&mut self, now: Instant, received: u64, can_go_on: bool, timeouts: &Timeouts) {
        let stall = now.since(self.since);
        self.rto = self.rto.max(timeouts.of_working);
        let limit = LEAST_LIMIT.max(self.rto.saturating_mul(3));
        let ratio = stall.as_secs_f64() / limit.as_secs_f64();
        if ratio > self.worst.0 && can_go_on {
            self.worst = (ratio, stall);
        }
        if received > self.received || !can_go_on {
            self.received = received;
            self.since = now;
            self.rto = timeouts.in_force;
        }
    }
}
