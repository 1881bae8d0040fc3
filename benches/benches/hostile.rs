//! The cost of a hostile peer's segments against that of an honest one's, in instructions, as `instructions.rs` counts
//! them.
//!
//! `hostile-X-HOW` may take at most five times the instructions of `clean-X`; `cargo xtask instructions` compares.

use core::net::SocketAddr;
use pathweave_algorithms::Registry;
use pathweave_benches::Work;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{ConnectionHandle, Endpoint, Secrets};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{
    AddressId, CapableContent, CapableFlags, DataNumber, Dss, Key, Mapping, MpCapable, MpJoin, MptcpOption,
};
use pathweave_wire::{Ecn, Flags, Payload, SackBlock, Segment, Timestamps, crypto};

const WORK: &[(&str, Work)] = &[
    ("clean-data", clean_data),
    ("hostile-data-middle", hostile_data_middle),
    ("hostile-data-stream-middle", hostile_data_stream_middle),
    ("hostile-data-repeated", hostile_data_repeated),
    ("hostile-data-late-mapping", hostile_data_late_mapping),
    ("hostile-data-late-mapping-bytes", hostile_data_late_mapping_bytes),
    ("hostile-data-checksum-pieces", hostile_data_checksum_pieces),
    ("clean-ack", clean_ack),
    ("hostile-ack-sack", hostile_ack_sack),
    ("hostile-ack-sack-holes", hostile_ack_sack_holes),
    ("hostile-ack-duplicate-sack", hostile_ack_duplicate_sack),
    ("clean-syn", clean_syn),
    ("hostile-syn-flood", hostile_syn_flood),
    ("hostile-syn-join", hostile_syn_join),
];

/// Data bytes of a full segment of Multipath TCP.
const FULL: u32 = 1424;
/// Pieces that wait out of order before the work begins.
const WAITING: u64 = 12_000;
const CLIENT_KEY: Key = Key(7);

/// A server, and a client without a stack that talks to it.
struct Talk {
    server: Endpoint,
    handle: ConnectionHandle,
    now: Instant,
    /// The client's next segment, still to be adapted.
    next: Segment,
    /// The server's answers are written to this segment.
    answer: Segment,
    server_key: Option<Key>,
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn config(mptcp: bool) -> ConnectionConfig {
    let registry = Registry::builtin();
    let scheduler = registry.choose_scheduler("minrtt", &[]).expect("minrtt is built in");
    let congestion = registry.choose_controller("reno", &[]).expect("reno is built in");
    ConnectionConfig { mptcp, ..ConnectionConfig::new(scheduler, congestion) }
}

fn server(config: ConnectionConfig) -> Endpoint {
    let mut server = Endpoint::new(Secrets::new([3; 32]));
    server.listen_and_accept(SocketAddr::from(([10, 0, 0, 2], 80)), config, &[]).expect("nobody listens");
    server
}

fn syn(port: u16, mptcp: bool) -> Segment {
    let mut syn = Segment::new(at(port), SocketAddr::from(([10, 0, 0, 2], 80)));
    (syn.flags, syn.window) = (Flags::SYN, 65_535);
    (syn.options.window_scale, syn.options.sack_permitted, syn.options.mss) = (Some(14), true, Some(1460));
    syn.options.timestamps = Some(Timestamps { value: 1, echo: 0 });
    if mptcp {
        let capable = MpCapable { flags: CapableFlags::default(), content: CapableContent::Syn };
        syn.options.mptcp.push(MptcpOption::Capable(capable));
    }
    syn
}

/// The third segment of a handshake, and the server's key.
fn third(syn: &Segment, answer: &Segment) -> (Segment, Option<Key>) {
    let mut third = syn.clone();
    third.options = Default::default();
    (third.flags, third.seq, third.ack) = (Flags::ACK, 1, answer.seq.wrapping_add(1));
    third.options.timestamps = answer.options.timestamps.map(|t| Timestamps { value: 1, echo: t.value });
    let key = answer.options.mptcp.iter().find_map(|option| match option {
        MptcpOption::Capable(MpCapable { content: CapableContent::SynAck { sender }, .. }) => Some(*sender),
        _ => None,
    });
    if let Some(receiver) = key {
        let content = CapableContent::Ack { sender: CLIENT_KEY, receiver, data_len: None, checksum: None };
        third.options.mptcp.push(MptcpOption::Capable(MpCapable { flags: CapableFlags::default(), content }));
    }
    (third, key)
}

impl Talk {
    fn new(mptcp: bool) -> Talk {
        Talk::to(config(mptcp))
    }

