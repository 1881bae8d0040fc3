//! Observations of a connection, and snapshots of its state.

use crate::pair::*;
use pathweave_proto::ConnectionError;
use pathweave_proto::config::{ConnectionConfig, FailureDetection};
use pathweave_proto::connection::PathHealth;
use pathweave_proto::connection::{Happening, Kinds, Observation};
use pathweave_proto::{SubflowId, UnknownConnection};
use pathweave_wire::mptcp::{DataNumber, Dss};

const FIRST: SubflowId = SubflowId(0);
const SECOND: SubflowId = SubflowId(1);

/// A pair on two paths whose ends are observed from the start.
fn observed(config: ConnectionConfig, kinds: Kinds) -> Pair {
    let mut pair = Pair::new(&[10, 20], config);
    pair.driver.endpoints.iter_mut().for_each(|e| e.observe_all(kinds));
    pair
}

fn is_in_order(observations: &[Observation]) -> bool {
    observations.is_sorted_by_key(|o| o.at)
}

#[test]
fn a_connections_life_is_told_from_its_first_moment_at_both_ends() {
    let mut pair = observed(config(), Kinds::CONNECTION);
    pair.connect_with_subflows(2);
    pair.write(Client, 10_000);
    for side in [Client, Server] {
        pair.close(side);
    }
    pair.run_for(secs(5));
    for side in [Client, Server] {
        let told = pair.observed(side);
        assert!(is_in_order(&told), "{told:?}");
        let told: Vec<Happening> = told.into_iter().map(|o| o.what).collect();
        let begin =
            [Happening::Established { multipath: true }, Happening::SubflowUp(FIRST), Happening::SubflowUp(SECOND)];
        assert_eq!(told[..3], begin, "{side:?}");
        assert_eq!(told.last(), Some(&Happening::Closed), "{side:?}: {told:?}");
    }
}

#[test]
fn nothing_is_recorded_of_kinds_that_nobody_asked_for() {
    for kinds in [Kinds::NONE, Kinds::CONNECTION, Kinds::DECISIONS, Kinds::SEGMENTS, Kinds::ALL] {
        let mut pair = observed(config(), kinds);
        pair.connect_with_subflows(2);
        pair.write(Client, 50_000);
        pair.run_until_received(Server, 50_001, secs(5));
        let told = pair.observed(Client);
        assert!(told.iter().all(|o| kinds.intersects(o.what.kind())), "{kinds:?}: {told:?}");
        for kind in [Kinds::CONNECTION, Kinds::DECISIONS, Kinds::SEGMENTS] {
            assert_eq!(told.iter().any(|o| o.what.kind() == kind), kinds.intersects(kind), "{kind:?} of {kinds:?}");
        }
        // After `Kinds::NONE` nothing more is recorded.
        pair.driver.endpoints[0].observe_all(Kinds::NONE);
        pair.write(Client, 10_000);
        pair.run_until_received(Server, 60_001, secs(5));
        assert_eq!(pair.observed(Client), []);
    }
}

#[test]
fn one_connection_alone_can_be_observed_and_one_that_is_gone_cannot() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    let handle = pair.driver.applications.apps[0].handle.expect("it is connected");
    assert_eq!(pair.driver.endpoints[0].observe(handle, Kinds::ALL), Ok(()));
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1000, secs(1));
    assert!(!pair.observed(Client).is_empty());
    assert_eq!(pair.observed(Server), [], "the other end is observed by itself");
    pair.command(Client, |c, now| c.abort(now));
    let last = pair.observed(Client).pop().expect("it has ended");
    assert_eq!(last.what, Happening::Failed(ConnectionError::Aborted));
    assert_eq!(pair.driver.endpoints[0].observe(handle, Kinds::ALL), Err(UnknownConnection));
}

#[test]
fn a_path_that_goes_dark_and_comes_back_is_told_at_both_times() {
    let config = ConnectionConfig { failure_detection: FailureDetection::Fast, ..config() };
    let mut pair = observed(config, Kinds::CONNECTION);
    pair.connect_with_subflows(2);
    pair.write(Client, 200_000);
    pair.run_for(ms(30));
    let dark = pair.now;
    pair.kill(1);
    pair.run_for(secs(2));
    let back = pair.now;
    pair.revive(1);
    pair.run_for(secs(3));
    let told = pair.observed(Client);
    let health = |wanted: PathHealth| {
        let what = Happening::SubflowHealth { subflow: SECOND, health: wanted };
        told.iter().filter(|o| o.what == what).map(|o| o.at).collect::<Vec<_>>()
    };
    let stale = health(PathHealth::Stale);
    assert!(stale.len() == 1 && stale[0] > dark && stale[0] < back, "dark {dark:?}, back {back:?}: {told:?}");
    let working = health(PathHealth::Working);
    assert!(working.iter().any(|t| *t > back), "dark {dark:?}, back {back:?}: {told:?}");
    assert_eq!(pair.subflow(Client, 1).health, PathHealth::Working);
}

