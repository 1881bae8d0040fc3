//! TIME-WAIT: what prolongs it, and what ends it (RFC 9293 §3.6.1, §3.10.7.4).

use crate::pair::*;
use core::net::SocketAddr;
use pathweave_proto::config::{ConnectionConfig, TcpConfig};
use pathweave_proto::{ConnectError, Endpoint, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, Segment, Timestamps};

/// The client is in TIME-WAIT and the server is gone. Returns the pair after the client's last acknowledgement.
fn waiting(config: ConnectionConfig) -> Pair {
    let mut pair = Pair::new(&[10], config);
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    pair.close(Client);
    pair.run_for(ms(100));
    pair.close(Server);
    pair.run_for(secs(1));
    assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (1, 0));
    pair
}

/// The server's FIN, once more.
fn fin(pair: &Pair) -> Segment {
    pair.sent(Server).rfind(|p| p.is_fin()).expect("a FIN").segment.clone()
}

#[test]
fn only_a_fin_prolongs_it_and_not_for_ever() {
    for repeats_fin in [false, true] {
        let mut pair = waiting(tcp_config());
        let mut segment = fin(&pair);
        if !repeats_fin {
            segment.flags = Flags::ACK;
            segment.seq = segment.seq.wrapping_add(1);
            segment.options.dss = None;
        }
        // The server is gone and would end it with a reset.
        pair.script(|_| Fate::Drop);
        let start = pair.now;
        while pair.driver.endpoints[0].connections() > 0 && pair.now.since(start) < secs(1000) {
            pair.inject(Client, segment.clone());
            pair.run_for(secs(10));
        }
        let lasted = pair.now.since(start);
        let expected = if repeats_fin { secs(290)..=secs(310) } else { secs(50)..=secs(70) };
        assert!(expected.contains(&lasted), "{lasted}\n{}", pair.describe());
    }
}

#[test]
fn keep_alive_does_not_keep_it_alive() {
    for mptcp in [false, true] {
        let keep_alive = ConnectionConfig { keep_alive: secs(5), mptcp, ..config() };
        let mut pair = waiting(keep_alive);
        pair.clear_log();
        pair.run_for(secs(100));
        assert!(pair.driver.io.log.is_empty(), "{}", pair.describe());
        assert_eq!(pair.driver.endpoints[0].connections(), 0);
    }
}

/// The server has closed first and is in TIME-WAIT; the client's program starts again and takes the same port.
#[test]
fn a_new_syn_opens_a_connection_in_its_place_and_an_old_one_does_not() {
    for timestamps in [true, false] {
        let tcp = TcpConfig { timestamps, ..TcpConfig::default() };
        let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..tcp_config() });
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        pair.close(Server);
        pair.run_for(ms(100));
        pair.close(Client);
        pair.run_for(secs(1));
        assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 1));
        let syn = pair.sent(Client).find(|p| p.is_syn()).expect("it began").segment.clone();
        let end = pair.sent(Client).rfind(|p| p.is_fin()).expect("it ended").segment.clone();
        // The very first SYN is replayed: it gets only a challenge.
        pair.clear_log();
        pair.inject(Server, syn.clone());
        assert!(pair.sent(Server).all(|p| !p.is_syn()));
        let mut new = syn.clone();
        new.seq = end.seq.wrapping_add(if timestamps { 0 } else { 5000 });
        if let (Some(t), Some(last)) = (new.options.timestamps.as_mut(), end.options.timestamps) {
            t.value = last.value.wrapping_add(1000);
        }
        pair.inject(Server, new.clone());
        let answer = pair.sent(Server).next_back().expect("an answer");
        assert!(answer.is_syn(), "{answer:?}");
        assert_eq!(answer.segment.ack, new.seq.wrapping_add(1));
        assert_eq!(pair.driver.endpoints[1].connections(), 1, "the old one is gone");
        let back: SocketAddr = answer.segment.dst;
        assert_eq!(back, new.src);
    }
}

