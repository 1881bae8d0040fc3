//! The plain host is the same with and without other hosts compiled in: features add hosts and change nothing.

use crate::pair::*;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, LossRecovery, ReceiveBuffer, TcpConfig};
use pathweave_proto::host::Host;
use pathweave_units::Duration;
use pathweave_units::random::Random;
use std::fmt::Write;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/rfc_host.txt");

/// FNV-1a of the content and time of each packet.
fn digest(pair: &Pair) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut line = String::new();
    for p in &pair.driver.io.log {
        let s = &p.segment;
        line.clear();
        let said = (s.seq, s.ack, s.window, s.flags, s.payload.len(), s.ip_len());
        write!(line, "{:?} {:?} {} {said:?} {:?}", p.at, p.from, p.path, s.options.sack).expect("a string takes it");
        hash = line.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    }
    hash
}

fn run(scheduler: &str, seed: u64) -> u64 {
    let grows = ReceiveBuffer::Auto { initial: 64 << 10, max: 1 << 20 };
    let receive_buffer = if seed.is_multiple_of(2) { grows } else { ReceiveBuffer::Fixed(100_000) };
    let config = ConnectionConfig { host: Host::Rfc, receive_buffer, pr: true, ..config() };
    let mut pair = Pair::new(&[5, 40], with_scheduler(config, scheduler));
    let mut random = Random::substream(seed, "fates");
    pair.script(move |_| match random.below(100) {
        0 => Fate::Drop,
        1 => Fate::Late(ms(random.below(50))),
        _ => Fate::Pass,
    });
    pair.connect();
    pair.send_all(Client, 400_000);
    pair.run_until_received(Server, 400_000, secs(60));
    // After an idle time, a few short messages.
    pair.run_for(secs(2));
    for _ in 0..5 {
        pair.write(Client, 3000);
        pair.run_for(ms(30));
    }
    digest(&pair)
}

/// `cargo xtask test` runs this with the feature `host-linux` and without it, against the same file. After an intended
/// change of the plain host, `PATHWEAVE_BLESS=1` writes the file anew.
#[test]
fn the_plain_host_is_the_same_whatever_else_is_compiled() {
    let mut text = String::new();
    for (seed, scheduler) in (1..).zip(Registry::builtin().schedulers()) {
        writeln!(text, "{} {:016x}", scheduler.name(), run(scheduler.name(), seed)).expect("a string takes it");
    }
    if std::env::var_os("PATHWEAVE_BLESS").is_some() {
        std::fs::write(FILE, &text).expect("the file can be written");
    }
    assert_eq!(text, std::fs::read_to_string(FILE).expect("the file is there"), "PATHWEAVE_BLESS=1 writes {FILE}");
}

/// Time between the first transmission and the retransmission of the client's first data, if the first `syns` SYNs and
/// that data are lost.
fn wait_for_first_data(config: ConnectionConfig, syns: usize) -> Duration {
    let mut pair = Pair::new(&[10], config);
    pair.drop_some(syns, |p| p.from == Client && p.is_syn());
    pair.connect();
    pair.drop_some(1, Packet::is_data);
    pair.write(Client, 1000);
    pair.run_for(secs(10));
    let sent: Vec<_> = pair.data(Client).map(|p| p.at).collect();
    assert_eq!((sent.len(), pair.received(Server)), (2, 1000));
    sent[1].since(sent[0])
}

#[test]
fn after_a_syn_that_was_repeated_the_first_timeout_is_3_seconds() {
    for base in [config(), tcp_config()] {
        // A loss probe would come first.
        let tcp = TcpConfig { recovery: LossRecovery::Sack, ..base.tcp.clone() };
        let rfc = ConnectionConfig { tcp, ..base };
        assert_eq!(wait_for_first_data(rfc.clone(), 1), secs(3));
        assert!(wait_for_first_data(rfc.clone(), 0) < secs(1), "the SYN has measured a round trip");
        #[cfg(feature = "host-linux")]
        {
            assert!(wait_for_first_data(on_linux(rfc), 1) < ms(1100), "as it is measured");
        }
    }
}
