//! Clients whose SYN has data (TCP Fast Open), which we do not take. Linux sends that data again in the third segment, without
//! MP_CAPABLE and with a data sequence signal, and MP_CAPABLE with what follows: "If the third packet (the ACK) does not contain the
//! MP_CAPABLE option, then the session MUST fall back to operating as a regular, single-path TCP session" (RFC 8684 §3.1).

use crate::pair::{PORT, byte_at, config, ms};
use core::net::SocketAddr;
use pathweave_proto::{ConnectionHandle, Endpoint, ReadError, Secrets};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::mptcp::{CapableContent, CapableFlags, DataNumber, Dss, Key, Mapping, MpCapable, MptcpOption};
use pathweave_wire::{Ecn, Flags, Payload, Segment, crypto};

/// The client's key and its first sequence number.
const KEY: Key = Key(0x0102_0304_0506_0708);
const ISN: u32 = 5000;

/// A server, and a client that the test plays.
struct Server {
    endpoint: Endpoint,
    now: Instant,
    /// What the server's SYN/ACK says.
    key: Key,
    isn: u32,
    handle: Option<ConnectionHandle>,
    sent: Vec<Segment>,
    read: Vec<u8>,
}

fn address(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 1, host], port))
}

fn payload(range: core::ops::Range<u64>) -> Payload {
    Payload::Bytes(range.map(|at| byte_at(crate::pair::Client, at)).collect::<Vec<u8>>().into())
}

fn capable(content: CapableContent) -> MptcpOption {
    MptcpOption::Capable(MpCapable { flags: CapableFlags::default(), content })
}

impl Server {
    /// The SYN had data, and is answered: from memory, or by a cookie.
    fn answered(cookies: bool) -> Server {
        let mut endpoint = Endpoint::new(Secrets::reproducible(Random::substream(1, "server")));
        endpoint.listen_and_accept(address(2, PORT), config(), &[]).expect("nobody listens");
        let mut server = Server {
            endpoint,
            now: Instant::ZERO + ms(1),
            key: Key(0),
            isn: 0,
            handle: None,
            sent: Vec::new(),
            read: Vec::new(),
        };
        if cookies {
            server.endpoint.set_half_open_limit(1);
            let mut other = Segment::new(address(1, 7), address(2, PORT));
            other.flags = Flags::SYN;
            server.take(other);
        }
        let mut syn = Segment::new(address(1, 4000), address(2, PORT));
        (syn.flags, syn.seq, syn.window) = (Flags::SYN, ISN, 60_000);
        syn.options.mss = Some(1460);
        syn.options.mptcp.push(capable(CapableContent::Syn));
        syn.payload = payload(0..1000);
        server.take(syn);
        let answer = server.sent.last().expect("a SYN/ACK").clone();
        assert_eq!(answer.ack, ISN + 1, "the data is not taken");
        let [MptcpOption::Capable(MpCapable { content: CapableContent::SynAck { sender }, .. })] =
            answer.options.mptcp[..]
        else {
            panic!("{answer:?}")
        };
        (server.key, server.isn) = (sender, answer.seq);
        server
    }

    fn take(&mut self, segment: Segment) {
        self.endpoint.handle_segment(self.now, Ecn::NotEct, &segment);
        self.handle = self.handle.or_else(|| self.endpoint.poll_accept().map(|accepted| accepted.connection));
        while let Some(transmit) = self.endpoint.poll_transmit(self.now, 1) {
            self.sent.push(transmit.segment);
        }
        while self.endpoint.poll_event().is_some() {}
        self.now += ms(1);
    }

    /// A segment of the client: these bytes of what it sends, with these options.
    fn segment(&self, range: core::ops::Range<u64>, dss: Option<Dss>, mptcp: Option<MptcpOption>) -> Segment {
        let mut segment = Segment::new(address(1, 4000), address(2, PORT));
        (segment.flags, segment.window) = (Flags::ACK, 60_000);
        (segment.seq, segment.ack) = (ISN + 1 + range.start as u32, self.isn.wrapping_add(1));
        segment.options.dss = dss;
        segment.options.mptcp.extend(mptcp);
        segment.payload = payload(range);
        segment
    }

    /// Reads all that there is. Returns why there is no more.
    fn read(&mut self) -> ReadError {
        let handle = self.handle.expect("the connection is open");
        loop {
            match self.endpoint.read(self.now, handle, u64::MAX) {
                Ok(Payload::Bytes(bytes)) => self.read.extend_from_slice(&bytes),
                Ok(other) => panic!("{other:?}"),
                Err(why) => return why,
            }
        }
    }