/// The observations and the counters of snapshots agree.
#[test]
fn what_is_told_of_segments_adds_up_to_the_snapshots() {
    let mut pair = observed(config(), Kinds::ALL);
    pair.connect_with_subflows(2);
    // Each twentieth segment with data is lost.
    let mut n = 0;
    pair.script(move |p| {
        n += u32::from(p.is_data());
        if p.is_data() && n % 20 == 0 { Fate::Drop } else { Fate::Pass }
    });
    pair.write(Client, 300_000);
    pair.run_until_received(Server, 300_001, secs(60));
    pair.run_for(secs(2));
    let (at_client, at_server) = (pair.observed(Client), pair.observed(Server));
    assert!(is_in_order(&at_client) && is_in_order(&at_server));
    let (mut acked, mut lost, mut reinjected, mut received) = (0, 0, 0, 0);
    let mut sent = [(0, 0, 0); 2];
    for what in at_client.iter().map(|o| &o.what) {
        match what {
            Happening::Sent { subflow, range, again } => {
                let of = &mut sent[subflow.index()];
                *of = (of.0 + 1, of.1 + range.end.since(range.start), of.2 + u64::from(*again));
            }
            Happening::Acknowledged { stream_bytes, .. } => acked += stream_bytes,
            Happening::Lost { .. } => lost += 1,
            Happening::Reinjected { .. } => reinjected += 1,
            _ => {}
        }
    }
    for what in at_server.iter().map(|o| &o.what) {
        if let Happening::Received { new_bytes, .. } = what {
            received += new_bytes;
        }
    }
    for path in [0, 1] {
        let counters = pair.subflow(Client, path).counters;
        let counted = (counters.data_segments_sent, counters.data_bytes_sent, counters.retransmitted_segments);
        assert_eq!(sent[path], counted, "path {path}");
    }
    let client = pair.the(Client).snapshot();
    assert_eq!((client.sending.written_bytes, client.sending.acked_bytes), (300_001, acked));
    assert_eq!((client.sending.assigned_bytes, client.sending.unassigned_bytes), (0, 0));
    assert_eq!(client.counters.reinjected_segments, reinjected);
    assert!(lost > 0 && sent.iter().any(|s| s.2 > 0), "some were lost");
    let server = pair.the(Server).snapshot();
    assert_eq!((server.receiving.in_order_bytes, received), (300_001, 300_001));
    assert_eq!((server.receiving.out_of_order_bytes, server.receiving.held_bytes), (0, 0));
    let first: u64 = pair.the(Server).subflows().map(|s| s.first_bytes).sum();
    assert_eq!(first, received);
}

/// News in another subflow's DATA_ACK is observed; an acknowledgement without news is not.
#[test]
fn a_data_ack_on_another_subflow_is_told_once() {
    let mut pair = observed(config(), Kinds::SEGMENTS);
    pair.connect_with_subflows(2);
    pair.run_for(secs(1));
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 1000);
    let path = pair.data(Client).next_back().expect("sent").path;
    let mut answer = pair.forge(Server, 1 - path);
    let data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, 1001)));
    answer.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
    let told = |pair: &mut Pair| {
        pair.observed(Client);
        pair.inject(Client, answer.clone());
        let of = |o: &Observation| match o.what {
            Happening::Acknowledged { subflow_bytes, stream_bytes, .. } => Some((subflow_bytes, stream_bytes)),
            _ => None,
        };
        pair.observed(Client).iter().filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!(told(&mut pair), [(0, 1000)]);
    assert_eq!(told(&mut pair), []);
}

#[test]
fn a_connection_that_got_data_is_named_as_changed_if_changes_are_noted() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    let server = pair.driver.applications.apps[1].handle.expect("it is connected");
    let changed = |pair: &mut Pair| {
        let endpoint = &mut pair.driver.endpoints[1];
        std::iter::from_fn(|| endpoint.poll_changed()).collect::<Vec<_>>()
    };
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_000, secs(5));
    assert_eq!(changed(&mut pair), [], "changes are not noted");
    pair.driver.endpoints[1].note_changes();
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 20_000, secs(5));
    let named = changed(&mut pair);
    assert!(!named.is_empty() && named.iter().all(|handle| *handle == server), "{named:?}");
    assert_eq!(changed(&mut pair), [], "each change is told once");
}
