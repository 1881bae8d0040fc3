//! Two hosts, their applications, and the paths between them.

use crate::case::Case;
use crate::programs::Programs;
use crate::show::Show;
use crate::wires::{Wires, address};
use core::net::SocketAddr;
use pathweave_driver::Driver;
use pathweave_proto::{Connection, Endpoint, LocalAddress, Secrets};
use pathweave_units::Instant;
use pathweave_units::random::Random;

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
