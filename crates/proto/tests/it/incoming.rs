//! Listeners, and connections that the application accepts, refuses or ignores.

use crate::pair::{Client, Fate, PORT, Pair, Server, config, ms, secs, tcp_config};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{
    AcceptError, ConnectionError, ConnectionEvent, Incoming, ListenError, ListenerHandle, UnknownListener,
};
use pathweave_wire::{Flags, Payload, Segment};

/// A pair whose server lets the application decide on each connection.
fn asking(config: ConnectionConfig) -> (Pair, ListenerHandle) {
    let mut pair = Pair::new(&[10, 20], config);
    let listener = ask(&mut pair, SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT));
    (pair, listener)
}

/// The server listens at this address, and nowhere else.
fn ask(pair: &mut Pair, at: SocketAddr) -> ListenerHandle {
    let before = pair.listener.take().expect("the pair listens");
    assert_eq!(pair.driver.endpoints[1].unlisten(before), Ok(()));
    pair.driver.endpoints[1].listen(at).expect("nobody else listens")
}

/// The client's SYN arrives.
fn knock(pair: &mut Pair) -> Incoming {
    pair.open();
    pair.run_for(ms(11));
    assert!(pair.sent(Server).next().is_none(), "nobody has decided yet");
    pair.driver.endpoints[1].poll_incoming().expect("the SYN is there")
}

fn failed(pair: &Pair) -> Option<ConnectionError> {
    pair.driver.applications.apps[0]
        .events
        .iter()
        .find_map(|(_, e)| if let ConnectionEvent::Failed(e) = e { Some(*e) } else { None })
}

#[test]
fn an_incoming_connection_tells_who_wants_what() {
    for (config, multipath, checksum) in [
        (tcp_config(), false, false),
        (config(), true, false),
        (ConnectionConfig { checksum: true, ..config() }, true, true),
    ] {
        let (mut pair, listener) = asking(config);
        let incoming = knock(&mut pair);
        assert_eq!((incoming.multipath, incoming.checksum, incoming.listener), (multipath, checksum, listener));
        assert_eq!(incoming.local, SocketAddr::new(pair.driver.io.paths[0].addresses[1], PORT));
        assert_eq!(incoming.remote, SocketAddr::new(pair.driver.io.paths[0].addresses[0], 49_152));
        assert!(pair.driver.endpoints[1].poll_incoming().is_none(), "it is told once");
    }
}

#[test]
fn the_application_accepts_with_settings_and_addresses_of_its_own() {
    for (own, subflows) in [(tcp_config(), 1), (ConnectionConfig { checksum: true, ..config() }, 2)] {
        let (mut pair, _) = asking(config());
        let incoming = knock(&mut pair);
        // The application may take its time: the SYN is repeated meanwhile and counts as the same request.
        pair.run_for(ms(1500));
        assert!(pair.driver.endpoints[1].poll_incoming().is_none());
        let (now, addresses) = (pair.now, pair.local_addresses(Server));
        let handle = pair.driver.endpoints[1].accept(now, incoming, own.clone(), &addresses).expect("it waits");
        pair.driver.applications.apps[1].handle = Some(handle);
        pair.settle();
        pair.write(Client, 50_000);
        pair.run_until_received(Server, 50_000, secs(5));
        assert_eq!(pair.the(Server).is_mptcp(), own.mptcp);
        assert_eq!(pair.the(Server).config().checksum, own.checksum);
        assert!(pair.happened(Server, |e| *e == ConnectionEvent::Connected).is_some());
        assert!(pair.driver.endpoints[1].poll_accept().is_none(), "the application knows it already");
        pair.run_for(secs(1));
        assert_eq!(pair.usable(Client), subflows);
    }
}

#[test]
fn a_refused_connection_gets_a_reset() {
    for config in [tcp_config(), config()] {
        let (mut pair, _) = asking(config);
        let incoming = knock(&mut pair);
        pair.driver.endpoints[1].refuse(incoming);
        pair.settle();
        pair.run_for(ms(11));
        assert_eq!(failed(&pair), Some(ConnectionError::Refused));
        assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].footprint()), (0, 0));
    }
}

#[test]
fn an_ignored_connection_gets_nothing_and_may_ask_again() {
    let (mut pair, _) = asking(config());
    let incoming = knock(&mut pair);
    pair.driver.endpoints[1].ignore(incoming);
    pair.run_for(ms(900));
    assert!(pair.driver.endpoints[1].poll_incoming().is_none());
    assert_eq!(pair.driver.endpoints[1].footprint(), 0);
    pair.run_for(ms(200));
    let again = pair.driver.endpoints[1].poll_incoming().expect("the SYN was repeated");
    assert_eq!(again.remote.port(), 49_152);
    assert!(pair.sent(Server).next().is_none());
}

