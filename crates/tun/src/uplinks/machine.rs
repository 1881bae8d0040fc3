//! Links, addresses and routes of the machine, read through rtnetlink.

use super::Purpose;
use super::version::Version;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteType};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::ops::Range;

/// Groups of `rtnetlink.h`: links, and addresses and routes of both IP versions.
const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;
/// `ENOBUFS`: the kernel dropped messages.
const LOST: i32 = 105;
/// Most messages read in one call.
const BURST: usize = 1000;

/// A link on which packets can leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) is_up: bool,
}

/// An address of the machine that can be a packet's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) link: u32,
    pub(super) address: IpAddr,
}

/// A route to a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) link: u32,
    pub(super) table: u32,
    /// An address within the prefix. `None` for the default route.
    pub(super) destination: Option<IpAddr>,
    pub(super) prefix_bits: u8,
    pub(super) gateway: Option<IpAddr>,
    pub(super) metric: u32,
    pub(super) is_ipv4: bool,
}

/// The machine's links, addresses and routes at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) links: Vec<Link>,
    pub(super) addresses: Vec<Address>,
    pub(super) routes: Vec<Route>,
}

/// An address of the machine with a route to the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uplink {
    /// Name of the address's link.
    pub device: String,
    /// The address.
    pub address: IpAddr,
    /// The next hop; `None` if the destination is on the link itself.
    pub gateway: Option<IpAddr>,
    /// Metric of the route. Lower is preferred.
    pub metric: u32,
}

impl Machine {
    /// Addresses from which packets can reach the destination, most preferred first. Links whose name is `ours` with a
    /// number, and routes in `tables`, belong to the engine and do not count.
    pub(super) fn uplinks(&self, purpose: Purpose, ours: &str, tables: Range<u32>) -> Vec<Uplink> {
        let is_ours = |name: &str| name.strip_prefix(ours).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let is_ipv4 = purpose.version() == Version::V4;
        let mut uplinks = Vec::new();
        for link in self.links.iter().filter(|link| link.is_up && !is_ours(&link.name)) {
            let routes = self.routes.iter().filter(|r| r.link == link.index && !tables.contains(&r.table));
            let route = match purpose {
                Purpose::Connect(remote) => {
                    routes.filter(|r| r.leads_to(remote)).min_by_key(|r| (u8::MAX - r.prefix_bits, r.metric))
                }
                // The route to the largest network. Nearby networks have their routes in the main table.
                Purpose::Listen(_) => routes.filter(|r| r.is_ipv4 == is_ipv4).min_by_key(|r| (r.prefix_bits, r.metric)),
            };
            let Some(route) = route else { continue };
            let addresses = self.addresses.iter().filter(|a| a.link == link.index && a.address.is_ipv4() == is_ipv4);
            uplinks.extend(addresses.map(|Address { address, .. }| Uplink {
                device: link.name.clone(),
                address: *address,
                gateway: route.gateway,
                metric: route.metric,
            }));
        }
        uplinks.sort_by_key(|uplink| uplink.metric);
        uplinks
    }
}

impl Route {
    fn leads_to(&self, remote: IpAddr) -> bool {
        match (self.destination, remote) {
            (None, _) => self.is_ipv4 == remote.is_ipv4(),
            (Some(IpAddr::V4(net)), IpAddr::V4(remote)) => {
                same(u128::from(net.to_bits()), u128::from(remote.to_bits()), 32 - u32::from(self.prefix_bits.min(32)))
            }
            (Some(IpAddr::V6(net)), IpAddr::V6(remote)) => {
                same(net.to_bits(), remote.to_bits(), 128 - u32::from(self.prefix_bits.min(128)))
            }
            _ => false,
        }
    }
}

/// Whether two addresses are equal except for their last `last_bits` bits.
fn same(a: u128, b: u128, last_bits: u32) -> bool {
    (a ^ b).checked_shr(last_bits).unwrap_or(0) == 0
}

