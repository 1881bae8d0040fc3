//! Multipath TCP's options are lost on the way (RFC 8684 §3.7).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, FailureDetection, PathManager, ReceiveBuffer};
use pathweave_units::Instant;
use pathweave_wire::Payload;
use pathweave_wire::mptcp::{DataNumber, Dss, Mapping, MptcpOption, ResetReason};

/// Both ends become plain TCP, with all data delivered in both directions, whichever side writes first.
#[track_caller]
fn falls_back(rule: fn(&Packet) -> bool) {
    for (first, config) in
        [Client, Server].into_iter().flat_map(|first| on_each_host(config()).into_iter().map(move |c| (first, c)))
    {
        let mut pair = Pair::new(&[10, 20], config);
        pair.script(move |p| {
            if rule(p) {
                p.strip();
            }
            Fate::Pass
        });
        pair.driver.applications.apps[first as usize].pending = 80_000;
        pair.open();
        pair.run_until_received(first.other(), 80_000, secs(5));
        pair.send_all(first.other(), 80_000);
        pair.run_until_received(first, 80_000, secs(5));
        pair.send_all(first, 1000);
        pair.run_until_received(first.other(), 81_000, secs(5));
        let ends = [Client, Server].map(|s| pair.connection(s).map(|c| c.is_mptcp()));
        assert!(!ends.contains(&Some(true)), "{first:?} writes first");
        pair.run_for(secs(100));
        assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 0));
        assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
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
            p.strip();
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
            p.strip();
        }
        Fate::Pass
    });
    data.connect();
    data.run_for(ms(100));
    data.write(Client, 50_000);
    data.run_until_received(Server, 50_000, secs(2));
    assert!(!data.the(Server).is_mptcp() && !data.the(Client).is_mptcp());
}

/// An announcement has shown that the peer speaks Multipath TCP, and a join is under way, but no data has arrived that
/// way.
#[test]
fn options_lost_on_the_first_data_after_an_announcement() {
    for from in [Client, Server] {
        let mut pair = Pair::new(&[10, 20], config());
        let mut stripped = false;
        pair.script(move |p| {
            if p.is_data() && p.from == from && !stripped {
                stripped = true;
                p.strip();
            }
            Fate::Pass
        });
        pair.driver.applications.apps[from as usize].pending = 80_000;
        pair.open();
        pair.run_until_received(from.other(), 80_000, secs(5));
        pair.run_for(secs(5));
        assert!(!pair.the(Server).is_mptcp() && !pair.the(Client).is_mptcp(), "{from:?}");
        assert_eq!((pair.received(from.other()), pair.usable(Client), pair.usable(Server)), (80_000, 1, 1), "{from:?}");
        assert!(pair.driver.io.log.iter().all(|p| p.path == 1 || !p.is_rst()), "{from:?}");
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
            // The fourth ACK is the server's second segment; no data is in flight yet.
            if p.path == 1 && p.from == side && !joins {
                p.strip();
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
            p.strip();
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

/// One stripped segment ends no connection: its data comes again under a new mapping.
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
            p.strip();
        }
        Fate::Pass
    });
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 100_000, secs(2));
    pair.run_for(secs(100));
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 150_000, secs(2));
    assert!(pair.the(Server).is_mptcp() && pair.driver.io.log.iter().all(|p| !p.is_rst()));
}

/// "Once this is detected (by the subflow-level receive buffer filling up, since there is no mapping available in order
/// to DATA_ACK this data), the subflow SHOULD be treated as broken and closed with a RST" (RFC 8684 §3.7).
#[test]
fn options_lost_for_good_on_the_only_subflow_end_the_connection() {
    let receive_buffer = pathweave_proto::config::ReceiveBuffer::Fixed(100_000);
    let mut pair = Pair::new(&[10], pathweave_proto::config::ConnectionConfig { receive_buffer, ..config() });
    pair.connect();
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 50_000, secs(2));
    pair.script(|p| {
        if p.from == Client {
            p.strip();
        }
        Fate::Pass
    });
    pair.write(Client, 500_000);
    pair.run_for(secs(60));
    let reset = pair.sent(Server).find(|p| p.is_rst()).expect("a reset");
    assert!(reset.has_option(|o| matches!(o, MptcpOption::Reset { reason: ResetReason::Middlebox, .. })));
    assert_eq!(pair.received(Server), 50_000, "nothing unmapped is delivered");
}