#[test]
fn who_waits_too_long_is_forgotten() {
    let (mut pair, _) = asking(config());
    pair.driver.endpoints[1].set_incoming_limits(10, secs(5));
    let incoming = knock(&mut pair);
    pair.script(|_| Fate::Drop);
    pair.run_for(ms(4998));
    assert_eq!(pair.driver.endpoints[1].footprint(), 1);
    pair.run_for(ms(2));
    assert_eq!(pair.driver.endpoints[1].footprint(), 0);
    let accepted = pair.driver.endpoints[1].accept(pair.now, incoming, config(), &[]);
    assert_eq!(accepted, Err(AcceptError::Gone));
    assert!(pair.sent(Server).next().is_none());
}

#[test]
fn so_many_wait_at_most_and_the_oldest_gives_way() {
    let (mut pair, _) = asking(config());
    pair.driver.endpoints[1].set_incoming_limits(3, secs(60));
    let first = knock(&mut pair);
    let syn = pair.sent(Client).next().expect("the SYN").segment.clone();
    for port in 1..=5 {
        let mut other = syn.clone();
        other.src.set_port(port);
        pair.inject(Server, other);
    }
    assert_eq!(pair.driver.endpoints[1].footprint(), 3);
    let told: Vec<u16> =
        core::iter::from_fn(|| pair.driver.endpoints[1].poll_incoming()).map(|i| i.remote.port()).collect();
    assert_eq!(told, [3, 4, 5]);
    assert_eq!(pair.driver.endpoints[1].accept(pair.now, first, config(), &[]), Err(AcceptError::Gone));
}

#[test]
fn a_peer_can_take_its_wish_back_and_nobody_else_can() {
    let (mut pair, _) = asking(config());
    let incoming = knock(&mut pair);
    let mut reset = pair.sent(Client).next().expect("the SYN").segment.clone();
    reset.flags = Flags::RST;
    reset.options = Default::default();
    for seq in [reset.seq, reset.seq.wrapping_add(2)] {
        reset.seq = seq;
        pair.inject(Server, reset.clone());
    }
    assert_eq!(pair.driver.endpoints[1].footprint(), 1, "the number is not the next");
    reset.seq = reset.seq.wrapping_sub(1);
    pair.inject(Server, reset);
    assert_eq!(pair.driver.endpoints[1].footprint(), 0);
    assert_eq!(pair.driver.endpoints[1].accept(pair.now, incoming, config(), &[]), Err(AcceptError::Gone));
}

#[test]
fn who_stops_listening_refuses_those_that_wait_and_keeps_what_was_accepted() {
    let (mut pair, listener) = asking(config());
    let waiting = knock(&mut pair);
    assert_eq!(pair.driver.endpoints[1].unlisten(listener), Ok(()));
    assert_eq!(pair.driver.endpoints[1].unlisten(listener), Err(UnknownListener));
    assert_eq!(pair.driver.endpoints[1].accept(pair.now, waiting, config(), &[]), Err(AcceptError::Gone));
    pair.settle();
    pair.run_for(ms(11));
    assert_eq!(failed(&pair), Some(ConnectionError::Refused));

    let mut pair = Pair::new(&[10, 20], config());
    pair.connect();
    let listener = pair.listener.take().expect("the pair listens");
    assert_eq!(pair.driver.endpoints[1].unlisten(listener), Ok(()));
    pair.write(Client, 1000);
    pair.run_until("others join all the same", secs(2), |p| p.usable(Client) == 2);
    pair.run_until_received(Server, 1000, secs(2));
}

#[test]
fn a_listener_at_one_address_takes_what_comes_to_it_alone() {
    for ipv6 in [false, true] {
        let new = if ipv6 { Pair::ipv6 } else { Pair::new };
        let any = |v6: bool| if v6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
        let own = new(&[10, 20], config()).driver.io.paths[0].addresses[1];
        let other = new(&[10, 20], config()).driver.io.paths[1].addresses[1];
        // The listener's address, and whether a SYN to `own` reaches it.
        let cases = [(own, true), (other, false), (any(true), true), (any(false), !ipv6)];
        for (address, found) in cases {
            let mut pair = new(&[10, 20], config());
            ask(&mut pair, SocketAddr::new(address, PORT));
            pair.open();
            pair.run_for(ms(25));
            assert_eq!(pair.driver.endpoints[1].poll_incoming().is_some(), found, "{address} {own}");
            assert_eq!(failed(&pair) == Some(ConnectionError::Refused), !found);
        }
        // The listener with the specific address comes before the others, whichever was created first.
        let mut pair = new(&[10, 20], config());
        ask(&mut pair, SocketAddr::new(any(true), PORT));
        let named = pair.driver.endpoints[1].listen(SocketAddr::new(own, PORT)).expect("nobody else listens");
        pair.driver.endpoints[1].listen(SocketAddr::new(any(false), PORT)).expect("nobody else listens");
        assert_eq!(knock(&mut pair).listener, named);
    }
}

