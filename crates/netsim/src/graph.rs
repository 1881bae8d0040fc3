//! Nodes, links and routes.

use core::fmt;
use std::collections::VecDeque;
use thiserror::Error;

/// A node of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A unidirectional link of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A route: the links that a packet takes, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteId(pub u32);

impl NodeId {
    /// The node's index: nodes count from zero in the order in which they were added.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// The link's index: links count from zero in the order in which they were added.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl RouteId {
    /// The route's index: routes count from zero in the order in which they were added.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

impl fmt::Display for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link {}", self.0)
    }
}

/// Why a link or a route could not be found or added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The node has not been added.
    #[error("{0} does not exist")]
    UnknownNode(NodeId),
    /// The link has not been added.
    #[error("{0} does not exist")]
    UnknownLink(LinkId),
    /// The route has no link.
    #[error("a route needs at least one link")]
    EmptyRoute,
    /// A link of the route does not start where the link before it ends.
    #[error("{link} starts at {starts}, but the link before it ends at {at}")]
    Gap {
        /// The link after the gap.
        link: LinkId,
        /// The node at which that link starts.
        starts: NodeId,
        /// The node at which the link before it ends.
        at: NodeId,
    },
    /// No route leads from one node to the other.
    #[error("no route leads from {from} to {to}")]
    Unreachable {
        /// The start.
        from: NodeId,
        /// The destination.
        to: NodeId,
    },
}

/// Nodes and the links between them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: u32,
    links: Vec<(NodeId, NodeId)>,
}

impl Graph {
    /// Adds a node.
    pub fn add_node(&mut self) -> NodeId {
        self.nodes += 1;
        NodeId(self.nodes - 1)
    }

    /// Adds a link.
    ///
    /// # Errors
    /// If an end does not exist.
    pub fn add_link(&mut self, from: NodeId, to: NodeId) -> Result<LinkId, GraphError> {
        self.check(from)?;
        self.check(to)?;
        self.links.push((from, to));
        Ok(LinkId(self.links.len() as u32 - 1))
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes as usize
    }
    /// Number of links.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// The node at which a link starts, and the node at which it ends.
    ///
    /// # Errors
    /// If the link does not exist.
    pub fn ends(&self, link: LinkId) -> Result<(NodeId, NodeId), GraphError> {
        self.links.get(link.index()).copied().ok_or(GraphError::UnknownLink(link))
    }

    /// Checks that each link of a route starts where the link before it ends. Returns the route's first and last node.
    ///
    /// # Errors
    /// If the route is empty, or has a gap or an unknown link.
    pub fn check_route(&self, links: &[LinkId]) -> Result<(NodeId, NodeId), GraphError> {
        let (&first, rest) = links.split_first().ok_or(GraphError::EmptyRoute)?;
        let (start, mut at) = self.ends(first)?;
        for &link in rest {
            let (starts, leads) = self.ends(link)?;
            if starts != at {
                return Err(GraphError::Gap { link, starts, at });
            }
            at = leads;
        }
        Ok((start, at))
    }

    /// The links of the route with the fewest hops. If several routes are equally short, the result is the one that
    /// takes the link with the lowest index at the first hop at which they differ.
    ///
    /// # Errors
    /// If there is no route, if a node does not exist, or if both nodes are the same.
    pub fn shortest(&self, from: NodeId, to: NodeId) -> Result<Vec<LinkId>, GraphError> {
        self.check(from)?;
        self.check(to)?;
        if from == to {
            return Err(GraphError::EmptyRoute);
        }
        let hops = self.hops_to(to);
        let mut route = Vec::new();
        let mut at = from;
        while at != to {
            let left = hops[at.index()].ok_or(GraphError::Unreachable { from, to })?;
            let next = self
                .links
                .iter()
                .position(|&(starts, leads)| starts == at && hops[leads.index()].is_some_and(|hops| hops + 1 == left));
            let link = next.ok_or(GraphError::Unreachable { from, to })?;
            route.push(LinkId(link as u32));
            at = self.links[link].1;
        }
        Ok(route)
    }

    /// Hops from each node to `to`: a breadth-first search against the links' direction.
    fn hops_to(&self, to: NodeId) -> Vec<Option<u32>> {
        let mut into: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes()];
        for &(starts, leads) in &self.links {
            into[leads.index()].push(starts);
        }
        let mut hops = vec![None; self.nodes()];
        hops[to.index()] = Some(0);
        let mut reached = VecDeque::from([(to, 0)]);
        while let Some((node, distance)) = reached.pop_front() {
            for &previous in &into[node.index()] {
                if hops[previous.index()].is_none() {
                    hops[previous.index()] = Some(distance + 1);
                    reached.push_back((previous, distance + 1));
                }
            }
        }
        hops
    }

    fn check(&self, node: NodeId) -> Result<(), GraphError> {
        if node.0 < self.nodes { Ok(()) } else { Err(GraphError::UnknownNode(node)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 → 1 → 3 by links 0 and 1, 0 → 2 → 3 by links 2 and 3, a second 0 → 1 by link 4, a dead end 3 → 4 by link 5.
    fn diamond() -> Graph {
        let mut graph = Graph::default();
        for _ in 0..5 {
            graph.add_node();
        }
        for (from, to) in [(0, 1), (1, 3), (0, 2), (2, 3), (0, 1), (3, 4)] {
            graph.add_link(NodeId(from), NodeId(to)).expect("both ends exist");
        }
        graph
    }

    #[test]
    fn the_shortest_way_prefers_the_lowest_link() {
        assert_eq!(diamond().shortest(NodeId(0), NodeId(3)), Ok(vec![LinkId(0), LinkId(1)]));
        assert_eq!(diamond().shortest(NodeId(0), NodeId(4)), Ok(vec![LinkId(0), LinkId(1), LinkId(5)]));
    }

    #[test]
    fn fewer_hops_win_over_lower_links() {
        let mut graph = diamond();
        let direct = graph.add_link(NodeId(0), NodeId(3)).expect("both ends exist");
        assert_eq!(graph.shortest(NodeId(0), NodeId(3)), Ok(vec![direct]));
    }

    #[test]
    fn links_have_a_direction() {
        let (from, to) = (NodeId(3), NodeId(0));
        assert_eq!(diamond().shortest(from, to), Err(GraphError::Unreachable { from, to }));
    }

    #[test]
    fn routes_are_checked() {
        let graph = diamond();
        assert_eq!(graph.check_route(&[LinkId(4), LinkId(1), LinkId(5)]), Ok((NodeId(0), NodeId(4))));
        assert_eq!(graph.check_route(&[]), Err(GraphError::EmptyRoute));
        assert_eq!(graph.check_route(&[LinkId(9)]), Err(GraphError::UnknownLink(LinkId(9))));
        let gap = GraphError::Gap { link: LinkId(3), starts: NodeId(2), at: NodeId(1) };
        assert_eq!(graph.check_route(&[LinkId(0), LinkId(3)]), Err(gap));
        assert_eq!(gap.to_string(), "link 3 starts at node 2, but the link before it ends at node 1");
    }

    #[test]
    fn ends_must_exist() {
        let unknown = NodeId(7);
        assert_eq!(diamond().add_link(NodeId(0), unknown), Err(GraphError::UnknownNode(unknown)));
        assert_eq!(diamond().shortest(unknown, NodeId(0)), Err(GraphError::UnknownNode(unknown)));
        assert_eq!(diamond().shortest(NodeId(1), NodeId(1)), Err(GraphError::EmptyRoute));
    }
}
