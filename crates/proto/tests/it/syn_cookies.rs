//! SYN cookies: newcomers while the half-open limit is reached.

use crate::pair::*;
use core::net::SocketAddr;
use pathweave_proto::config::{ConnectionConfig, PathManager, TcpConfig};
use pathweave_proto::{AcceptError, Connection, ConnectionEvent, Endpoint, Secrets};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{CapableContent, CapableFlags, Key, MpCapable, MptcpOption};
use pathweave_wire::{Ecn, Flags, Payload, Segment, Timestamps};
use std::collections::{BTreeMap, BTreeSet};

/// Hosts whose server has reached its half-open limit.
fn full(delays: &[u64], config: ConnectionConfig) -> Pair {
    let mut pair = Pair::new(delays, config);
    pair.driver.endpoints[1].set_half_open_limit(1);
    let [from, to] = pair.driver.io.paths[0].addresses;
    let mut syn = Segment::new(SocketAddr::new(from, 7), SocketAddr::new(to, PORT));
    syn.flags = Flags::SYN;
    let now = pair.now;
    pair.driver.endpoints[1].handle_segment(now, Ecn::NotEct, &syn);
    while pair.driver.endpoints[1].poll_transmit(now, 1).is_some() {}
    assert_eq!(pair.driver.endpoints[1].connections(), 1);
    pair
}

/// The server keeps no state of a SYN, and yet everything in it counts.
#[test]
fn multipath_tcp_survives_a_full_table() {
    let settings = [
        config(),
        ConnectionConfig { checksum: true, ..config() },
        ConnectionConfig { tcp: TcpConfig { timestamps: false, ..TcpConfig::default() }, ..config() },
        ConnectionConfig { tcp: TcpConfig { ecn: true, ..TcpConfig::default() }, ..config() },
        ConnectionConfig { protect_initial_address: true, path_manager: PathManager::FullMesh, ..config() },
    ];
    for config in settings {
        let mut pair = full(&[10, 20], config.clone());
        pair.open();
        pair.run_for(ms(15));
        assert_eq!(pair.driver.endpoints[1].connections(), 1, "the SYN is not kept");
        pair.run_until("both have it", secs(1), |p| p.connection(Server).is_some_and(Connection::is_connected));
        pair.write(Client, 300_000);
        pair.write(Server, 300_000);
        pair.run_until("all came", secs(10), |p| p.received(Server) == 300_000 && p.received(Client) == 300_000);
        assert!(pair.the(Client).is_mptcp() && pair.the(Server).is_mptcp());
        pair.run_until("joined", secs(1), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
        let syn_ack = pair.sent(Server).find(|p| p.is_syn()).expect("an answer").segment.options.clone();
        // Options that the answer could not express were not agreed on.
        let remembers = config.tcp.timestamps;
        assert_eq!((syn_ack.window_scale.is_some(), syn_ack.sack_permitted), (remembers, remembers));
        let window = pair.sent(Client).rfind(|p| p.is_pure_ack()).expect("an acknowledgement").segment.window;
        assert!(window > 0);
    }
}

/// The largest of four segment sizes that does not exceed the peer's.
#[test]
fn the_segment_size_is_remembered() {
    for (mtu, expected) in [(1500, 1460), (1400, 1220), (800, 536), (9000, 1460)] {
        let tcp = TcpConfig { mtu, timestamps: false, ..TcpConfig::default() };
        let mut pair = full(&[10], ConnectionConfig { tcp: tcp.clone(), ..tcp_config() });
        pair.connect();
        pair.write(Server, 100_000);
        pair.run_until_received(Client, 100_000, secs(5));
        assert_eq!(pair.data(Server).map(Packet::len).max(), Some(expected), "{mtu}");
    }
}

/// The client's data may be the first segment that arrives, because its third segment was lost.
#[test]
fn a_third_segment_that_is_lost_is_made_up_for() {
    for lost in 1..4 {
        let mut pair = full(&[10], config());
        let mut n = 0;
        pair.script(move |p| {
            n += u32::from(p.from == Client);
            if p.from == Client && n > 1 && n <= 1 + lost { Fate::Drop } else { Fate::Pass }
        });
        pair.driver.applications.apps[0].pending = 100_000;
        pair.open();
        pair.run_until_received(Server, 100_000, secs(10));
        assert!(pair.the(Client).is_mptcp() && pair.the(Server).is_mptcp(), "{lost} lost");
    }
}

/// A peer that does not know our key did not see our answer to its MP_CAPABLE.
#[test]
fn a_key_that_is_not_ours_is_plain_tcp() {
    let mut pair = full(&[10], config());
    pair.script(|p| {
        for option in &mut p.segment.options.mptcp {
            if let MptcpOption::Capable(MpCapable { content: CapableContent::Ack { receiver, .. }, .. }) = option {
                receiver.0 ^= 1;
            }
        }
        Fate::Pass
    });
    pair.connect();
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_000, secs(5));
    assert!(!pair.the(Server).is_mptcp());
}

