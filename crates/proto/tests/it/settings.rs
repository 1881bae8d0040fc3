//! Settings that change while a connection lives.

use crate::pair::{Client, Pair, Server, config, ms, on_each_host, secs, tcp_config};
use pathweave_proto::config::{ConnectionConfig, Pacing, ReceiveBuffer, TcpConfig};
use pathweave_proto::{ConnectionError, ConnectionEvent, SettingError, SubflowId};
use pathweave_units::{Bitrate, Duration};
use pathweave_wire::Payload;

#[test]
fn without_nagles_rule_the_tail_that_it_held_leaves_at_once() {
    for config in [config(), tcp_config()] {
        let mut pair = Pair::new(&[50], ConnectionConfig { nagle: true, ..config });
        pair.connect();
        pair.write(Client, 100);
        pair.write(Client, 100);
        assert_eq!(pair.data(Client).count(), 1, "the second waits for the first");
        pair.command(Client, |c, now| c.set_nagle(now, false));
        assert_eq!(pair.data(Client).count(), 2);
        pair.write(Client, 100);
        assert_eq!(pair.data(Client).count(), 3);
        pair.command(Client, |c, now| c.set_nagle(now, true));
        pair.write(Client, 100);
        assert_eq!(pair.data(Client).count(), 3, "the rule is back");
        pair.run_until_received(Server, 400, secs(1));
    }
}

#[test]
fn keep_alive_begins_and_ends_on_a_living_connection() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.run_for(secs(100));
    pair.clear_log();
    pair.command(Client, |c, _| c.set_keep_alive(secs(30)));
    pair.run_for(ms(100));
    assert_eq!(pair.sent(Client).count(), 1, "it was quiet for long: a probe at once");
    pair.run_for(secs(65));
    assert_eq!(pair.sent(Client).count(), 3, "and every 30 s");
    pair.command(Client, |c, _| c.set_keep_alive(Duration::ZERO));
    pair.clear_log();
    pair.run_for(secs(200));
    assert_eq!(pair.sent(Client).count(), 0);
}

#[test]
fn another_close_timeout_counts_from_the_last_sign_of_life() {
    for timeout in [20, 200] {
        let mut pair = Pair::new(&[10], config());
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        pair.kill(0);
        pair.write(Client, 1000);
        pair.run_for(secs(10));
        pair.command(Client, |c, _| assert_eq!(c.set_close_timeout(Duration::ZERO), Err(SettingError::Zero)));
        pair.command(Client, |c, _| c.set_close_timeout(secs(timeout)).expect("it is some time"));
        let failed = |e: &ConnectionEvent| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead);
        pair.run_until("it gives up", secs(300), |p| p.happened(Client, failed).is_some());
        let after = pair.now.as_secs_f64() - 1.0;
        assert!((after - timeout as f64).abs() < 1.0, "{after} s for {timeout} s");
    }
}

#[test]
fn a_smaller_send_buffer_takes_nothing_until_it_has_room() {
    let mut pair = Pair::new(&[10], ConnectionConfig { send_buffer: 100_000, ..tcp_config() });
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    pair.write(Client, 50_000);
    assert_eq!(pair.the(Client).writable(), 50_000);
    pair.command(Client, |c, now| c.set_send_buffer(now, 20_000).expect("it is some bytes"));
    assert_eq!(pair.the(Client).writable(), 0, "50,000 bytes are in a buffer of 20,000");
    pair.run_for(secs(1));
    assert_eq!(pair.the(Client).writable(), 20_000);
    pair.command(Client, |c, now| c.set_send_buffer(now, 300_000).expect("it is some bytes"));
    assert_eq!(pair.the(Client).writable(), 300_000);
    pair.command(Client, |c, now| assert_eq!(c.set_send_buffer(now, 0), Err(SettingError::Zero)));
}