    /// A server with these settings.
    fn to(config: ConnectionConfig) -> Talk {
        let mptcp = config.mptcp;
        let mut server = server(config);
        let (now, syn, mut answer) = (Instant::from_secs(1), syn(1, mptcp), Segment::default());
        server.handle_segment(now, Ecn::NotEct, &syn);
        server.poll_transmit_into(now, 1, &mut answer).expect("a SYN/ACK");
        let (mut next, server_key) = third(&syn, &answer);
        server.handle_segment(now, Ecn::NotEct, &next);
        let handle = server.poll_accept().expect("it is open").connection;
        next.options.mptcp.clear();
        let mut talk = Talk { server, handle, now, next, answer, server_key };
        talk.drain();
        talk
    }

    fn drain(&mut self) {
        while self.server.poll_transmit_into(self.now, 1, &mut self.answer).is_some() {}
        while self.server.poll_event().is_some() {}
    }

    fn hear(&mut self, segment: &Segment) {
        self.now += Duration::from_micros(1);
        self.server.handle_segment(self.now, Ecn::NotEct, segment);
        self.drain();
    }

    /// A segment with data from this offset of the stream on.
    fn data(&self, offset: u64, len: u32) -> Segment {
        let mut segment = self.next.clone();
        segment.seq = segment.seq.wrapping_add(offset as u32);
        segment.payload = Payload::Virtual { start: offset, len };
        if self.server_key.is_some() {
            segment.options.dss = Some(self.mapping(offset, 1 + offset as u32, len as u16));
        }
        segment
    }

    fn mapping(&self, offset: u64, ssn: u32, len: u16) -> Dss {
        let dsn = crypto::initial_data_sequence(CLIENT_KEY).wrapping_add(1 + offset);
        let mapping = Mapping { dsn: DataNumber::Long(dsn), ssn, len, checksum: None };
        Dss { data_ack: None, mapping: Some(mapping), data_fin: false }
    }