/// A cookie is valid only for its addresses, its numbers and its time.
#[test]
fn a_guess_and_an_old_cookie_open_nothing() {
    let third = {
        let mut pair = full(&[10], config());
        pair.connect();
        pair.sent(Client).nth(1).expect("the third segment").segment.clone()
    };
    // The same numbers again: hosts' secrets are the same in each run.
    let try_one = |change: &dyn Fn(&mut Segment), after: Duration| {
        let mut pair = full(&[10], config());
        pair.open();
        pair.script(|_| Fate::Drop);
        pair.run_for(ms(15));
        // One more SYN makes the endpoint accept cookies.
        pair.run_for(after);
        pair.clear_log();
        let mut segment = third.clone();
        change(&mut segment);
        let before = pair.driver.endpoints[1].connections();
        pair.inject(Server, segment);
        (pair.driver.endpoints[1].connections() - before, pair.sent(Server).any(Packet::is_rst))
    };
    assert_eq!(try_one(&|_| {}, Duration::ZERO), (1, false));
    assert_eq!(try_one(&|_| {}, secs(60)).0, 1);
    assert_eq!(try_one(&|_| {}, secs(140)), (0, true));
    assert_eq!(try_one(&|s| s.ack = s.ack.wrapping_add(1), Duration::ZERO), (0, true));
    assert_eq!(try_one(&|s| s.ack ^= 1 << 26, Duration::ZERO), (0, true));
    assert_eq!(try_one(&|s| s.seq = s.seq.wrapping_add(1), Duration::ZERO), (0, true));
    assert_eq!(try_one(&|s| s.src.set_port(9), Duration::ZERO), (0, true));
}

/// A client without a stack, which speaks Multipath TCP up to the third segment.
struct Newcomer {
    port: u16,
    round_trip: Duration,
}

const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 80);

impl Newcomer {
    fn segment(&self, now: Instant) -> Segment {
        let mut segment = Segment::new(SocketAddr::from(([10, 0, 0, 1], self.port)), SocketAddr::from(SERVER));
        segment.window = 65_535;
        segment.options.timestamps = Some(Timestamps { value: now.as_nanos() as u32 / 1_000_000 + 1, echo: 0 });
        segment
    }

    fn syn(&self, now: Instant) -> Segment {
        let mut syn = self.segment(now);
        (syn.flags, syn.seq) = (Flags::SYN, u32::from(self.port));
        (syn.options.window_scale, syn.options.sack_permitted, syn.options.mss) = (Some(7), true, Some(1460));
        let capable = MpCapable { flags: CapableFlags::default(), content: CapableContent::Syn };
        syn.options.mptcp.push(MptcpOption::Capable(capable));
        syn
    }

    fn third(&self, now: Instant, answer: &Segment) -> Segment {
        let mut third = self.segment(now);
        (third.flags, third.seq, third.ack) = (Flags::ACK, u32::from(self.port) + 1, answer.seq.wrapping_add(1));
        if let (Some(own), Some(theirs)) = (&mut third.options.timestamps, answer.options.timestamps) {
            own.echo = theirs.value;
        }
        let Some(MptcpOption::Capable(MpCapable { flags, content: CapableContent::SynAck { sender } })) =
            answer.options.mptcp.first().copied()
        else {
            panic!("no MP_CAPABLE: {answer:?}")
        };
        let content =
            CapableContent::Ack { sender: Key(u64::from(self.port)), receiver: sender, data_len: None, checksum: None };
        third.options.mptcp.push(MptcpOption::Capable(MpCapable { flags, content }));
        third
    }
}

/// 500,000 forged SYNs in a second, for a fifth of a second. Newcomers are accepted meanwhile, however far away they
/// are, as are those whose handshakes waited before; and an open connection is served as before.
#[test]
fn a_flood_of_syns_disturbs_neither_open_connections_nor_newcomers() {
    flood_of_syns(false);
}

/// The same if the application accepts each connection itself.
#[test]
fn a_flood_of_syns_disturbs_no_newcomers_where_the_application_accepts() {
    flood_of_syns(true);
}