#[test]
fn one_listener_an_address_and_port() {
    let (mut pair, _) = asking(config());
    let at = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT);
    assert_eq!(pair.driver.endpoints[1].listen(at), Err(ListenError::AddressInUse));
    assert_eq!(pair.driver.endpoints[1].listen_and_accept(at, config(), &[]), Err(ListenError::AddressInUse));
    assert_eq!(pair.driver.endpoints[1].listen(SocketAddr::new(at.ip(), 0)), Err(ListenError::NoPort));
}

#[test]
fn who_accepts_by_itself_tells_listener_and_peer() {
    let mut pair = Pair::new(&[10], config());
    let listener = pair.listener.expect("the pair listens");
    pair.open();
    pair.script(|_| Fate::Pass);
    while pair.driver.endpoints[1].connections() == 0
        || !pair.driver.endpoints[0]
            .connection(pair.driver.applications.apps[0].handle.expect("open"))
            .expect("open")
            .is_connected()
    {
        assert!(pair.step(pair.now + secs(1)));
    }
    // The third ACK is on its way; the engine handles it alone.
    let ack = pair.sent(Client).last().expect("the third ACK").segment.clone();
    assert_eq!(pair.driver.endpoints[1].poll_accept(), None);
    pair.driver.endpoints[1].handle_segment(pair.now + ms(10), pathweave_wire::Ecn::NotEct, &ack);
    let accepted = pair.driver.endpoints[1].poll_accept().expect("it is connected");
    assert_eq!((accepted.listener, accepted.local, accepted.remote), (listener, ack.dst, ack.src));
    assert!(pair.driver.endpoints[1].connection(accepted.connection).is_some());
}

/// Events name a connection by its handle, which the application gets only from `poll_accept`.
#[test]
fn events_of_what_a_listener_accepts_come_after_the_connection_itself() {
    let mut pair = Pair::new(&[10], config());
    pair.open();
    pair.run_for(ms(20));
    // The third ACK and data arrive while the application is busy.
    let ack = pair.sent(Client).last().expect("the third ACK").segment.clone();
    let mut data = ack.clone();
    data.payload = pathweave_wire::Payload::Bytes(vec![7; 100].into());
    let server = &mut pair.driver.endpoints[1];
    for segment in [&ack, &data] {
        server.handle_segment(pair.now, pathweave_wire::Ecn::NotEct, segment);
        assert_eq!(server.poll_event(), None, "of a connection that nobody knows");
    }
    let handle = server.poll_accept().expect("it is connected").connection;
    assert_eq!(server.poll_event(), Some((handle, ConnectionEvent::Connected)));
    assert_eq!(server.poll_event(), Some((handle, ConnectionEvent::Readable)));
    assert_eq!(server.poll_event(), None);
}

#[test]
fn of_a_handshake_that_fails_before_it_is_complete_the_application_hears_nothing() {
    let mut pair = Pair::new(&[10], config());
    pair.open();
    pair.script(|_| Fate::Drop);
    pair.run_for(ms(11));
    let syn = pair.sent(Client).next().expect("the SYN").segment.clone();
    let server = &mut pair.driver.endpoints[1];
    server.handle_segment(pair.now, pathweave_wire::Ecn::NotEct, &syn);
    assert_eq!(server.connections(), 1);
    let mut reset = syn.clone();
    (reset.flags, reset.seq) = (Flags::RST, syn.seq.wrapping_add(1));
    reset.options = Default::default();
    server.handle_segment(pair.now, pathweave_wire::Ecn::NotEct, &reset);
    while server.poll_transmit(pair.now, 1).is_some() {}
    assert_eq!((server.poll_accept(), server.poll_event(), server.connections()), (None, None, 0));
}

#[test]
fn addresses_that_are_taken_and_ports_that_are_used_up_are_told() {
    use pathweave_proto::ConnectError;
    let mut pair = Pair::new(&[10], tcp_config());
    let (from, to) =
        (pair.driver.io.paths[0].addresses[0], SocketAddr::new(pair.driver.io.paths[0].addresses[1], PORT));
    let (now, host) = (pair.now, &mut pair.driver.endpoints[0]);
    host.connect(now, SocketAddr::new(from, 5000), to, tcp_config(), &[]).expect("it is free");
    let again = host.connect(now, SocketAddr::new(from, 5000), to, tcp_config(), &[]);
    assert_eq!(again, Err(ConnectError::AddressInUse));
    for _ in 49_152..=65_535 {
        host.connect(now, SocketAddr::new(from, 0), to, tcp_config(), &[]).expect("a port is free");
    }
    let again = host.connect(now, SocketAddr::new(from, 0), to, tcp_config(), &[]);
    assert_eq!(again, Err(ConnectError::NoFreePort));
}

