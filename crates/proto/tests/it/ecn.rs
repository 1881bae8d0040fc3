//! Explicit congestion notification (RFC 3168).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, TcpConfig};
use pathweave_wire::{Ecn, Flags};

fn ecn_config() -> ConnectionConfig {
    ConnectionConfig { tcp: TcpConfig { ecn: true, ..TcpConfig::default() }, ..tcp_config() }
}

#[test]
fn it_is_asked_for_and_agreed_on_in_the_handshake() {
    for (client, server, agreed) in [(true, true, true), (true, false, false), (false, true, false)] {
        let with = |ecn| ConnectionConfig { tcp: TcpConfig { ecn, ..TcpConfig::default() }, ..tcp_config() };
        let mut pair = Pair::new(&[10], with(client));
        pair.listen(with(server));
        pair.connect();
        pair.write(Client, 20_000);
        pair.run_until_received(Server, 20_000, secs(1));
        assert_eq!(pair.driver.io.log[0].segment.flags.contains(Flags::ECE | Flags::CWR), client);
        assert_eq!(pair.driver.io.log[1].segment.flags.contains(Flags::ECE), agreed);
        assert_eq!(pair.data(Client).all(|p| p.ecn == Ecn::Ect0), agreed);
        assert!(pair.driver.io.log.iter().filter(|p| !p.is_data()).all(|p| p.ecn == Ecn::NotEct));
    }
}

#[test]
fn a_mark_is_echoed_until_answered_and_halves_the_window_once() {
    let mut pair = Pair::new(&[50], ecn_config());
    pair.connect();
    pair.write(Client, 40 * 1448);
    pair.run_for(secs(1));
    let before = pair.subflow(Client, 0).window.cwnd;
    let start = pair.now;
    // Every packet of the first flight is marked.
    pair.script(move |p| {
        if p.is_data() && p.at == start {
            p.ecn = Ecn::Ce;
        }
        Fate::Pass
    });
    pair.clear_log();
    pair.write(Client, 200 * 1448);
    pair.run_until_received(Server, 240 * 1448, secs(5));
    let cwr: Vec<_> = pair.data(Client).filter(|p| p.segment.flags.contains(Flags::CWR)).collect();
    assert_eq!(cwr.len(), 1, "one answer to one round trip of marks");
    let answered = cwr[0].at + ms(50);
    let echoes: Vec<_> = pair.sent(Server).filter(|p| p.segment.flags.contains(Flags::ECE)).map(|p| p.at).collect();
    assert!(!echoes.is_empty() && echoes.iter().all(|t| *t <= answered));
    let counters = pair.subflow(Client, 0).counters;
    assert_eq!((counters.retransmitted_segments, counters.recoveries, counters.timeouts), (0, 0, 0));
    assert!(before >= 10);
}

#[test]
fn repetitions_are_not_marked_capable() {
    let mut pair = Pair::new(&[20], ecn_config());
    pair.connect();
    pair.drop_some(3, |p| p.is_data());
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_000, secs(5));
    let mut seen = std::collections::BTreeSet::new();
    for p in pair.data(Client) {
        let first = seen.insert(pair.relative(p));
        // RFC 3168 §6.1.5.
        assert_eq!(p.ecn, if first { Ecn::Ect0 } else { Ecn::NotEct });
    }
}