    fn is_mptcp(&self) -> bool {
        self.endpoint.connection(self.handle.expect("it is open")).expect("it lives").is_mptcp()
    }

    fn data_ack() -> Dss {
        Dss { data_ack: Some(DataNumber::Short(1)), mapping: None, data_fin: false }
    }

    /// The client's number of byte `at` behind the data of its SYN.
    fn dsn(at: u64) -> DataNumber {
        DataNumber::Long(crypto::initial_data_sequence(KEY).wrapping_add(1 + at))
    }

    /// The five segments of such a client: the SYN's data again, MP_CAPABLE with what follows, the end of that (DATA_FIN).
    fn client_segments(&self) -> [Segment; 3] {
        let keys = CapableContent::Ack { sender: KEY, receiver: self.key, data_len: Some(1000), checksum: None };
        let end = Mapping { dsn: Self::dsn(1000), ssn: 0, len: 1, checksum: None };
        [
            self.segment(0..1000, Some(Self::data_ack()), None),
            self.segment(1000..2000, None, Some(capable(keys))),
            self.segment(2000..2000, Some(Dss { mapping: Some(end), data_fin: true, ..Self::data_ack() }), None),
        ]
    }

    /// All came in order, and the stream ends with the FIN and not before.
    #[track_caller]
    fn has_all(&mut self) {
        assert_eq!(self.read(), ReadError::Blocked, "the stream has not ended");
        assert!(self.read.iter().enumerate().all(|(at, byte)| *byte == byte_at(crate::pair::Client, at as u64)));
        assert_eq!(self.read.len(), 2000);
        let mut fin = self.segment(2000..2000, None, None);
        fin.flags |= Flags::FIN;
        self.take(fin);
        assert_eq!(self.read(), ReadError::Finished);
        assert!(self.sent.iter().all(|s| !s.flags.contains(Flags::RST)));
    }
}

/// Bad-input row 8.
#[test]
fn data_of_a_syn_that_comes_again_without_mp_capable_is_plain_tcps() {
    for cookies in [false, true] {
        // As they were sent, and the first of them once more.
        let mut server = Server::answered(cookies);
        let [again, more, end] = server.client_segments();
        for segment in [again.clone(), more, end, again] {
            server.take(segment);
        }
        assert!(!server.is_mptcp());
        server.has_all();
        let after = |s: &&Segment| !s.flags.contains(Flags::SYN);
        assert!(server.sent.iter().filter(after).all(|s| s.options.dss.is_none() && s.options.mptcp.is_empty()));
    }
}

/// Whatever is lost or overtaken, and comes again.
#[test]
fn the_order_in_which_the_segments_of_such_a_client_come_does_not_matter() {
    let orders: [&[usize]; 6] =
        [&[1, 0, 1], &[1, 2, 0, 1], &[2, 0, 1], &[2, 1, 0, 1], &[0, 2, 1, 0], &[1, 1, 2, 0, 2, 1]];
    for cookies in [false, true] {
        // Without a connection, which a cookie is not, what has no data is answered by a reset.
        for order in orders.into_iter().filter(|order| !cookies || order.iter().find(|n| **n != 1) == Some(&0)) {
            let mut server = Server::answered(cookies);
            let segments = server.client_segments();
            for place in order {
                server.take(segments[*place].clone());
            }
            assert!(!server.is_mptcp(), "{order:?}");
            server.has_all();
        }
    }
}

/// A client without data of its own ends its stream at once: a DATA_FIN may overtake the third segment, which has the key.
#[test]
fn a_data_fin_that_overtakes_the_third_segment_waits_for_it() {
    for cookies in [false, true] {
        let mut server = Server::answered(cookies);
        let end = Mapping { dsn: Server::dsn(0), ssn: 0, len: 1, checksum: None };
        let end = server.segment(0..0, Some(Dss { mapping: Some(end), data_fin: true, ..Server::data_ack() }), None);
        server.take(end.clone());
        assert!(server.handle.is_none());
        let keys = CapableContent::Ack { sender: KEY, receiver: server.key, data_len: None, checksum: None };
        let third = server.segment(0..0, None, Some(capable(keys)));
        server.take(third);
        server.take(end);
        assert!(server.is_mptcp());
        assert_eq!(server.read(), ReadError::Finished);
    }
}
