//! Property tests of links and networks with random settings: no packet is lost silently or comes out at a wrong time,
//! order is kept if the settings say so, and runs repeat exactly.

use crate::testing::{Frame, frame};
use crate::*;
use pathweave_units::{Bitrate, Duration, Instant, Probability};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("from 0 to 1")
}

fn any_probability() -> impl Strategy<Value = Probability> {
    prop_oneof![2 => Just(0.0), 3 => 0.0..0.5f64, 1 => Just(1.0)].prop_map(probability)
}

fn any_duration(max_micros: u64) -> impl Strategy<Value = Duration> {
    prop_oneof![1 => Just(Duration::ZERO), 3 => (0..max_micros * 1000).prop_map(Duration::from_nanos)]
}

fn any_shaper() -> impl Strategy<Value = Shaper> {
    let trace = proptest::collection::vec(0u32..30, 1..20).prop_map(|mut millis| {
        millis.sort_unstable();
        millis.push(30);
        Shaper::Trace(Trace::from_millis(millis).expect("sorted, and ends above zero"))
    });
    prop_oneof![
        1 => Just(Shaper::Unlimited),
        4 => (100_000u64..50_000_000).prop_map(|bps| Shaper::Constant(Bitrate::from_bps(bps))),
        2 => trace,
        2 => (100_000u64..50_000_000, 500u64..20_000)
            .prop_map(|(bps, burst_bytes)| Shaper::TokenBucket { rate: Bitrate::from_bps(bps), burst_bytes }),
    ]
}

fn any_queue() -> impl Strategy<Value = Queue> {
    let limit = prop_oneof![
        (0u32..40).prop_map(QueueLimit::Packets),
        (0u64..40_000).prop_map(QueueLimit::Bytes),
        any_duration(100_000).prop_map(QueueLimit::Time),
    ];
    (limit, any_codel()).prop_map(|(limit, codel)| Queue { limit, codel })
}

fn any_codel() -> impl Strategy<Value = Option<Codel>> {
    proptest::option::of((1u64..20, 10u64..200, any::<bool>()).prop_map(|(target, interval, ecn)| Codel {
        target: Duration::from_millis(target),
        interval: Duration::from_millis(interval),
        ecn,
    }))
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        any_duration(20_000).prop_map(|amplitude| Jitter::Uniform { amplitude }),
        any_duration(10_000).prop_map(|deviation| Jitter::Normal { deviation }),
    ]
}

fn any_loss() -> impl Strategy<Value = Loss> {
    let chain = [any_probability(), any_probability(), any_probability(), any_probability()];
    prop_oneof![
        Just(Loss::None),
        any_probability().prop_map(Loss::Bernoulli),
        chain.prop_map(|[to_bad, to_good, loss_good, loss_bad]| Loss::GilbertElliott(GilbertElliott {
            to_bad,
            to_good,
            loss_good,
            loss_bad
        })),
    ]
}

fn any_reorder() -> impl Strategy<Value = Reorder> {
    (any_probability(), any_duration(20_000)).prop_map(|(probability, extra)| Reorder { probability, extra })
}

fn any_loss_position() -> impl Strategy<Value = LossPosition> {
    prop_oneof![Just(LossPosition::BeforeQueue), Just(LossPosition::AfterQueue)]
}

fn any_on_down() -> impl Strategy<Value = OnDown> {
    prop_oneof![Just(OnDown::Hold), Just(OnDown::Drop)]
}

fn any_config() -> impl Strategy<Value = LinkConfig> {
    (
        (any_shaper(), -14i32..30, any_queue(), any_duration(50_000), any_jitter()),
        (any::<bool>(), any_reorder(), any_loss(), any_loss_position()),
        (any_probability(), any_probability(), any::<bool>(), any_on_down()),
    )
        .prop_map(
            |(
                (shaper, overhead_bytes, queue, delay, jitter),
                (keep_order, reorder, loss, loss_position),
                (duplicate, corrupt, up, on_down),
            )| LinkConfig {
                shaper,
                overhead_bytes,
                queue,
                delay,
                jitter,
                keep_order,
                reorder,
                loss,
                loss_position,
                duplicate,
                corrupt,
                up,
                on_down,
            },
        )
}

fn any_change() -> impl Strategy<Value = LinkChange> {
    prop_oneof![
        3 => any_shaper().prop_map(LinkChange::Shaper),
        1 => (-14i32..30).prop_map(LinkChange::Overhead),
        2 => any_queue().prop_map(LinkChange::Queue),
        1 => any_duration(50_000).prop_map(LinkChange::Delay),
        1 => any_jitter().prop_map(LinkChange::Jitter),
        1 => any::<bool>().prop_map(LinkChange::KeepOrder),
        1 => any_reorder().prop_map(LinkChange::Reorder),
        1 => any_loss().prop_map(LinkChange::Loss),
        1 => any_loss_position().prop_map(LinkChange::LossPosition),
        1 => any_probability().prop_map(LinkChange::Duplicate),
        1 => any_probability().prop_map(LinkChange::Corrupt),
        3 => any::<bool>().prop_map(LinkChange::Up),
        1 => any_on_down().prop_map(LinkChange::OnDown),
    ]
}