    fn read(&mut self) {
        while self.server.read(self.now, self.handle, u64::MAX).is_ok() {}
    }
}

/// A full segment in order that is read at once.
fn clean_data(count: u64) -> u64 {
    let mut talk = Talk::new(true);
    for n in 0..count {
        let segment = talk.data(n * u64::from(FULL), FULL);
        talk.hear(&segment);
        talk.read();
    }
    count
}

/// One-byte segments with a gap before each, from the outside to the middle of the waiting data.
fn hostile_data_middle(count: u64) -> u64 {
    let mut talk = Talk::new(false);
    let middle = |n: u64| if n.is_multiple_of(2) { 10 + 3 * n } else { 2_000_000 - 3 * n };
    for n in 0..WAITING + count {
        let segment = talk.data(middle(n), 1);
        talk.hear(&segment);
    }
    count
}

/// The same at the data level: the segments are in order on the subflow.
fn hostile_data_stream_middle(count: u64) -> u64 {
    let mut talk = Talk::new(true);
    let middle = |n: u64| if n.is_multiple_of(2) { 10 + 3 * n } else { 2_000_000 - 3 * n };
    for n in 0..WAITING + count {
        let mut segment = talk.data(n, 1);
        segment.options.dss = Some(talk.mapping(middle(n), 1 + n as u32, 1));
        talk.hear(&segment);
    }
    count
}

/// A full segment over all waiting data, again and again. Each piece of it has arrived already, and there is a gap
/// before each.
fn hostile_data_repeated(count: u64) -> u64 {
    let mut talk = Talk::new(true);
    for n in 0..WAITING {
        let mut segment = talk.data(n, 1);
        segment.options.dss = Some(talk.mapping(10 + 2 * n, 1 + n as u32, 1));
        talk.hear(&segment);
    }
    for n in 0..count {
        let ssn = WAITING + n;
        let mut segment = talk.data(ssn, 1);
        segment.options.dss = Some(talk.mapping(10 + 2 * (n % WAITING), 1 + ssn as u32, 1));
        talk.hear(&segment);
    }
    count
}

/// Data without a mapping waits; each empty segment maps one byte in its middle.
fn hostile_data_late_mapping(count: u64) -> u64 {
    late_mapping(count, |start, len| Payload::Virtual { start, len })
}

/// The same with bytes, which are copied while they wait.
fn hostile_data_late_mapping_bytes(count: u64) -> u64 {
    late_mapping(count, |_, len| Payload::Bytes(vec![1; len as usize].into()))
}

fn late_mapping(count: u64, payload: fn(u64, u32) -> Payload) -> u64 {
    let mut talk = Talk::new(true);
    let mut first = talk.data(0, 1);
    first.payload = payload(0, 1);
    talk.hear(&first);
    let unmapped = 1500;
    for n in 0..unmapped {
        let mut segment = talk.data(1 + n * 1000, 1000);
        segment.payload = payload(1 + n * 1000, 1000);
        segment.options.dss = Some(Dss { data_ack: None, mapping: None, data_fin: false });
        talk.hear(&segment);
    }
    let mut empty = talk.next.clone();
    empty.seq = empty.seq.wrapping_add(1 + (unmapped * 1000) as u32);
    for n in 0..count {
        let place = 500_000 + 2 * n;
        empty.options.dss = Some(talk.mapping(place, 1 + place as u32, 1));
        talk.hear(&empty);
    }
    count
}

/// Single bytes of a mapping with a checksum. None is delivered, because the last byte never comes.
fn hostile_data_checksum_pieces(count: u64) -> u64 {
    let mut talk = Talk::to(ConnectionConfig { checksum: true, ..config(true) });
    for n in 0..WAITING + count {
        let mut segment = talk.data(n, 1);
        segment.payload = Payload::Bytes(vec![1].into());
        let mut dss = talk.mapping(0, 1, u16::MAX);
        dss.mapping = dss.mapping.map(|mapping| Mapping { checksum: Some(1), ..mapping });
        segment.options.dss = Some(dss);
        talk.hear(&segment);
    }
    count
}

/// A server that always has something to send, with this many segments out.
fn sending(segments: u32) -> Talk {
    let mut talk = Talk::new(false);
    fill(&mut talk);
    let mut acked = 0;
    // Slow start, an acknowledgement for each segment.
    while talk.out() < segments {
        acked += 1448;
        talk.now += Duration::from_micros(100);
        talk.acknowledge(acked);
        fill(&mut talk);
    }
    talk.next.ack = talk.next.ack.wrapping_add(acked);
    talk
}

fn fill(talk: &mut Talk) {
    while talk.server.write(talk.now, talk.handle, Payload::Virtual { start: talk.written(), len: 1 << 20 }).is_ok() {}
    talk.drain();
}

impl Talk {
    fn written(&self) -> u64 {
        self.server.connection(self.handle).expect("it lives").snapshot().sending.written_bytes
    }

    fn out(&self) -> u32 {
        self.server.connection(self.handle).expect("it lives").subflows().map(|s| s.window.unacked).sum()
    }