/// A netlink socket that asks the kernel for its state and receives its changes.
pub(super) struct Netlink {
    news: Socket,
    questions: Socket,
}

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        let mut news = Socket::new(NETLINK_ROUTE)?;
        news.bind(&SocketAddr::new(0, GROUPS))?;
        news.set_non_blocking(true)?;
        let mut questions = Socket::new(NETLINK_ROUTE)?;
        questions.bind_auto()?;
        questions.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { news, questions })
    }

    /// Whether anything has changed since the last call.
    pub(super) fn has_news(&mut self) -> io::Result<bool> {
        let mut changed = false;
        // The news are only a signal to ask for the whole state, so lost news do no harm.
        let mut buffer = [0_u8; 64];
        for _ in 0..BURST {
            match self.news.recv(&mut &mut buffer[..], 0) {
                Ok(_) => changed = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.raw_os_error() == Some(LOST) => changed = true,
                Err(error) => return Err(error),
            }
        }
        Ok(changed)
    }

    /// The machine's present links, addresses and routes.
    pub(super) fn machine(&mut self) -> io::Result<Machine> {
        let mut machine = Machine::default();
        self.ask(Message::GetLink(LinkMessage::default()), |answer| {
            if let Message::NewLink(link) = answer {
                machine.links.extend(read_link(&link));
            }
        })?;
        self.ask(Message::GetAddress(AddressMessage::default()), |answer| {
            if let Message::NewAddress(address) = answer {
                machine.addresses.extend(read_address(&address));
            }
        })?;
        self.ask(Message::GetRoute(RouteMessage::default()), |answer| {
            if let Message::NewRoute(route) = answer {
                machine.routes.extend(read_route(&route));
            }
        })?;
        Ok(machine)
    }

    fn ask(&mut self, question: Message, mut take: impl FnMut(Message)) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_DUMP | NLM_F_REQUEST;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.questions.send(&bytes, 0)?;
        loop {
            let (answers, _) = self.questions.recv_from_full()?;
            let mut rest = &answers[..];
            // A message begins with its length, and the next one at a multiple of four bytes.
            while let Some(length) = rest.first_chunk().map(|n| u32::from_ne_bytes(*n) as usize).filter(|n| *n >= 16) {
                // An unreadable message is of a newer kind, and neither an address nor a route that could be used.
                match NetlinkMessage::<Message>::deserialize(rest).map(|message| message.payload) {
                    Ok(NetlinkPayload::Done(_)) => return Ok(()),
                    Ok(NetlinkPayload::Error(error)) => return Err(error.to_io()),
                    Ok(NetlinkPayload::InnerMessage(answer)) => take(answer),
                    _ => {}
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

fn read_link(message: &LinkMessage) -> Option<Link> {
    let name = message.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })?;
    let flags = message.header.flags;
    let is_up = flags.contains(LinkFlags::Up | LinkFlags::LowerUp) && !flags.contains(LinkFlags::Loopback);
    Some(Link { index: message.header.index, name, is_up })
}

fn read_address(message: &AddressMessage) -> Option<Address> {
    let (mut peer, mut local, mut flags) = (None, None, AddressFlags::empty());
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Address(address) => peer = Some(*address),
            AddressAttribute::Local(address) => local = Some(*address),
            AddressAttribute::Flags(all) => flags = *all,
            _ => {}
        }
    }
    let unusable = AddressFlags::Tentative | AddressFlags::Dadfailed | AddressFlags::Deprecated;
    let reaches_far = matches!(message.header.scope, AddressScope::Universe | AddressScope::Site);
    // IPv6 has no local address beside the one of the link.
    let address = local.or(peer).filter(|_| reaches_far && !flags.intersects(unusable))?;
    Some(Address { link: message.header.index, address })
}

fn read_route(message: &RouteMessage) -> Option<Route> {
    let RouteHeader { kind, table, destination_prefix_length, address_family, .. } = message.header;
    let mut route = Route {
        link: 0,
        table: u32::from(table),
        destination: None,
        prefix_bits: destination_prefix_length,
        gateway: None,
        metric: 0,
        is_ipv4: address_family == netlink_packet_route::AddressFamily::Inet,
    };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(link) => route.link = *link,
            RouteAttribute::Table(table) => route.table = *table,
            RouteAttribute::Priority(metric) => route.metric = *metric,
            RouteAttribute::Destination(address) => route.destination = read_ip(address),
            RouteAttribute::Gateway(address) => route.gateway = read_ip(address),
            _ => {}
        }
    }
    (kind == RouteType::Unicast && route.link != 0).then_some(route)
}