/// A random network, the packets sent through it, and the changes of its links.
#[derive(Clone, Debug)]
struct Plan {
    /// The links of a ring, which has as many nodes as links.
    links: Vec<LinkConfig>,
    /// For each packet: time of sending in nanoseconds, first link, number of hops, length in bytes.
    packets: Vec<(u64, u32, u32, u32)>,
    changes: Vec<(u64, u32, LinkChange)>,
}

fn any_plan() -> impl Strategy<Value = Plan> {
    (1usize..5)
        .prop_flat_map(|n| {
            let links = n as u32;
            (
                proptest::collection::vec(any_config(), n),
                proptest::collection::vec((0u64..200_000_000, 0..links, 1..=links, 40u32..3000), 1..150),
                proptest::collection::vec((0u64..250_000_000, 0..links, any_change()), 0..12),
            )
        })
        .prop_map(|(links, mut packets, changes)| {
            packets.sort_by_key(|packet| packet.0);
            Plan { links, packets, changes }
        })
}

/// The outcome of a run of a plan.
struct Run {
    events: Vec<NetEvent<Frame>>,
    network: Network<Frame>,
}

/// Runs a plan with `seed` to its end. At the end all links are up and fast, so that no packet can stay inside for
/// ever.
fn play(plan: &Plan, seed: u64) -> Run {
    let mut network = Network::new();
    let nodes: Vec<NodeId> = plan.links.iter().map(|_| network.add_node()).collect();
    let links: Vec<LinkId> = (0..nodes.len())
        .map(|i| {
            let random = LinkRandom::new(seed, &format!("link{i}"));
            let ends = (nodes[i], nodes[(i + 1) % nodes.len()]);
            network.add_link(ends.0, ends.1, plan.links[i].clone(), random).expect("both nodes exist")
        })
        .collect();
    let mut routes = BTreeMap::new();
    for &(_, first, hops, _) in &plan.packets {
        routes.entry((first, hops)).or_insert_with(|| {
            let route: Vec<LinkId> = (first..first + hops).map(|i| links[i as usize % links.len()]).collect();
            network.add_route(&route).expect("they follow one another")
        });
    }
    let change = |at, link, change| ScheduledChange { at: Instant::from_nanos(at), link, change };
    for (at, link, what) in &plan.changes {
        network.schedule(change(*at, links[*link as usize], what.clone())).expect("the link exists");
    }
    for &link in &links {
        for last in [LinkChange::Up(true), LinkChange::Shaper(Shaper::Constant(Bitrate::from_mbps(100)))] {
            network.schedule(change(300_000_000, link, last)).expect("the link exists");
        }
    }
    let mut events = Vec::new();
    let mut clock = Instant::ZERO;
    let mut drain = |network: &mut Network<Frame>, until: Instant| {
        while let Some(now) = network.poll_timeout().filter(|&now| now <= until) {
            assert!(now >= clock, "a wake-up in the past");
            clock = now;
            while let Some(event) = network.poll(now) {
                assert_eq!(event.tap().at, now, "an event out of time");
                assert!(event.tap().entered <= now);
                events.push(event);
            }
            assert!(network.poll_timeout().is_none_or(|next| next > now), "a wake-up without progress");
        }
    };
    for (number, &(at, first, hops, length)) in plan.packets.iter().enumerate() {
        let now = Instant::from_nanos(at);
        drain(&mut network, now);
        let ecn = if number % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        network.send(now, routes[&(first, hops)], Frame { ecn, ..frame(number as u32, length) });
    }
    drain(&mut network, Instant::FAR_FUTURE);
    Run { events, network }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_and_every_copy_comes_back_exactly_once(plan in any_plan()) {
        let Run { events, network } = play(&plan, 1);
        let mut owners: BTreeMap<u32, i64> = (0..plan.packets.len() as u32).map(|number| (number, 1)).collect();
        for event in &events {
            let owners = owners.entry(event.packet().tag).or_default();
            prop_assert!(*owners > 0, "an event of a packet that has come back");
            match event {
                NetEvent::Delivered { .. } | NetEvent::Dropped { .. } => *owners -= 1,
                NetEvent::Duplicated { .. } => *owners += 1,
                NetEvent::Forwarded { .. } => {}
            }
        }
        prop_assert!(owners.values().all(|&owners| owners == 0));
        for link in (0..plan.links.len() as u32).map(LinkId) {
            let stats = network.link_stats(link);
            prop_assert_eq!(network.packets_inside(link), 0);
            prop_assert_eq!(
                stats.entered_packets + stats.duplicated_packets,
                stats.delivered_packets + stats.dropped_packets()
            );
        }
    }

    #[test]
    fn a_run_repeats_exactly(plan in any_plan(), seed: u64) {
        prop_assert_eq!(play(&plan, seed).events, play(&plan, seed).events);
    }

    #[test]
    fn events_are_in_order_of_time(plan in any_plan()) {
        let events = play(&plan, 2).events;
        prop_assert!(events.windows(2).all(|pair| pair[0].tap().at <= pair[1].tap().at));
    }

    #[test]
    fn order_is_kept_without_explicit_reordering(mut plan in any_plan()) {
        for config in &mut plan.links {
            config.keep_order = true;
            config.reorder = Reorder::default();
        }
        plan.changes.retain(|change| !matches!(change.2, LinkChange::KeepOrder(_) | LinkChange::Reorder(_)));
        let mut last = vec![None; plan.links.len()];
        for event in play(&plan, 3).events {
            if !event.tap().fate.is_drop() {
                let last = &mut last[event.tap().link.index()];
                prop_assert!(*last <= Some(event.tap().sequence), "overtaken on {}", event.tap().link);
                *last = Some(event.tap().sequence);
            }
        }
    }

    /// What a constant-rate link delivers never exceeds its rate.
    #[test]
    fn a_link_is_never_faster_than_its_rate(
        bps in 100_000u64..50_000_000,
        packets in proptest::collection::vec((0u64..200_000_000, 40u32..3000), 1..150),
    ) {
        let config = LinkConfig::constant(Bitrate::from_bps(bps), Duration::ZERO, QueueLimit::Packets(20));
        let packets: Vec<_> = packets.into_iter().map(|(at, length)| (at, 0, 1, length)).collect();
        let mut plan = Plan { links: vec![config], packets, changes: Vec::new() };
        plan.packets.sort_by_key(|packet| packet.0);
        let mut free = Instant::ZERO;
        for event in play(&plan, 4).events {
            if event.tap().fate == Fate::Delivered && event.tap().at < Instant::from_millis(300) {
                let time = Bitrate::from_bps(bps).time_to_send(u64::from(event.packet().len_bytes));
                let done = free.max(event.tap().entered) + time;
                prop_assert_eq!(event.tap().at, done);
                free = done;
            }
        }
    }
}

