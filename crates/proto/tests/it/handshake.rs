//! Plain TCP's three-way handshake (RFC 9293 §3.5).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, LossRecovery, TcpConfig};
use pathweave_proto::host::Host;
use pathweave_proto::{ConnectionError, ConnectionEvent, Endpoint, Secrets};
use pathweave_units::random::Random;
use pathweave_wire::{Flags, Segment};

#[test]
fn three_segments_open_a_connection_in_one_and_a_half_round_trips() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    let seen: Vec<_> = pair.driver.io.log.iter().map(|p| (p.at, p.from, p.segment.flags)).collect();
    assert_eq!(
        seen,
        [(at_ms(0), Client, Flags::SYN), (at_ms(10), Server, Flags::SYN | Flags::ACK), (at_ms(20), Client, Flags::ACK),]
    );
    assert_eq!(pair.happened(Client, |e| *e == ConnectionEvent::Connected), Some(at_ms(20)));
    assert_eq!(pair.happened(Server, |e| *e == ConnectionEvent::Connected), Some(at_ms(30)));
    assert_eq!(pair.subflow(Client, 0).rtt.smoothed, Some(ms(20)));
    assert_eq!(pair.subflow(Server, 0).rtt.smoothed, Some(ms(20)));
}

#[test]
fn options_are_offered_and_agreed() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    let syn = &pair.driver.io.log[0].segment.options;
    assert_eq!((syn.mss, syn.sack_permitted, syn.window_scale), (Some(1460), true, Some(5)));
    let syn_ack = &pair.driver.io.log[1].segment.options;
    assert_eq!((syn_ack.mss, syn_ack.sack_permitted, syn_ack.window_scale), (Some(1460), true, Some(5)));
    // A SYN's window is not scaled, and its timestamp echoes none (RFC 7323 §2.2, §3.2).
    assert_eq!(pair.driver.io.log[0].segment.window, 65_535);
    assert_eq!(syn.timestamps.map(|t| t.echo), Some(0));
    // RFC 7323 §3.2: the SYN/ACK echoes the SYN's timestamp.
    assert_eq!(syn_ack.timestamps.map(|t| t.echo), syn.timestamps.map(|t| t.value));
}

/// "TCP endpoints MUST implement both sending and receiving the MSS Option" (RFC 9293 §3.7.1), which "MUST NOT be sent
/// in other segments" than SYNs (§3.2).
/// than SYNs (§3.2).
#[test]
fn each_syn_names_the_segment_size_and_nothing_else_does() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10, 20], config);
        pair.connect();
        pair.write(Client, 100_000);
        pair.write(Server, 100_000);
        pair.run_until_received(Client, 100_000, secs(5));
        pair.close(Client);
        pair.close(Server);
        pair.run_for(secs(100));
        for packet in &pair.driver.io.log {
            assert_eq!(packet.segment.options.mss.is_some(), packet.is_syn(), "{:?}", packet.segment);
        }
    }
}

/// "TCP implementations MUST use the same local address that was used in those previous segments" (RFC 9293 §3.9.1.1),
/// although the host has another.
/// another.
#[test]
fn segments_of_a_connection_have_the_addresses_of_its_first() {
    let mut pair = Pair::new(&[10, 5], tcp_config());
    pair.connect();
    pair.write(Client, 100_000);
    pair.run_for(secs(1));
    pair.kill(0);
    pair.write(Client, 10_000);
    pair.run_for(secs(10));
    let syn = pair.driver.io.log[0].segment.clone();
    for packet in &pair.driver.io.log {
        let (src, dst) = if packet.from == Client { (syn.src, syn.dst) } else { (syn.dst, syn.src) };
        assert_eq!((packet.segment.src, packet.segment.dst), (src, dst));
    }
}

