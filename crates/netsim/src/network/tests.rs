//! Routes, forwarding, ordering and changes on small networks.

use super::*;
use crate::testing::{Frame, frame};
use crate::{LossPosition, QueueLimit};
use pathweave_units::{Bitrate, Duration, Probability};

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn random(link: u32) -> LinkRandom {
    LinkRandom::new(1, &format!("link{link}"))
}

/// 8 Mbit/s: 1000 bytes take 1 ms.
fn config(delay_ms: u64) -> LinkConfig {
    LinkConfig::constant(Bitrate::from_mbps(8), Duration::from_millis(delay_ms), QueueLimit::Packets(5))
}

/// A network of nodes in a row, with a link from each node to the next.
fn chain(configs: &[LinkConfig]) -> (Network<Frame>, Vec<NodeId>, Vec<LinkId>) {
    let mut net = Network::new();
    let nodes: Vec<NodeId> = (0..=configs.len()).map(|_| net.add_node()).collect();
    let links = configs
        .iter()
        .zip(nodes.windows(2))
        .map(|(config, ends)| net.add_link(ends[0], ends[1], config.clone(), random(ends[0].0)).expect("both exist"))
        .collect();
    (net, nodes, links)
}

/// Polls the network at each of its wake-ups until nothing is left. Returns the events.
fn drain(net: &mut Network<Frame>) -> Vec<NetEvent<Frame>> {
    let mut events = Vec::new();
    while let Some(now) = net.poll_timeout() {
        while let Some(event) = net.poll(now) {
            assert_eq!(event.tap().at, now, "an event out of time");
            events.push(event);
        }
    }
    events
}

/// All events as (kind, number of the packet, link, milliseconds).
fn lines(events: &[NetEvent<Frame>]) -> Vec<String> {
    let line = |event: &NetEvent<Frame>| {
        let kind = match event {
            NetEvent::Delivered { node, .. } => format!("delivered at {node}"),
            NetEvent::Dropped { .. } => format!("dropped ({})", event.tap().fate),
            NetEvent::Forwarded { .. } => "forwarded".to_owned(),
            NetEvent::Duplicated { .. } => "duplicated".to_owned(),
        };
        let millis = event.tap().at.as_nanos() as f64 / 1e6;
        format!("{millis} ms: {} {kind}, {}", event.packet().tag, event.tap().link)
    };
    events.iter().map(line).collect()
}

#[test]
fn a_packet_travels_hop_by_hop() {
    let (mut net, nodes, _) = chain(&[config(10), config(20)]);
    let route = net.add_shortest_route(nodes[0], nodes[2]).expect("a way");
    net.send(ms(1), route, frame(0, 1000));
    assert_eq!(net.poll_timeout(), Some(ms(12)));
    assert_eq!(lines(&drain(&mut net)), ["12 ms: 0 forwarded, link 0", "33 ms: 0 delivered at node 2, link 1"]);
}

#[test]
fn routes_share_the_queue_of_a_common_link() {
    let (mut net, nodes, links) = chain(&[config(0), config(0)]);
    let long = net.add_route(&links).expect("a route");
    let short = net.add_shortest_route(nodes[1], nodes[2]).expect("a way");
    net.send(ms(0), long, frame(0, 1000));
    net.send(ms(0), short, frame(1, 2000));
    // The second is in transmission until 2 ms when the first comes at 1 ms.
    assert_eq!(
        lines(&drain(&mut net)),
        ["1 ms: 0 forwarded, link 0", "2 ms: 1 delivered at node 2, link 1", "3 ms: 0 delivered at node 2, link 1"]
    );
    assert_eq!(net.route_links(long).collect::<Vec<_>>(), links);
}

#[test]
fn events_of_one_time_come_by_link_not_by_order_of_sending() {
    let mut net = Network::new();
    let (a, b) = (net.add_node(), net.add_node());
    let routes: Vec<RouteId> = (0..4)
        .map(|i| {
            let link = net.add_link(a, b, config(1), random(i)).expect("both exist");
            net.add_route(&[link]).expect("a route")
        })
        .collect();
    for &i in &[2, 0, 3, 1] {
        net.send(ms(0), routes[i as usize], frame(i, 1000));
    }
    let order: Vec<u32> = drain(&mut net).iter().map(|event| event.packet().tag).collect();
    assert_eq!(order, [0, 1, 2, 3]);
}

#[test]
fn dropped_packets_come_back_with_the_link_and_the_reason() {
    let (mut net, nodes, _) = chain(&[LinkConfig::default(), config(0)]);
    let route = net.add_shortest_route(nodes[0], nodes[2]).expect("a way");
    for number in 0..8 {
        net.send(ms(0), route, frame(number, 1000));
    }
    let dropped: Vec<String> = lines(&drain(&mut net)).into_iter().filter(|line| line.contains("dropped")).collect();
    // One in transmission, five wait.
    assert_eq!(dropped, ["0 ms: 6 dropped (queue_full), link 1", "0 ms: 7 dropped (queue_full), link 1"]);
}

