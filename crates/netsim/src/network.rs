//! A network: links in a graph, the order of their events, and what a capture on each link would show.

use crate::graph::{Graph, GraphError, LinkId, NodeId, RouteId};
use crate::timers::Timers;
use crate::timers::{ScheduledChange, Timeline};
use crate::{Ecn, Fate, Link, LinkChange, LinkConfig, LinkOutput, LinkRandom, Packet};
use pathweave_units::Instant;
use std::collections::VecDeque;

/// What a capture on one link would show of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// Time at which the packet arrived at the link's other end, or was dropped.
    pub at: Instant,
    /// Time at which the packet was handed to the link.
    pub entered: Instant,
    /// The link.
    pub link: LinkId,
    /// The packet's route.
    pub route: RouteId,
    /// Number of packets that were handed to this link before this one. A copy that this link made has the same number
    /// as its original.
    pub sequence: u64,
    /// What became of the packet on this link.
    pub fate: Fate,
}

/// What happened to a packet. Each packet that is sent, and each copy that is reported, ends in exactly one `Delivered`
/// or `Dropped`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetEvent<P> {
    /// The packet arrived at the end of its route, possibly damaged ([`Fate::Corrupted`]). The caller owns it again.
    Delivered {
        /// The packet on the route's last link.
        tap: Tap,
        /// The node at which it arrived.
        node: NodeId,
        /// The packet.
        packet: P,
    },
    /// The packet was dropped. The caller owns it again.
    Dropped {
        /// The packet on the link that dropped it.
        tap: Tap,
        /// The packet.
        packet: P,
    },
    /// The packet crossed a link that is not the last of its route, and entered the next one. This is only a report:
    /// the packet is still in the network.
    Forwarded {
        /// The packet on the link that it crossed.
        tap: Tap,
        /// A clone for inspection.
        packet: P,
    },
    /// A link made a copy, which follows its original. If packets are handles into a pool, there is now one more
    /// handle.
    Duplicated {
        /// The packet on the link that copied it.
        tap: Tap,
        /// A clone for inspection.
        packet: P,
    },
}

impl<P> NetEvent<P> {
    /// The packet as a capture on the link would show it.
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

/// A packet with its position on its route.
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

/// One link of one route. The hops of a route are consecutive in [`Network::hops`].
#[derive(Clone, Copy, Debug)]
struct Hop {
    link: LinkId,
    route: RouteId,
    /// The node at which the route ends, if this is its last hop.
    end: Option<NodeId>,
}

/// A graph of nodes and links that carries packets along fixed routes.
///
/// Call order: after [`send`](Network::send) or [`apply`](Network::apply), call [`poll`](Network::poll) until it
/// returns `None`, before time advances; then wake the network at [`poll_timeout`](Network::poll_timeout). Events come
/// in order of time, then of link, then in the link's own order. A scheduled change comes before all events of its
/// time.
///
/// A caller that follows a real clock may be late: `poll` then works through everything that was due, in order, each
/// event at its own time.
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
    /// Events that arose together with the one that `poll` returned last.
    pending: VecDeque<NetEvent<P>>,
}

impl<P: Packet + Clone> Default for Network<P> {
    fn default() -> Self {
        Network::new()
    }
}

/// Building.
impl<P: Packet + Clone> Network<P> {
    /// An empty network.
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
    /// If `links` is empty, or if a link does not exist or does not start where the link before it ends.
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
    /// As for [`Graph::shortest`].
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

    /// The next event that has happened by `now`.
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

    /// When to call [`Network::poll`] next; `None` if nothing is under way. `poll` may still return `None` then.
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

    /// Handles a packet that has crossed a link: delivers it at the end of its route, or sends it into the next link.
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
    /// The nodes and links.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
    /// The settings of a link.
    ///
    /// # Panics
    /// If the link was not added to this network. This holds for all getters that take a link.
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
    /// Packets inside a link: waiting, in transmission, on the wire, or dropped but not yet polled.
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
