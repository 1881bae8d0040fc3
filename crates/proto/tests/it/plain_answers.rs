//! Answers without signals, or with less than a peer of Multipath TCP says, and the fallback (RFC 8684 §3.7).

use crate::pair::*;
use core::net::IpAddr;
use pathweave_proto::ConnectionEvent;
use pathweave_proto::connection::{Happening, Kinds};
use pathweave_wire::mptcp::{AddressId, DataNumber, Dss, Mapping, MptcpOption, ResetReason};
use pathweave_wire::{Flags, Payload};

/// A peer that may have fallen back gets no data again under another mapping: without its options it would be new data.
#[test]
fn what_is_acknowledged_without_signals_does_not_come_twice() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 5000);
    pair.run_until_received(Server, 5000, secs(1));
    pair.run_for(secs(1));
    pair.script(|p| {
        if !p.is_syn() {
            p.strip();
        }
        Fate::Pass
    });
    pair.clear_log();
    pair.write(Client, 5000);
    pair.run_for(secs(30));
    let ends: u64 = pair.data(Client).map(|p| u64::from(p.len())).sum();
    assert_eq!(ends, 5000, "nothing goes out again");
}

/// The same if the first such acknowledgement has a data sequence signal but no DATA_ACK: an infinite mapping that is
/// dropped because there is no memory for its data.
#[test]
fn what_is_acknowledged_by_an_infinite_mapping_does_not_come_twice() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 5000);
    pair.run_until_received(Server, 5000, secs(1));
    pair.run_for(secs(1));
    pair.script(|p| {
        if p.from == Server {
            let mapping = Mapping { dsn: DataNumber::Short(0), ssn: 1, len: 0, checksum: None };
            p.segment.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false });
        }
        Fate::Pass
    });
    pair.clear_log();
    pair.write(Client, 5000);
    pair.run_for(secs(30));
    let sent: u64 = pair.data(Client).map(|p| u64::from(p.len())).sum();
    assert_eq!(sent, 5000, "nothing goes out again");
}

/// A join was proved and is gone: the peer may have sent on it, so plain TCP could not continue the stream. Answers
/// without signals do not make the first subflow fall back, and are not blamed on a subflow that joined.
#[test]
fn after_a_join_that_is_gone_a_plain_answer_is_no_fall_back() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.open();
    pair.run_until("both subflows", secs(1), |p| (p.usable(Client), p.usable(Server)) == (2, 2));
    for side in [Client, Server] {
        let mut reset = pair.forge(side.other(), 1);
        reset.flags = Flags::RST;
        reset.options = Default::default();
        pair.inject(side, reset);
    }
    pair.kill(1);
    pair.script(|p| {
        if p.from == Server {
            p.strip();
        }
        Fate::Pass
    });
    pair.clear_log();
    pair.write(Client, 5000);
    pair.run_for(secs(2));
    assert_eq!(pair.received(Server), 5000);
    assert!(pair.the(Client).is_mptcp() && pair.the(Server).is_mptcp());
    assert!(pair.sent(Client).all(|p| p.path == 1 || !p.is_rst()), "{}", pair.describe());
}