#[test]
fn a_copy_is_told_of_before_it_and_its_original_go_on() {
    let certain = Probability::new(1.0).expect("from 0 to 1");
    let (mut net, nodes, _) = chain(&[LinkConfig { duplicate: certain, ..config(0) }, config(0)]);
    let route = net.add_shortest_route(nodes[0], nodes[2]).expect("a way");
    net.send(ms(0), route, frame(0, 1000));
    assert_eq!(
        lines(&drain(&mut net)),
        [
            "1 ms: 0 duplicated, link 0",
            "1 ms: 0 forwarded, link 0",
            "1 ms: 0 forwarded, link 0",
            "2 ms: 0 delivered at node 2, link 1",
            "3 ms: 0 delivered at node 2, link 1",
        ]
    );
}

#[test]
fn a_copy_on_the_last_link_arrives_behind_its_original() {
    let certain = Probability::new(1.0).expect("from 0 to 1");
    let (mut net, nodes, _) = chain(&[LinkConfig { duplicate: certain, ..config(0) }]);
    let route = net.add_shortest_route(nodes[0], nodes[1]).expect("a way");
    net.send(ms(0), route, frame(0, 1000));
    assert_eq!(
        lines(&drain(&mut net)),
        ["1 ms: 0 duplicated, link 0", "1 ms: 0 delivered at node 1, link 0", "1 ms: 0 delivered at node 1, link 0"]
    );
}

#[test]
fn scheduled_changes_come_before_the_events_of_their_time() {
    let (mut net, nodes, links) = chain(&[LinkConfig { loss_position: LossPosition::BeforeQueue, ..config(0) }]);
    let route = net.add_shortest_route(nodes[0], nodes[1]).expect("a way");
    let change = |at, change| ScheduledChange { at: ms(at), link: links[0], change };
    // The transmission ends at 1 ms, the time at which the link goes down. So the link goes down too late to stop it.
    net.schedule(change(1, LinkChange::Up(false))).expect("it exists");
    net.schedule(change(2, LinkChange::Up(true))).expect("it exists");
    for number in 0..2 {
        net.send(ms(0), route, frame(number, 1000));
    }
    assert_eq!(lines(&drain(&mut net)), ["1 ms: 1 dropped (link_down), link 0", "1 ms: 0 delivered at node 1, link 0"]);
    assert_eq!(net.poll(ms(2)), None);
    assert!(net.link_config(links[0]).up);
    assert_eq!(net.poll_timeout(), None);
}

#[test]
fn a_change_wakes_the_network_by_itself() {
    let (mut net, _, links) = chain(&[config(0)]);
    net.schedule(ScheduledChange { at: ms(5), link: links[0], change: LinkChange::Delay(Duration::ZERO) })
        .expect("it exists");
    assert_eq!(net.poll_timeout(), Some(ms(5)));
    assert_eq!(net.poll(ms(5)), None);
    assert_eq!(net.poll_timeout(), None);
    let unknown = ScheduledChange { at: ms(5), link: LinkId(9), change: LinkChange::Up(true) };
    assert_eq!(net.schedule(unknown), Err(GraphError::UnknownLink(LinkId(9))));
}

#[test]
fn a_late_driver_gets_the_same_events_at_the_same_times() {
    let build = || {
        let (mut net, nodes, _) = chain(&[config(3), config(2), config(0)]);
        let route = net.add_shortest_route(nodes[0], nodes[3]).expect("a way");
        for number in 0..6 {
            net.send(ms(0), route, frame(number, 1000));
        }
        net
    };
    let mut late = build();
    let events: Vec<_> = core::iter::from_fn(|| late.poll(ms(1000))).collect();
    assert_eq!(events, drain(&mut build()));
}

#[test]
fn queues_can_be_looked_at_without_changing_the_run() {
    let run = |look: bool| {
        let (mut net, nodes, links) = chain(&[config(3)]);
        let route = net.add_shortest_route(nodes[0], nodes[1]).expect("a way");
        for number in 0..5 {
            net.send(ms(0), route, frame(number, 1000));
        }
        if look {
            net.advance(ms(2), links[0]);
            assert_eq!(net.link_queue(links[0]), (2, 2000));
            assert_eq!(net.packets_inside(links[0]), 5);
        }
        drain(&mut net)
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn without_packets_nothing_happens() {
    let mut net: Network<Frame> = Network::new();
    assert_eq!(net.poll_timeout(), None);
    assert_eq!(net.poll(Instant::FAR_FUTURE), None);
}
