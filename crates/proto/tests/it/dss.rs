//! Data sequence signals: mappings, DATA_ACK, DATA_FIN (RFC 8684 §3.3).

use crate::pair::*;
use pathweave_wire::Flags;
use pathweave_wire::mptcp::DataNumber;

#[test]
fn each_segment_is_one_mapping_and_the_stream_starts_after_the_initial_number() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect();
    pair.write(Client, 300_000);
    pair.run_until_received(Server, 300_000, secs(3));
    let start = pair.idsn(Client).wrapping_add(1);
    let mut covered = vec![false; 300_000];
    for p in pair.data(Client) {
        let Some(mapping) = p.segment.options.dss.and_then(|d| d.mapping) else {
            // The first segment is mapped by MP_CAPABLE.
            covered[..p.len() as usize].fill(true);
            continue;
        };
        assert_eq!(u32::from(mapping.len), p.len());
        assert_eq!(mapping.ssn, pair.relative(p));
        let DataNumber::Long(dsn) = mapping.dsn else { panic!("data is mapped with all 64 bits") };
        let at = dsn.wrapping_sub(start) as usize;
        covered[at..at + p.len() as usize].fill(true);
    }
    assert!(covered.iter().all(|c| *c));
    // The last acknowledgement may be delayed.
    pair.run_for(ms(100));
    let ack = pair.sent(Server).rev().find_map(|p| p.segment.options.dss?.data_ack).expect("a DATA_ACK");
    assert_eq!(ack.expand(start), start.wrapping_add(300_000));
}

#[test]
fn a_mapping_never_changes() {
    let mut pair = Pair::new(&[10, 20], config());
    let mut n = 0;
    pair.script(move |p| {
        n += u32::from(p.is_data());
        if p.is_data() && n.is_multiple_of(9) { Fate::Drop } else { Fate::Pass }
    });
    pair.connect();
    pair.write(Client, 500_000);
    pair.run_until_received(Server, 500_000, secs(60));
    let mut known = std::collections::BTreeMap::new();
    for p in pair.data(Client) {
        let mapping = p.segment.options.dss.and_then(|d| d.mapping);
        let first = known.entry((p.path, pair.relative(p))).or_insert((mapping, p.segment.payload.clone()));
        assert_eq!(*first, (mapping, p.segment.payload.clone()));
    }
}

#[test]
fn the_data_fin_takes_the_number_after_the_data_and_is_acknowledged_before_any_fin() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect();
    pair.write(Client, 5000);
    pair.run_for(ms(500));
    pair.clear_log();
    pair.close(Client);
    pair.close(Server);
    pair.run_for(secs(2));
    let first = pair.sent(Client).find(|p| p.is_data_fin()).expect("a DATA_FIN");
    let mapping = first.segment.options.dss.and_then(|d| d.mapping).expect("it is mapped");
    // RFC 8684 §3.3.3: one octet, subflow sequence number 0 if there is no data.
    assert_eq!((mapping.len, mapping.ssn, first.len()), (1, 0, 0));
    for side in [Client, Server] {
        let fin = pair.sent(side).find(|p| p.is_fin()).expect("a FIN").at;
        let acked = pair.sent(side.other()).find(|p| p.segment.options.dss.is_some_and(|d| d.data_ack.is_some()));
        assert!(acked.expect("the DATA_FIN is acknowledged").at < fin);
        assert_eq!(
            pair.sent(side).filter(|p| p.is_fin()).map(|p| p.path).collect::<Vec<_>>().len(),
            2,
            "on each subflow"
        );
    }
}

#[test]
fn a_data_fin_that_nobody_acknowledges_goes_out_again_after_twice_the_time() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 5000);
    pair.run_for(ms(500));
    pair.script(|p| if p.from == Server { Fate::Drop } else { Fate::Pass });
    pair.clear_log();
    pair.close(Client);
    pair.run_for(secs(20));
    let sent: Vec<_> = pair.sent(Client).filter(|p| p.is_data_fin()).map(|p| p.at).collect();
    let waits: Vec<_> = sent.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert!(waits.len() >= 5, "{waits:?}");
    assert!(waits.windows(2).all(|pair| pair[1] == pair[0] + pair[0]), "{waits:?}");
}

fn data_acks(pair: &Pair, side: Side) -> Vec<DataNumber> {
    pair.sent(side).filter_map(|p| p.segment.options.dss?.data_ack).collect()
}

fn is_long(number: &DataNumber) -> bool {
    matches!(number, DataNumber::Long(_))
}

