//! The subflows on which DATA_ACKs leave (RFC 8684 §3.3.2).

use crate::pair::*;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, LossRecovery, ReceiveBuffer, TcpConfig};
use pathweave_proto::host::Host;
use pathweave_wire::mptcp::DataNumber;

const SLOW: usize = 0;
const QUICK: usize = 1;

fn data_ack(packet: &Packet) -> Option<u64> {
    match packet.segment.options.dss?.data_ack? {
        DataNumber::Long(number) => Some(number),
        DataNumber::Short(number) => Some(number.into()),
    }
}

/// A transfer over 60 ms and 10 ms; its log begins after the start.
fn transfer(buffer: u64, config: ConnectionConfig) -> Pair {
    let config = ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(buffer), ..config };
    let mut pair = Pair::new(&[60, 10], with_scheduler(config, "roundrobin"));
    pair.connect_with_subflows(2);
    for second in 0..2 {
        if second == 1 {
            pair.clear_log();
        }
        for _ in 0..10 {
            pair.write(Client, 200_000);
            pair.run_for(ms(100));
        }
    }
    pair
}

/// Number of DATA_ACKs on the slow path that were not on the quick one by the end of that instant.
fn said_later(pair: &Pair) -> usize {
    let all: Vec<_> = pair.sent(Server).filter_map(|p| Some((p.at, p.path, data_ack(p)?))).collect();
    let quick_by = |at| all.iter().filter(|(t, path, _)| *path == QUICK && *t <= at).map(|a| a.2).max();
    all.iter().filter(|(at, path, ack)| *path == SLOW && quick_by(*at).is_some_and(|quick| quick < *ack)).count()
}

#[test]
fn in_a_small_window_the_subflow_with_the_shorter_way_back_says_the_same() {
    for config in on_each_host(config()) {
        let is_plain = matches!(config.host, Host::Rfc);
        let pair = transfer(60_000, config);
        assert!(pair.data(Client).filter(|p| p.path == SLOW).count() > 100, "both paths carry data");
        // A kernel acknowledges on the subflow that brought the data.
        assert_eq!(said_later(&pair) == 0, is_plain, "{}", pair.describe());
        let quick = pair.sent(Server).filter(|p| p.path == QUICK);
        let said: Vec<_> = quick.map(|p| (p.segment.ack, data_ack(p), p.segment.window)).collect();
        assert!(said.windows(2).all(|two| two[0] != two[1]), "each says something new: {}", pair.describe());
    }
}

#[test]
fn where_the_setting_is_off_each_subflow_acknowledges_its_own_data() {
    let pair = transfer(60_000, ConnectionConfig { share_data_acks: false, ..config() });
    assert_ne!(said_later(&pair), 0, "{}", pair.describe());
}

/// An acknowledgement there could wake a radio or cost money, against the peer's choice.
#[test]
fn a_subflow_that_carries_nothing_says_nothing() {
    let mut pair = transfer(60_000, config());
    let slow = Registry::builtin().choose_scheduler("single", &[("path".into(), "0".into())]).expect("built in");
    pair.command(Client, |c, now| c.set_scheduler(now, slow).expect("it takes it"));
    pair.run_for(secs(1));
    pair.clear_log();
    pair.write(Client, 1_000_000);
    pair.run_for(secs(1));
    assert!(pair.sent(Server).filter(|p| p.path == SLOW).count() > 50, "{}", pair.describe());
    assert_eq!(pair.sent(Server).filter(|p| p.path == QUICK).count(), 0, "{}", pair.describe());
}

/// Acknowledging on another subflow too costs one more segment each time, and saves little of a large window.
#[test]
fn in_a_large_window_each_subflow_acknowledges_its_own_data() {
    let of_quick = |buffer| {
        let pair = transfer(buffer, config());
        let acks = pair.sent(Server).filter(|p| p.path == QUICK).count();
        (acks, pair.data(Client).filter(|p| p.path == QUICK).count())
    };
    let (acks, data) = of_quick(60_000);
    assert!(acks > data * 6 / 10, "{acks} of {data}");
    let (acks, data) = of_quick(16 << 20);
    assert!(data > 100 && acks <= data * 6 / 10, "{acks} of {data}");
}

/// Without SACK a sender may take several acknowledgements without new data for the sign of a loss.
#[test]
fn without_sack_no_acknowledgement_of_a_subflow_comes_twice() {
    let tcp = TcpConfig { recovery: LossRecovery::NewReno, ..TcpConfig::default() };
    let pair = transfer(60_000, ConnectionConfig { tcp, ..config() });
    let acks: Vec<_> = pair.sent(Server).filter(|p| p.path == QUICK).map(|p| p.segment.ack).collect();
    assert!(acks.len() > 50 && acks.windows(2).all(|two| two[0] != two[1]), "{}", pair.describe());
}

/// Each path has one segment in the window here. The slow path's fills the hole before the quick one's, and no second
/// one causes its acknowledgement.
#[test]
fn what_others_waited_for_is_acknowledged_on_the_quick_subflow_in_that_instant() {
    let mut config = config();
    config.tcp.quick_acks = 0;
    let pair = transfer(3000, config);
    let mut heard: Vec<_> = pair.sent(Server).filter_map(|p| Some((p.at, data_ack(p)?))).collect();
    heard.sort_unstable();
    let arrivals: Vec<_> = pair.data(Client).map(|p| p.at + ms(if p.path == SLOW { 60 } else { 10 })).collect();
    let segment = u64::from(pair.subflow(Client, SLOW).mss);
    // Everything sent before the log begins has arrived by then.
    heard.retain(|(at, _)| *at > at_ms(1400));
    let late = heard.windows(2).filter(|two| two[1].1 > two[0].1 + segment && !arrivals.contains(&two[1].0));
    assert_eq!(late.count(), 0);
    assert!(heard.len() > 20, "{}", pair.describe());
}