/// "A TCP implementation that supports multiple concurrent connections MUST provide an OPEN call that will functionally
/// allow an application to LISTEN on a port while a connection block with the same local port is in SYN-SENT or
/// SYN-RECEIVED state", and a passive OPEN "MUST NOT affect any previously created connection record" (RFC 9293
/// §3.9.1.1).
#[test]
fn a_port_of_a_connection_can_be_listened_at() {
    for opened in [false, true] {
        let mut pair = Pair::new(&[10], config());
        pair.open();
        let connected = |p: &Pair| p.the(Client).is_connected();
        if opened {
            pair.run_until("the client is connected", secs(1), connected);
        }
        let port = pair.driver.io.log[0].segment.src;
        pair.driver.endpoints[0].listen(port).expect("nobody listens there");
        let taken = pair.driver.endpoints[0].listen(port);
        assert_eq!(taken, Err(ListenError::AddressInUse));
        pair.run_until("the client is connected", secs(1), connected);
        pair.write(Client, 10_000);
        pair.run_until_received(Server, 10_000, secs(1));
        // Another peer's SYN goes to the listener.
        let mut syn = Segment::new(SocketAddr::new(pair.driver.io.paths[0].addresses[1], 7000), port);
        syn.flags = Flags::SYN;
        pair.inject(Client, syn);
        assert!(pair.driver.endpoints[0].poll_incoming().is_some());
        assert_eq!(pair.the(Client).error(), None);
    }
}

/// The application decides itself, and the half-open limit is reached: a peer is remembered as soon as it has shown
/// that it is there.
#[test]
fn a_full_table_of_handshakes_keeps_nobody_out_who_completes_its_own() {
    for (config, seconds) in [(config(), 0), (config(), 3), (tcp_config(), 0)] {
        let (mut pair, _) = asking(config.clone());
        pair.driver.endpoints[1].set_half_open_limit(1);
        let incoming = knock(&mut pair);
        let mut forged = pair.sent(Client).next().expect("the SYN").segment.clone();
        forged.src.set_port(7);
        pair.inject(Server, forged);
        let other = pair.driver.endpoints[1].poll_incoming().expect("it asks too");
        assert!(pair.driver.endpoints[1].accept(pair.now, other, config.clone(), &[]).is_ok());
        let accepted = pair.driver.endpoints[1].accept(pair.now, incoming, config.clone(), &[]);
        assert_eq!(accepted, Err(AcceptError::NotRemembered));
        assert_eq!(pair.driver.endpoints[1].connections(), 1);
        // The client writes before there is a decision, and its data comes with the third segment or after it.
        pair.driver.applications.apps[0].pending = 5000;
        pair.settle();
        pair.run_for(ms(35) + secs(seconds));
        let again = pair.driver.endpoints[1].poll_incoming().expect("the handshake is complete");
        assert_eq!((again.remote.port(), again.multipath), (49_152, config.mptcp));
        // A forged SYN meanwhile changes nothing.
        let mut forged = pair.sent(Client).next().expect("the SYN").segment.clone();
        forged.seq = forged.seq.wrapping_add(99);
        pair.inject(Server, forged);
        let (now, addresses) = (pair.now, pair.local_addresses(Server));
        let handle = pair.driver.endpoints[1].accept(now, again, config.clone(), &addresses).expect("it is there");
        pair.driver.applications.apps[1].handle = Some(handle);
        pair.settle();
        pair.run_until_received(Server, 5000, secs(5));
        pair.write(Client, 100_000);
        pair.run_until_received(Server, 105_000, secs(10));
        assert_eq!(pair.the(Server).is_mptcp(), config.mptcp);
        assert!(pair.happened(Server, |e| *e == ConnectionEvent::Connected).is_some());
        assert!(pair.driver.endpoints[1].poll_accept().is_none(), "the application knows it already");
    }
}

/// A SYN that waits for the application's decision keeps no memory of its packet.
#[test]
fn the_data_of_a_syn_that_waits_is_not_kept() {
    let (mut pair, _) = asking(tcp_config());
    pair.open();
    let mut syn = pair.driver.io.log[0].segment.clone();
    let data = bytes::Bytes::from(vec![1; 1000]);
    syn.src.set_port(7000);
    syn.payload = Payload::Bytes(data.clone());
    pair.inject(Server, syn);
    pair.clear_log();
    assert!(data.is_unique());
    assert_eq!(pair.driver.endpoints[1].poll_incoming().map(|incoming| incoming.remote.port()), Some(7000));
}