/// The segment with the infinite mapping is lost and sent again. Without the mapping the peer would never know.
#[test]
fn an_infinite_mapping_that_is_lost_comes_again() {
    let mut pair = Pair::new(&[10], config());
    let mut lost = false;
    pair.script(move |p| {
        let infinite = p.segment.options.dss.and_then(|d| d.mapping).is_some_and(|m| m.len == 0);
        if p.from == Client && infinite && !lost {
            lost = true;
            return Fate::Drop;
        }
        if p.from == Server && !p.is_syn() {
            p.strip();
        }
        Fate::Pass
    });
    pair.connect();
    pair.write(Client, 20_000);
    pair.run_for(secs(1));
    pair.no_script();
    pair.send_all(Client, 20_000);
    pair.run_until_received(Server, 40_000, secs(3));
    pair.send_all(Server, 20_000);
    pair.run_until_received(Client, 20_000, secs(3));
    assert!(!pair.the(Server).is_mptcp() && !pair.the(Client).is_mptcp());
}

/// The client has fallen back and has only its end to send; the signals of that are stripped too.
#[test]
fn a_fin_without_any_signal_before_the_data_fin_is_the_end_of_the_stream() {
    let mut pair = Pair::new(&[10], config());
    let mut data = 0;
    pair.script(move |p| {
        data += usize::from(p.from == Client && p.is_data());
        if !p.is_syn() && (p.from == Server || data > 0 && !p.is_data()) {
            p.strip();
        }
        Fate::Pass
    });
    pair.connect();
    pair.write(Client, 100);
    pair.run_for(secs(1));
    assert!(!pair.the(Client).is_mptcp() && pair.the(Server).is_mptcp());
    pair.close(Client);
    pair.run_until("the server sees the end", secs(1), |p| p.the(Server).at_end());
    // The other direction continues.
    assert!(!pair.the(Client).at_end());
    pair.send_all(Server, 50_000);
    pair.run_until_received(Client, 50_000, secs(3));
    pair.run_for(secs(100));
    assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 0));
}

/// After the fallback, a mapping that contradicts the subflow's sequence, or a FIN beside a DATA_ACK, shows that the
/// peer has not fallen back: the subflow is reset before a byte is misplaced.
#[test]
fn a_signal_that_contradicts_the_fall_back_is_a_reset() {
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
        let data_ack = Some(DataNumber::Long(pair.wire_dsn(Server, 0)));
        forged.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
        if fin {
            forged.flags |= pathweave_wire::Flags::FIN;
        } else {
            forged.payload = pathweave_wire::Payload::Bytes(vec![1; 100].into());
            let dsn = DataNumber::Long(pair.wire_dsn(Client, 1000));
            forged.options.dss = Some(Dss {
                data_ack,
                mapping: Some(Mapping { dsn, ssn: 5001, len: 100, checksum: None }),
                data_fin: false,
            });
        }
        pair.inject(Server, forged);
        assert!(pair.happened(Server, |e| matches!(e, pathweave_proto::ConnectionEvent::Failed(_))).is_some());
        assert_eq!(pair.received(Server), 5000);
        assert!(!pair.connection(Server).is_some_and(|c| c.at_end()));
    }
}