#[test]
fn what_the_peer_does_not_offer_is_not_used() {
    let plain = TcpConfig { timestamps: false, window_scaling: false, ..TcpConfig::default() };
    let mut pair = Pair::new(&[10], tcp_config());
    pair.listen(ConnectionConfig { tcp: plain, ..tcp_config() });
    pair.connect();
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_000, secs(5));
    assert!(pair.driver.io.log.iter().skip(1).all(|p| p.segment.options.timestamps.is_none()));
    // Without timestamps a segment has 12 bytes more.
    assert_eq!(pair.data(Client).map(|p| p.len()).max(), Some(1460));
    assert!(pair.sent(Client).filter(|p| !p.is_syn()).all(|p| p.segment.options.window_scale.is_none()));
    // Neither end scales: the client's buffer is larger than its field.
    assert!(pair.sent(Client).all(|p| p.segment.window == 65_535));
    // The unscaled window holds at most 65,535 bytes.
    let edge =
        pair.sent(Server).filter(|p| !p.is_syn()).map(|p| pair.relative_ack(p) + u32::from(p.segment.window)).max();
    let sent = pair.data(Client).map(|p| pair.relative(p) + p.len()).max();
    assert!(sent <= edge);
    // The server does not take the client's window for a scaled one either, although the client has offered scaling.
    for side in [Client, Server] {
        let tcp = pair.subflow(side, 0).tcp;
        assert_eq!((tcp.window_shift, tcp.peer_window_shift), (0, 0));
    }
}

/// SACK blocks go only to a peer that has said that it takes them (RFC 2018 §2).
#[test]
fn sack_is_used_where_both_ends_permit_it() {
    for (client, server, used) in [(true, true, true), (true, false, false), (false, true, false)] {
        let with = |permits: bool| {
            let recovery = if permits { LossRecovery::RackTlp } else { LossRecovery::NewReno };
            ConnectionConfig { tcp: TcpConfig { recovery, ..TcpConfig::default() }, ..tcp_config() }
        };
        let mut pair = Pair::new(&[10], with(client));
        pair.listen(with(server));
        pair.connect();
        pair.drop_first(Packet::is_data);
        pair.write(Client, 10_000);
        pair.run_until_received(Server, 10_000, secs(5));
        assert_eq!(pair.sent(Server).any(|p| !p.segment.options.sack.is_empty()), used, "{client} {server}");
        assert_eq!((pair.subflow(Client, 0).tcp.sack, pair.subflow(Server, 0).tcp.sack), (used, used));
    }
}

#[test]
fn a_lost_syn_is_repeated_after_one_second_then_two() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.drop_some(2, |p| p.is_syn());
    pair.connect();
    let syns: Vec<_> = pair.sent(Client).filter(|p| p.is_syn()).map(|p| p.at).collect();
    assert_eq!(syns, [at_ms(0), at_ms(1000), at_ms(3000)]);
}

#[test]
fn a_lost_syn_ack_is_repeated() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.drop_first(|p| p.from == Server && p.is_syn());
    pair.connect();
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_000, secs(1));
}

#[test]
fn a_syn_that_nobody_answers_is_given_up_after_more_than_3_minutes() {
    for config in on_each_host(config()) {
        let is_rfc = matches!(config.host, Host::Rfc);
        let mut pair = Pair::new(&[10], config);
        pair.script(|_| Fate::Drop);
        pair.open();
        pair.run_for(secs(400));
        let failed = pair.happened(Client, |e| *e == ConnectionEvent::Failed(ConnectionError::ConnectTimeout));
        // 1 + 2 + 4 + 8 + 16 + 32 + 64 s: six retransmissions, as in the kernel. Then a seventh, and the longest
        // timeout.
        let (repeated, seconds) = if is_rfc { (7, 127 + 120) } else { (6, 127) };
        assert_eq!(pair.sent(Client).count(), 1 + repeated);
        let failed = failed.expect("it fails").since(at_ms(0));
        // The kernel's timers are late by up to an eighth.
        assert!(failed >= secs(seconds) && failed < secs(seconds + 5), "{failed}");
        assert_eq!(pair.driver.endpoints[0].connections(), 0);
        assert_eq!(pair.driver.poll_timeout(), None);
    }
}

#[test]
fn a_closed_port_refuses() {
    let mut pair = Pair::new(&[10], config());
    pair.driver.endpoints[1] = Endpoint::new(Secrets::reproducible(Random::substream(1, "other")));
    pair.open();
    pair.run_for(secs(1));
    let failed = pair.happened(Client, |e| *e == ConnectionEvent::Failed(ConnectionError::Refused));
    assert_eq!(failed, Some(at_ms(20)));
}

