//! The stream's short tail, if the application says how to treat it: a cork, more data that follows, the end of a
//! record.

use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{Connection, WriteError};
use pathweave_units::Instant;
use pathweave_wire::{Flags, Payload};

type Write = fn(&mut Connection, Instant, Payload) -> Result<u64, WriteError>;

fn open(config: &ConnectionConfig) -> Pair {
    let mut pair = Pair::new(&[10], config.clone());
    pair.driver.applications.unchecked = true;
    pair.connect();
    pair.clear_log();
    pair
}

/// Writes the test stream's next bytes.
fn write(pair: &mut Pair, how: Write, len: u32) {
    pair.command(Client, |c, now| {
        assert_eq!(how(c, now, Payload::Bytes(vec![0; len as usize].into())), Ok(len.into()));
    });
}

fn lengths(pair: &Pair) -> Vec<u32> {
    pair.data(Client).map(|p| p.segment.payload.len()).collect()
}

#[test]
fn a_corked_tail_leaves_when_it_is_a_segment_when_the_cork_goes_or_after_a_timeout() {
    for config in on_each_host(config()).into_iter().chain(on_each_host(tcp_config())) {
        let mut pair = open(&config);
        let mss = pair.subflow(Client, 0).mss;
        pair.command(Client, |c, now| c.set_cork(now, true));
        write(&mut pair, Connection::write, 40);
        write(&mut pair, Connection::write, 40);
        assert_eq!(lengths(&pair), []);
        pair.command(Client, |c, now| c.set_cork(now, false));
        assert_eq!(lengths(&pair), [80]);
        pair.run_for(ms(100));
        pair.clear_log();
        pair.command(Client, |c, now| c.set_cork(now, true));
        write(&mut pair, Connection::write, mss + 100);
        assert_eq!(lengths(&pair), [mss]);
        write(&mut pair, Connection::write, 1);
        pair.run_for(ms(100));
        assert_eq!(lengths(&pair), [mss], "{:?}", config.host);
        pair.run_for(ms(300));
        assert_eq!(lengths(&pair), [mss, 101], "{:?}", config.host);
        write(&mut pair, Connection::write, 5);
        pair.command(Client, |c, now| c.set_nagle(now, false));
        assert_eq!(lengths(&pair), [mss, 101, 5], "it leaves although there is a cork");
    }
}

#[test]
fn what_more_follows_waits_for_the_next_write_or_acknowledgement() {
    for config in on_each_host(config()).into_iter().chain(on_each_host(tcp_config())) {
        let mut pair = open(&config);
        let mss = pair.subflow(Client, 0).mss;
        write(&mut pair, Connection::write_more, 100);
        pair.run_for(ms(5));
        write(&mut pair, Connection::write_more, 200);
        assert_eq!(lengths(&pair), []);
        write(&mut pair, Connection::write, 5);
        assert_eq!(lengths(&pair), [305]);
        pair.run_for(ms(100));
        pair.clear_log();
        write(&mut pair, Connection::write_more, mss + 50);
        assert_eq!(lengths(&pair), [mss]);
        pair.run_for(ms(100));
        assert_eq!(lengths(&pair), [mss, 50], "{:?}", config.host);
    }
}

#[test]
fn a_record_shares_no_segment_with_what_follows() {
    for config in on_each_host(config()).into_iter().chain(on_each_host(tcp_config())) {
        let mut pair = open(&config);
        // The window is full, so that all later data waits together.
        let mss = pair.subflow(Client, 0).mss;
        write(&mut pair, Connection::write, 10 * mss + 400);
        write(&mut pair, Connection::write_record, 400);
        write(&mut pair, Connection::write_record, 300);
        write(&mut pair, Connection::write, 2 * mss);
        pair.run_for(secs(2));
        let lengths = lengths(&pair);
        assert_eq!(lengths[10..12], [800, 300], "{:?}", config.host);
        let ends = pair.data(Client).skip(10).take(2);
        assert!(ends.map(|p| p.segment.flags).all(|flags| flags.contains(Flags::PSH)), "{:?}", config.host);
        assert_eq!(lengths[12..].iter().sum::<u32>(), 2 * mss, "{:?}", config.host);
    }
}