fn flood_of_syns(asks: bool) {
    const SYNS: u64 = 100_000;
    let mut server = Endpoint::new(Secrets::new([7; 32]));
    let at = SocketAddr::from(SERVER);
    if asks { server.listen(at) } else { server.listen_and_accept(at, config(), &[]) }.expect("nobody listens");
    let mut accepted = BTreeMap::new();
    let mut answers = |server: &mut Endpoint, now| -> Vec<Segment> {
        while let Some(incoming) = server.poll_incoming() {
            let port = incoming.remote.port();
            match server.accept(now, incoming, config(), &[]) {
                Ok(handle) => drop(accepted.insert(handle, port)),
                Err(error) => assert_eq!(error, AcceptError::NotRemembered),
            }
        }
        core::iter::from_fn(|| server.poll_transmit(now, 1)).map(|t| t.segment).collect()
    };
    // Arrivals of honest clients' segments, by time.
    let mut arrives: BTreeMap<(Instant, u64), Segment> = BTreeMap::new();
    let newcomers: Vec<Newcomer> = (0..60)
        .map(|n| Newcomer { port: 1000 + n, round_trip: Duration::from_millis([5, 60, 150][usize::from(n) % 3]) })
        .collect();
    let start = Instant::ZERO + secs(100);
    for (n, newcomer) in (0..).zip(&newcomers) {
        // A third of them before the flood.
        let at = start + ms(n) - ms(20);
        arrives.insert((at, n), newcomer.syn(at));
    }
    let open = Newcomer { port: 5, round_trip: ms(10) };
    server.handle_segment(start - secs(1), Ecn::NotEct, &open.syn(start - secs(1)));
    let answer = answers(&mut server, start - secs(1)).pop().expect("an answer");
    let mut data = open.third(start - secs(1), &answer);
    server.handle_segment(start - secs(1), Ecn::NotEct, &data);
    answers(&mut server, start - secs(1));
    assert_eq!(server.poll_accept().is_some(), !asks);
    let (mut sent, mut most) = (0u64, 0);
    let mut flood = open.syn(start);
    for n in 0..SYNS {
        let now = start + Duration::from_nanos(2000 * n);
        while let Some(entry) = arrives.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((at, order), segment) = entry.remove_entry();
            server.handle_segment(at, Ecn::NotEct, &segment);
            for answer in answers(&mut server, at) {
                if let Some(newcomer) = newcomers.iter().find(|c| c.port == answer.dst.port())
                    && answer.flags.contains(Flags::SYN)
                {
                    let back = at + newcomer.round_trip;
                    arrives.insert((back, 1000 + order), newcomer.third(back, &answer));
                }
            }
        }
        if n.is_multiple_of(500) {
            // The open connection: a thousand bytes in each millisecond, each acknowledged at once or with the next.
            data.options.mptcp.clear();
            data.seq = 6 + sent as u32;
            data.payload = Payload::Bytes(vec![1; 1000].into());
            sent += 1000;
            server.handle_segment(now, Ecn::NotEct, &data);
        }
        flood.src = SocketAddr::from(([172, 16, (n >> 8) as u8, n as u8], 1024 + (n >> 16) as u16));
        flood.seq = n as u32;
        server.handle_segment(now, Ecn::NotEct, &flood);
        let out = answers(&mut server, now);
        if n.is_multiple_of(500) {
            let acked = out.iter().filter(|a| a.dst.port() == 5).map(|a| a.ack.wrapping_sub(6)).max();
            assert!(acked.is_none_or(|acked| u64::from(acked) == sent), "{acked:?} of {sent}");
        }
        most = most.max(server.connections());
    }
    assert!(most <= 4096 + 61, "{most} connections");
    let mut opened: Vec<u16> = core::iter::from_fn(|| server.poll_accept()).map(|a| a.remote.port()).collect();
    while let Some((handle, event)) = server.poll_event() {
        opened.extend(accepted.get(&handle).copied().filter(|_| asks && event == ConnectionEvent::Connected));
    }
    let honest: BTreeSet<u16> = opened.into_iter().filter(|port| (1000..1060).contains(port)).collect();
    assert_eq!(honest.len(), newcomers.len());
}

/// "if uniqueness is not met and there is no way to generate an alternative verifiable key, then the connection MUST
/// fall back to using regular TCP by not sending an MP_CAPABLE in the SYN/ACK" (RFC 8684 §3.1).
#[test]
fn a_key_whose_token_is_in_use_is_plain_tcp() {
    let mut pair = full(&[10, 20], config());
    pair.open();
    pair.run_for(ms(100));
    pair.write(Client, 1000);
    pair.run_until("joined", secs(1), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
    pair.run_for(ms(100));
    // The first subflow ends and the connection continues: the same SYN leads, by the same cookie, to the same key.
    let mut reset = pair.forge(Client, 0);
    reset.flags = Flags::RST;
    pair.inject(Server, reset);
    assert_eq!(pair.usable(Server), 1);
    let syn = pair.driver.io.log[0].segment.clone();
    let answered: Vec<bool> = [0, 1]
        .map(|changed| {
            let mut syn = syn.clone();
            syn.seq = syn.seq.wrapping_add(changed);
            pair.inject(Server, syn);
            let answer = pair.sent(Server).next_back().expect("an answer");
            assert!(answer.is_syn());
            !answer.segment.options.mptcp.is_empty()
        })
        .to_vec();
    assert_eq!(answered, [false, true]);
}