#[test]
fn a_data_ack_is_as_long_as_the_number_of_the_data_that_came_last() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.write(Client, 50_000);
    pair.run_for(ms(500));
    assert!(!data_acks(&pair, Client).iter().any(is_long), "nothing has come that has a number");
    assert!(data_acks(&pair, Server).iter().all(is_long), "data with MP_CAPABLE has all 64 bits of the key's hash");
    pair.clear_log();
    pair.write(Server, 1);
    pair.run_for(ms(500));
    pair.clear_log();
    pair.write(Client, 50_000);
    pair.write(Server, 50_000);
    pair.run_for(secs(1));
    for side in [Client, Server] {
        let beside_data =
            pair.data(side).all(|p| p.segment.options.dss.and_then(|d| d.data_ack).is_some_and(|n| is_long(&n)));
        assert!(beside_data && data_acks(&pair, side).iter().all(is_long), "{}", pair.describe());
    }
    // A peer that has changed to numbers of 4 bytes. Those of a DATA_FIN or of segments without data do not count.
    pair.script(|p| {
        if let Some(mapping) = p.segment.options.dss.as_mut().and_then(|d| d.mapping.as_mut()).filter(|m| m.ssn != 0) {
            mapping.dsn = DataNumber::Short(mapping.dsn.expand(0) as u32);
        }
        Fate::Pass
    });
    pair.write(Client, 1);
    pair.run_for(ms(100));
    pair.clear_log();
    pair.write(Server, 5000);
    pair.close(Client);
    pair.run_for(ms(500));
    assert!(pair.sent(Client).any(|p| p.is_data_fin()));
    assert!(!data_acks(&pair, Server).iter().any(is_long), "{}", pair.describe());
    pair.close(Server);
    pair.run_for(secs(2));
    assert_eq!((pair.received(Client), pair.received(Server)), (55_001, 100_002));
}

#[test]
fn what_is_cut_for_a_short_data_ack_keeps_it_and_no_packet_is_too_large() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let mut n = 0;
    pair.script(move |p| {
        n += u32::from(p.from == Client && p.is_data());
        if p.is_data() && n.is_multiple_of(20) { Fate::Drop } else { Fate::Pass }
    });
    pair.write(Client, 1_000_000);
    pair.run_for(ms(20));
    pair.write(Server, 10_000);
    pair.run_until_received(Server, 1_000_001, secs(60));
    let packet = |p: &Packet| p.segment.ip_len();
    assert!(pair.data(Client).all(|p| packet(p) <= 1500), "{}", pair.describe());
    let full = |long: bool| {
        let acks = |p: &&Packet| p.segment.options.dss.and_then(|d| d.data_ack).is_some_and(|n| is_long(&n) == long);
        pair.data(Client).filter(acks).filter(|p| packet(p) == 1500).count()
    };
    assert!(full(false) > 10 && full(true) > 10, "{} {}", full(false), full(true));
}

/// Bad-input row 20.
#[test]
fn a_data_ack_beyond_what_was_sent_is_ignored() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let mut forged = pair.sent(Server).rev().find(|p| p.path == 0 && p.is_pure_ack()).expect("sent").segment.clone();
    let dss = forged.options.dss.as_mut().expect("it acknowledges");
    let known = dss.data_ack.expect("a number").expand(pair.idsn(Client));
    dss.data_ack = Some(DataNumber::Long(known.wrapping_add(100_000)));
    forged.flags = Flags::ACK;
    pair.inject(Client, forged);
    assert_eq!(pair.the(Client).snapshot().sending.acked_bytes, 1);
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_001, secs(1));
}

/// "optimizations SHOULD be considered in more advanced implementations, where the Data ACK is present in segments only
/// when the Data ACK value advances, and this behavior MUST be treated as valid" (RFC 8684 §3.3.2).
#[test]
fn a_data_ack_need_not_be_on_every_segment() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1000);
    pair.write(Server, 1000);
    pair.run_for(secs(1));
    let mut newest = None;
    pair.script(move |p| {
        if let Some(dss) = &mut p.segment.options.dss {
            let ack = dss.data_ack.map(|n| n.expand(0) as u32);
            if (p.from, ack) == newest.unwrap_or((p.from.other(), None)) {
                dss.data_ack = None;
            }
            newest = Some((p.from, ack));
            if *dss == pathweave_wire::mptcp::Dss::default() {
                p.segment.options.dss = None;
            }
        }
        Fate::Pass
    });
    pair.write(Client, 300_000);
    pair.run_until_received(Server, 301_000, secs(3));
    pair.write(Server, 300_000);
    pair.run_until_received(Client, 301_000, secs(3));
    assert!(pair.the(Client).is_mptcp() && pair.the(Server).is_mptcp());
    assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
    assert!(
        pair.driver.io.log.iter().any(|p| p.number > 20 && p.segment.options.dss.is_none_or(|d| d.data_ack.is_none()))
    );
}
