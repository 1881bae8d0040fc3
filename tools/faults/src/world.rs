//! Two hosts with their applications, and the paths between them as the driver's device.

use crate::case::Case;
use crate::forger::{Forged, Forger};
use crate::network::{self, Arrival, Fates, Network, Show};
use crate::programs::Programs;
use core::net::SocketAddr;
use pathweave_driver::{Driver, PacketIo, Received};
use pathweave_proto::{Connection, Endpoint, LocalAddress, Secrets};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::{Ecn, MAX_OPTION_BYTES, PacketTooBig, Payload, Segment};

const PORT: u16 = 5001;

pub(crate) struct World<'c> {
    pub(crate) now: Instant,
    pub(crate) driver: Driver<Wires<'c>, Programs<'c>>,
}

impl<'c> World<'c> {
    pub(crate) fn new(case: &'c Case, shows: bool) -> World<'c> {
        let host = |server: bool| {
            let name = if server { "server" } else { "client" };
            let mut end = Endpoint::new(Secrets::reproducible(Random::substream(case.seed, name)));
            let ends = case.paths.iter().map(|path| case.ends_of(path));
            end.set_routes(ends.map(|(c, s)| if server { (s, c) } else { (c, s) }));
            end.set_limits(case.limits);
            end
        };
        let address = |number, server| case.versions.address(number, server);
        let local = |server| -> Vec<LocalAddress> {
            let all = 0..case.addresses(server);
            all.map(|n| LocalAddress { address: address(n, server), meta: Default::default() }).collect()
        };
        let mut endpoints = [host(false), host(true)];
        let (from, to) = (SocketAddr::new(address(0, false), 0), SocketAddr::new(address(0, true), PORT));
        endpoints[1].listen_and_accept(to, case.configs[1].clone(), &local(true)).expect("nobody else listens");
        let opened = endpoints[0].connect(Instant::ZERO, from, to, case.configs[0].clone(), &local(false));
        let handle = opened.expect("the parameters are the defaults");
        let (wires, programs) = (Wires::new(case, Show(shows)), Programs::new(case, handle, Show(shows)));
        World { now: Instant::ZERO, driver: Driver::new(endpoints.into(), wires, programs) }
    }

    pub(crate) fn connection(&self, end: usize) -> Option<&Connection> {
        self.driver.endpoints[end].connection(self.driver.applications.handles[end]?)
    }

    /// The broken rule, if any, as a text.
    pub(crate) fn fault(&self) -> Option<&String> {
        self.driver.applications.fault.as_ref()
    }

    /// Makes one round at time `at`. Applications act in each round, even if their time has not come, because a host
    /// may have data for them without an event.
    pub(crate) fn step(&mut self, at: Instant) {
        self.now = self.now.max(at);
        let round = self.driver.handle_packets(self.now).and_then(|()| self.driver.handle_timeout(self.now));
        if let Err(what) = round {
            self.driver.applications.fail(self.now, what);
        }
    }

    /// Reads all data that has arrived, whatever the plans say.
    pub(crate) fn read_all(&mut self) {
        for end in 0..2 {
            self.driver.applications.read_all(self.now, end, &mut self.driver.endpoints[end]);
            if let Err(what) = self.driver.drain(self.now, end) {
                self.driver.applications.fail(self.now, what);
            }
        }
    }
}

/// A host that sends more segments than this at one instant is taken to send without end.
const SPIN: u32 = 20_000;

pub(crate) struct Wires<'c> {
    case: &'c Case,
    pub(crate) network: Network,
    /// Packets sent.
    pub(crate) packets: u64,
    /// The time at which the last packet was sent, and the number of packets sent at that time.
    sent: (Instant, u32),
    forger: Forger<'c>,
    /// A forged router's message, and the host that gets it.
    message: Option<(usize, PacketTooBig)>,
    place: Segment,
    show: Show,
}

impl<'c> Wires<'c> {
    pub(crate) fn new(case: &'c Case, show: Show) -> Self {
        let sent = (Instant::ZERO, 0);
        let (network, forger) = (Network::new(case), Forger::new(case.seed, &case.attackers));
        Wires { case, network, packets: 0, sent, forger, message: None, place: Segment::default(), show }
    }

    /// Counts a segment and returns its path; `None` if its address was made up by an attacker.
    fn path(&mut self, now: Instant, from: usize) -> Result<Option<usize>, String> {
        let segment = &self.place;
        self.packets += 1;
        self.sent = if self.sent.0 == now { (now, self.sent.1 + 1) } else { (now, 1) };
        if self.sent.1 > SPIN {
            return Err(format!("the {} sends without end", network::END[from]));
        }
        let (client, server) = if from == 0 { (&segment.src, &segment.dst) } else { (&segment.dst, &segment.src) };
        let ends = (client.ip(), server.ip());
        let path = self.case.paths.iter().position(|path| self.case.ends_of(path) == ends);
        if path.is_none() && self.case.attackers.is_empty() {
            return Err(format!("no route for {}", network::segment(segment)));
        }
        if segment.options.wire_len() > MAX_OPTION_BYTES {
            return Err(format!("options too long: {}", network::segment(segment)));
        }
        Ok(path)
    }
}

impl PacketIo for Wires<'_> {
    /// A description of what a host did wrong.
    type Error = String;

    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, String> {
        if self.message.is_none()
            && let Some((host, forged)) = self.forger.due(now)
        {
            return Ok(match forged {
                Forged::Segment(segment) => {
                    self.place = segment;
                    self.show.tell(now, || format!("    forged: {}", network::segment(&self.place)));
                    Some(Received { host, ecn: Ecn::NotEct, segment: &self.place })
                }
                Forged::Message(message) => {
                    self.show.tell(now, || format!("    forged: {message:?}"));
                    self.message = Some((host, message));
                    None
                }
            });
        }
        let Some(Arrival { to_server, ecn, segment }) = self.network.arrive(now) else { return Ok(None) };
        self.place = segment;
        self.forger.see_packet(usize::from(to_server), &self.place);
        self.show.tell(now, || format!("    arrives: {}", network::segment(&self.place)));
        Ok(Some(Received { host: usize::from(to_server), ecn, segment: &self.place }))
    }

    fn receive_packet_too_big(&mut self, _now: Instant) -> Option<(usize, PacketTooBig)> {
        self.message.take()
    }

    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, String> {
        let Some(ecn) = fill(&mut self.place) else { return Ok(false) };
        let Some(path) = self.path(now, host)? else { return Ok(true) };
        self.forger.see_ports(host == 0, &self.place);
        if let Payload::Chunks(_) = self.place.payload {
            // On the wire a packet is one piece.
            self.place.payload = Payload::Bytes(self.place.payload.to_vec().into());
        }
        let shown = self.show.0.then(|| network::segment(&self.place));
        let mut fates = Fates::new();
        let noted = self.show.0.then_some(&mut fates);
        self.network.send(self.case, now, path, host == 0, (ecn, self.place.clone()), noted);
        self.show.tell(now, || {
            let shown = shown.unwrap_or_default();
            format!("{} path {path}: {shown}{}", network::END[host], network::fates(&fates))
        });
        Ok(true)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.network.next().into_iter().chain(self.forger.next()).min()
    }
}
