//! Wrong answers to a client's SYN, and lost SYNs (RFC 9293 §3.10.7.3).

use crate::pair::*;
use pathweave_wire::{Flags, Segment};

/// Only an acknowledgement that is not a reset shows an earlier connection, once, and only right after the first SYN.
/// Otherwise an attacker who forges them could make a client send as many SYNs.
#[test]
fn only_the_first_wrong_acknowledgement_hastens_the_next_syn() {
    let rows =
        [(Flags::ACK, 0, 1), (Flags::SYN | Flags::ACK, 0, 1), (Flags::RST | Flags::ACK, 0, 0), (Flags::ACK, 1500, 0)];
    for (flags, after, hastened) in rows {
        let mut pair = Pair::new(&[10], tcp_config());
        pair.kill(0);
        pair.open();
        pair.run_for(ms(after));
        let syn = pair.driver.io.log[0].segment.clone();
        let mut wrong = Segment::new(syn.dst, syn.src);
        (wrong.flags, wrong.ack) = (flags, syn.seq.wrapping_add(100));
        let before = pair.sent(Client).filter(|p| p.is_syn()).count();
        for _ in 0..10 {
            pair.inject(Client, wrong.clone());
            pair.run_for(ms(50));
        }
        assert_eq!(pair.sent(Client).filter(|p| p.is_syn()).count() - before, hastened, "{flags:?} after {after} ms");
    }
}

/// "If the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly transmitted SYN MUST be one
/// segment" (RFC 5681 §3.1). One loss may be chance, and a SYN that was asked for again is not lost.
#[test]
fn the_window_begins_with_one_segment_where_two_syns_were_lost() {
    for (lost, hastened, window) in [(0, false, 10), (0, true, 10), (1, false, 10), (2, false, 1)] {
        let mut pair = Pair::new(&[10], tcp_config());
        if lost > 0 {
            pair.drop_some(lost, |p| p.from == Client && p.is_syn());
        }
        pair.open();
        if hastened {
            let syn = pair.driver.io.log[0].segment.clone();
            let mut wrong = Segment::new(syn.dst, syn.src);
            (wrong.flags, wrong.ack) = (Flags::ACK, syn.seq.wrapping_add(100));
            pair.inject(Client, wrong);
        }
        pair.run_until("the client is connected", secs(10), |p| p.the(Client).is_connected());
        assert_eq!(pair.subflow(Client, 0).window.cwnd, window, "{lost} {hastened}");
    }
}