#[test]
fn the_third_ack_may_be_lost_before_data_of_either_side() {
    for writer in [Client, Server] {
        for config in [tcp_config(), config()] {
            let mut pair = Pair::new(&[10], config);
            let mut lost = false;
            pair.script(move |p| {
                if p.from == Client && p.is_pure_ack() && !lost {
                    lost = true;
                    return Fate::Drop;
                }
                Fate::Pass
            });
            pair.open();
            pair.driver.applications.apps[1].pending = if writer == Server { 50_000 } else { 0 };
            if writer == Client {
                pair.write(Client, 50_000);
            }
            pair.run_until_received(writer.other(), 50_000, secs(3));
            assert_eq!(pair.the(Client).is_mptcp(), pair.the(Server).is_mptcp());
            assert_eq!(pair.the(Client).is_mptcp(), pair.config.mptcp);
        }
    }
}

#[test]
fn data_sent_with_the_third_ack_may_overtake_it() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config);
        pair.script(
            |p| if p.from == Client && p.is_pure_ack() && p.number < 5 { Fate::Late(ms(15)) } else { Fate::Pass },
        );
        pair.driver.applications.apps[0].pending = 20_000;
        pair.open();
        pair.run_until_received(Server, 20_000, secs(1));
        assert_eq!(pair.the(Server).is_mptcp(), pair.config.mptcp);
        assert!(pair.data(Client).count() <= 15, "nothing was repeated");
    }
}

/// A SYN with an acknowledgement completes no handshake in which our own SYN was an answer: its sender has not
/// understood our SYN.
#[test]
fn a_syn_ack_in_the_place_of_the_third_ack_completes_no_handshake() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config);
        pair.script(|p| if p.from == Client && !p.is_syn() { Fate::Drop } else { Fate::Pass });
        pair.open();
        pair.run_for(ms(50));
        let mut forged = pair.sent(Client).next().expect("a SYN").segment.clone();
        let answer = pair.sent(Server).next().expect("a SYN/ACK").segment.clone();
        forged.flags |= Flags::ACK;
        forged.ack = answer.seq.wrapping_add(1);
        pair.inject(Server, forged);
        assert!(pair.connection(Server).is_none_or(|c| !c.is_connected()));
        pair.no_script();
        pair.send_all(Client, 20_000);
        pair.run_until_received(Server, 20_000, secs(5));
        assert_eq!(pair.the(Server).is_mptcp(), pair.config.mptcp);
    }
}

#[test]
fn both_ends_may_open_at_once() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config.clone());
        let [client, server] = pair.driver.io.paths[0].addresses;
        let (client, server) = (core::net::SocketAddr::new(client, 1000), core::net::SocketAddr::new(server, 2000));
        let now = pair.now;
        pair.driver.applications.apps[0].handle =
            Some(pair.driver.endpoints[0].connect(now, client, server, config.clone(), &[]).expect("valid"));
        pair.driver.applications.apps[1].handle =
            Some(pair.driver.endpoints[1].connect(now, server, client, config, &[]).expect("valid"));
        pair.settle();
        pair.run_until("both are open", secs(2), |p| p.the(Client).is_connected() && p.the(Server).is_connected());
        // MP_CAPABLE has no rule for crossing SYNs, so this is plain TCP.
        assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp());
        pair.send_all(Client, 30_000);
        pair.send_all(Server, 20_000);
        pair.run_until("both have all", secs(2), |p| p.received(Server) == 30_000 && p.received(Client) == 20_000);
        pair.run_for(secs(130));
        assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 0));
    }
}

/// The SYN/ACK of one end is lost. That end is open, and its next segment shows the other that its own answer has
/// arrived.
#[test]
fn a_crossing_syn_whose_answer_is_lost() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config.clone());
        let mut lost = false;
        pair.script(move |p| {
            let answer = p.segment.flags.contains(Flags::SYN | Flags::ACK) && p.from == Client;
            if answer && !core::mem::replace(&mut lost, true) { Fate::Drop } else { Fate::Pass }
        });
        let [client, server] = pair.driver.io.paths[0].addresses;
        let (client, server) = (core::net::SocketAddr::new(client, 1000), core::net::SocketAddr::new(server, 2000));
        let now = pair.now;
        pair.driver.applications.apps[0].handle =
            Some(pair.driver.endpoints[0].connect(now, client, server, config.clone(), &[]).expect("valid"));
        pair.driver.applications.apps[1].handle =
            Some(pair.driver.endpoints[1].connect(now, server, client, config, &[]).expect("valid"));
        pair.settle();
        pair.run_until("both are open", secs(3), |p| p.the(Client).is_connected() && p.the(Server).is_connected());
        assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp());
        pair.send_all(Server, 20_000);
        pair.run_until("all is there", secs(2), |p| p.received(Client) == 20_000);
    }
}

