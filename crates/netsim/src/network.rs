//! Links in a graph, the event queue over them, and a tap on each.

use crate::graph::{Graph, GraphError, LinkId, NodeId, RouteId};
use crate::timers::Timers;
use crate::timers::{ScheduledChange, Timeline};
use crate::{Ecn, Fate, Link, LinkChange, LinkConfig, LinkOutput, LinkRandom, Packet};
use pathweave_units::Instant;
use std::collections::VecDeque;

/// What a capture on one link would show of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// When it arrived at the link's other end, or was dropped.
    pub at: Instant,
    /// When it was handed to the link.
    pub entered: Instant,
    /// The link.
    pub link: LinkId,
    /// The packet's route.
    pub route: RouteId,
    /// Number of packets handed to this link before it. A copy made by this link has its original's.
    pub sequence: u64,
    /// What became of it on this link.
    pub fate: Fate,
}

/// What happened to a packet. Each packet that is sent, and each copy that is reported, ends in exactly one `Delivered`
/// or `Dropped`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetEvent<P> {
    /// It arrived at the end of its route, possibly damaged ([`Fate::Corrupted`]): the caller has it back.
    Delivered {
        /// On the last link.
        tap: Tap,
        /// Where it arrived.
        node: NodeId,
        /// The packet.
        packet: P,
    },
    /// It was dropped: the caller has it back.
    Dropped {
        /// On the link that dropped it.
        tap: Tap,
        /// The packet.
        packet: P,
    },
    /// It crossed a link that is not its last, and goes on. This is only a report: the packet is still in the network.
    Forwarded {
        /// On the link that it crossed.
        tap: Tap,
        /// A clone, to look at.
        packet: P,
    },
    /// A link made a copy, which follows its original. So there is one more owner of what the packet refers to.
    Duplicated {
        /// On the link that copied it.
        tap: Tap,
        /// A clone, to look at.
        packet: P,
    },
}

impl<P> NetEvent<P> {
    /// What a capture on the link shows.
    pub fn tap(&self) -> &Tap {
        match self {
            NetEvent::Delivered { tap, .. }
            | NetEvent::Dropped { tap, .. }
            | NetEvent::Forwarded { tap, .. }
            | NetEvent::Duplicated { tap, .. } => tap,
        }
    }
    /// The packet.
    pub fn packet(&self) -> &P {
        match self {
            NetEvent::Delivered { packet, .. }
            | NetEvent::Dropped { packet, .. }
            | NetEvent::Forwarded { packet, .. }
            | NetEvent::Duplicated { packet, .. } => packet,
        }
    }
}

/// A packet with its place on its route.
#[derive(Clone, Debug)]
struct Routed<P> {
    packet: P,
    /// Index into [`Network::hops`].
    hop: u32,
}

impl<P: Packet> Packet for Routed<P> {
    fn len_bytes(&self) -> u32 {
        self.packet.len_bytes()
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn set_ce(&mut self) {
        self.packet.set_ce();
    }
    fn set_corrupted(&mut self) {
        self.packet.set_corrupted();
    }
}

/// One link of one route. The hops of a route follow one another.
#[derive(Clone, Copy, Debug)]
struct Hop {
    link: LinkId,
    route: RouteId,
    /// Where the route ends, on its last hop.
    end: Option<NodeId>,
}

/// A graph of nodes and links that carries packets along fixed routes.
///
/// Call order: [`send`](Network::send) or [`apply`](Network::apply), then [`poll`](Network::poll) until it gives
/// `None`, before time goes on; wake it at [`poll_timeout`](Network::poll_timeout). Events come in order of time, then
/// of link, then in the link's own order; a scheduled change comes before all events of its time. A driver that is
/// late, because it follows a real clock, loses nothing: `poll` works through everything that is due, in order, each at
/// its own time.
#[derive(Debug)]
pub struct Network<P> {
    graph: Graph,
    links: Vec<Link<Routed<P>>>,
    timers: Timers,
    timeline: Timeline,
    /// Time of the first change of the timeline.
    next_change: Instant,
    hops: Vec<Hop>,
    /// First hop of each route.
    routes: Vec<u32>,
    /// Events that came together with the one given last.
    pending: VecDeque<NetEvent<P>>,
}

impl<P: Packet + Clone> Default for Network<P> {
    fn default() -> Self {
        Network::new()
    }
}

/// Building.
impl<P: Packet + Clone> Network<P> {
    /// Without nodes.
    pub fn new() -> Self {
        Network {
            graph: Graph::default(),
            links: Vec::new(),
            timers: Timers::new(),
            timeline: Timeline::default(),
            next_change: Instant::FAR_FUTURE,
            hops: Vec::new(),
            routes: Vec::new(),
            pending: VecDeque::new(),
        }
    }

    /// Adds a node.
    pub fn add_node(&mut self) -> NodeId {
        self.graph.add_node()
    }

    /// Adds a link from one node to another.
    ///
    /// # Errors
    /// If a node does not exist.
    pub fn add_link(
        &mut self,
        from: NodeId,
        to: NodeId,
        config: LinkConfig,
        random: LinkRandom,
    ) -> Result<LinkId, GraphError> {
        let id = self.graph.add_link(from, to)?;
        self.links.push(Link::new(config, random));
        self.timers.grow(self.links.len());
        Ok(id)
    }

    /// Adds a route along these links.
    ///
    /// # Errors
    /// If they do not follow one another.
    pub fn add_route(&mut self, links: &[LinkId]) -> Result<RouteId, GraphError> {
        let (_, end) = self.graph.check_route(links)?;
        let route = RouteId(self.routes.len() as u32);
        self.routes.push(self.hops.len() as u32);
        self.hops.extend(links.iter().map(|&link| Hop { link, route, end: None }));
        if let Some(last) = self.hops.last_mut() {
            last.end = Some(end);
        }
        Ok(route)
    }

