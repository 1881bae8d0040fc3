//! Path MTU discovery over a device of bytes, with a router that answers packets that are too large with ICMP. The
//! device is the one of the crate's documentation and needs nothing else.

use bytes::Bytes;
use core::net::SocketAddr;
use pathweave_algorithms::Registry;
use pathweave_driver::{Applications, Driver, PacketIo, Received};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress, PacketTooBig, Secrets};
use pathweave_units::{Duration, Instant};
use pathweave_wire::codec::{DecodeError, EncodeError, decode_into, decode_packet_too_big, encode};
use pathweave_wire::{Ecn, Payload, Segment};
use std::collections::VecDeque;

const DELAY: Duration = Duration::from_millis(10);
const MTU: usize = 1300;
const BYTES: usize = 200_000;

/// IP packets on their way, each with its time of arrival and its destination host.
#[derive(Default)]
struct Bytewise {
    packets: VecDeque<(Instant, usize, Bytes)>,
    messages: VecDeque<(usize, PacketTooBig)>,
    segment: Segment,
    /// The largest packet that has passed the router, bytes.
    largest: usize,
    refused: usize,
    /// The errors of packets that could not be decoded.
    passed_over: Vec<DecodeError>,
}

impl PacketIo for Bytewise {
    type Error = EncodeError;

    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, EncodeError> {
        while self.packets.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, host, packet)) = self.packets.pop_front() else { break };
            match decode_into(&packet, 0..packet.len(), &mut self.segment) {
                Ok(ecn) => return Ok(Some(Received { host, ecn, segment: &self.segment })),
                Err(DecodeError::Protocol) => match decode_packet_too_big(&packet) {
                    Ok(message) => self.messages.push_back((host, message)),
                    Err(error) => self.passed_over.push(error),
                },
                Err(error) => self.passed_over.push(error),
            }
        }
        Ok(None)
    }

    fn receive_packet_too_big(&mut self, _now: Instant) -> Option<(usize, PacketTooBig)> {
        self.messages.pop_front()
    }

    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, EncodeError> {
        let Some(ecn) = fill(&mut self.segment) else { return Ok(false) };
        let mut packet = Vec::new();
        encode(&self.segment, ecn, &mut packet)?;
        if packet.len() > MTU {
            self.refused += 1;
            let mut message = too_big(&packet);
            self.packets.push_back((now + DELAY, host, message.clone().into()));
            // A damaged copy follows each message.
            message[25] ^= 1;
            self.packets.push_back((now + DELAY, host, message.into()));
        } else {
            self.largest = self.largest.max(packet.len());
            self.packets.push_back((now + DELAY, 1 - host, packet.into()));
        }
        Ok(true)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.packets.front().map(|(at, ..)| *at)
    }
}

/// A router's answer to a packet that is too large (RFC 792, RFC 1191 §4; RFC 4443 §3.2), which quotes the packet's
/// first bytes.
fn too_big(packet: &[u8]) -> Vec<u8> {
    let is_ipv4 = packet[0] >> 4 == 4;
    let [m0, m1] = (MTU as u16).to_be_bytes();
    let (head, quoted) = if is_ipv4 { ([3, 4], 28) } else { ([2, 0], 60) };
    let message = [&head[..], &[0, 0, 0, 0, m0, m1], &packet[..quoted]].concat();
    let [l0, l1] = ((if is_ipv4 { 20 } else { 0 }) + message.len() as u16).to_be_bytes();
    let mut answer = match is_ipv4 {
        true => [&[0x45, 0, l0, l1, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 9, 9], &packet[12..16]].concat(),
        // Any address will do as the router's.
        false => [&[0x60, 0, 0, 0, l0, l1, 58, 64], &packet[24..40], &packet[8..24]].concat(),
    };
    let pseudo = if is_ipv4 { 0 } else { sum(&answer[8..40]) + 58 + message.len() as u32 };
    let header = answer.len();
    answer.extend(message);
    if is_ipv4 {
        put(&mut answer, 10, |answer| sum(&answer[..header]));
    }
    put(&mut answer, header + 2, |answer| pseudo + sum(&answer[header..]));
    answer
}

fn put(packet: &mut [u8], at: usize, sum: impl Fn(&[u8]) -> u32) {
    let all = sum(packet);
    let folded = (all & 0xffff) + (all >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[at..at + 2].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum()
}

#[derive(Default)]
struct Transfer {
    received: usize,
}

impl Applications for Transfer {
    fn serve(&mut self, now: Instant, _host: usize, endpoint: &mut Endpoint) -> bool {
        let mut acted = false;
        while endpoint.poll_accept().is_some() {
            acted = true;
        }
        while let Some((connection, event)) = endpoint.poll_event() {
            acted = true;
            if event == ConnectionEvent::Readable {
                while let Ok(payload) = endpoint.read(now, connection, u64::MAX) {
                    self.received += payload.len() as usize;
                }
            }
        }
        acted
    }
}

fn transfer(client: &str, server: &str) -> (Driver<Bytewise, Transfer>, ConnectionHandle) {
    let socket = |text: &str| -> SocketAddr { text.parse().expect("a socket address") };
    let (from, to) = (socket(client), socket(server));
    let mut endpoints = [[1; 32], [2; 32]].map(|seed| Endpoint::new(Secrets::new(seed)));
    let registry = Registry::builtin();
    let config = ConnectionConfig::new(
        registry.choose_scheduler("minrtt", &[]).expect("it is built in"),
        registry.choose_controller("cubic", &[]).expect("it is built in"),
    );
    let ours = |address: SocketAddr| [LocalAddress { address: address.ip(), meta: Default::default() }];
    endpoints[1].listen_and_accept(to, config.clone(), &ours(to)).expect("nobody listens");
    let mut driver = Driver::new(endpoints.into(), Bytewise::default(), Transfer::default());
    let mut now = Instant::ZERO;
    let handle = driver.endpoints[0].connect(now, from, to, config, &ours(from)).expect("it is free");
    driver.drain(now, 0).expect("it has a form");
    let mut data = Bytes::from(vec![7; BYTES]);
    let mut rounds = 0;
    while driver.applications.received < BYTES {
        rounds += 1;
        assert!(rounds < 10_000, "only {} bytes arrive", driver.applications.received);
        let next = driver.settle(now).expect("it has a form");
        if let Ok(taken) = driver.endpoints[0].write(now, handle, Payload::Bytes(data.clone())) {
            data = data.slice(taken as usize..);
            driver.drain(now, 0).expect("it has a form");
        }
        let io = driver.io.poll_timeout();
        now = next.into_iter().chain(io).min().expect("something is on its way").max(now);
    }
    (driver, handle)
}

#[test]
fn a_routers_bytes_make_segments_smaller() {
    for (client, server) in [("10.0.0.1:0", "10.0.0.2:80"), ("[fd00::1]:0", "[fd00::2]:80")] {
        let (driver, handle) = transfer(client, server);
        let device = &driver.io;
        assert!((1..30).contains(&device.refused), "{} packets were too large", device.refused);
        assert_eq!(device.largest, MTU, "then the path is filled");
        let subflow = driver.endpoints[0].connection(handle).and_then(|c| c.subflows().next());
        let subflow = subflow.expect("it lives");
        assert_eq!((subflow.path_mtu as usize, subflow.counters.timeouts), (MTU, 0));
        assert_eq!(device.passed_over, vec![DecodeError::Checksum; device.refused], "what was damaged");
    }
}