/// RFC 6191 §2: a SYN is new by its timestamp; if that is the same, or there is none, by its number, which must be
/// beyond the last.
#[test]
fn a_syn_is_new_from_the_next_timestamp_or_number_on() {
    let rows = [
        (true, 1, 0, true),
        (true, 0, 0, false),
        (true, -5, 1, true),
        (true, 5000, -1, false),
        (false, 1, 0, true),
        (false, 0, 0, false),
    ];
    for (timestamps, beyond, later, opens) in rows {
        let tcp = TcpConfig { timestamps, ..TcpConfig::default() };
        let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..tcp_config() });
        pair.connect();
        pair.close(Server);
        pair.run_for(ms(100));
        pair.close(Client);
        pair.run_for(secs(1));
        let mut syn = pair.sent(Client).find(|p| p.is_syn()).expect("it began").segment.clone();
        let end = pair.forge(Client, 0);
        syn.seq = end.seq.wrapping_add_signed(beyond);
        if let (Some(t), Some(last)) = (syn.options.timestamps.as_mut(), end.options.timestamps) {
            t.value = last.value.wrapping_add_signed(later);
        }
        pair.clear_log();
        pair.inject(Server, syn);
        assert_eq!(pair.sent(Server).any(Packet::is_syn), opens, "{timestamps} {beyond} {later}");
    }
}

/// The client has closed first, and its port has no listener: a SYN forged by a blind attacker ends nothing there, and
/// the server's repeated FIN is acknowledged.
#[test]
fn a_new_syn_where_nobody_listens_does_not_end_it() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    pair.close(Client);
    pair.run_for(ms(100));
    let mut lost = false;
    pair.script(move |p| {
        let last = p.from == Client && p.is_pure_ack();
        if last && !core::mem::replace(&mut lost, true) { Fate::Drop } else { Fate::Pass }
    });
    pair.close(Server);
    pair.run_for(ms(50));
    assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (1, 1));
    let mut syn = pair.sent(Server).find(|p| p.is_syn()).expect("it answered").segment.clone();
    syn.flags = Flags::SYN;
    syn.seq = syn.seq.wrapping_add(5000);
    syn.options.timestamps = None;
    pair.inject(Client, syn);
    pair.run_for(secs(2));
    assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()), "{}", pair.describe());
    assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (1, 0));
}

/// The server has closed first, and its last acknowledgement is lost. A blind attacker's SYN in the client's name opens
/// a connection in its place; the client's FIN is acknowledged nevertheless.
#[test]
fn a_forged_syn_does_not_keep_the_peer_from_its_end() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    pair.close(Server);
    pair.run_for(ms(100));
    let mut lost = false;
    pair.script(move |p| {
        let last = p.from == Server && p.is_pure_ack();
        if last && !core::mem::replace(&mut lost, true) { Fate::Drop } else { Fate::Pass }
    });
    pair.close(Client);
    pair.run_for(ms(50));
    let mut syn = pair.sent(Client).find(|p| p.is_syn()).expect("it began").segment.clone();
    syn.seq = syn.seq.wrapping_add(5000);
    syn.options.timestamps = None;
    pair.clear_log();
    pair.inject(Server, syn);
    assert!(pair.sent(Server).any(|p| p.is_syn()), "{}", pair.describe());
    pair.run_for(secs(2));
    assert_eq!(pair.driver.endpoints[0].connections(), 0, "{}", pair.describe());
}

/// Only a SYN without other flags opens a connection; one with another flag neither opens one nor ends the wait.
#[test]
fn a_new_syn_with_another_flag_ends_nothing() {
    for flag in [Flags::FIN, Flags::RST, Flags::ACK] {
        let mut pair = Pair::new(&[10], tcp_config());
        pair.connect();
        pair.close(Server);
        pair.run_for(ms(100));
        pair.close(Client);
        pair.run_for(secs(1));
        let mut syn = pair.sent(Client).find(|p| p.is_syn()).expect("it began").segment.clone();
        syn.flags |= flag;
        syn.seq = syn.seq.wrapping_add(5000);
        if let Some(t) = &mut syn.options.timestamps {
            t.value = t.value.wrapping_add(100_000);
        }
        pair.clear_log();
        pair.inject(Server, syn);
        assert!(pair.sent(Server).all(|p| !p.is_syn()));
        assert_eq!(pair.driver.endpoints[1].connections(), 1, "{flag:?}");
    }
}

