//! Delayed acknowledgements (RFC 9293 §3.8.6.3, RFC 5681 §4.2).

use crate::pair::*;
use crate::zero_window::with_buffer;
use pathweave_proto::config::{ConnectionConfig, TcpConfig};
use pathweave_wire::{Ecn, Segment};

fn delayed(quick_acks: u32) -> ConnectionConfig {
    ConnectionConfig { tcp: TcpConfig { quick_acks, ..TcpConfig::default() }, ..tcp_config() }
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_delay_at_most() {
    let mut pair = Pair::new(&[10], delayed(0));
    // A host with a reading application acknowledges pushed data at once.
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    pair.run_for(secs(1));
    for _ in 0..10 {
        pair.clear_log();
        let start = pair.now;
        pair.write(Client, 10);
        pair.run_for(ms(300));
        let acks: Vec<_> = pair.sent(Server).map(|p| p.at.since(start + ms(10))).collect();
        assert_eq!(acks.len(), 1);
        assert_eq!(acks[0], ms(40));
        assert_eq!(pair.data(Client).count(), 1, "no probe was needed");
    }
}

#[test]
fn every_second_full_segment_is_acknowledged() {
    let mut pair = Pair::new(&[10], delayed(0));
    pair.connect();
    pair.write(Client, 1448 * 400);
    pair.run_until_received(Server, 1448 * 400, secs(5));
    let (data, acks) = (pair.data(Client).count(), pair.sent(Server).filter(|p| p.is_pure_ack()).count());
    assert!(acks >= data / 2 - 1, "RFC 5681 §4.2: at least every second one: {acks} for {data}");
    assert!(acks <= data * 6 / 10, "{acks} acknowledgements of {data} segments");
}

/// The acknowledgement of a second segment would not offer room that the reader has not made yet. It waits for a reader
/// that reads at once, but only until the end of that instant.
#[test]
fn a_second_segment_is_acknowledged_in_the_same_instant_with_what_the_reader_has_freed() {
    for (mptcp, len) in [(false, 1448), (true, 1424)] {
        let tcp = delayed(0).tcp;
        let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..with_buffer(20 * len, mptcp) });
        pair.connect();
        pair.write(Client, 40 * len);
        pair.run_until_received(Server, 40 * len, secs(5));
        pair.clear_log();
        for reads in [true, false, true] {
            pair.driver.applications.apps[1].reads = reads;
            let sent = pair.now;
            pair.write(Client, 2 * len);
            pair.run_for(secs(1));
            let answer = pair.sent(Server).next_back().expect("acknowledged");
            let offered = u64::from(answer.segment.window);
            let expected = if reads { 20 * len } else { 18 * len };
            assert_eq!((answer.at, offered), (sent + ms(10), expected), "{reads}: {}", pair.describe());
        }
    }
}

/// A device may hand out many segments in one instant, before the reader can read.
#[test]
fn of_one_instant_four_segments_wait_for_the_reader() {
    let mut pair = Pair::new(&[10], delayed(0));
    pair.connect();
    pair.clear_log();
    pair.script(|p| if p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 1448 * 5);
    let segments: Vec<_> = pair.data(Client).map(|p| p.segment.clone()).collect();
    let (now, server) = (pair.now, &mut pair.driver.endpoints[1]);
    let answers = segments.iter().map(|segment| {
        server.handle_segment(now, Ecn::NotEct, segment);
        server.poll_transmit(now, 1).is_some()
    });
    assert_eq!(answers.collect::<Vec<_>>(), [false, false, false, false, true]);
}

/// An acknowledgement after the first piece would announce a small window.
#[test]
fn a_reader_that_reads_in_pieces_is_waited_for_until_it_has_all() {
    let tcp = delayed(0).tcp;
    let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..with_buffer(20 * 1448, false) });
    pair.connect();
    pair.clear_log();
    pair.script(|p| if p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 1448 * 2);
    let segments: Vec<_> = pair.data(Client).map(|p| p.segment.clone()).collect();
    let (now, reader) = (pair.now, pair.driver.applications.apps[1].handle.expect("connected"));
    let server = &mut pair.driver.endpoints[1];
    segments.iter().for_each(|segment| server.handle_segment(now, Ecn::NotEct, segment));
    for (piece, offered) in [(1448, None), (1000, None), (448, Some(20 * 1448))] {
        server.read(now, reader, piece).expect("there is data");
        assert_eq!(server.poll_transmit(now, 1).map(|t| u64::from(t.segment.window)), offered);
    }
    // The reader does not come back in this instant.
    segments.iter().for_each(|segment| {
        let seq = segment.seq.wrapping_add(2 * 1448);
        server.handle_segment(now, Ecn::NotEct, &Segment { seq, ..segment.clone() });
    });
    server.read(now, reader, 1448).expect("there is data");
    assert!(server.poll_transmit(now, 1).is_none());
    assert_eq!(server.poll_timeout(), Some(now));
    server.handle_timeout(now);
    assert_eq!(server.poll_transmit(now, 1).map(|t| u64::from(t.segment.window)), Some(19 * 1448));
}