#[test]
fn a_duplicated_syn_does_no_harm() {
    for late in [1, 15, 25, 500] {
        let mut pair = Pair::new(&[10], config());
        pair.script(move |p| if p.is_syn() { Fate::Twice(ms(late)) } else { Fate::Pass });
        pair.driver.applications.apps[0].pending = 100_000;
        pair.connect();
        pair.run_until_received(Server, 100_000, secs(2));
        assert!(pair.the(Server).is_mptcp());
        assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
    }
}

#[test]
fn addresses_of_version_6_take_20_bytes_more() {
    let mut pair = Pair::ipv6(&[10], tcp_config());
    pair.connect();
    assert_eq!(pair.driver.io.log[0].segment.options.mss, Some(1440));
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_000, secs(2));
    assert_eq!(pair.data(Client).map(|p| p.len()).max(), Some(1428));
}

#[test]
fn a_wrong_acknowledgement_of_the_syn_is_reset() {
    // RFC 9293 §3.10.7.3: "If SEG.ACK =< ISS or SEG.ACK > SND.NXT, send a reset".
    let mut pair = Pair::new(&[10], tcp_config());
    pair.open();
    let syn = pair.driver.io.log[0].segment.clone();
    let mut answer = pathweave_wire::Segment::new(syn.dst, syn.src);
    answer.flags = Flags::SYN | Flags::ACK;
    answer.ack = syn.seq.wrapping_add(100);
    pair.inject(Client, answer.clone());
    let reset = pair.sent(Client).next_back().expect("an answer");
    assert_eq!((reset.segment.flags, reset.segment.seq), (Flags::RST, answer.ack));
    pair.run_until("it still opens", secs(1), |p| p.the(Client).is_connected());
}

/// The peer still has an earlier connection between these addresses. It answers the SYN with a challenge (RFC 5961 §4),
/// our reset ends that connection, and the next SYN leaves at once.
#[test]
fn a_connection_of_before_delays_the_next_by_no_second() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config);
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        // The client's program starts again: without a secret it takes the same port.
        pair.driver.endpoints[0] = Endpoint::new(Secrets::reproducible(Random::substream(7, "again")));
        pair.driver.applications.apps[0].handle = None;
        let start = pair.now;
        pair.open();
        pair.run_until("the client is connected", secs(1), |p| p.the(Client).is_connected());
        assert!(pair.now.since(start) <= ms(45), "{}", pair.describe());
    }
}

#[test]
fn a_server_that_gives_a_handshake_up_resets_it() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.script(|p| if p.from == Client && !p.is_syn() { Fate::Drop } else { Fate::Pass });
    pair.open();
    // The client's answers are lost: seven SYN/ACKs, then the reset.
    pair.run_for(secs(200));
    let last = pair.sent(Server).next_back().expect("sent");
    assert!(last.is_rst() && last.at == at_ms(127_010), "{last:?}");
    assert_eq!(pair.driver.endpoints[1].connections(), 0);
}

#[test]
fn a_peer_that_names_no_segment_size_gets_536_bytes() {
    // A peer that announces less than every host takes does not get less either.
    for named in [None, Some(0), Some(1), Some(48), Some(535)] {
        let mut pair = Pair::new(&[10], tcp_config());
        pair.script(move |p| {
            if p.from == Server {
                p.segment.options.mss = named.filter(|_| p.segment.flags.contains(Flags::SYN));
            }
            Fate::Pass
        });
        pair.connect();
        pair.write(Client, 20_000);
        pair.run_until_received(Server, 20_000, secs(2));
        // Options count: RFC 9293 §3.7.1.
        let largest = pair.data(Client).map(|p| p.len() + p.segment.options.wire_len() as u32).max();
        assert_eq!(largest, Some(536), "{named:?}");
    }
}

/// A segment from before the window, such as a keep-alive probe, completes no handshake: its options were not read
/// either.
#[test]
fn an_old_segment_does_not_complete_the_handshake() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config);
        pair.script(|p| if p.number == 2 { Fate::Late(secs(1)) } else { Fate::Pass });
        pair.open();
        pair.run_for(ms(25));
        let mut old = pair.driver.io.log[2].segment.clone();
        old.seq = old.seq.wrapping_sub(1);
        pair.inject(Server, old);
        assert_eq!(pair.happened(Server, |e| *e == ConnectionEvent::Connected), None);
        pair.run_for(secs(2));
        assert!(pair.happened(Server, |e| *e == ConnectionEvent::Connected).is_some());
    }
}