/// Repeated FINs to a record do not keep it for ever, and nothing else prolongs it.
#[test]
fn a_record_is_prolonged_by_a_fin_alone_and_not_for_ever() {
    let same = |_: &mut Segment| {};
    let no_fin = |s: &mut Segment| (s.flags, s.seq) = (Flags::ACK, s.seq.wrapping_add(1));
    let another = |s: &mut Segment| s.seq = s.seq.wrapping_sub(7);
    let with_syn = |s: &mut Segment| s.flags |= Flags::SYN;
    assert!((secs(290)..=secs(310)).contains(&record_lasts(same)));
    for change in [no_fin as fn(&mut Segment), another, with_syn] {
        assert!((secs(50)..=secs(70)).contains(&record_lasts(change)));
    }
}

/// How long a record lasts to which the client's FIN, changed by `change`, comes every ten seconds.
fn record_lasts(change: impl Fn(&mut Segment)) -> Duration {
    let mut server = Endpoint::new(Secrets::reproducible(Random::substream(1, "server")));
    server.listen_and_accept(SocketAddr::from(([10, 0, 0, 2], 80)), tcp_config(), &[]).expect("nobody listens");
    let start = Instant::ZERO + secs(5);
    let last: Vec<Segment> = (1..=1100).map(|port| close_at_server(&mut server, start, port)).collect();
    let fin = &mut last[3].clone();
    change(fin);
    let mut now = start;
    while now.since(start) < secs(1000) {
        now += secs(10);
        server.handle_timeout(now);
        if server.connect(now, fin.dst, fin.src, tcp_config(), &[]).is_ok() {
            break;
        }
        server.handle_segment(now, Ecn::NotEct, fin);
        while server.poll_transmit(now, 1).is_some() {}
    }
    now.since(start)
}

/// A server that has closed first and is in TIME-WAIT, and the last segment of its client, which has no stack: a FIN.
fn close_at_server(server: &mut Endpoint, now: Instant, port: u16) -> Segment {
    let answers = |server: &mut Endpoint| -> Vec<Segment> {
        core::iter::from_fn(|| server.poll_transmit(now, 1)).map(|t| t.segment).collect()
    };
    let mut segment = Segment::new(SocketAddr::from(([10, 0, 0, 1], port)), SocketAddr::from(([10, 0, 0, 2], 80)));
    (segment.flags, segment.seq, segment.window) = (Flags::SYN, 1000, 65_535);
    segment.options.timestamps = Some(Timestamps { value: 50, echo: 0 });
    server.handle_segment(now, Ecn::NotEct, &segment);
    let answer = answers(server).pop().expect("a SYN/ACK");
    (segment.flags, segment.seq, segment.ack) = (Flags::ACK, 1001, answer.seq.wrapping_add(1));
    segment.options.timestamps = answer.options.timestamps.map(|t| Timestamps { value: 50, echo: t.value });
    server.handle_segment(now, Ecn::NotEct, &segment);
    let handle = server.poll_accept().expect("it is open").connection;
    server.close(now, handle).expect("it lives");
    assert!(answers(server).iter().any(|s| s.flags.contains(Flags::FIN)));
    (segment.flags, segment.ack) = (Flags::ACK | Flags::FIN, segment.ack.wrapping_add(1));
    server.handle_segment(now, Ecn::NotEct, &segment);
    answers(server);
    while let Some((handle, _)) = server.poll_event() {
        while server.read(now, handle, u64::MAX).is_ok() {}
    }
    answers(server);
    segment
}