#[test]
fn a_send_buffer_that_is_set_no_longer_follows_the_windows() {
    for config in on_each_host(config()) {
        let tcp = TcpConfig { send_buffer_tuning: true, ..config.tcp };
        let mut pair = Pair::new(&[10, 20], ConnectionConfig { tcp, ..config });
        pair.connect_with_subflows(2);
        let host = pair.the(Client).config().host;
        pair.write(Client, 100_000);
        pair.run_until_received(Server, 100_001, secs(5));
        assert!(pair.the(Client).writable() < 1_500_000, "{host:?}: two windows are less");
        pair.command(Client, |c, now| c.set_send_buffer(now, 2 << 20).expect("it is some bytes"));
        assert!(pair.the(Client).writable() > 2_000_000, "{host:?}");
    }
}

/// Of two windows on each subflow, one is out and one waits behind it.
#[test]
fn the_plain_host_can_tune_its_send_buffer_to_two_windows_of_each_subflow() {
    let tcp = TcpConfig { send_buffer_tuning: true, initial_window: 10, ..TcpConfig::default() };
    let mut pair = Pair::new(&[10, 20], ConnectionConfig { tcp, ..config() });
    pair.connect_with_subflows(2);
    // Data bytes of a full segment of plain TCP with timestamps.
    const MSS: u64 = 1448;
    let before = pair.the(Client).snapshot().sending;
    let room = pair.the(Client).writable();
    assert_eq!(room + before.written_bytes - before.acked_bytes, 2 * 2 * 10 * MSS);
    pair.write(Client, 1_000_000);
    pair.run_until_received(Server, 1_000_001, secs(5));
    assert!(pair.the(Client).writable() > 2 * room, "the windows have grown");
}

#[test]
fn what_is_unsent_is_bounded_and_room_is_told_at_half_of_it() {
    for config in on_each_host(config()).into_iter().chain(on_each_host(tcp_config())) {
        let mut pair = Pair::new(&[10], config.clone());
        pair.connect();
        let mss = u64::from(pair.subflow(Client, 0).mss);
        pair.command(Client, |c, _| c.set_unsent_limit(Some(4 * mss)).expect("it is some bytes"));
        pair.driver.applications.unchecked = true;
        for _ in 0..10 {
            // Data that a call has written leaves after the call.
            let bytes = Payload::Bytes(vec![0; mss as usize].into());
            pair.command(Client, |c, now| while c.write(now, bytes.clone()).is_ok() {});
        }
        let the = pair.the(Client);
        assert_eq!((the.snapshot().sending.written_bytes, the.writable()), (14 * mss, 0), "{:?}", config.host);
        let told = pair.driver.applications.apps[0].events.len();
        pair.run_until("it is told", secs(1), |p| {
            let events = &p.driver.applications.apps[0].events;
            events[told..].iter().any(|(_, e)| *e == ConnectionEvent::Writable)
        });
        assert!(pair.the(Client).writable() >= 2 * mss, "{:?}", config.host);
        pair.command(Client, |c, _| assert_eq!(c.set_unsent_limit(Some(0)), Err(SettingError::Zero)));
        pair.command(Client, |c, _| c.set_unsent_limit(None).expect("no limit is fine"));
        assert!(pair.the(Client).writable() > 4 * mss, "{:?}", config.host);
    }
}

/// The last byte of the stream that the server has let its peer send.
fn edge(pair: &Pair) -> u64 {
    pair.the(Server).snapshot().receiving.window_end
}