/// An announcement has room for its own option only. On a subflow that joined, too, it is no answer of plain TCP.
#[test]
fn an_announcement_that_acknowledges_data_of_a_joined_subflow_resets_nothing() {
    let mut pair = Pair::new(&[10, 10], config());
    // No signal has come on it yet.
    pair.script(|p| {
        if p.path == 1 && p.from == Server && !p.is_syn() {
            p.strip();
        }
        Fate::Pass
    });
    pair.open();
    pair.run_until("both subflows", secs(1), |p| (p.usable(Client), p.usable(Server)) == (2, 2));
    pair.script(|p| if p.path == 0 && p.is_data() || p.from == Server { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 20_000);
    pair.run_for(ms(15));
    let mut announcement = pair.forge(Server, 1);
    assert!(announcement.ack != pair.isn(Client, 1).wrapping_add(1), "it acknowledges data");
    announcement.options.dss = None;
    let (id, address) = (AddressId(9), IpAddr::from([10, 9, 9, 9]));
    announcement.options.mptcp =
        vec![MptcpOption::AddAddress { id, address, port: None, hmac: Some(1) }].into_iter().collect();
    pair.inject(Client, announcement);
    pair.run_for(ms(10));
    assert!(pair.sent(Client).all(|p| !p.is_rst()), "{}", pair.describe());
}

/// A peer that has fallen back as well may say so on its FIN, and one that has not yet may repeat its DATA_FIN. Neither
/// contradicts the stream.
#[test]
fn an_infinite_mapping_on_a_fin_and_a_data_fin_are_no_contradiction_after_the_fall_back() {
    for fin in [false, true] {
        let mut pair = Pair::new(&[10], config());
        pair.script(|p| {
            if p.from == Client && p.is_data() {
                p.strip();
            }
            Fate::Pass
        });
        pair.connect();
        pair.write(Client, 5000);
        pair.run_until_received(Server, 5000, secs(1));
        pair.run_for(secs(1));
        assert!(!pair.the(Server).is_mptcp());
        let mut forged = pair.forge(Client, 0);
        let (start, end) = (pair.wire_dsn(Client, 0), pair.wire_dsn(Client, 5000));
        let mapping = match fin {
            true => Mapping { dsn: DataNumber::Long(start), ssn: 1, len: 0, checksum: None },
            false => Mapping { dsn: DataNumber::Long(end), ssn: 0, len: 1, checksum: None },
        };
        forged.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: !fin });
        if fin {
            forged.flags |= Flags::FIN;
        }
        pair.inject(Server, forged);
        pair.run_for(ms(100));
        assert!(pair.happened(Server, |e| matches!(e, ConnectionEvent::Failed(_))).is_none());
        assert_eq!(pair.the(Server).at_end(), fin);
    }
}

/// An incomplete join cannot carry plain TCP's data, so nothing falls back to it.
#[test]
fn data_without_a_mapping_on_an_incomplete_join_is_no_fall_back() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.script(|p| if p.path == 1 && p.from == Server && !p.is_syn() { Fate::Drop } else { Fate::Pass });
    pair.open();
    pair.run_until("the client waits for the fourth ACK", secs(1), |p| {
        p.sent(Client).any(|p| p.path == 1 && !p.is_syn())
    });
    let mut forged = pair.forge(Server, 1);
    forged.options.dss = None;
    forged.options.mptcp.clear();
    forged.payload = Payload::Bytes(vec![1; 100].into());
    pair.inject(Client, forged);
    assert!(pair.the(Client).is_mptcp() && pair.received(Client) == 0, "{}", pair.describe());
    pair.write(Server, 1000);
    pair.run_until_received(Client, 1000, secs(2));
}

/// The server has fallen back and ends its stream, and the signals of that are removed. The client has joined another
/// subflow and cannot fall back too, even if the join is gone. The server would take a FIN in return for the end of a
/// stream that has not ended.
#[test]
fn a_fin_without_any_signal_after_a_join_is_answered_by_a_reset() {
    for gone in [false, true] {
        let mut pair = Pair::new(&[10, 10], config());
        pair.open();
        pair.run_until("both subflows", secs(1), |p| (p.usable(Client), p.usable(Server)) == (2, 2));
        if gone {
            let mut reset = pair.forge(Server, 1);
            reset.flags = Flags::RST | Flags::ACK;
            reset.options.mptcp.push(MptcpOption::Reset { transient: false, reason: ResetReason::Prohibited });
            pair.inject(Client, reset);
            assert_eq!(pair.usable(Client), 1);
        }
        let mut fin = pair.forge(Server, 0);
        fin.flags |= Flags::FIN;
        pair.clear_log();
        pair.inject(Client, fin);
        pair.run_for(ms(5));
        let answers: Vec<_> = pair.sent(Client).filter(|p| p.path == 0).collect();
        assert!(answers.iter().all(|p| !p.is_fin()) && answers.iter().any(|p| p.is_rst()), "{}", pair.describe());
        assert!(pair.the(Client).is_mptcp() && !pair.the(Client).at_end());
    }
}

