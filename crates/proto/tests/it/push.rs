//! PSH, which the application cannot ask for (RFC 9293 §3.9.1.2).

use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_wire::Flags;

/// "MUST NOT buffer data indefinitely", and "MUST set the PSH bit in the last buffered segment (i.e., when there is no
/// more queued data to be sent)".
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

/// A retransmission has the PSH flag of the original, whatever is queued behind it by then.
#[test]
fn what_is_repeated_has_the_flag_that_it_had() {
    for lost in [0, 6] {
        let mut pair = Pair::new(&[10], config());
        pair.connect();
        let isn = pair.isn(Client, 0);
        let mut dropped = false;
        pair.script(move |p| {
            let wanted =
                p.from == Client && p.is_data() && p.segment.seq.wrapping_sub(isn).wrapping_sub(1) / 1448 == lost;
            if wanted && !core::mem::replace(&mut dropped, wanted) { Fate::Drop } else { Fate::Pass }
        });
        pair.write(Client, 10_000);
        pair.run_until_received(Server, 10_000, secs(2));
        let repeated = pair.data(Client).filter(|p| !p.segment.payload.is_empty());
        let mut flags = std::collections::BTreeMap::<u32, Vec<bool>>::new();
        for p in repeated {
            flags.entry(pair.relative(p)).or_default().push(p.segment.flags.contains(Flags::PSH));
        }
        let twice: Vec<_> = flags.values().filter(|f| f.len() > 1).collect();
        assert!(!twice.is_empty(), "something was repeated");
        assert!(twice.iter().all(|f| f.iter().all(|push| *push == f[0])), "{flags:?}");
    }
}
