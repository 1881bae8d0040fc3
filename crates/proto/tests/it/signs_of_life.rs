//! Signs of life that keep a connection alive although its data does not arrive, and segments that are none (RFC 9293
//! §3.8.3, §3.8.6.1).

use crate::pair::*;
use crate::zero_window::{full, with_buffer};
use pathweave_proto::config::{ConnectionConfig, FailureDetection, TcpConfig};
use pathweave_proto::{ConnectionError, ConnectionEvent};
use pathweave_wire::Flags;
use pathweave_wire::mptcp::{DataNumber, Dss};

/// A lost subflow's data is taken back with all other data, and the window of the remaining subflow is full, so no
/// subflow can carry it: the peer's window is probed. If the window is closed, the answers keep the connection alive;
/// if it is open, they show only that something is lost.
#[test]
fn answers_to_probes_of_an_open_window_keep_no_lost_data_alive() {
    for lives in [true, false] {
        let tcp = TcpConfig { min_rto: secs(15), ..config().tcp };
        let failure_detection = FailureDetection::Linux;
        let config = ConnectionConfig { close_timeout: secs(2), failure_detection, tcp, ..config() };
        let mut pair = Pair::new(&[10, 20], config);
        pair.connect_with_subflows(2);
        pair.run_for(ms(100));
        pair.script(|p| if p.from == Client && (p.is_data() || p.is_syn()) { Fate::Drop } else { Fate::Pass });
        let mut answer = pair.forge(Server, 1);
        let data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, 1)));
        answer.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
        if lives {
            answer.window = 0;
        }
        pair.write(Client, 50_000);
        pair.run_for(ms(100));
        let mut reset = pair.forge(Server, 0);
        reset.flags = Flags::RST;
        pair.inject(Client, reset);
        for _ in 0..50 {
            pair.run_for(ms(200));
            if pair.connection(Client).is_some() {
                pair.inject(Client, answer.clone());
            }
        }
        assert_eq!(pair.driver.endpoints[0].connections() > 0, lives, "{}", pair.describe());
    }
}

/// All written data was delivered, over a path that is gone now. The other path retransmits its part without any
/// answer.
#[test]
fn a_dark_path_that_repeats_what_is_delivered_does_not_go_on_for_ever() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    let from = pair.now;
    pair.script(move |p| if p.path == 0 && p.at > from { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_001, secs(20));
    pair.run_for(secs(2));
    let mut reset = pair.forge(Server, 1);
    reset.flags = Flags::RST;
    pair.script(move |p| if p.path == 0 || p.from == Server { Fate::Drop } else { Fate::Pass });
    pair.inject(Client, reset);
    pair.run_for(secs(300));
    assert_eq!(pair.driver.endpoints[0].connections(), 0, "{}", pair.describe());
}

/// The remaining path is dark and full of data that another path has delivered. New data finds an open window but no
/// room. The peer does not hold it back, so the wait ends.
#[test]
fn data_that_finds_no_room_on_a_dark_path_does_not_wait_for_ever() {
    let mut pair = Pair::new(&[10, 10], ConnectionConfig { send_buffer: 14_000, ..config() });
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    let from = pair.now;
    pair.script(move |p| if p.path == 0 && p.at > from { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_001, secs(20));
    pair.run_for(secs(2));
    let mut reset = pair.forge(Server, 1);
    reset.flags = Flags::RST;
    pair.script(move |p| if p.path == 0 || p.from == Server { Fate::Drop } else { Fate::Pass });
    pair.inject(Client, reset);
    pair.write(Client, 5000);
    pair.run_for(secs(300));
    assert_eq!(pair.driver.endpoints[0].connections(), 0, "{}", pair.describe());
}

/// An attacker who replays segments of a peer that is gone does not keep the connection alive.
#[test]
fn old_answers_that_come_again_are_no_sign_of_life() {
    for (mptcp, last_one) in [(false, false), (false, true), (true, false), (true, true)] {
        // Timestamps tell old ones from new ones.
        let tcp = TcpConfig { timestamps: false, ..TcpConfig::default() };
        let mut pair = full(ConnectionConfig { tcp, ..with_buffer(30_000, mptcp) }, &[10], 200_000);
        // The first of all, and the last before data of its own, which acknowledges as much as the newest.
        let first = pair.sent(Server).find(|p| p.is_pure_ack()).expect("it acknowledges").segment.clone();
        let last = pair.sent(Server).rfind(|p| p.is_pure_ack()).expect("it acknowledges").segment.clone();
        pair.write(Server, 5000);
        pair.run_for(secs(2));
        let old = if last_one { last } else { first };
        pair.kill(0);
        for _ in 0..200 {
            pair.run_for(secs(1));
            if pair.connection(Client).is_some() {
                pair.inject(Client, old.clone());
            }
        }
        let failed = pair.happened(Client, |e| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead));
        assert!(failed.is_some(), "{mptcp} {last_one}");
    }
}

