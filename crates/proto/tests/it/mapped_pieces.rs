//! Which bytes of a segment a mapping covers, and checksums of mappings that come in several pieces (RFC 8684 §3.3,
//! §3.3.1).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, TcpConfig};
use pathweave_wire::mptcp::{DataNumber, Dss, Mapping, MptcpOption};
use pathweave_wire::{DataChecksum, Payload, Segment};

fn bytes(from: u64, len: u64) -> Payload {
    Payload::Bytes((from..from + len).map(|i| byte_at(Client, i)).collect::<Vec<u8>>().into())
}

/// An open connection over which the client has sent 1000 bytes, and its next segment.
fn open(checksum: bool) -> (Pair, Segment) {
    let tcp = TcpConfig { quick_acks: 0, ..TcpConfig::default() };
    let mut pair = Pair::new(&[10], ConnectionConfig { checksum, tcp, ..config() });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1000, secs(1));
    pair.run_for(secs(1));
    let next = pair.forge(Client, 0);
    (pair, next)
}

/// A mapping of the stream from byte `at` on while subflow and stream agree; with a checksum if `sum` gives the bytes.
fn mapping(pair: &Pair, at: u64, len: u16, sum: Option<&Payload>) -> Mapping {
    let (dsn, ssn) = (pair.wire_dsn(Client, at), at as u32 + 1);
    let checksum = sum.map(|payload| {
        let mut sum = DataChecksum::default();
        sum.add_payload(payload);
        sum.finish(dsn, ssn, len)
    });
    Mapping { dsn: DataNumber::Long(dsn), ssn, len, checksum }
}

fn with_mapping(next: &Segment, mapping: Mapping, data_fin: bool) -> Segment {
    let mut segment = next.clone();
    segment.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin });
    segment
}

/// Only data that the mapping covers is delivered. A DATA_FIN takes the last of its numbers.
#[test]
fn bytes_beside_the_mapping_of_their_segment_wait() {
    // Start and length of the mapping, whether it has a DATA_FIN, and how many of the segment's 100 bytes it covers.
    let rows = [
        (1000, 100, false, 100),
        (1000, 101, true, 100),
        (1000, 99, false, 99),
        (1000, 99, true, 98),
        (1000, 1, true, 0),
        (900, 100, false, 0),
        (900, 200, false, 100),
        (950, 50, false, 0),
        (999, 100, false, 99),
    ];
    for (at, len, data_fin, covered) in rows {
        let (mut pair, next) = open(false);
        let mut segment = with_mapping(&next, mapping(&pair, at, len, None), data_fin);
        segment.payload = bytes(1000, 100);
        pair.inject(Server, segment);
        let ends = data_fin && at + u64::from(len) == 1001 + covered;
        assert_eq!(pair.received(Server), 1000 + covered, "{at} {len} {data_fin}");
        assert_eq!(pair.the(Server).at_end(), ends, "{at} {len} {data_fin}");
    }
}

/// A DATA_FIN counts up to the edge of the window, and the first that counts is the end.
#[test]
fn a_data_fin_counts_up_to_the_edge_of_the_window() {
    // Bytes beyond the offered edge that are still accepted, because the window field is rounded.
    const SLACK: u64 = 1 << 14;
    for (beyond, counts) in [(0, true), (1, false)] {
        let (mut pair, next) = open(false);
        let edge = pair.the(Server).snapshot().receiving.window_end + SLACK;
        for at in [edge + beyond, 1000] {
            let end = Mapping { ssn: 0, ..mapping(&pair, at, 1, None) };
            pair.inject(Server, with_mapping(&next, end, true));
        }
        assert_eq!(pair.the(Server).at_end(), !counts, "{beyond}");
    }
}

