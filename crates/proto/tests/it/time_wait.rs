//! TIME-WAIT: what prolongs it, and what ends it (RFC 9293 §3.6.1, §3.10.7.4).

use crate::pair::*;
use core::net::SocketAddr;
use pathweave_proto::config::{ConnectionConfig, TcpConfig};
use pathweave_wire::{Flags, Segment};

/// The client waits for old segments, the server is gone; the client's last acknowledgement.
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
        // The server is gone, and would end it by a reset.
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

/// The server has closed first, so that it waits; the client's program starts again and takes the same port.
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
        // The first SYN of all comes again: a challenge is all it gets.
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