#[test]
fn a_smaller_receive_buffer_takes_back_nothing_that_was_offered() {
    for config in [config(), tcp_config()] {
        let mut pair = Pair::new(&[10], ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(200_000), ..config });
        pair.driver.applications.apps[1].reads = false;
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(ms(100));
        let (offered, most) = (edge(&pair), 1000 + 30_000);
        assert!(offered > 190_000);
        pair.command(Server, |c, _| c.set_receive_buffer(ReceiveBuffer::Fixed(30_000)).expect("it is smaller"));
        // The peer may use the window that it was offered, even beyond the present buffer, and out of order.
        pair.drop_first(|p| p.is_data());
        pair.write(Client, 1_000_000);
        pair.run_for(secs(5));
        assert!(edge(&pair) >= offered, "{} is before {offered}", edge(&pair));
        assert!(
            pair.the(Server).snapshot().receiving.in_order_bytes + 2000 > offered,
            "all that was offered has been taken"
        );
        // After everything was read, only the new buffer is offered.
        while pair.read(Server, 50_000) > 0 {
            pair.run_for(ms(100));
        }
        let received = pair.the(Server).snapshot().receiving.in_order_bytes;
        assert!(received > most, "more than the new buffer came");
        assert!(edge(&pair) <= received + 30_000, "{} after {received}", edge(&pair));
        pair.run_for(secs(1));
        assert!(pair.the(Server).snapshot().receiving.in_order_bytes <= received + 31_000);
    }
}

#[test]
fn a_larger_receive_buffer_is_told_at_once_and_bounded_by_the_window_scale() {
    let mut pair = Pair::new(&[10], ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(20_000), ..config() });
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    pair.write(Client, 100_000);
    pair.run_for(secs(1));
    let received = pair.the(Server).snapshot().receiving.in_order_bytes;
    assert!(received <= 20_000);
    pair.command(Server, |c, _| {
        assert_eq!(c.set_receive_buffer(ReceiveBuffer::Fixed(0)), Err(SettingError::Zero));
        let large = ReceiveBuffer::Auto { initial: 30_000, max: 70_000 };
        assert_eq!(c.set_receive_buffer(large), Err(SettingError::BeyondWindowScale { most: 65_535 }));
        c.set_receive_buffer(ReceiveBuffer::Fixed(65_535)).expect("the scale is 0");
    });
    pair.run_for(ms(100));
    assert!(pair.the(Server).snapshot().receiving.in_order_bytes > 50_000, "the update came at once");
}

#[test]
fn pacing_begins_ends_and_changes_on_a_living_connection() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 200_000);
    pair.run_until_received(Server, 200_000, secs(5));
    let limit = |mbps| Pacing::On { limit: Some(Bitrate::from_mbps(mbps)), horizon: Duration::ZERO };
    let none = Pacing::On { limit: Some(Bitrate::from_bps(0)), horizon: Duration::ZERO };
    pair.command(Client, |c, _| assert_eq!(c.set_pacing(none), Err(SettingError::Zero)));
    let mut received = 200_000;
    for (setting, least_ms, most_ms) in [(limit(8), 200, 240), (limit(16), 100, 130), (Pacing::Off, 10, 99)] {
        pair.command(Client, |c, _| c.set_pacing(setting).expect("it is a rate"));
        let start = pair.now;
        pair.write(Client, 200_000);
        received += 200_000;
        pair.run_until_received(Server, received, secs(5));
        let took = pair.now.since(start).as_millis();
        assert!((least_ms..=most_ms).contains(&took), "{took} ms with {setting:?}");
    }
}

#[test]
fn what_waits_for_its_time_leaves_when_pacing_ends() {
    let pacing = Pacing::On { limit: Some(Bitrate::from_bps(8000)), horizon: Duration::ZERO };
    let mut pair = Pair::new(&[10], ConnectionConfig { tcp: TcpConfig { pacing, ..TcpConfig::default() }, ..config() });
    pair.connect();
    pair.write(Client, 10_000);
    assert_eq!(pair.data(Client).count(), 1, "the next one in more than a second");
    pair.command(Client, |c, _| c.set_pacing(Pacing::Off).expect("off is allowed"));
    pair.run_until_received(Server, 10_000, ms(100));
}

#[test]
fn the_priority_of_no_subflow_cannot_be_changed() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.command(Client, |c, now| {
        assert_eq!(c.set_backup(now, SubflowId(7), true), Err(SettingError::UnknownSubflow));
    });
}