/// A plan that uses every kind of setting at once.
fn everything() -> Plan {
    let all = |shaper| LinkConfig {
        shaper,
        overhead_bytes: 24,
        queue: Queue {
            limit: QueueLimit::Packets(30),
            codel: Some(Codel { target: Duration::from_millis(2), interval: Duration::from_millis(20), ecn: true }),
        },
        delay: Duration::from_millis(5),
        jitter: Jitter::Normal { deviation: Duration::from_millis(1) },
        keep_order: false,
        reorder: Reorder { probability: probability(0.02), extra: Duration::from_millis(7) },
        loss: Loss::GilbertElliott(GilbertElliott {
            to_bad: probability(0.02),
            to_good: probability(0.3),
            loss_good: probability(0.001),
            loss_bad: probability(0.5),
        }),
        loss_position: LossPosition::AfterQueue,
        duplicate: probability(0.02),
        corrupt: probability(0.02),
        up: true,
        on_down: OnDown::Drop,
    };
    let trace = trace::Cellular { length: Duration::from_secs(1), ..trace::Cellular::default() }
        .generate(&mut pathweave_units::random::Random::substream(1, "trace"))
        .expect("parameters in range");
    Plan {
        links: vec![
            all(Shaper::Constant(Bitrate::from_mbps(10))),
            all(Shaper::Trace(trace)),
            all(Shaper::TokenBucket { rate: Bitrate::from_mbps(10), burst_bytes: 5000 }),
        ],
        packets: (0..2000).map(|i| (u64::from(i) * 100_000, i % 3, 1 + i % 2, 100 + i % 1400)).collect(),
        changes: vec![
            (50_000_000, 0, LinkChange::Up(false)),
            (60_000_000, 0, LinkChange::Up(true)),
            (120_000_000, 2, LinkChange::Delay(Duration::from_millis(1))),
        ],
    }
}

#[test]
fn a_run_with_everything_on_repeats_and_shows_every_fate() {
    let run = play(&everything(), 1);
    assert_eq!(run.events, play(&everything(), 1).events);
    assert_ne!(run.events, play(&everything(), 2).events);
    for fate in [Fate::Delivered, Fate::Corrupted, Fate::QueueFull, Fate::Codel, Fate::RandomLoss, Fate::LinkDown] {
        assert!(run.events.iter().any(|event| event.tap().fate == fate), "no packet is {fate}");
    }
    let stats: Vec<&LinkStats> = (0..3).map(|link| run.network.link_stats(LinkId(link))).collect();
    assert!(stats.iter().all(|stats| stats.duplicated_packets > 0 && stats.held_back_packets > 0));
    assert!(stats.iter().any(|stats| stats.ce_marks > 0));
}

#[test]
fn a_run_with_everything_on_is_the_same_on_every_target() {
    let mut digest = 0u64;
    let mut mix = |value: u64| digest = digest.wrapping_mul(0x100_0000_01b3).wrapping_add(value);
    for event in play(&everything(), 1).events {
        let tap = event.tap();
        mix(tap.at.as_nanos());
        mix(u64::from(tap.link.0));
        mix(tap.sequence);
        mix(tap.fate.index() as u64);
    }
    assert_eq!(digest, 10_021_756_753_086_740_838);
}
