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
    // RFC 8684 §3.3.3: one octet, subflow sequence number 0 where there is no data.
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
