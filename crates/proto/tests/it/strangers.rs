//! Segments of strangers: impossible ones are neither answered nor kept (RFC 9293 §3.9.2.3).

use crate::pair::*;
use pathweave_wire::{Flags, Segment};

type Change = Box<dyn Fn(&mut Segment)>;

#[test]
fn what_nobody_can_have_sent_is_not_answered() {
    let mut pair = Pair::new(&[10], config());
    pair.open();
    let like = pair.driver.io.log[0].segment.clone();
    let from = |ip: &'static str| move |s: &mut Segment| s.src.set_ip(ip.parse().expect("an address"));
    let to = |ip: &'static str| move |s: &mut Segment| s.dst.set_ip(ip.parse().expect("an address"));
    let changes: Vec<Change> = vec![
        Box::new(from("224.0.0.1")),
        Box::new(from("255.255.255.255")),
        Box::new(from("0.0.0.0")),
        Box::new(from("127.0.0.1")),
        Box::new(from("ff02::1")),
        Box::new(to("224.0.0.1")),
        Box::new(to("255.255.255.255")),
        Box::new(|s: &mut Segment| s.src = s.dst),
        Box::new(|s: &mut Segment| s.src.set_port(0)),
        Box::new(|s: &mut Segment| s.flags |= Flags::FIN),
        Box::new(|s: &mut Segment| s.flags |= Flags::RST),
    ];
    for (n, change) in changes.iter().enumerate() {
        for flags in [Flags::SYN, Flags::ACK] {
            let mut forged = like.clone();
            forged.flags = flags;
            forged.src.set_port(7000);
            change(&mut forged);
            if forged.flags.contains(Flags::ACK) && forged.flags.intersects(Flags::FIN | Flags::RST) {
                continue;
            }
            let now = pair.now;
            pair.driver.endpoints[1].handle_segment(now, pathweave_wire::Ecn::NotEct, &forged);
            assert!(pair.driver.endpoints[1].poll_transmit(now, 1).is_none(), "change {n}, {flags:?}");
        }
    }
    // The same segment without a change is answered.
    let mut honest = like;
    honest.src.set_port(7000);
    pair.inject(Server, honest);
    assert!(pair.sent(Server).next_back().is_some_and(|p| p.is_syn()));
}

/// "If the state is LISTEN": only a SYN alone asks for a connection (RFC 9293 §3.10.7.2); all else is answered with a
/// reset.
#[test]
fn nothing_but_a_syn_alone_opens_a_connection() {
    for flags in [Flags::SYN | Flags::ACK, Flags::ACK, Flags::NONE, Flags::FIN, Flags::PSH] {
        for config in [tcp_config(), config()] {
            let mut pair = Pair::new(&[10], config);
            pair.open();
            let mut forged = pair.driver.io.log[0].segment.clone();
            pair.clear_log();
            forged.flags = flags;
            forged.src.set_port(7000);
            pair.inject(Server, forged);
            assert_eq!(pair.driver.endpoints[1].connections(), 0, "{flags:?}");
            assert_eq!(pair.sent(Server).filter(|p| p.is_rst()).count(), 1, "{flags:?}");
            assert_eq!(pair.sent(Server).count(), 1, "{flags:?}");
        }
    }
}
