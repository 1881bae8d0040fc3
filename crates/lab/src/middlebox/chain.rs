//! Segments on their way through the middleboxes of a path.

use super::{Middlebox, Way};
use core::net::SocketAddr;
use pathweave_proto::PacketTooBig;
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::{Ecn, Segment};
use std::collections::{BTreeMap, VecDeque};

/// The direction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Direction {
    /// From the client.
    Up,
    /// To the client.
    Down,
}

impl Direction {
    pub(super) fn is_of(self, way: Way) -> bool {
        match way {
            Way::Both => true,
            Way::Up => self == Direction::Up,
            Way::Down => self == Direction::Down,
        }
    }
}

/// A segment on its way through a path's middleboxes.
#[derive(Clone, Debug)]
pub(crate) struct Passing {
    pub(crate) direction: Direction,
    pub(crate) segment: Segment,
    pub(crate) ecn: Ecn,
}

impl Passing {
    /// The segment's flow: the addresses of client and server as seen on the client's side.
    pub(super) fn flow(&self) -> (SocketAddr, SocketAddr) {
        match self.direction {
            Direction::Up => (self.segment.src, self.segment.dst),
            Direction::Down => (self.segment.dst, self.segment.src),
        }
    }
}

/// One middlebox. Each outgoing segment has a direction of its own, which may differ from that of the incoming segment.
pub(crate) trait Element {
    /// Handles a segment and puts the resulting ones into `out`.
    fn pass(&mut self, now: Instant, passing: Passing, out: &mut Vec<Passing>);

    /// The next message to the sender of a dropped packet.
    fn poll_message(&mut self) -> Option<PacketTooBig> {
        None
    }

    /// Time at which the middlebox next acts by itself.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does everything that is due by itself.
    fn handle_timeout(&mut self, _now: Instant, _out: &mut Vec<Passing>) {}
}

/// An element's state of each flow. It is created when the flow's first segment passes, and kept.
#[derive(Debug)]
pub(super) struct Flows<T>(BTreeMap<(SocketAddr, SocketAddr), T>);

impl<T> Default for Flows<T> {
    fn default() -> Self {
        Flows(BTreeMap::new())
    }
}

impl<T: Default> Flows<T> {
    pub(super) fn of(&mut self, passing: &Passing) -> &mut T {
        self.0.entry(passing.flow()).or_default()
    }
}

/// The middleboxes of one path.
struct Chain {
    elements: Vec<Box<dyn Element>>,
}

impl Chain {
    /// Passes a segment on from its position: `at` elements lie between the segment and the client.
    fn pass(&mut self, now: Instant, at: usize, passing: Passing, done: &mut VecDeque<Passing>) {
        let i = match passing.direction {
            Direction::Up if at < self.elements.len() => at,
            Direction::Down if at > 0 => at - 1,
            _ => return done.push_back(passing),
        };
        let mut out = Vec::new();
        self.elements[i].pass(now, passing, &mut out);
        self.pass_all(now, i, out, done);
    }

    /// Passes on the segments that element `i` has put out.
    fn pass_all(&mut self, now: Instant, i: usize, out: Vec<Passing>, done: &mut VecDeque<Passing>) {
        for passing in out {
            let at = if passing.direction == Direction::Up { i + 1 } else { i };
            self.pass(now, at, passing, done);
        }
    }
}

/// The middleboxes of all paths.
pub(crate) struct Middleboxes {
    /// The chains by path.
    chains: BTreeMap<usize, Chain>,
    /// Segments that have left the middleboxes towards the server, and towards the client.
    up: VecDeque<Passing>,
    down: VecDeque<Passing>,
    /// Messages to the senders of dropped packets, with the time since which they wait.
    messages: VecDeque<(Instant, PacketTooBig)>,
}

impl Middleboxes {
    /// Makes the middleboxes of all paths from each path's name and list; `None` if no path has any.
    pub(crate) fn new<'a>(paths: impl Iterator<Item = (&'a str, &'a [Middlebox])>, seed: u64) -> Option<Self> {
        let mut chains = BTreeMap::new();
        for (i, (path, middleboxes)) in paths.enumerate().filter(|(_, (_, middleboxes))| !middleboxes.is_empty()) {
            let random = |n: usize| Random::substream(seed, &format!("middlebox {n} of path {path}"));
            let elements = middleboxes.iter().enumerate().map(|(n, m)| m.element(random(n))).collect();
            chains.insert(i, Chain { elements });
        }
        (!chains.is_empty()).then(|| Middleboxes {
            chains,
            up: VecDeque::new(),
            down: VecDeque::new(),
            messages: VecDeque::new(),
        })
    }

    /// Whether segments of this path pass any middlebox.
    pub(crate) fn are_on(&self, path: usize) -> bool {
        self.chains.contains_key(&path)
    }

    /// Handles a segment that enters the middleboxes from the client or from the server.
    pub(crate) fn pass(&mut self, now: Instant, path: usize, passing: Passing) {
        let mut done = VecDeque::new();
        if let Some(chain) = self.chains.get_mut(&path) {
            let at = if passing.direction == Direction::Up { 0 } else { chain.elements.len() };
            chain.pass(now, at, passing, &mut done);
        }
        self.sort(now, done);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let messages = self.messages.front().map(|(at, _)| *at);
        self.chains.values().flat_map(|c| &c.elements).filter_map(|e| e.poll_timeout()).chain(messages).min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let mut done = VecDeque::new();
        for chain in self.chains.values_mut() {
            for i in 0..chain.elements.len() {
                if chain.elements[i].poll_timeout().is_some_and(|t| t <= now) {
                    let mut out = Vec::new();
                    chain.elements[i].handle_timeout(now, &mut out);
                    chain.pass_all(now, i, out, &mut done);
                }
            }
        }
        self.sort(now, done);
    }

    fn sort(&mut self, now: Instant, done: VecDeque<Passing>) {
        for element in self.chains.values_mut().flat_map(|chain| &mut chain.elements) {
            self.messages.extend(core::iter::from_fn(|| element.poll_message()).map(|message| (now, message)));
        }
        for passing in done {
            match passing.direction {
                Direction::Up => self.up.push_back(passing),
                Direction::Down => self.down.push_back(passing),
            }
        }
    }

    /// The next message to the sender of a dropped packet. It arrives at once.
    pub(crate) fn poll_message(&mut self) -> Option<PacketTooBig> {
        self.messages.pop_front().map(|(_, message)| message)
    }

    /// The next segment for the path's first link.
    pub(crate) fn poll_up(&mut self) -> Option<Passing> {
        self.up.pop_front()
    }

    /// The next segment for a client.
    pub(crate) fn poll_down(&mut self) -> Option<Passing> {
        self.down.pop_front()
    }
}
