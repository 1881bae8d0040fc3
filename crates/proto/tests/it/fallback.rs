//! Multipath TCP's options get lost on the way (RFC 8684 §3.7).

use crate::pair::*;
use pathweave_wire::mptcp::{MptcpOption, ResetReason};

fn strip(packet: &mut Packet) {
    packet.segment.options.mptcp.clear();
    packet.segment.options.dss = None;
}

/// After this both ends are plain TCP, with all data delivered in both directions, whoever writes first.
#[track_caller]
fn falls_back(rule: fn(&Packet) -> bool) {
    for first in [Client, Server] {
        let mut pair = Pair::new(&[10, 20], config());
        pair.script(move |p| {
            if rule(p) {
                strip(p);
            }
            Fate::Pass
        });
        pair.apps[first as usize].pending = 80_000;
        pair.open();
        pair.run_until_received(first.other(), 80_000, secs(5));
        pair.send_all(first.other(), 80_000);
        pair.run_until_received(first, 80_000, secs(5));
        pair.send_all(first, 1000);
        pair.run_until_received(first.other(), 81_000, secs(5));
        let ends = [Client, Server].map(|s| pair.connection(s).map(|c| c.is_mptcp()));
        assert!(!ends.contains(&Some(true)), "{first:?} writes first");
        pair.run_for(secs(100));
        assert_eq!((pair.hosts[0].connections(), pair.hosts[1].connections()), (0, 0));
        assert!(pair.log.iter().all(|p| !p.is_rst()));
    }
}

/// Bad-input row 7, and the same on the SYN.
#[test]
fn options_lost_on_a_syn() {
    falls_back(|p| p.is_syn() && p.from == Client);
    falls_back(|p| p.is_syn() && p.from == Server);
}

/// Bad-input row 8.
#[test]
fn options_lost_on_the_third_ack_and_all_after_it() {
    falls_back(|p| !p.is_syn());
    falls_back(|p| !p.is_syn() && p.from == Client);
}

/// Bad-input row 8: only the acknowledgement itself, or only the first data.
#[test]
fn options_lost_on_one_segment_of_the_handshake() {
    let mut third = Pair::new(&[10, 20], config());
    third.script(|p| {
        if p.number == 2 {
            strip(p);
        }
        Fate::Pass
    });
    third.connect();
    third.write(Client, 50_000);
    third.run_until_received(Server, 50_000, secs(2));
    assert!(!third.the(Server).is_mptcp() && !third.the(Client).is_mptcp());

    let mut data = Pair::new(&[10], config());
    let mut stripped = false;
    data.script(move |p| {
        if p.is_data() && !stripped {
            stripped = true;
            strip(p);
        }
        Fate::Pass
    });
    data.connect();
    data.run_for(ms(100));
    data.write(Client, 50_000);
    data.run_until_received(Server, 50_000, secs(2));
    assert!(!data.the(Server).is_mptcp() && !data.the(Client).is_mptcp());
}

/// An announcement has shown that the peer speaks Multipath TCP, and a join is under way, but no data has got through so.
#[test]
fn options_lost_on_the_first_data_after_an_announcement() {
    for from in [Client, Server] {
        let mut pair = Pair::new(&[10, 20], config());
        let mut stripped = false;
        pair.script(move |p| {
            if p.is_data() && p.from == from && !stripped {
                stripped = true;
                strip(p);
            }
            Fate::Pass
        });
        pair.apps[from as usize].pending = 80_000;
        pair.open();
        pair.run_until_received(from.other(), 80_000, secs(5));
        pair.run_for(secs(5));
        assert!(!pair.the(Server).is_mptcp() && !pair.the(Client).is_mptcp(), "{from:?}");
        assert_eq!((pair.received(from.other()), pair.usable(Client), pair.usable(Server)), (80_000, 1, 1), "{from:?}");
        assert!(pair.log.iter().all(|p| p.path == 1 || !p.is_rst()), "{from:?}");
    }
}

#[test]
fn options_lost_on_the_way_back_only() {
    falls_back(|p| !p.is_syn() && p.from == Server);
}

#[test]
fn a_subflow_that_joined_and_is_answered_without_options_is_reset() {
    for side in [Client, Server] {
        let mut pair = Pair::new(&[10, 10], config());
        pair.script(move |p| {
            let joins = p.has_option(|o| matches!(o, MptcpOption::Join(_)));
            // The fourth ACK is the second of the server: no data is out yet.
            if p.path == 1 && p.from == side && !joins {
                strip(p);
            }
            Fate::Pass
        });
        pair.connect();
        pair.write(Client, 1);
        pair.run_for(ms(300));
        pair.send_all(side.other(), 300_000);
        let before = if side == Server { 1 } else { 0 };
        pair.run_until_received(side, 300_000 + before, secs(5));
        let reset = pair.sent(side.other()).find(|p| p.is_rst() && p.path == 1).expect("a reset");
        assert!(reset.has_option(|o| matches!(o, MptcpOption::Reset { reason: ResetReason::Middlebox, .. })));
        assert!(pair.the(side).is_mptcp());
    }
}

#[test]
fn options_lost_in_the_middle_break_a_subflow_of_several() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    pair.write(Client, 200_000);
    pair.run_until_received(Server, 200_001, secs(2));
    pair.script(|p| {
        if p.path == 0 {
            strip(p);
        }
        Fate::Pass
    });
    pair.write(Client, 500_000);
    pair.run_until_received(Server, 700_001, secs(5));
    pair.run_for(secs(2));
    let reset = pair.sent(Server).find(|p| p.is_rst()).expect("a reset");
    assert_eq!(reset.path, 0);
    assert!(pair.the(Server).is_mptcp() && pair.the(Client).is_mptcp());
}

/// One segment that was stripped ends no connection: its data comes again under a new mapping.
#[test]
fn options_lost_on_one_segment_of_the_only_subflow() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 50_000, secs(2));
    let mut stripped = false;
    pair.script(move |p| {
        if p.is_data() && !stripped {
            stripped = true;
            strip(p);
        }
        Fate::Pass
    });
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 100_000, secs(2));
    pair.run_for(secs(100));
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 150_000, secs(2));
    assert!(pair.the(Server).is_mptcp() && pair.log.iter().all(|p| !p.is_rst()));
}

/// "Once this is detected (by the subflow-level receive buffer filling up, since there is no mapping available in order to
/// DATA_ACK this data), the subflow SHOULD be treated as broken and closed with a RST" (RFC 8684 §3.7).
#[test]
fn options_lost_for_good_on_the_only_subflow_end_the_connection() {
    let receive_buffer = pathweave_proto::config::ReceiveBuffer::Fixed(100_000);
    let mut pair = Pair::new(&[10], pathweave_proto::config::ConnectionConfig { receive_buffer, ..config() });
    pair.connect();
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 50_000, secs(2));
    pair.script(|p| {
        if p.from == Client {
            strip(p);
        }
        Fate::Pass
    });
    pair.write(Client, 500_000);
    pair.run_for(secs(60));
    let reset = pair.sent(Server).find(|p| p.is_rst()).expect("a reset");
    assert!(reset.has_option(|o| matches!(o, MptcpOption::Reset { reason: ResetReason::Middlebox, .. })));
    assert_eq!(pair.received(Server), 50_000, "nothing unmapped is delivered");
}