    /// Adds the route with the fewest hops; see [`Graph::shortest`].
    ///
    /// # Errors
    /// If no way leads there.
    pub fn add_shortest_route(&mut self, from: NodeId, to: NodeId) -> Result<RouteId, GraphError> {
        let links = self.graph.shortest(from, to)?;
        self.add_route(&links)
    }

    /// Schedules a change of a link.
    ///
    /// # Errors
    /// If the link does not exist.
    pub fn schedule(&mut self, change: ScheduledChange) -> Result<(), GraphError> {
        self.graph.ends(change.link)?;
        self.timeline.add(change);
        self.next_change = self.timeline.first_time();
        Ok(())
    }
}

/// Running.
impl<P: Packet + Clone> Network<P> {
    /// Sends a packet along a route.
    ///
    /// # Panics
    /// If the route was not added to this network.
    #[inline]
    pub fn send(&mut self, now: Instant, route: RouteId, packet: P) {
        let hop = self.routes[route.index()];
        self.enter(now, hop, packet);
    }

    /// Changes a link now.
    ///
    /// # Panics
    /// If the link was not added to this network.
    pub fn apply(&mut self, now: Instant, link: LinkId, change: LinkChange) {
        let index = link.index();
        self.links[index].apply(now, change);
        self.timers.set(index, self.links[index].next_event());
    }

    /// The next event up to `now`.
    pub fn poll(&mut self, now: Instant) -> Option<NetEvent<P>> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            let due = self.timers.first_time();
            if self.next_change <= due && self.next_change <= now {
                let ScheduledChange { at, link, change } = self.timeline.pop()?;
                self.next_change = self.timeline.first_time();
                self.apply(at, link, change);
                continue;
            }
            if due > now || due == Instant::FAR_FUTURE {
                return None;
            }
            let index = self.timers.first_link();
            let link = &mut self.links[index];
            let output = link.poll(due);
            self.timers.set(index, link.next_event());
            if let Some(output) = output
                && let Some(event) = self.handle_output(LinkId(index as u32), output)
            {
                return Some(event);
            }
        }
    }

    /// When to call [`Network::poll`] next. It may then still have nothing to give.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = match self.pending.front() {
            Some(event) => event.tap().at,
            None => self.timers.first_time().min(self.next_change),
        };
        (next < Instant::FAR_FUTURE).then_some(next)
    }

    /// Works out the state of a link at `now`, for [`Network::link_queue`]. Call it only after all events up to `now`
    /// have been polled.
    pub fn advance(&mut self, now: Instant, link: LinkId) {
        self.links[link.index()].advance(now);
    }

    #[inline]
    fn enter(&mut self, now: Instant, hop: u32, packet: P) {
        let index = self.hops[hop as usize].link.index();
        let link = &mut self.links[index];
        link.enqueue(now, Routed { packet, hop });
        self.timers.set(index, link.next_event());
    }

    #[inline]
    fn handle_output(&mut self, link: LinkId, output: LinkOutput<Routed<P>>) -> Option<NetEvent<P>> {
        let LinkOutput { at, entered, sequence, fate, packet: Routed { packet, hop }, copy } = output;
        let Hop { route, end, .. } = self.hops[hop as usize];
        let tap = Tap { at, entered, link, route, sequence, fate };
        if fate.is_drop() {
            return Some(NetEvent::Dropped { tap, packet });
        }
        if let Some(copy) = copy {
            self.pending.push_back(NetEvent::Duplicated { tap, packet: copy.packet.clone() });
            self.arrive(tap, hop, end, packet);
            self.arrive(tap, hop, end, copy.packet);
            return self.pending.pop_front();
        }
        match end {
            Some(node) => Some(NetEvent::Delivered { tap, node, packet }),
            None => {
                self.arrive(tap, hop, end, packet);
                self.pending.pop_front()
            }
        }
    }

    /// A packet has crossed a link: it is at the end of its route, or goes on to the next link.
    fn arrive(&mut self, tap: Tap, hop: u32, end: Option<NodeId>, packet: P) {
        match end {
            Some(node) => self.pending.push_back(NetEvent::Delivered { tap, node, packet }),
            None => {
                self.pending.push_back(NetEvent::Forwarded { tap, packet: packet.clone() });
                self.enter(tap.at, hop + 1, packet);
            }
        }
    }
}

/// Getters.
impl<P: Packet + Clone> Network<P> {
    /// Nodes and links.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
    /// The settings of a link.
    ///
    /// # Panics
    /// In this and the other getters: if the link was not added to this network.
    pub fn link_config(&self, link: LinkId) -> &LinkConfig {
        self.links[link.index()].config()
    }
    /// The counters of a link.
    pub fn link_stats(&self, link: LinkId) -> &crate::LinkStats {
        self.links[link.index()].stats()
    }
    /// Packets and bytes that wait for transmission on a link, as of the last event or [`Network::advance`].
    pub fn link_queue(&self, link: LinkId) -> (u64, u64) {
        let link = &self.links[link.index()];
        (link.queued_packets(), link.queued_bytes())
    }
    /// Packets inside a link: waiting, in transmission, on the wire, and not yet polled.
    pub fn packets_inside(&self, link: LinkId) -> u64 {
        self.links[link.index()].packets_inside()
    }
    /// The links of a route.
    pub fn route_links(&self, route: RouteId) -> impl Iterator<Item = LinkId> {
        self.hops.iter().filter(move |hop| hop.route == route).map(|hop| hop.link)
    }
}

#[cfg(test)]
mod tests;