    fn acknowledge(&mut self, bytes: u32) {
        let mut ack = self.next.clone();
        ack.ack = ack.ack.wrapping_add(bytes);
        self.hear(&ack);
    }
}

/// An acknowledgement of two segments, which allows two more.
fn clean_ack(count: u64) -> u64 {
    let mut talk = sending(2000);
    for n in 0..count as u32 {
        talk.now += Duration::from_micros(20);
        talk.acknowledge((n + 1) * 2 * 1448);
        if n.is_multiple_of(100) {
            fill(&mut talk);
        }
    }
    count
}

fn sack(talk: &Talk, blocks: &[(u32, u32)]) -> Segment {
    let mut ack = talk.next.clone();
    let block = |(left, right): &(u32, u32)| SackBlock {
        left: ack.ack.wrapping_add(left * 1448),
        right: ack.ack.wrapping_add(right * 1448),
    };
    ack.options.sack = blocks.iter().map(block).collect();
    ack
}

/// Each acknowledgement says that all but the first segment has arrived, in other SACK blocks than the one before.
fn hostile_ack_sack(count: u64) -> u64 {
    let mut talk = sending(2000);
    for n in 0..count as u32 {
        let ack = sack(&talk, &[(1 + n % 2, 1900 - n % 3)]);
        talk.hear(&ack);
    }
    count
}

/// Acknowledgements with SACK blocks for every other segment, so that all blocks have holes between them.
fn hostile_ack_sack_holes(count: u64) -> u64 {
    let mut talk = sending(2000);
    for n in 0..950 {
        let ack = sack(&talk, &[(1 + 2 * n, 2 + 2 * n)]);
        talk.hear(&ack);
    }
    for n in 0..count as u32 {
        let low = 1 + 2 * (n % 300);
        let ack = sack(&talk, &[(1899, 1900), (low, low + 1), (low + 600, low + 601), (low + 1200, low + 1201)]);
        talk.hear(&ack);
    }
    count
}

/// Duplicate SACKs: each loss is undone as soon as it is found.
fn hostile_ack_duplicate_sack(count: u64) -> u64 {
    let mut talk = sending(2000);
    for n in 0..count as u32 {
        let ack = match n % 2 {
            0 => sack(&talk, &[(3 + n % 1500, 4 + n % 1500)]),
            _ => sack(&talk, &[(0, 1), (0, 4)]),
        };
        talk.now += Duration::from_micros(300);
        talk.hear(&ack);
    }
    count
}

/// A SYN that is answered, completed and reset by its client.
fn clean_syn(count: u64) -> u64 {
    let (mut server, now, mut answer) = (server(config(true)), Instant::from_secs(1), Segment::default());
    for n in 0..count {
        let syn = syn(1024 + (n % 60_000) as u16, true);
        server.handle_segment(now, Ecn::NotEct, &syn);
        server.poll_transmit_into(now, 1, &mut answer).expect("a SYN/ACK");
        let (mut third, _) = third(&syn, &answer);
        server.handle_segment(now, Ecn::NotEct, &third);
        server.poll_accept().expect("it is open");
        third.flags = Flags::RST;
        server.handle_segment(now, Ecn::NotEct, &third);
        while server.poll_transmit_into(now, 1, &mut answer).is_some() {}
        while server.poll_event().is_some() {}
    }
    count
}

/// SYNs that are never completed, beyond the limit of waiting ones.
fn hostile_syn_flood(count: u64) -> u64 {
    let (mut server, now, mut answer) = (server(config(true)), Instant::from_secs(1), Segment::default());
    server.set_half_open_limit(256);
    for n in 0..256 + count {
        let mut syn = syn(1 + (n % 60_000) as u16, true);
        syn.src.set_ip([10, 1, (n >> 16) as u8, 1].into());
        server.handle_segment(now, Ecn::NotEct, &syn);
        while server.poll_transmit_into(now, 1, &mut answer).is_some() {}
    }
    count
}

/// Joins from many addresses with the token of a connection, which travels in clear.
fn hostile_syn_join(count: u64) -> u64 {
    let mut talk = Talk::new(true);
    let first = talk.data(0, 1);
    talk.hear(&first);
    let token = crypto::token(talk.server_key.expect("it is Multipath TCP"));
    for n in 0..100 + count {
        let mut join = syn(2 + (n % 60_000) as u16, false);
        let syn = MpJoin::Syn { backup: false, address_id: AddressId(1), token, nonce: n as u32 };
        join.options.mptcp.push(MptcpOption::Join(syn));
        talk.hear(&join);
    }
    count
}

fn main() {
    pathweave_benches::run(WORK);
}
