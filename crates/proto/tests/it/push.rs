//! PSH, which the application cannot ask for (RFC 9293 §3.9.1.2).

use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_wire::Flags;

/// "MUST NOT buffer data indefinitely", and "MUST set the PSH bit in the last buffered segment (i.e., when there is no more queued data to
/// be sent)".
#[test]
fn the_last_segment_of_all_that_is_there_is_pushed_and_nothing_stays_behind() {
    for (mptcp, len) in [(false, 10), (false, 100_000), (true, 10), (true, 100_000)] {
        for nagle in [false, true] {
            let mut pair = Pair::new(&[10], ConnectionConfig { mptcp, nagle, ..config() });
            pair.connect();
            for n in 1..=3 {
                pair.write(Client, len);
                pair.run_until_received(Server, n * len, secs(2));
                let last = pair.data(Client).next_back().expect("sent");
                assert!(last.segment.flags.contains(Flags::PSH));
            }
            let pushed = pair.data(Client).filter(|p| p.segment.flags.contains(Flags::PSH)).count();
            assert!(pushed < 60 || len == 10, "{pushed}");
        }
    }
}
