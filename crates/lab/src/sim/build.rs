//! Makes a network, hosts and applications from a scenario.

use super::addressing::addresses;
use super::app::App;
use super::apps::Apps;
use super::error::BuildError;
use super::requests::{Page, Requests};
use super::traces::Traces;
use super::traffic::Sources;
use super::wires::Routes;
use crate::middlebox::Middleboxes;
use crate::scenario::{self, Change, Direction, Files, Path, Scenario, Workload};
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use pathweave_algorithms::Registry;
use pathweave_netsim as net;
use pathweave_netsim::{LinkId, LinkRandom, Network, NodeId, Packet, RouteId, ScheduledChange, Tagged};
use pathweave_proto::connection::PathMeta;
use pathweave_proto::{Endpoint, LocalAddress, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};

pub(super) struct World {
    pub(super) network: Network<Tagged<u32>>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) routes: Vec<Routes>,
    pub(super) host_of_node: Vec<Option<usize>>,
    pub(super) apps: Apps,
    pub(super) middleboxes: Option<Middleboxes>,
    pub(super) traffic: Sources,
}

/// The port of connection number `i` of a scenario.
fn port(i: usize) -> u16 {
    5001 + i as u16
}

/// The first port of UDP traffic; only the digest shows it.
const TRAFFIC_PORT: u16 = 50_000;

pub(super) fn build(
    scenario: &Scenario,
    seed: u64,
    registry: &Registry,
    files: &dyn Files,
) -> Result<World, BuildError> {
    let (network, ways) = network(scenario, seed, files)?;
    let mut host_of_node = vec![None; scenario.nodes.len()];
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for path in &scenario.paths {
        for node in [path.client, path.server] {
            if host_of_node[node].is_none() {
                host_of_node[node] = Some(endpoints.len());
                let random = Random::substream(seed, &format!("host {}", scenario.nodes[node].name));
                endpoints.push(Endpoint::new(Secrets::reproducible(random)));
            }
        }
    }
    let mut routes = vec![Routes::default(); endpoints.len()];
    let mut sources = Sources::default();
    for (i, path) in scenario.paths.iter().enumerate() {
        let (client, server) = addresses(i);
        let (up, down) = ways[i];
        for (t, traffic) in scenario.traffic.iter().enumerate().filter(|(_, t)| t.path == i) {
            let port = TRAFFIC_PORT.wrapping_add(t as u16);
            let (client, server) = (SocketAddr::new(client, port), SocketAddr::new(server, port));
            match traffic.direction {
                Direction::Upload => sources.add(traffic, seed, up, client, server),
                Direction::Download => sources.add(traffic, seed, down, server, client),
            }
        }
        if let Some(h) = host_of_node[path.client] {
            routes[h].add(i, (client, server), up);
        }
        if let Some(h) = host_of_node[path.server] {
            routes[h].add(i, (server, client), down);
        }
    }
    for (endpoint, routes) in endpoints.iter_mut().zip(&routes) {
        endpoint.set_routes(routes.addresses());
    }
    let mut apps = Vec::new();
    let mut maker = AppMaker { scenario, seed, registry, host_of_node: &host_of_node, pages: Pages::default() };
    for (i, connection) in scenario.connections.iter().enumerate() {
        let mut app = maker.app(connection, i, &mut endpoints)?;
        app.start_at(start_of(connection, seed));
        apps.push(app);
    }
    let middleboxes =
        Middleboxes::new(scenario.paths.iter().map(|p| (p.name.as_str(), p.middleboxes.as_slice())), seed);
    let apps = Apps::new(apps, maker.pages.list);
    Ok(World { network, endpoints, routes, host_of_node, apps, middleboxes, traffic: sources })
}

/// A path's route from the client, and the route back.
pub type Ways = (RouteId, RouteId);