/// Data that was taken back from a subflow and leaves again on a newly joined one is no sign of life.
#[test]
fn without_any_more_data_acks_a_connection_that_joins_again_and_again_ends() {
    let config = ConnectionConfig {
        failure_detection: FailureDetection::Linux,
        path_manager: PathManager::NDiffPorts(3),
        ..config()
    };
    let mut pair = Pair::new(&[10], config);
    let mut first = None;
    pair.script(move |p| {
        // The first subflow's acknowledgements have no signals from one second on, those of the others never had any.
        let initial = *first.get_or_insert(p.segment.src) == p.segment.dst;
        if p.from == Server && (!initial || p.at > Instant::ZERO + secs(1)) {
            p.segment.options.dss = None;
        }
        Fate::Pass
    });
    pair.connect();
    pair.write(Client, 1);
    pair.run_for(secs(2));
    pair.write(Client, 100_000);
    pair.run_for(secs(600));
    assert!(pair.sent(Client).filter(|p| p.is_syn()).count() > 100, "it joins again and again");
    assert_eq!(pair.driver.endpoints[0].connections(), 0);
}

/// The same if the mappings are removed: the peer resets each subflow that brings a window of unmapped data. Everything
/// is taken back then, also from the other subflows, and waits for their windows. Meanwhile the peer's window is
/// probed, and acknowledgements on the other subflows are no answer to the probe.
#[test]
fn without_any_more_mappings_a_connection_that_joins_again_and_again_ends() {
    let config = ConnectionConfig {
        failure_detection: FailureDetection::Linux,
        receive_buffer: ReceiveBuffer::Fixed(64_000),
        path_manager: PathManager::NDiffPorts(3),
        ..config()
    };
    for writer in [Client, Server] {
        let mut pair = Pair::new(&[60], config.clone());
        pair.connect_with_subflows(1);
        pair.run_for(secs(3));
        pair.script(move |p| {
            if p.from == writer {
                p.segment.options.dss = None;
            }
            Fate::Pass
        });
        pair.write(writer, 141_000);
        pair.run_for(secs(900));
        assert!(pair.sent(Client).filter(|p| p.is_syn()).count() > 100, "it joins again and again");
        assert_eq!(pair.driver.endpoints[writer as usize].connections(), 0);
    }
}

/// The peer's data has had mappings, so it may have come again under another one. An acknowledgement that has lost its
/// signal then does not make this subflow plain TCP.
#[test]
fn an_acknowledgement_that_loses_its_signal_after_mapped_data_is_no_fall_back() {
    let mut pair = Pair::new(&[10], config());
    pair.script(|p| {
        if p.from == Client && p.is_pure_ack() {
            p.segment.options.dss = None;
        }
        Fate::Pass
    });
    pair.driver.applications.apps[Client as usize].pending = 5000;
    pair.open();
    pair.run_until_received(Server, 5000, secs(1));
    pair.write(Server, 1);
    pair.run_for(ms(500));
    assert!(pair.the(Server).is_mptcp());
    pair.write(Client, 5000);
    pair.run_until_received(Server, 10_000, secs(1));
    pair.write(Server, 5000);
    pair.run_until_received(Client, 5001, secs(1));
    assert!(pair.the(Server).is_mptcp() && pair.the(Client).is_mptcp());
}

/// The first data is repeated on the subflow without its options, after it was sent again under another mapping. The
/// mapping of the data behind it shows that this does not continue the stream.
#[test]
fn what_waits_with_another_place_than_plain_tcp_would_give_it_is_not_delivered() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.run_for(secs(1));
    let first = pair.forge(Client, 0);
    let from = first.seq;
    let mut losses = 0;
    pair.script(move |p| {
        if p.from == Client && p.segment.seq == from && !p.segment.payload.is_empty() {
            losses += 1;
            p.strip();
            return if losses == 1 { Fate::Drop } else { Fate::Pass };
        }
        Fate::Pass
    });
    pair.write(Client, 3000);
    // The lost data is sent again after the rest, as a peer may do.
    let mut again = first.clone();
    let capable =
        pair.sent(Client).find(|p| p.segment.seq == from.wrapping_add(1424)).expect("it is out").segment.clone();
    let dss = capable.options.dss.expect("it has a mapping");
    let mapping = dss.mapping.expect("it has a mapping");
    let DataNumber::Long(dsn) = mapping.dsn else { panic!("short") };
    again.seq = from.wrapping_add(3000);
    again.payload = Payload::Bytes(vec![0; 1424].into());
    let mapping = Mapping { dsn: DataNumber::Long(dsn - 1424), ssn: 3001, len: 1424, ..mapping };
    again.options.dss = Some(Dss { mapping: Some(mapping), ..dss });
    pair.run_for(ms(50));
    pair.inject(Server, again);
    pair.run_for(secs(2));
    assert_eq!(pair.received(Server), 3000, "{}", pair.describe());
    assert!(!pair.the(Server).at_end());
}