/// "If SND.UNA < SEG.ACK =< SND.NXT, then enter ESTABLISHED state ... If the segment acknowledgment is not acceptable,
/// form a reset segment <SEQ=SEG.ACK><CTL=RST> and send it" (RFC 9293 §3.10.7.4): a sender that has not seen the
/// SYN/ACK opens nothing.
#[test]
fn only_the_acknowledgement_of_the_syn_ack_completes_the_handshake() {
    for config in [tcp_config(), config()] {
        for off_by in [u32::MAX, 1, 1 << 20] {
            let mut pair = Pair::new(&[10], config.clone());
            pair.script(|p| if p.number == 2 { Fate::Late(secs(1)) } else { Fate::Pass });
            pair.open();
            pair.run_for(ms(25));
            let mut guess = pair.driver.io.log[2].segment.clone();
            guess.ack = guess.ack.wrapping_add(off_by);
            pair.clear_log();
            pair.inject(Server, guess.clone());
            assert_eq!(pair.happened(Server, |e| *e == ConnectionEvent::Connected), None, "{off_by}");
            let answers: Vec<_> = pair.sent(Server).map(|p| (p.segment.flags, p.segment.seq)).collect();
            assert_eq!(answers, [(Flags::RST, guess.ack)], "{off_by}");
            // The client did not send this: its own answer still counts.
            pair.script(|p| if p.is_rst() { Fate::Drop } else { Fate::Pass });
            pair.run_until("the server is connected", secs(2), |p| {
                p.happened(Server, |e| *e == ConnectionEvent::Connected).is_some()
            });
        }
    }
}

/// "If the RST bit is set ... and the ACK was acceptable" (RFC 9293 §3.10.7.3): the sender of any other reset has not
/// seen the SYN.
#[test]
fn a_reset_that_does_not_acknowledge_the_syn_ends_no_handshake() {
    let mut pair = Pair::new(&[10], config());
    pair.open();
    let syn = pair.driver.io.log[0].segment.clone();
    let mut reset = Segment::new(syn.dst, syn.src);
    for (flags, ack) in [
        (Flags::RST, syn.seq.wrapping_add(1)),
        (Flags::RST | Flags::ACK, syn.seq),
        (Flags::RST | Flags::ACK, syn.seq.wrapping_add(2)),
    ] {
        (reset.flags, reset.ack) = (flags, ack);
        pair.inject(Client, reset.clone());
        assert_eq!(pair.the(Client).error(), None, "{flags:?} {ack}");
    }
    pair.run_until("it opens", ms(100), |p| p.the(Client).is_connected());
}

/// RFC 5961 §3.2 holds before the handshake is complete too.
#[test]
fn a_reset_beside_the_exact_number_ends_no_half_open_connection() {
    let mut pair = Pair::new(&[10], config());
    pair.open();
    pair.run_for(ms(15));
    let syn = pair.driver.io.log[0].segment.clone();
    let mut reset = Segment::new(syn.src, syn.dst);
    reset.flags = Flags::RST;
    for beside in [0, 2, 1000] {
        reset.seq = syn.seq.wrapping_add(beside);
        pair.inject(Server, reset.clone());
    }
    pair.run_until("it opens", ms(100), |p| p.the(Client).is_connected());
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1000, secs(1));
}

/// "The window field in a segment where the SYN bit is set (i.e., a <SYN> or <SYN,ACK>) MUST NOT be scaled" (RFC 7323
/// §2.2).
#[test]
fn a_peers_syn_has_no_scaled_window() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.script(|p| {
        if p.from == Server && p.is_syn() {
            p.segment.window = 3000;
        }
        // Only the SYN/ACK announces a window.
        if p.from == Server && !p.is_syn() { Fate::Drop } else { Fate::Pass }
    });
    pair.open();
    pair.run_for(ms(50));
    pair.write(Client, 100_000);
    pair.run_for(ms(500));
    let end = pair.data(Client).map(|p| pair.relative(p) + p.len()).max().expect("there is room for data");
    assert!(end <= 1 + 3000, "{end}");
}
