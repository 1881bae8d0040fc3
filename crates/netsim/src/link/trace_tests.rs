//! Compares links with a trace against a second computation of mahimahi's rules, packet by packet.

use crate::testing::{Frame, drain_until, frame};
use crate::{Fate, Link, LinkConfig, LinkRandom, QueueLimit, Shaper, Trace};
use pathweave_units::Instant;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// When each packet's last byte is delivered, in nanoseconds; `None` if the queue was full.
///
/// In a FIFO a packet's time depends only on the packets before it. It begins in the opportunity in which the packet
/// before it ended, if that one has room left and the packet had arrived before it. Otherwise it begins in the first
/// later opportunity after its arrival. It continues in the opportunities that follow.
fn expected(opportunities: &[u64], packets: &[(u64, u32)], limit: usize) -> Vec<Option<u64>> {
    let mut begins: Vec<u64> = Vec::new();
    // Index of the opportunity used last, and bytes left in it.
    let mut used: Option<(usize, u32)> = None;
    let deliver = |&(arrival, length): &(u64, u32)| {
        let waiting = begins.iter().filter(|&&begin| begin > arrival).count();
        if waiting >= limit {
            return None;
        }
        let shared = used.filter(|&(index, room)| room > 0 && opportunities[index] > arrival);
        let (mut index, mut room) = shared.unwrap_or_else(|| {
            let unused = used.map_or(0, |(index, _)| index + 1);
            (unused.max(opportunities.partition_point(|&at| at <= arrival)), 1500)
        });
        begins.push(opportunities[index]);
        let mut left = length;
        while left > room {
            left -= room;
            (index, room) = (index + 1, 1500);
        }
        used = Some((index, room - left));
        Some(opportunities[index])
    };
    packets.iter().map(deliver).collect()
}

proptest! {
    #[test]
    fn a_trace_link_follows_the_rules_of_the_format(
        mut millis in proptest::collection::vec(0u32..60, 0..40),
        period in 60u32..80,
        // Nanoseconds since the packet before, length. Whole milliseconds meet opportunities exactly.
        gaps in proptest::collection::vec(
            (prop_oneof![Just(0), (0..20u64).prop_map(|ms| ms * MS), 0..300 * MS], 1u32..4000), 1..100),
        limit in 1u32..20,
    ) {
        millis.sort_unstable();
        millis.push(period);
        let mut clock = 0;
        let packets: Vec<(u64, u32)> = gaps
            .into_iter()
            .map(|(gap, length)| {
                clock += gap;
                (clock, length)
            })
            .collect();
        // 100 packets of up to three opportunities each, at least one a period, after the last arrival.
        let end = clock + 400 * 80 * MS;
        let opportunities: Vec<u64> = (0..=end / (u64::from(period) * MS))
            .flat_map(|n| millis.iter().map(move |&ms| (n * u64::from(period) + u64::from(ms)) * MS))
            .collect();
        let shaper = Shaper::Trace(Trace::from_millis(millis).expect("sorted, and ends above zero"));
        let config = LinkConfig { shaper, queue: QueueLimit::Packets(limit).into(), ..LinkConfig::default() };
        let mut link: Link<Frame> = Link::new(config, LinkRandom::new(1, "link"));
        let mut outputs = Vec::new();
        for (number, &(at, length)) in packets.iter().enumerate() {
            outputs.extend(drain_until(&mut link, Instant::from_nanos(at)));
            link.enqueue(Instant::from_nanos(at), frame(number as u32, length));
        }
        outputs.extend(drain_until(&mut link, Instant::from_nanos(end)));
        let mut delivered = vec![None; packets.len()];
        for out in outputs.iter().filter(|out| out.fate == Fate::Delivered) {
            delivered[out.packet.tag as usize] = Some(out.at.as_nanos());
        }
        prop_assert_eq!(delivered, expected(&opportunities, &packets, limit as usize));
    }
}
