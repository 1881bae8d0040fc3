//! Events of the same time happen in the order that [`Driver`] documents.

use core::convert::Infallible;
use core::net::SocketAddr;
use pathweave_algorithms::Registry;
use pathweave_driver::{Applications, Driver, HostPacket, Observed, Observer, PacketIo, Received};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{Endpoint, LocalAddress, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, Segment};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Receive(usize),
    Send(usize),
    Serve(usize),
    Quiet(usize),
    Act(usize),
}
use Did::{Act, Quiet, Receive, Send, Serve};

type Log = Rc<RefCell<Vec<Did>>>;

/// A device with packets that wait for hosts. Packets that hosts send are discarded.
#[derive(Default)]
struct Device {
    arriving: VecDeque<(usize, Segment)>,
    place: Segment,
}

impl PacketIo for Device {
    type Error = Infallible;

    fn receive(&mut self, _now: Instant) -> Result<Option<Received<'_>>, Infallible> {
        let Some((host, segment)) = self.arriving.pop_front() else { return Ok(None) };
        self.place = segment;
        Ok(Some(Received { host, ecn: Ecn::NotEct, segment: &self.place }))
    }

    fn send(
        &mut self,
        _now: Instant,
        _host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, Infallible> {
        Ok(fill(&mut self.place).is_some())
    }
}

struct Logged(Log);

impl Observer for Logged {
    fn observe(&mut self, packet: &HostPacket<'_>) {
        let did = if packet.sent { Send(packet.host) } else { Receive(packet.host) };
        self.0.borrow_mut().push(did);
    }
}

struct Programs {
    log: Log,
    /// When the application on each host acts by itself.
    timers: [Option<Instant>; 2],
}

impl Applications for Programs {
    fn serve(&mut self, _now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
        let acted = endpoint.poll_event().is_some();
        self.log.borrow_mut().push(Serve(host));
        acted
    }

    fn quiet(&mut self, _now: Instant, host: usize, _endpoint: &mut Endpoint) {
        self.log.borrow_mut().push(Quiet(host));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timers.iter().flatten().min().copied()
    }

    fn handle_timeout(&mut self, now: Instant, _endpoints: &mut [Endpoint]) -> Option<usize> {
        let host = self.timers.iter().position(|t| t.is_some_and(|t| t <= now))?;
        self.timers[host] = None;
        self.log.borrow_mut().push(Act(host));
        Some(host)
    }
}

fn address(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host as u8 + 1], 80))
}

fn driver() -> (Driver<Observed<Device, Logged>, Programs>, Log) {
    let log = Log::default();
    let endpoints = [0, 1].map(|seed| Endpoint::new(Secrets::reproducible(Random::substream(seed, "order"))));
    let io = Observed { device: Device::default(), observer: Logged(log.clone()) };
    (Driver::new(endpoints.into(), io, Programs { log: log.clone(), timers: [None; 2] }), log)
}

/// An acknowledgement that belongs to no connection: a host answers it with a reset.
fn stray(to: usize) -> (usize, Segment) {
    let mut segment = Segment::new(address(1 - to), address(to));
    segment.flags = Flags::ACK;
    (to, segment)
}

/// Both hosts have begun to connect, so both have a timer for their SYN at the same time.
fn connecting(driver: &mut Driver<Observed<Device, Logged>, Programs>) -> Instant {
    let registry = Registry::builtin();
    let scheduler = registry.choose_scheduler("minrtt", &[]).expect("minrtt is built in");
    let controller = registry.choose_controller("reno", &[]).expect("reno is built in");
    let config = ConnectionConfig::new(scheduler, controller);
    for host in 0..2 {
        let own = [LocalAddress { address: address(host).ip(), meta: Default::default() }];
        let opened =
            driver.endpoints[host].connect(Instant::ZERO, address(host), address(1 - host), config.clone(), &own);
        opened.expect("the parameters are right");
        let Ok(()) = driver.drain(Instant::ZERO, host);
    }
    driver.poll_timeout().expect("a SYN waits for its answer")
}

#[test]
fn answers_leave_at_once_and_applications_act_when_all_packets_have_arrived() {
    let (mut driver, log) = driver();
    driver.io.device.arriving.extend([stray(0), stray(1), stray(0)]);
    assert_eq!(driver.settle(Instant::ZERO), Ok(None), "nothing is left to wait for");
    let answers = [Receive(0), Send(0), Receive(1), Send(1), Receive(0), Send(0)];
    let applications = [Serve(1), Quiet(1), Serve(0), Quiet(0)];
    assert_eq!(*log.borrow(), [&answers[..], &applications[..]].concat());
}

#[test]
fn timers_come_after_packets_and_applications_by_themselves_after_timers() {
    let (mut driver, log) = driver();
    let due = connecting(&mut driver);
    log.borrow_mut().clear();
    let (to, mut segment) = stray(1);
    segment.src.set_port(9);
    driver.io.device.arriving.push_back((to, segment));
    driver.applications.timers = [Some(due), Some(due)];
    let next = driver.step(due);
    assert!(matches!(next, Ok(Some(next)) if next > due), "all is done: {next:?}");
    // The acknowledgement is for another port than the connection's, so it does not change the connection's timer.
    let packets = [Receive(1), Send(1), Serve(1), Quiet(1)];
    let timers = [Send(0), Serve(0), Quiet(0), Send(1), Serve(1), Quiet(1)];
    let applications = [Act(0), Serve(0), Quiet(0), Act(1), Serve(1), Quiet(1)];
    assert_eq!(*log.borrow(), [&packets[..], &timers[..], &applications[..]].concat());
}

#[test]
fn an_application_acts_when_its_time_has_come_and_not_before() {
    let (mut driver, log) = driver();
    driver.applications.timers = [Some(Instant::ZERO), None];
    assert_eq!(driver.step(Instant::ZERO), Ok(None));
    driver.applications.timers = [Some(Instant::ZERO + Duration::from_millis(1)), None];
    assert_eq!(driver.settle(Instant::ZERO), Ok(driver.applications.timers[0]), "it is not due yet");
    assert_eq!(*log.borrow(), [Act(0), Serve(0), Quiet(0)]);
}