/// More than a thousand connections are in TIME-WAIT, so the older ones are records: a FIN is answered, a reset and a
/// new SYN end them, an old SYN does not, and they expire.
#[test]
fn records_do_what_connections_do() {
    let mut server = Endpoint::new(Secrets::reproducible(Random::substream(1, "server")));
    server.listen_and_accept(SocketAddr::from(([10, 0, 0, 2], 80)), tcp_config(), &[]).expect("nobody listens");
    let now = Instant::ZERO + secs(5);
    let last: Vec<Segment> = (1..=1100).map(|port| close_at_server(&mut server, now, port)).collect();
    assert_eq!(server.connections(), 1024, "the newest are kept whole");
    assert!(server.footprint() > 1024 + 76);
    let later = now + secs(30);
    server.handle_timeout(later);
    let ask_at = |server: &mut Endpoint, at: Instant, change: &dyn Fn(&mut Segment)| {
        let mut segment = last[3].clone();
        change(&mut segment);
        server.handle_segment(at, Ecn::NotEct, &segment);
        core::iter::from_fn(|| server.poll_transmit(at, 1)).map(|t| t.segment).collect::<Vec<_>>()
    };
    let ask = |server: &mut Endpoint, change: &dyn Fn(&mut Segment)| ask_at(server, later, change);
    let numbers = |s: &Segment| (s.flags, s.seq, s.ack, s.options.timestamps.map(|t| t.echo));
    let answer = (Flags::ACK, last[3].ack, 1002, Some(50));
    assert_eq!(ask(&mut server, &|_| {}).iter().map(numbers).collect::<Vec<_>>(), [answer], "the FIN again");
    assert_eq!(ask(&mut server, &|_| {}).iter().map(numbers).collect::<Vec<_>>(), [answer], "and again");
    let old = |s: &mut Segment| s.flags = Flags::ACK;
    assert_eq!((ask(&mut server, &old).len(), ask(&mut server, &old).len()), (1, 0), "twice in half a second");
    assert_eq!(
        (ask_at(&mut server, later + ms(499), &old).len(), ask_at(&mut server, later + ms(500), &old).len()),
        (0, 1)
    );
    let rst = |s: &mut Segment| s.flags = Flags::RST;
    assert!(ask(&mut server, &|s| (s.flags, s.seq) = (Flags::RST, s.seq.wrapping_add(700))).is_empty());
    let old_syn = |s: &mut Segment| (s.flags, s.seq) = (Flags::SYN, 1000);
    assert!(ask(&mut server, &old_syn).iter().all(|s| !s.flags.contains(Flags::SYN)));
    let connecting = server.connect(later, last[3].dst, last[3].src, tcp_config(), &[]);
    assert_eq!(connecting, Err(ConnectError::AddressInUse));
    // The 30 s that have passed do not count if the FIN has come again.
    server.handle_timeout(now + secs(61));
    while server.poll_transmit(now + secs(61), 1).is_some() {}
    assert_eq!(server.connections(), 0);
    assert!(server.connect(now + secs(61), last[4].dst, last[4].src, tcp_config(), &[]).is_ok(), "its time is over");
    let still = server.connect(now + secs(61), last[3].dst, last[3].src, tcp_config(), &[]);
    assert_eq!(still, Err(ConnectError::AddressInUse));
    let new_syn = |s: &mut Segment| {
        (s.flags, s.seq) = (Flags::SYN, 70_000);
        s.options.timestamps = Some(Timestamps { value: 90_000, echo: 0 });
    };
    let opened = ask(&mut server, &new_syn);
    assert!(opened.iter().any(|s| s.flags.contains(Flags::SYN | Flags::ACK)), "{opened:?}");
    let mut server = Endpoint::new(Secrets::reproducible(Random::substream(1, "server")));
    server.listen_and_accept(SocketAddr::from(([10, 0, 0, 2], 80)), tcp_config(), &[]).expect("nobody listens");
    let last: Vec<Segment> = (1..=1100).map(|port| close_at_server(&mut server, now, port)).collect();
    let mut reset = last[3].clone();
    rst(&mut reset);
    reset.seq = reset.seq.wrapping_add(1);
    server.handle_segment(later, Ecn::NotEct, &reset);
    assert!(server.connect(later, last[3].dst, last[3].src, tcp_config(), &[]).is_ok(), "the reset ended it");
}