#[test]
fn each_segment_beyond_a_hole_is_acknowledged_at_once() {
    let mut pair = Pair::new(&[50], delayed(0));
    pair.connect();
    pair.write(Client, 1448 * 20);
    pair.run_for(secs(1));
    pair.clear_log();
    pair.drop_first(|p| p.is_data());
    let start = pair.now;
    pair.write(Client, 1448 * 6);
    pair.run_for(ms(51));
    // RFC 5681 §4.2: duplicate acknowledgements for out-of-order segments.
    assert_eq!(pair.sent(Server).filter(|p| p.at == start + ms(50)).count(), 5);
    pair.run_until_received(Server, 1448 * 26, secs(1));
    assert_eq!(pair.sent(Server).next_back().expect("acknowledged").at, pair.now);
}

/// "the receiver SHOULD send an immediate ACK when it receives a data segment that fills in all or part of a gap" (RFC
/// 5681 §4.2).
#[test]
fn what_fills_a_hole_or_part_of_it_is_acknowledged_at_once() {
    // Short segments: no second full one causes an acknowledgement.
    let mut pair = Pair::new(&[50], delayed(0));
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    pair.write(Client, 100);
    pair.run_for(secs(1));
    pair.clear_log();
    let mut lost = vec![101, 121];
    let isn = pair.isn(Client, 0);
    pair.script(move |p| {
        let found = lost.iter().position(|at| p.from == Client && p.segment.seq == isn.wrapping_add(*at));
        found.map_or(Fate::Pass, |i| {
            lost.remove(i);
            Fate::Drop
        })
    });
    (0..4).for_each(|_| pair.write(Client, 10));
    pair.run_for(secs(5));
    for at in [101, 121] {
        let repeated = pair.data(Client).filter(|p| pair.relative(p) == at).nth(1).expect("it goes out again");
        let arrived = repeated.at + ms(50);
        let answer =
            pair.sent(Server).find(|p| p.at >= arrived && pair.relative_ack(p) > at).expect("it is acknowledged");
        assert_eq!(answer.at, arrived, "{at}: {}", pair.describe());
    }
}

#[test]
fn data_in_return_carries_the_acknowledgement() {
    let mut pair = Pair::new(&[10], delayed(0));
    // A host with a reading application acknowledges pushed data at once.
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    pair.run_for(secs(1));
    pair.clear_log();
    pair.write(Client, 100);
    pair.run_for(ms(15));
    pair.write(Server, 100);
    assert_eq!(pair.sent(Server).count(), 1);
    let reply = pair.sent(Server).next().expect("the reply");
    assert_eq!((reply.len(), pair.relative_ack(reply)), (100, 101));
}

#[test]
fn without_delay_each_segment_is_acknowledged() {
    let tcp = TcpConfig { delayed_ack: false, ..TcpConfig::default() };
    let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..tcp_config() });
    pair.connect();
    pair.write(Client, 1448 * 100);
    pair.run_until_received(Server, 1448 * 100, secs(5));
    assert_eq!(pair.data(Client).count(), pair.sent(Server).filter(|p| p.is_pure_ack()).count());
}

/// Its sender has no more data for now, so no second segment will cause an acknowledgement, and the data that waited
/// for it takes up the window.
#[test]
fn a_short_segment_that_fills_a_hole_of_the_stream_is_acknowledged_at_once() {
    for mut config in on_each_host(config()) {
        config.tcp.quick_acks = 0;
        let mut pair = Pair::new(&[50, 10], config);
        pair.connect_with_subflows(2);
        pair.run_for(secs(1));
        pair.clear_log();
        let start = pair.now;
        // The fast path's window is full, so the last bytes take the slow path.
        pair.write(Client, 1448 * u64::from(pair.subflow(Client, 1).window.cwnd) + 100);
        pair.run_for(ms(30));
        // These overtake them.
        pair.write(Client, 100);
        pair.run_for(ms(200));
        let of_path = |path: usize, from| pair.sent(from).filter(move |p| p.path == path).map(|p| p.at.since(start));
        assert_eq!(of_path(0, Client).collect::<Vec<_>>(), [ms(0)], "{}", pair.describe());
        assert_eq!(of_path(1, Client).next_back(), Some(ms(30)));
        // A kernel's reader takes a moment, and causes the acknowledgement then.
        let answers: Vec<_> = of_path(0, Server).collect();
        assert!(matches!(answers[..], [at] if (ms(50)..ms(51)).contains(&at)), "{answers:?}: {}", pair.describe());
    }
}