/// A join that comes too late is refused while the first data waits for its acknowledgement. The first subflow
/// retransmits that data itself, so nothing else is sent again: the peer may yet take the first subflow for plain TCP.
#[test]
fn a_refused_join_sends_nothing_of_the_first_subflow_under_another_mapping() {
    let config = ConnectionConfig { failure_detection: FailureDetection::Linux, ..config() };
    let mut pair = Pair::new(&[10, 20], config);
    pair.script(|p| {
        if p.from == Client && p.path == 1 && !p.is_syn() {
            p.strip();
        }
        let dark = p.path == 0 && p.from == Client && !p.segment.payload.is_empty() && p.at < Instant::ZERO + secs(9);
        let late = p.path == 1 && p.at < Instant::ZERO + secs(3);
        if dark || late { Fate::Drop } else { Fate::Pass }
    });
    pair.connect();
    pair.write(Client, 500);
    pair.run_for(secs(2));
    pair.write(Client, 5000);
    pair.close(Client);
    pair.run_until_received(Server, 5500, secs(30));
    assert!(pair.sent(Client).any(|p| p.path == 1 && p.is_rst()), "{}", pair.describe());
    let mappings = pair.sent(Client).filter_map(|p| p.segment.options.dss?.mapping).filter(|m| m.ssn > 0);
    let places = mappings.map(|m| match m.dsn {
        DataNumber::Long(dsn) => (dsn as u32).wrapping_sub(m.ssn),
        DataNumber::Short(dsn) => dsn.wrapping_sub(m.ssn),
    });
    let places: std::collections::BTreeSet<u32> = places.collect();
    assert_eq!(places.len(), 1, "{}", pair.describe());
}

/// "Once MPTCP falls back to regular TCP, it MUST NOT revert to MPTCP later in the connection" (RFC 8684 §3.7).
#[test]
fn what_has_fallen_back_stays_plain_tcp() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(|p| {
        // The first data comes with options, its acknowledgement without.
        if p.from == Server && !p.is_syn() {
            p.segment.options.dss = None;
            p.segment.options.mptcp.clear();
        }
        Fate::Pass
    });
    pair.connect();
    let capable = pair.driver.io.log[2].segment.options.mptcp.clone();
    pair.write(Client, 10_000);
    pair.run_for(secs(1));
    pair.write(Client, 1000);
    pair.run_until_received(Server, 11_000, secs(2));
    pair.run_for(secs(1));
    assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp());
    pair.no_script();
    pair.clear_log();
    for side in [Client, Server] {
        pair.write(side, 1000);
        pair.run_for(secs(1));
        let mut forged = pair.forge(side, 0);
        forged.options.mptcp = capable.clone();
        forged.options.dss =
            Some(pathweave_wire::mptcp::Dss { data_ack: Some(DataNumber::Long(1)), ..Default::default() });
        pair.inject(side.other(), forged);
    }
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 112_000, secs(2));
    assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp());
    // The server's first data has the infinite mapping.
    let maps =
        |p: &Packet| p.segment.options.dss.is_some_and(|d| d.data_ack.is_some() || d.mapping.is_none_or(|m| m.len > 0));
    let signals = |p: &Packet| maps(p) || !p.segment.options.mptcp.is_empty();
    assert!(!pair.driver.io.log.iter().any(signals));
}
