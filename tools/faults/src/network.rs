//! The network: carries segments over the paths with their faults, and shows segments to people.

use crate::case::{Case, Kind};
use crate::middlebox::{Change, GHOST, corrupt, join, renumber};
use core::fmt::Write;
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, Segment};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A segment that arrives at a host.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) to_server: bool,
    pub(crate) ecn: Ecn,
    pub(crate) segment: Segment,
}

/// What happened to a segment, as texts for people.
pub(crate) type Fates = Vec<String>;

pub(crate) struct Network {
    random: Random,
    /// The time at which each direction of each path is free again.
    free: Vec<[Instant; 2]>,
    flying: BTreeMap<u64, Arrival>,
    order: BinaryHeap<Reverse<(Instant, u64)>>,
    sent: u64,
    /// The number of the newest segment in each direction of each path.
    newest: Vec<[u64; 2]>,
    /// Whether bytes were changed on their way.
    pub(crate) corrupted: bool,
    /// Whether options or windows were changed on their way.
    pub(crate) tampered: bool,
}

impl Network {
    pub(crate) fn new(case: &Case) -> Network {
        Network {
            random: Random::substream(case.seed, "network"),
            free: vec![[Instant::ZERO; 2]; case.paths.len()],
            flying: BTreeMap::new(),
            order: BinaryHeap::new(),
            sent: 0,
            newest: vec![[u64::MAX; 2]; case.paths.len()],
            corrupted: false,
            tampered: false,
        }
    }

    /// Sends a segment of a host on a path. Adds the segment's fate to `fates`, if that is given.
    pub(crate) fn send(
        &mut self,
        case: &Case,
        now: Instant,
        path: usize,
        to_server: bool,
        (ecn, mut segment): (Ecn, Segment),
        mut fates: Option<&mut Fates>,
    ) {
        let mut tell = |what: &dyn Fn() -> String| {
            if let Some(fates) = fates.as_deref_mut() {
                fates.push(what());
            }
        };
        let way = usize::from(!to_server);
        let p = &case.paths[path];
        let faults = &p.directions[way];
        let wrong = now < case.calm;
        if p.outages.iter().any(|(from, until)| (*from..*until).contains(&now)) {
            return tell(&|| "dark".into());
        }
        let random = &mut self.random;
        // A SYN that is lost twice is repeated without Multipath TCP. So a siege without its attackers could end in
        // another way by chance; its SYNs are not lost.
        let spared = case.kind == Kind::Siege && segment.flags.contains(Flags::SYN);
        if wrong && random.chance(faults.loss) && !spared {
            return tell(&|| "lost".into());
        }
        if wrong && random.chance(faults.corrupt) && corrupt(&mut segment, random) {
            self.corrupted = true;
            tell(&|| "bytes changed".into());
        }
        if p.renumbers {
            renumber(&mut segment, to_server);
        }
        let (mut pieces, mut delay, mut joins) = (vec![segment], p.delay, None);
        for tampering in &faults.tampering {
            if !wrong && matches!(tampering.change, Change::CutWindow(_)) {
                // A window that stays closed for ever could keep a connection open for ever.
                continue;
            }
            if tampering.apply(now, random, &mut pieces) {
                self.tampered = true;
                tell(&|| format!("{:?}", tampering.change));
                match tampering.change {
                    Change::Delay(by) => delay += by,
                    Change::Join(keeps_last_options) => joins = Some(keeps_last_options),
                    _ => {}
                }
            }
        }
        let link = &case.paths[p.bottleneck];
        for segment in pieces {
            let newest = self.flying.get_mut(&self.newest[path][way]);
            if let (Some(keeps_last_options), Some(first)) = (joins, newest)
                && join(&mut first.segment, &segment, keeps_last_options)
            {
                tell(&|| "joined with the one before".into());
                continue;
            }
            let start = self.free[p.bottleneck][way].max(now);
            let bytes = u64::from(segment.ip_len());
            if start.since(now).as_nanos() / 1000 * link.rate / 1_000_000 > link.queue {
                tell(&|| "queue full".into());
                continue;
            }
            let done = start + Duration::from_nanos(bytes * 1_000_000_000 / link.rate);
            self.free[p.bottleneck][way] = done;
            let mut at = done + delay;
            at += Duration::from_nanos(self.random.below(p.jitter.as_nanos() + 1));
            if wrong && self.random.chance(faults.reorder) {
                at += Duration::from_nanos(self.random.below(faults.late_by.as_nanos() + 1));
                tell(&|| format!("late, at {at}"));
            }
            if wrong && self.random.chance(faults.duplicate) {
                let again = at + Duration::from_nanos(self.random.below(faults.late_by.as_nanos() + 1));
                tell(&|| format!("again at {again}"));
                self.fly(again, Arrival { to_server, ecn, segment: segment.clone() });
            }
            if wrong && self.random.chance(faults.ghost) {
                let again = at + Duration::from_nanos(self.random.below(GHOST.as_nanos()));
                tell(&|| format!("a ghost at {again}"));
                self.fly(again, Arrival { to_server, ecn, segment: segment.clone() });
            }
            self.newest[path][way] = self.sent;
            self.fly(at, Arrival { to_server, ecn, segment });
        }
    }

    fn fly(&mut self, at: Instant, arrival: Arrival) {
        self.flying.insert(self.sent, arrival);
        self.order.push(Reverse((at, self.sent)));
        self.sent += 1;
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.order.peek().map(|Reverse((at, _))| *at)
    }

    /// The next segment that has arrived by `now`.
    pub(crate) fn arrive(&mut self, now: Instant) -> Option<Arrival> {
        let Reverse((_, name)) = *self.order.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.order.pop();
        self.flying.remove(&name)
    }
}

pub(crate) const END: [&str; 2] = ["client", "server"];

/// Whether everything that happens is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Show(pub(crate) bool);

impl Show {
    pub(crate) fn tell(self, now: Instant, what: impl FnOnce() -> String) {
        if self.0 {
            println!("{:>14} {}", now.to_string(), what());
        }
    }
}

pub(crate) fn segment(s: &Segment) -> String {
    let mut out = format!(
        "{} > {} {:?} seq {} ack {} len {} win {}",
        s.src,
        s.dst,
        s.flags,
        s.seq,
        s.ack,
        s.payload.len(),
        s.window
    );
    let o = &s.options;
    if let Some(t) = o.timestamps {
        let _ = write!(out, " ts {}/{}", t.value, t.echo);
    }
    if !o.sack.is_empty() {
        let _ = write!(out, " sack {:?}", o.sack.iter().map(|b| (b.left, b.right)).collect::<Vec<_>>());
    }
    if let Some(dss) = o.dss {
        let _ = write!(out, " ack {:?} map {:?} fin {}", dss.data_ack, dss.mapping, dss.data_fin);
    }
    if !o.mptcp.is_empty() {
        let _ = write!(out, " {:?}", o.mptcp);
    }
    out
}

/// The texts about a segment, joined.
pub(crate) fn fates(fates: &Fates) -> String {
    if fates.is_empty() { String::new() } else { format!("  [{}]", fates.join(", ")) }
}
