//! A device that holds packets gets paced packets early, with their times of departure.

use core::convert::Infallible;
use core::net::SocketAddr;
use pathweave_algorithms::Registry;
use pathweave_driver::{Applications, Driver, HostPacket, Observed, Observer, PacketIo, Received};
use pathweave_proto::config::{ConnectionConfig, Pacing, TcpConfig};
use pathweave_proto::{ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Bitrate, Duration, Instant};
use pathweave_wire::{Ecn, Payload, Segment};
use std::collections::BTreeMap;

const DELAY: Duration = Duration::from_millis(10);
/// 1 MB/s.
const LIMIT: Bitrate = Bitrate::from_mbps(8);

/// A packet that was handed to the device: the time, the sending host, the time of departure, the bytes of data.
type Handed = (Instant, usize, Instant, u32);

/// A wire between two hosts that holds packets until their time of departure.
#[derive(Default)]
struct Wire {
    /// The packets on the wire, ordered by time of arrival and then by number.
    flying: BTreeMap<(Instant, usize), (usize, Segment)>,
    handed: Vec<Handed>,
    place: Segment,
}

impl PacketIo for Wire {
    type Error = Infallible;
    const HOLDS_PACKETS: bool = true;

    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, Infallible> {
        let first = self.flying.first_entry().filter(|first| first.key().0 <= now);
        let Some((host, segment)) = first.map(|first| first.remove()) else { return Ok(None) };
        self.place = segment;
        Ok(Some(Received { host, ecn: Ecn::NotEct, segment: &self.place }))
    }

    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, Infallible> {
        let mut segment = Segment::default();
        if fill(&mut segment).is_none() {
            return Ok(false);
        }
        self.handed.push((now, host, now, segment.payload.len()));
        self.flying.insert((now + DELAY, self.handed.len()), (1 - host, segment));
        Ok(true)
    }

    fn hold(&mut self, host: usize, until: Instant) {
        let number = self.handed.len();
        let last = self.handed.last_mut().expect("a packet was sent");
        assert_eq!(last.1, host);
        last.2 = until;
        let flying = self.flying.remove(&(last.0 + DELAY, number)).expect("it is on its way");
        self.flying.insert((until + DELAY, number), flying);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.flying.keys().next().map(|(at, _)| *at)
    }
}

struct Nobody;

impl Observer for Nobody {
    fn observe(&mut self, _: &HostPacket<'_>) {}
}

/// The client writes as soon as it is connected, the server reads.
#[derive(Default)]
struct Writer {
    client: Option<ConnectionHandle>,
}

impl Applications for Writer {
    fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
        let Some((connection, event)) = endpoint.poll_event() else { return false };
        if host == 0 && event == ConnectionEvent::Connected {
            self.client = Some(connection);
            endpoint.write(now, connection, Payload::Bytes(vec![7; 200_000].into())).expect("there is room");
        }
        while host == 1 && endpoint.read(now, connection, u64::MAX).is_ok() {}
        true
    }
}

#[test]
fn a_device_that_holds_packets_is_told_when_they_leave() {
    let horizon = Duration::from_millis(5);
    let registry = Registry::builtin();
    let scheduler = registry.choose_scheduler("minrtt", &[]).expect("minrtt is built in");
    let controller = registry.choose_controller("reno", &[]).expect("reno is built in");
    // A delayed acknowledgement would be part of the round trips.
    let tcp =
        TcpConfig { pacing: Pacing::On { limit: Some(LIMIT), horizon }, delayed_ack: false, ..TcpConfig::default() };
    let config = ConnectionConfig { tcp, ..ConnectionConfig::new(scheduler, controller) };
    let mut endpoints = [0, 1].map(|seed| Endpoint::new(Secrets::reproducible(Random::substream(seed, "pacing"))));
    let address = |host: u8| SocketAddr::from(([10, 0, 0, host + 1], 80));
    let own = |host| [LocalAddress { address: address(host).ip(), meta: Default::default() }];
    endpoints[1].listen_and_accept(address(1), config.clone(), &own(1)).expect("nobody listens");
    let opened = endpoints[0].connect(Instant::ZERO, address(0), address(1), config, &own(0));
    opened.expect("the parameters are right");
    let io = Observed { device: Wire::default(), observer: Nobody };
    let mut driver = Driver::new(endpoints.into(), io, Writer::default());
    let Ok(()) = driver.drain(Instant::ZERO, 0);
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + Duration::from_millis(500) {
        let Ok(next) = driver.settle(now);
        now = next.expect("a connection that is open has timers or packets on their way");
    }
    let connection = driver.applications.client.and_then(|client| driver.endpoints[0].connection(client));
    let srtt = connection.and_then(|c| c.subflows().next()).and_then(|s| s.rtt.smoothed).expect("it was measured");
    assert!(srtt < Duration::from_millis(22), "{srtt}: round trips count from when a segment leaves, 20 ms away");
    let handed = &driver.io.device.handed;
    let data: Vec<&Handed> = handed.iter().filter(|(_, host, _, len)| *host == 0 && *len > 0).collect();
    assert_eq!(data.iter().map(|d| d.3).sum::<u32>(), 200_000, "all of it");
    assert!(data.iter().all(|(at, _, leaves, _)| leaves >= at && leaves.since(*at) <= horizon));
    assert!(data.iter().filter(|(at, _, leaves, _)| leaves > at).count() > 100, "most are early");
    for two in data.windows(2) {
        let gap = two[1].2.since(two[0].2);
        assert!(gap.as_nanos() + 2 >= u64::from(two[0].3) * 1000, "{gap} after {} bytes", two[0].3);
    }
    assert!(handed.iter().filter(|(_, host, _, len)| *host == 1 || *len == 0).all(|(at, _, leaves, _)| at == leaves));
}
