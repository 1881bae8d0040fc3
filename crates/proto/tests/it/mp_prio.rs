//! MP_PRIO and backup subflows (RFC 8684 §3.3.8).

use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_wire::mptcp::MptcpOption;

fn priorities(pair: &Pair) -> Vec<(Side, usize, bool)> {
    let of = |p: &Packet| {
        p.segment.options.mptcp.iter().find_map(|o| match o {
            MptcpOption::Priority { backup } => Some((p.from, p.path, *backup)),
            _ => None,
        })
    };
    pair.driver.io.log.iter().filter_map(of).collect()
}

#[test]
fn a_subflow_becomes_a_backup_and_is_used_again() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    let id = pair.subflow(Server, 1).id;
    pair.command(Server, |c, now| c.set_backup(now, id, true).expect("it lives"));
    pair.run_for(ms(100));
    assert_eq!(priorities(&pair), [(Server, 1, true)]);
    pair.clear_log();
    pair.write(Client, 300_000);
    pair.run_until_received(Server, 300_001, secs(2));
    assert!(pair.data(Client).all(|p| p.path == 0));
    pair.command(Server, |c, now| c.set_backup(now, id, false).expect("it lives"));
    pair.run_for(ms(100));
    assert_eq!(priorities(&pair), [(Server, 1, false)]);
    // More than the first subflow's window, which has grown meanwhile.
    pair.write(Client, 1_000_000);
    pair.run_until_received(Server, 1_300_001, secs(2));
    assert!(pair.data(Client).any(|p| p.path == 1));
}

#[test]
fn the_settings_decide_whether_a_peers_priorities_count() {
    for accepted in [true, false] {
        let mut pair = Pair::new(&[10, 10], ConnectionConfig { accept_priorities: accepted, ..config() });
        pair.connect_with_subflows(2);
        let id = pair.subflow(Server, 1).id;
        pair.command(Server, |c, now| c.set_backup(now, id, true).expect("it lives"));
        pair.run_for(ms(100));
        assert_eq!(priorities(&pair), [(Server, 1, true)]);
        pair.write(Client, 300_000);
        pair.write(Server, 300_000);
        pair.run_until_received(Server, 300_001, secs(2));
        pair.run_until_received(Client, 300_000, secs(2));
        assert_eq!(pair.data(Client).any(|p| p.path == 1), !accepted);
        assert!(pair.data(Server).all(|p| p.path == 0), "who asked for it keeps to it");
    }
}

#[test]
fn a_backup_takes_over_where_no_other_subflow_lives() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    let id = pair.subflow(Server, 1).id;
    pair.command(Server, |c, now| c.set_backup(now, id, true).expect("it lives"));
    pair.run_for(ms(100));
    pair.kill(0);
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_001, secs(2));
}

/// Bad-input row 29.
#[test]
fn with_nothing_but_backups_sending_goes_on() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    for path in [0, 1] {
        let id = pair.subflow(Server, path).id;
        pair.command(Server, |c, now| c.set_backup(now, id, true).expect("it lives"));
    }
    pair.run_for(ms(100));
    assert_eq!(priorities(&pair).len(), 2);
    pair.write(Client, 300_000);
    pair.write(Server, 300_000);
    pair.run_until_received(Server, 300_001, secs(2));
    pair.run_until_received(Client, 300_000, secs(2));
}