/// Builds a scenario's links with their changes, and for each path the route from the client and the route back.
/// Packets may be of any type.
///
/// # Errors
/// If a trace cannot be read, or if packets would take no time on a path.
pub fn network<P: Packet + Clone>(
    scenario: &Scenario,
    seed: u64,
    files: &dyn Files,
) -> Result<(Network<P>, Vec<Ways>), BuildError> {
    let mut network = Network::new();
    let nodes: Vec<NodeId> = scenario.nodes.iter().map(|_| network.add_node()).collect();
    let mut traces = Traces::new(scenario, seed, files);
    let mut changes = Vec::new();
    for both in scenario.links.chunks(2) {
        traces.begin(both)?;
        for link in both {
            let config = traces.config(&link.name, link.settings.clone())?;
            let random = LinkRandom::new(seed, &link.name);
            let error = |e: net::GraphError| BuildError { place: link.name.clone(), message: e.to_string() };
            let id = network.add_link(nodes[link.from], nodes[link.to], config, random).map_err(error)?;
            for Change { at, change } in &link.changes {
                let change = change.clone().try_map_trace(|source| traces.trace(&link.name, *at, source))?;
                changes.push(ScheduledChange { at: Instant::ZERO + *at, link: id, change });
            }
        }
    }
    // The changes are sorted, so each is appended to the timeline without a search.
    changes.sort_by_key(|change| (change.at, change.link));
    for change in changes {
        let link = change.link.index();
        let error =
            |e: net::GraphError| BuildError { place: scenario.links[link].name.clone(), message: e.to_string() };
        network.schedule(change).map_err(error)?;
    }
    let mut ways = Vec::new();
    for path in &scenario.paths {
        if !path.up.iter().chain(&path.down).any(|i| scenario.links[*i].takes_time()) {
            // Otherwise data would arrive and be acknowledged at the same instant without end.
            let message =
                "packets would take no time on this path; give it a delay, or a limited rate, at all times".into();
            return Err(BuildError { place: path.name.clone(), message });
        }
        let error = |e: net::GraphError| BuildError { place: path.name.clone(), message: e.to_string() };
        let links = |indices: &[usize]| -> Vec<LinkId> { indices.iter().map(|l| LinkId(*l as u32)).collect() };
        let up = network.add_route(&links(&path.up)).map_err(error)?;
        let down = network.add_route(&links(&path.down)).map_err(error)?;
        ways.push((up, down));
    }
    Ok((network, ways))
}

/// Start time of a connection. It depends on the seed and is the same in every variant of a scenario.
fn start_of(connection: &scenario::Connection, seed: u64) -> Instant {
    let mut random = Random::substream(seed, &format!("start of {}", connection.name));
    let spread = connection.start_spread.as_nanos();
    Instant::ZERO + connection.start + Duration::from_nanos(random.below(spread.saturating_add(1)))
}

fn meta(path: &Path, backup: bool) -> PathMeta {
    PathMeta { priority: path.priority, cost: path.cost, quota: path.quota, backup: path.backup || backup }
}

/// Makes the applications of connections.
struct AppMaker<'a> {
    scenario: &'a Scenario,
    seed: u64,
    registry: &'a Registry,
    host_of_node: &'a [Option<usize>],
    pages: Pages,
}

impl AppMaker<'_> {
    /// Makes the applications of connection number `index`, and lets the server listen.
    fn app(
        &mut self,
        connection: &scenario::Connection,
        index: usize,
        endpoints: &mut [Endpoint],
    ) -> Result<App, BuildError> {
        let AppMaker { scenario, seed, registry, host_of_node, ref mut pages } = *self;
        let error = |message: String| BuildError { place: connection.name.clone(), message };
        let config = connection.config(registry).map_err(|e| error(e.to_string()))?;
        let backup_mode = connection.path_mode == scenario::PathMode::Backup;
        let local = |side: fn((IpAddr, IpAddr)) -> IpAddr| -> Vec<LocalAddress> {
            let of_path = |(n, p): (usize, &usize)| LocalAddress {
                address: side(addresses(*p)),
                meta: meta(&scenario.paths[*p], backup_mode && n > 0),
            };
            connection.paths.iter().enumerate().map(of_path).collect()
        };
        let first = *connection.paths.first().ok_or_else(|| error("no path".into()))?;
        let path = &scenario.paths[first];
        let no_host = || error("an end of a path is not a host".into());
        let client = host_of_node[path.client].ok_or_else(no_host)?;
        let server = host_of_node[path.server].ok_or_else(no_host)?;
        let (client_address, server_address) = addresses(first);
        let remote = SocketAddr::new(server_address, port(index));
        let anywhere = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port(index));
        let listening = endpoints[server].listen_and_accept(anywhere, config.clone(), &local(|a| a.1));
        listening.map_err(|e| error(e.to_string()))?;
        let client = (client, SocketAddr::new(client_address, 0));
        let random = Random::substream(seed, &format!("messages of {}", connection.name));
        let requests = pages.requests(connection);
        Ok(App::new(connection, config, client, (server, remote), local(|a| a.0), random, requests))
    }
}

/// The web pages of a run.
#[derive(Default)]
struct Pages {
    list: Vec<Page>,
    /// Names of the pages; empty if a page has none.
    names: Vec<String>,
}

impl Pages {
    /// The requests of a connection; `None` if it does not load a page.
    fn requests(&mut self, connection: &scenario::Connection) -> Option<Requests> {
        let Workload::Web { objects, size, request, .. } = connection.workload else { return None };
        let named = self.names.iter().position(|name| !name.is_empty() && *name == connection.page);
        let page = named.unwrap_or_else(|| {
            self.list.push(Page::new(objects, size));
            self.names.push(connection.page.clone());
            self.list.len() - 1
        });
        Some(Requests::new(page, request))
    }
}
