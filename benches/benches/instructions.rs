//! Work whose instructions `cargo xtask instructions` counts. `instructions NAME COUNT` does one kind of work about
//! `COUNT` times and prints the exact number. Without arguments it prints the names.

use bytes::Bytes;
use pathweave_benches::{Setup, Work, World};
use pathweave_netsim::{Ecn as NetEcn, LinkConfig, LinkRandom, NetEvent, Network, Packet, QueueLimit};
use pathweave_units::{Bitrate, Duration, Instant};
use pathweave_wire::codec::{MAX_HEADER_BYTES, decode_into, encode_header};
use pathweave_wire::mptcp::{DataNumber, Dss, Mapping};
use pathweave_wire::{Ecn, Flags, Payload, Segment, Timestamps};

const WORK: &[(&str, Work)] = &[
    ("tcp-segment", tcp_segment),
    ("mptcp-segment", mptcp_segment),
    ("codec-segment", codec_segment),
    ("network-packet", network_packet),
];

/// Data of a full Multipath TCP segment over Ethernet.
const DATA_BYTES: u16 = 1424;

/// A data segment of one flow with its share of acknowledgements and timers: both ends and the network.
fn tcp_segment(count: u64) -> u64 {
    World::new(&Setup::tcp()).run_until_received(count)
}

/// The same with Multipath TCP and two subflows.
fn mptcp_segment(count: u64) -> u64 {
    World::new(&Setup::mptcp()).run_until_received(count)
}

/// A full data segment to an IPv4 packet and back, with checksums computed and verified. Its data is copied once.
fn codec_segment(count: u64) -> u64 {
    let address = |text: &str| text.parse().expect("a socket address");
    let mut sent = Segment::new(address("10.0.0.1:49152"), address("10.0.0.2:80"));
    sent.flags = Flags::ACK;
    sent.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    sent.payload = Payload::Bytes((0..DATA_BYTES).map(|i| (i * 7 + i / 251) as u8).collect());
    let (mut memory, mut received) = (Vec::new(), Segment::default());
    for i in 0..count as u32 {
        sent.seq = i;
        let dsn = DataNumber::Long(u64::from(i));
        let mapping = Some(Mapping { dsn, ssn: i, len: DATA_BYTES, checksum: None });
        sent.options.dss = Some(Dss { data_ack: Some(DataNumber::Short(i)), mapping, data_fin: false });
        let mut header = [0; MAX_HEADER_BYTES];
        let len = encode_header(&sent, Ecn::NotEct, &mut header).expect("it has a form");
        let Payload::Bytes(data) = &sent.payload else { unreachable!("its data is bytes") };
        memory.extend_from_slice(&header[..len]);
        memory.extend_from_slice(data);
        let packet = Bytes::from(core::mem::take(&mut memory));
        let end = packet.len();
        decode_into(&packet, 0..end, &mut received).expect("what was written can be read");
        assert_eq!(received.seq, i);
        received.payload = Payload::EMPTY;
        memory = packet.try_into_mut().expect("nothing else has it").into();
        memory.clear();
    }
    count
}

#[derive(Clone, Copy, Debug)]
struct FullPacket;

impl Packet for FullPacket {
    fn len_bytes(&self) -> u32 {
        1500
    }
    fn ecn(&self) -> NetEcn {
        NetEcn::NotEct
    }
    fn set_ce(&mut self) {}
    fn set_corrupted(&mut self) {}
}

/// A packet over a network of one link with a rate, a delay and a queue. Each delivered packet is sent again.
fn network_packet(count: u64) -> u64 {
    let mut network = Network::new();
    let ends = [network.add_node(), network.add_node()];
    let delay = Duration::from_millis(10);
    let config = LinkConfig::constant(Bitrate::from_bps(100_000_000), delay, QueueLimit::Packets(100));
    let link = network.add_link(ends[0], ends[1], config, LinkRandom::new(1, "link")).expect("both nodes are there");
    let route = network.add_route(&[link]).expect("the link is there");
    for _ in 0..100 {
        network.send(Instant::ZERO, route, FullPacket);
    }
    let mut delivered = 0;
    while delivered < count {
        let now = network.poll_timeout().expect("packets are under way");
        while let Some(event) = network.poll(now) {
            if let NetEvent::Delivered { packet, .. } = event {
                delivered += 1;
                network.send(now, route, packet);
            }
        }
    }
    delivered
}

fn main() {
    pathweave_benches::run(WORK);
}
