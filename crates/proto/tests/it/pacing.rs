//! Paced data leaves in even steps (RFC 9002 §7.7); nothing else waits.

use crate::pair::{Client, Pair, Server, Side, config, defers, ms, on_each_host, secs, tcp_config};
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, Pacing, TcpConfig};
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth};
#[cfg(feature = "host-linux")]
use pathweave_proto::host::Host;
use pathweave_units::{Bitrate, Duration};
use pathweave_wire::{Payload, Segment};

/// 1 MB/s.
const LIMIT: Bitrate = Bitrate::from_mbps(8);

fn paced(config: ConnectionConfig, limit: Option<Bitrate>) -> ConnectionConfig {
    let pacing = Pacing::On { limit, horizon: Duration::ZERO };
    ConnectionConfig { tcp: TcpConfig { pacing, ..config.tcp }, ..config }
}

/// The times between data segments of an end, and the bytes of the earlier segment of each pair.
fn gaps(pair: &Pair, from: Side) -> Vec<(Duration, u32)> {
    let sent: Vec<_> = pair.data(from).map(|p| (p.at, p.len())).collect();
    sent.windows(2).map(|two| (two[1].0.since(two[0].0), two[0].1)).collect()
}

#[test]
fn segments_leave_one_after_the_other_at_the_rate() {
    for config in on_each_host(config()).into_iter().filter(|c| !defers(c)).chain([tcp_config()]) {
        let mut pair = Pair::new(&[10], paced(config.clone(), Some(LIMIT)));
        pair.connect();
        pair.write(Client, 1_000_000);
        pair.run_until_received(Server, 1_000_000, secs(5));
        // The window grows beyond what the limit lets out in a round trip; then only the limit counts.
        let steady = &gaps(&pair, Client)[100..650];
        for (gap, bytes) in steady {
            let expected = Duration::from_micros(u64::from(*bytes));
            assert!(gap.as_nanos().abs_diff(expected.as_nanos()) <= 2, "{gap} after {bytes} bytes");
        }
        let (time, bytes) =
            steady.iter().fold((0, 0), |(t, b), (gap, bytes)| (t + gap.as_nanos(), b + u64::from(*bytes)));
        let rate = bytes as f64 / time as f64 * 1e9;
        assert!((rate / 1e6 - 1.0).abs() < 0.01, "{rate} bytes/s");

        let mut unpaced = Pair::new(&[10], config);
        unpaced.connect();
        unpaced.write(Client, 1_000_000);
        unpaced.run_until_received(Server, 1_000_000, secs(5));
        assert!(gaps(&unpaced, Client).iter().filter(|(gap, _)| gap.is_zero()).count() > 300, "bursts without pacing");
    }
}

#[test]
fn the_hosts_rate_spreads_the_first_window_over_part_of_a_round_trip() {
    for config in on_each_host(config()) {
        // 1.25 windows in 100 ms are 8 ms per segment, 2 windows 5 ms; without Multipath TCP's options a segment is 2 %
        // larger.
        let wanted = match config.host {
            #[cfg(feature = "host-linux")]
            Host::Linux => 5.0,
            _ => 8.0,
        };
        let mut pair = Pair::new(&[50], paced(config, None));
        pair.connect();
        pair.write(Client, 100_000);
        pair.run_for(ms(90));
        let gaps = gaps(&pair, Client);
        assert_eq!(gaps.len(), 9, "the initial window");
        for (gap, _) in gaps {
            let ratio = gap.as_secs_f64() * 1000.0 / wanted;
            assert!((0.97..=1.0).contains(&ratio), "{gap} for {wanted} ms");
        }
    }
}

#[test]
fn what_comes_after_an_idle_time_is_no_burst() {
    let mut pair = Pair::new(&[10], paced(config(), Some(LIMIT)));
    pair.connect();
    for round in 1..=3 {
        pair.write(Client, 200_000);
        pair.run_until_received(Server, round * 200_000, secs(5));
        pair.run_for(ms(150));
    }
    for (gap, bytes) in gaps(&pair, Client) {
        assert!(gap.as_nanos() + 2 >= u64::from(bytes) * 1000, "{gap} after {bytes} bytes");
    }
}