fn read_ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn route(link: u32, table: u32, destination: &str, gateway: Option<&str>, metric: u32) -> Route {
        let (net, bits) = destination.split_once('/').expect("a prefix");
        let prefix_bits = bits.parse().expect("a length");
        let net = ip(net);
        let destination = Some(net).filter(|_| prefix_bits > 0);
        Route { link, table, destination, prefix_bits, gateway: gateway.map(ip), metric, is_ipv4: net.is_ipv4() }
    }

    fn machine() -> Machine {
        let link = |index, name: &str, is_up| Link { index, name: name.into(), is_up };
        let address = |link, text| Address { link, address: ip(text) };
        Machine {
            links: vec![
                link(1, "lo", false),
                link(2, "eth0", true),
                link(3, "wlan0", true),
                link(4, "pw0", true),
                link(5, "usb0", false),
            ],
            addresses: vec![
                address(2, "192.0.2.5"),
                address(2, "2001:db8::5"),
                address(3, "198.51.100.7"),
                address(4, "198.18.1.1"),
                address(5, "203.0.113.9"),
            ],
            routes: vec![
                route(2, 254, "192.0.2.0/24", None, 100),
                route(2, 254, "0.0.0.0/0", Some("192.0.2.1"), 100),
                route(3, 254, "198.51.100.0/24", None, 600),
                route(3, 254, "0.0.0.0/0", Some("198.51.100.1"), 600),
                route(4, 254, "0.0.0.0/0", None, 0),
                route(5, 254, "0.0.0.0/0", None, 0),
                route(2, 254, "2001:db8::/64", None, 256),
            ],
        }
    }

    #[test]
    fn addresses_with_a_route_to_the_peer_are_uplinks_in_the_order_of_metrics() {
        let uplink = |device: &str, address, gateway: Option<&str>, metric| Uplink {
            device: device.into(),
            address: ip(address),
            gateway: gateway.map(ip),
            metric,
        };
        let (eth, wlan) = (
            uplink("eth0", "192.0.2.5", Some("192.0.2.1"), 100),
            uplink("wlan0", "198.51.100.7", Some("198.51.100.1"), 600),
        );
        let machine = machine();
        assert_eq!(machine.uplinks(Purpose::Connect(ip("203.0.113.80")), "pw", 0..0), [eth.clone(), wlan.clone()]);
        // A neighbour needs no gateway.
        let neighbour = Uplink { gateway: None, ..wlan };
        assert_eq!(machine.uplinks(Purpose::Connect(ip("198.51.100.99")), "pw", 0..0), [eth, neighbour]);
        // There is a route to this subnet, but none beyond.
        assert_eq!(
            machine.uplinks(Purpose::Connect(ip("2001:db8::80")), "pw", 0..0),
            [uplink("eth0", "2001:db8::5", None, 256)]
        );
        assert_eq!(machine.uplinks(Purpose::Connect(ip("2001:db8:0:1::80")), "pw", 0..0), []);
    }

    #[test]
    fn a_server_has_every_address_with_a_route() {
        let found = |machine: &Machine, at: &str| -> Vec<_> {
            let at = Purpose::Listen(at.parse().expect("an address and a port"));
            let uplinks = machine.uplinks(at, "pw", 7000..8000).into_iter();
            uplinks.map(|uplink| (uplink.address.to_string(), uplink.gateway)).collect()
        };
        let (eth, wlan) =
            (("192.0.2.5".to_owned(), Some(ip("192.0.2.1"))), ("198.51.100.7".to_owned(), Some(ip("198.51.100.1"))));
        let mut machine = machine();
        assert_eq!(found(&machine, "0.0.0.0:80"), [eth.clone(), wlan]);
        assert_eq!(found(&machine, "[::]:80"), [("2001:db8::5".to_owned(), None)]);
        // Neighbours reach it there all the same.
        machine.routes.retain(|route| route.gateway != Some(ip("198.51.100.1")));
        assert_eq!(found(&machine, "0.0.0.0:80"), [eth, ("198.51.100.7".to_owned(), None)]);
    }

    #[test]
    fn without_link_address_or_route_there_is_no_uplink() {
        let server = ip("203.0.113.80");
        let devices = |machine: &Machine| -> Vec<String> {
            machine
                .uplinks(Purpose::Connect(server), "pw", 7000..8000)
                .into_iter()
                .map(|uplink| uplink.device)
                .collect()
        };
        assert_eq!(devices(&machine()), ["eth0", "wlan0"]);
        let mut down = machine();
        down.links[1].is_up = false;
        assert_eq!(devices(&down), ["wlan0"]);
        let mut without_address = machine();
        without_address.addresses.remove(2);
        assert_eq!(devices(&without_address), ["eth0"]);
        let mut without_route = machine();
        without_route.routes.retain(|route| route.gateway != Some(ip("192.0.2.1")));
        // A route of our own does not make it one.
        without_route.routes.push(route(2, 7001, "0.0.0.0/0", Some("192.0.2.1"), 0));
        assert_eq!(devices(&without_route), ["wlan0"]);
    }

    #[test]
    fn this_machine_has_links() {
        let machine = Netlink::open().and_then(|mut netlink| netlink.machine()).expect("every Linux has rtnetlink");
        assert!(machine.links.iter().any(|link| link.name == "lo" && !link.is_up), "{machine:?}");
    }
}