/// An attacker on the path acknowledges data that never arrives, and closes the window. The peer's own segments then
/// acknowledge less, so they do not open the window again, and are no answer to retransmissions either.
#[test]
fn a_window_that_somebody_else_has_closed_keeps_nothing_alive() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1000, secs(5));
    pair.run_for(secs(1));
    let mut forged = pair.forge(Server, 0);
    let lost = forged.ack..forged.ack + 3000;
    pair.script(move |p| if p.from == Client && lost.contains(&p.segment.seq) { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 10_000);
    (forged.ack, forged.window) = (forged.ack + 3000, 0);
    pair.inject(Client, forged);
    pair.run_for(secs(300));
    assert!(pair.sent(Server).filter(|p| p.is_pure_ack() && p.segment.window > 0).count() > 10, "{}", pair.describe());
    let failed = pair.happened(Client, |e| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead));
    assert!(failed.is_some(), "{}", pair.describe());
}

/// The same if the peer's own window is closed too, so that its answers look right.
#[test]
fn answers_that_acknowledge_less_than_before_keep_nothing_alive() {
    let mut pair = full(with_buffer(4000, false), &[10], 20_000);
    let mut forged = pair.forge(Server, 0);
    assert_eq!((forged.window, pair.the(Client).snapshot().sending.acked_bytes), (0, 4000));
    forged.window = 3000;
    // Two of three segments never arrive, and count as arrived. The third one is retransmitted.
    let lost = forged.ack..forged.ack + 2896;
    pair.script(
        move |p| if p.from == Client && p.is_data() && lost.contains(&p.segment.seq) { Fate::Drop } else { Fate::Pass },
    );
    pair.inject(Client, forged.clone());
    (forged.ack, forged.window) = (forged.ack + 2896, 0);
    pair.inject(Client, forged);
    pair.run_for(secs(1200));
    assert!(pair.sent(Server).filter(|p| p.is_pure_ack() && p.segment.window == 0).count() > 5, "{}", pair.describe());
    let failed = pair.happened(Client, |e| matches!(e, ConnectionEvent::Failed(_)));
    assert!(failed.is_some(), "{}", pair.describe());
}

/// The same at the data level. The attacker opens the window, and the peer drops what comes beyond its own. Then the
/// attacker acknowledges some of the dropped data. The rest arrives again and again on the subflow, whose
/// acknowledgements are right.
#[test]
fn data_acks_of_less_than_before_keep_nothing_alive() {
    for failure_detection in [FailureDetection::Linux, FailureDetection::Fast] {
        let mut pair = full(ConnectionConfig { failure_detection, ..with_buffer(4000, true) }, &[10], 60_000);
        let acknowledge = |pair: &mut Pair, bytes: u64, window: u16| {
            let mut forged = pair.forge(Server, 0);
            let data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, bytes)));
            forged.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
            forged.window = window;
            pair.inject(Client, forged);
        };
        acknowledge(&mut pair, 4000, 60_000);
        pair.run_for(ms(30));
        acknowledge(&mut pair, 30_000, 0);
        let got = pair.the(Server).snapshot().receiving.in_order_bytes;
        assert_eq!((got < 30_000, pair.the(Client).snapshot().sending.acked_bytes), (true, 30_000), "{got}");
        pair.run_for(secs(1200));
        assert!(pair.data(Client).filter(|p| p.at > at_ms(2000)).count() > 50, "{}", pair.describe());
        let failed = pair.happened(Client, |e| matches!(e, ConnectionEvent::Failed(_)));
        assert!(failed.is_some(), "{failure_detection:?} {}", pair.describe());
    }
}

/// The subflow acknowledges data that then vanishes, so nothing is left to retransmit on the subflow. Segments from a
/// peer with a closed window are no answer to that data.
#[test]
fn what_has_vanished_behind_a_closed_window_keeps_nothing_alive() {
    let mut pair = Pair::new(&[10], with_buffer(30_000, true));
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1000, secs(1));
    pair.run_for(secs(1));
    let mut forged = pair.sent(Server).rfind(|p| p.is_pure_ack()).expect("it acknowledges").segment.clone();
    pair.kill(0);
    pair.write(Client, 1000);
    forged.window = 0;
    for _ in 0..300 {
        let last = &pair.data(Client).next_back().expect("sent").segment;
        forged.ack = last.seq.wrapping_add(last.payload.len());
        if pair.connection(Client).is_some() {
            pair.inject(Client, forged.clone());
        }
        pair.run_for(secs(1));
    }
    assert!(pair.happened(Client, |e| matches!(e, ConnectionEvent::Failed(_))).is_some(), "{}", pair.describe());
}