#[test]
fn repetitions_are_paced_too() {
    let mut pair = Pair::new(&[10], paced(tcp_config(), Some(LIMIT)));
    pair.connect();
    let mut n = 0;
    pair.script(move |p| {
        n += u32::from(p.is_data());
        if p.is_data() && (40..60).contains(&n) { crate::pair::Fate::Drop } else { crate::pair::Fate::Pass }
    });
    pair.write(Client, 300_000);
    pair.run_until_received(Server, 300_000, secs(5));
    let counters = pair.subflow(Client, 0).counters;
    assert_eq!((counters.retransmitted_segments, counters.loss_probes, counters.timeouts), (20, 0, 0));
    for (gap, bytes) in gaps(&pair, Client) {
        assert!(gap.as_nanos() + 2 >= u64::from(bytes) * 1000, "{gap} after {bytes} bytes");
    }
}

#[test]
fn acknowledgements_do_not_wait() {
    let mut pair = Pair::new(&[10], config());
    // A data segment of the server would take more than a second.
    pair.listen(paced(config(), Some(Bitrate::from_bps(8000))));
    pair.connect();
    pair.write(Server, 10_000);
    pair.write(Client, 300_000);
    pair.run_until("the client's data has arrived", secs(1), |p| p.received(Server) == 300_000);
    // The delay of the last acknowledgement, and its travel time.
    pair.run_for(ms(60));
    let acknowledged = pair.subflow(Client, 0);
    assert_eq!(acknowledged.window.in_flight, 0, "all of it is acknowledged");
    assert!(pair.data(Server).count() <= 2, "the server's data waits");
    assert!(pair.sent(Server).filter(|p| p.is_pure_ack()).count() > 50);
}

/// A controller with a fixed window and a rate of its own.
#[derive(Debug)]
struct Rated;

impl Controller for Rated {
    fn on_ack(&mut self, _: &mut Context<'_>, _: &Ack) {}
    fn threshold_after_loss(&mut self, _: &Context<'_>) -> u32 {
        50
    }
    fn pacing_rate(&self, _: &Context<'_>) -> Option<Bitrate> {
        Some(Bitrate::from_mbps(4))
    }
    fn growth(&self, _: &Context<'_>) -> Growth {
        Growth::default()
    }
}

const RATED: ControllerEntry = ControllerEntry {
    name: "rated",
    source: "nobody",
    summary: "a window of 50 segments at 4 Mbit/s",
    parameters: &[],
    coupled: false,
    build: |_| Ok(Box::new(Rated)),
};

#[test]
fn a_controllers_own_rate_goes_before_the_hosts() {
    let registry = Registry::builtin().with_controller(RATED);
    let congestion = registry.choose_controller("rated", &[]).expect("it is there");
    let config = paced(ConnectionConfig { congestion, ..config() }, None);
    let mut pair = Pair::new(&[10], ConnectionConfig { tcp: TcpConfig { initial_window: 50, ..config.tcp }, ..config });
    pair.connect();
    pair.write(Client, 300_000);
    pair.run_until_received(Server, 300_000, secs(5));
    for (gap, bytes) in &gaps(&pair, Client)[50..200] {
        let expected = Duration::from_micros(2 * u64::from(*bytes));
        assert!(gap.as_nanos().abs_diff(expected.as_nanos()) <= 2, "{gap} after {bytes} bytes");
    }
}

#[test]
fn a_device_that_holds_packets_gets_them_early_with_their_times() {
    let config = paced(config(), Some(LIMIT));
    let pacing = Pacing::On { limit: Some(LIMIT), horizon: ms(5) };
    let mut pair = Pair::new(&[5], ConnectionConfig { tcp: TcpConfig { pacing, ..config.tcp }, ..config });
    pair.connect();
    let (now, handle) = (pair.now, pair.driver.applications.apps[0].handle.expect("it is open"));
    let endpoint = &mut pair.driver.endpoints[0];
    endpoint.write(now, handle, Payload::Bytes(vec![0; 14_240].into())).expect("there is room");
    let mut departures = Vec::new();
    while let Some(transmit) = endpoint.poll_transmit(now, 1) {
        departures.push(transmit.departure.since(now));
    }
    let step = Duration::from_micros(1424);
    assert_eq!(departures, [0, 1, 2, 3].map(|n| step.saturating_mul(n)), "what leaves within 5 ms");
    assert_eq!(endpoint.poll_timeout(), Some(now + step.saturating_mul(4) - ms(5)), "the next is asked for 5 ms early");
    assert_eq!(endpoint.departure(now, &Segment::default()), now, "no data: at once");
}