/// The checksum is of the whole mapping, in however many segments it comes; each byte gets its own position. Small
/// pieces wait together.
#[test]
fn a_mapping_with_a_checksum_may_come_in_pieces() {
    for (data_fin, piece) in [(false, 100), (true, 100), (false, 1000), (true, 1000)] {
        let (mut pair, next) = open(true);
        let all = bytes(1000, 3 * u64::from(piece));
        let len = 3 * piece as u16 + u16::from(data_fin);
        let mut first = with_mapping(&next, mapping(&pair, 1000, len, Some(&all)), data_fin);
        first.payload = all.slice(0, piece);
        let new_bytes = pair.subflow(Server, 0).first_bytes;
        // A reader would make room, which is announced at once.
        pair.driver.applications.apps[1].reads = false;
        pair.inject(Server, first);
        assert_eq!(pair.the(Server).snapshot().receiving.in_order_bytes, 1000);
        let told = Some(DataNumber::Long(pair.wire_dsn(Client, 1000 + u64::from(len))));
        for at in [piece, 2 * piece] {
            pair.run_for(ms(500));
            pair.clear_log();
            let (seq, payload) = (next.seq.wrapping_add(at), all.slice(at, piece));
            pair.inject(Server, Segment { seq, payload, ..next.clone() });
        }
        // The end is acknowledged at once; data alone may be acknowledged later if it is little.
        let answered = pair.sent(Server).any(|p| p.segment.options.dss.and_then(|dss| dss.data_ack) == told);
        assert!(answered == data_fin || piece > 100, "{}", pair.describe());
        assert_eq!(pair.subflow(Server, 0).first_bytes - new_bytes, 3 * u64::from(piece));
        pair.read(Server, u64::MAX);
        assert_eq!((pair.received(Server), pair.the(Server).at_end()), (1000 + 3 * u64::from(piece), data_fin));
    }
}

/// A DATA_FIN that comes with data is believed with it, once the checksum is right.
#[test]
fn a_data_fin_beside_data_with_a_wrong_checksum_is_not_believed() {
    let mut pair = Pair::new(&[10, 10], ConnectionConfig { checksum: true, ..config() });
    pair.connect_with_subflows(2);
    let mut edited = false;
    pair.script(move |p| {
        if p.from == Client && p.is_data() && !edited {
            edited = true;
            // The checksum is that of the mapping without it.
            let dss = p.segment.options.dss.as_mut().expect("it is mapped");
            dss.data_fin = true;
            dss.mapping.as_mut().expect("it is mapped").len += 1;
        }
        Fate::Pass
    });
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_001, secs(5));
    assert!(!pair.the(Server).at_end());
    assert!(pair.sent(Server).any(|p| p.is_rst() && p.has_option(|o| matches!(o, MptcpOption::Fail { .. }))));
}

/// A wrong checksum on the only subflow: all data of its mapping, in however many pieces it came, and data behind it in
/// the same segment becomes plain TCP's; none is lost.
#[test]
fn what_came_in_pieces_with_a_wrong_checksum_is_delivered_as_plain_tcp() {
    let (mut pair, next) = open(true);
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 4000);
    let (all, other) = (bytes(1000, 4000), bytes(0, 2000));
    // Two mappings of 2000 bytes each, the first of them wrong, in three segments of 700, 1800 and 1500 bytes.
    let mappings = [
        (0, mapping(&pair, 1000, 2000, Some(&other))),
        (700, mapping(&pair, 3000, 2000, Some(&all.slice(2000, 2000)))),
    ];
    for (at, len) in [(0u32, 700), (700, 1800), (2500, 1500)] {
        let mut segment = match mappings.iter().find(|(with, _)| *with == at) {
            Some((_, mapping)) => with_mapping(&next, *mapping, false),
            None => next.clone(),
        };
        (segment.seq, segment.payload) = (next.seq.wrapping_add(at), all.slice(at, len));
        pair.inject(Server, segment);
    }
    assert_eq!(pair.received(Server), 1000);
    assert!(pair.sent(Server).any(|p| p.has_option(|o| matches!(o, MptcpOption::Fail { .. }))));
    pair.no_script();
    pair.run_until_received(Server, 5000, secs(5));
    assert!(!pair.the(Server).is_mptcp() && !pair.the(Client).is_mptcp());
}