/// After the DATA_FIN, a FIN is the end of its subflow alone, whatever happens to its options. If data waits for its
/// mapping, the end of the stream is unknown.
#[test]
fn a_fin_without_any_signal_after_the_data_fin_or_unmapped_data_is_no_fall_back() {
    let mut pair = Pair::new(&[10], config());
    pair.driver.endpoints.iter_mut().for_each(|e| e.observe_all(Kinds::CONNECTION));
    pair.script(|p| {
        if p.is_fin() {
            p.strip();
        }
        Fate::Pass
    });
    pair.connect();
    pair.send_all(Client, 1000);
    pair.send_all(Server, 1000);
    pair.run_for(secs(10));
    assert_eq!((pair.received(Client), pair.received(Server)), (1000, 1000));
    assert!(pair.sent(Client).any(Packet::is_fin) && !pair.driver.io.log.iter().any(Packet::is_rst));
    for side in [Client, Server] {
        let told = pair.observed(side);
        assert!(!told.iter().any(|o| matches!(o.what, Happening::FellBack(_))), "{told:?}");
    }

    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let mut unmapped = pair.forge(Client, 0);
    unmapped.payload = Payload::Bytes(vec![1; 100].into());
    pair.inject(Server, unmapped.clone());
    (unmapped.flags, unmapped.seq) = (Flags::ACK | Flags::FIN, unmapped.seq.wrapping_add(100));
    unmapped.payload = Payload::EMPTY;
    pair.inject(Server, unmapped);
    assert!(pair.the(Server).is_mptcp() && !pair.the(Server).at_end());
    assert_eq!(pair.received(Server), 1000);
}

/// "an ACK is received for data (not just for the SYN)" (RFC 8684 §3.7): an acknowledgement of the SYN alone, as of a
/// server whose options are lost, says nothing of data in flight.
#[test]
fn a_plain_acknowledgement_of_the_syn_alone_is_no_fall_back() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    let of_syn = pair.forge(Server, 0);
    pair.script(|p| if p.from == Server { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 1000);
    pair.inject(Client, of_syn);
    assert!(pair.the(Client).is_mptcp());
    pair.no_script();
    pair.write(Client, 1000);
    pair.run_until_received(Server, 2000, secs(5));
    assert!(pair.the(Client).is_mptcp() && pair.the(Server).is_mptcp());
}

/// The acknowledgement of a FIN on a subflow that has carried no data resets nothing either.
#[test]
fn a_plain_acknowledgement_of_a_fin_alone_resets_nothing() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(|p| {
        if p.from == Server && p.path == 1 && !p.is_syn() {
            p.strip();
        }
        Fate::Pass
    });
    pair.connect_with_subflows(2);
    pair.run_for(secs(1));
    let address = pair.driver.io.paths[1].addresses[0];
    pair.command(Client, |c, now| c.remove_address(now, address));
    pair.run_for(secs(1));
    assert!(pair.sent(Client).any(|p| p.path == 1 && p.is_fin()));
    assert!(!pair.sent(Client).any(Packet::is_rst), "{}", pair.describe());
    assert_eq!(pair.data(Client).filter(|p| p.path == 1).count(), 0, "it has carried nothing");
}

/// An answer outside of the window, which may be a blind attacker's, causes no fallback either.
#[test]
fn a_plain_answer_outside_of_the_window_is_no_fall_back() {
    for (beyond, plain) in [(0, true), (1, false), (4 << 20, false)] {
        let mut pair = Pair::new(&[10], config());
        pair.connect();
        pair.run_for(secs(1));
        pair.kill(0);
        pair.write(Server, 1000);
        let receiving = pair.the(Server).snapshot().receiving;
        // The window that was promised, or the offered one with the rounding of its field.
        let room = (receiving.window_end - receiving.in_order_bytes + (1 << 14)).max(1 << 20);
        let mut answer = pair.forge(Client, 0);
        answer.seq = answer.seq.wrapping_add((room + beyond) as u32);
        answer.ack = answer.ack.wrapping_add(1000);
        pair.inject(Server, answer);
        assert_eq!(pair.the(Server).is_mptcp(), !plain, "{beyond}");
    }
}
