//! Two hosts, their applications, and the paths between them as the driver's device.

use crate::case::Case;
use crate::network::{self, Arrival, Fates, Network, Show};
use crate::programs::Programs;
use core::net::{IpAddr, SocketAddr};
use pathweave_driver::{Driver, PacketIo, Received};
use pathweave_proto::{Connection, Endpoint, LocalAddress, Secrets};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::{Ecn, MAX_OPTION_BYTES, Segment};

const PORT: u16 = 5001;

pub(crate) struct World<'c> {
    pub(crate) now: Instant,
    pub(crate) driver: Driver<Wires<'c>, Programs<'c>>,
}

impl<'c> World<'c> {
    pub(crate) fn new(case: &'c Case, shows: bool) -> World<'c> {
        let paths = case.paths.len();
        let host = |server: bool| {
            let name = if server { "server" } else { "client" };
            let mut end = Endpoint::new(Secrets::reproducible(Random::substream(case.seed, name)));
            end.set_routes((0..paths).map(|p| (address(p, server), address(p, !server))));
            end
        };
        let local = |server| -> Vec<LocalAddress> {
            (0..paths).map(|p| LocalAddress { address: address(p, server), meta: Default::default() }).collect()
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

    /// What does not hold.
    pub(crate) fn fault(&self) -> Option<&String> {
        self.driver.applications.fault.as_ref()
    }

    /// One round of what happens at `at`. Applications act in each, whether their time has come or not: a host may have
    /// something for them that no event tells.
    pub(crate) fn step(&mut self, at: Instant) {
        self.now = self.now.max(at);
        let round = self.driver.handle_packets(self.now).and_then(|()| self.driver.handle_timeout(self.now));
        if let Err(what) = round {
            self.driver.applications.fail(self.now, what);
        }
    }

    /// Reads everything that is there, no matter what the plans say.
    pub(crate) fn read_all(&mut self) {
        for (end, endpoint) in self.driver.endpoints.iter_mut().enumerate() {
            self.driver.applications.read_all(self.now, end, endpoint);
        }
    }
}

/// The address of a path's end.
pub(crate) fn address(path: usize, server: bool) -> IpAddr {
    IpAddr::from([10, 0, path as u8 + 1, if server { 2 } else { 1 }])
}

/// More segments than this at one instant are a spin.
const SPIN: u32 = 20_000;

pub(crate) struct Wires<'c> {
    case: &'c Case,
    pub(crate) network: Network,
    /// Packets sent.
    pub(crate) packets: u64,
    /// When the last one was sent, and how many were at that time.
    sent: (Instant, u32),
    place: Segment,
    show: Show,
}

impl<'c> Wires<'c> {
    pub(crate) fn new(case: &'c Case, show: Show) -> Self {
        let sent = (Instant::ZERO, 0);
        Wires { case, network: Network::new(case), packets: 0, sent, place: Segment::default(), show }
    }

    /// Counts a segment and says which path it takes.
    fn path(&mut self, now: Instant, from: usize) -> Result<usize, String> {
        let segment = &self.place;
        self.packets += 1;
        self.sent = if self.sent.0 == now { (now, self.sent.1 + 1) } else { (now, 1) };
        if self.sent.1 > SPIN {
            return Err(format!("the {} sends without end", network::END[from]));
        }
        let (client, server) = if from == 0 { (&segment.src, &segment.dst) } else { (&segment.dst, &segment.src) };
        let ends = (client.ip(), server.ip());
        let path = (0..self.case.paths.len()).find(|p| (address(*p, false), address(*p, true)) == ends);
        let path = path.ok_or_else(|| format!("no route for {}", network::segment(segment)))?;
        if segment.options.wire_len() > MAX_OPTION_BYTES {
            return Err(format!("options too long: {}", network::segment(segment)));
        }
        Ok(path)
    }
}

impl PacketIo for Wires<'_> {
    /// What a host must not do.
    type Error = String;

    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, String> {
        let Some(Arrival { to_server, ecn, segment }) = self.network.arrive(now) else { return Ok(None) };
        self.place = segment;
        self.show.tell(now, || format!("    arrives: {}", network::segment(&self.place)));
        Ok(Some(Received { host: usize::from(to_server), ecn, segment: &self.place }))
    }

    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, String> {
        let Some(ecn) = fill(&mut self.place) else { return Ok(false) };
        let path = self.path(now, host)?;
        let shown = self.show.0.then(|| network::segment(&self.place));
        let mut fates = Fates::new();
        let told = self.show.0.then_some(&mut fates);
        self.network.send(self.case, now, path, host == 0, (ecn, self.place.clone()), told);
        self.show.tell(now, || {
            let shown = shown.unwrap_or_default();
            format!("{} path {path}: {shown}{}", network::END[host], network::fates(&fates))
        });
        Ok(true)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.network.next()
    }
}
