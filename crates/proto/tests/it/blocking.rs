//! Limits that hold the stream back, as the scheduler is told, and what BLEST (§V) does then. The connection sends real
//! data: no event is made by hand.

use crate::pair::*;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::connection::{Decided, Happening, Kinds, Observation};
use pathweave_proto::scheduler::{BlockedBy, Decision};
use pathweave_proto::{SubflowId, SubflowSet};
use pathweave_units::Instant;

const FAST: SubflowId = SubflowId(0);
const SLOW: SubflowId = SubflowId(1);

/// BLEST with these first values of λ and δ.
fn blest(lambda: &str, delta: &str, config: ConnectionConfig) -> ConnectionConfig {
    let given = [("lambda".into(), lambda.into()), ("delta".into(), delta.into())];
    let scheduler = Registry::builtin().choose_scheduler("blest", &given).expect("numbers");
    ConnectionConfig { scheduler, ..config }
}

/// A window that the slow path's data blocks: 60 KB over 5 ms and 200 ms.
fn small_window(pr: bool) -> ConnectionConfig {
    ConnectionConfig { pr, receive_buffer: ReceiveBuffer::Fixed(60_000), ..config() }
}

/// All observations while `bytes` are sent over paths with these delays in ms. The links have no rates: losses keep the
/// fast path's window at about ten segments.
#[track_caller]
fn traced(config: ConnectionConfig, delays: [u64; 2], bytes: u64) -> Vec<Observation> {
    let mut sent = 0;
    let script = move |p: &mut Packet| {
        let data = p.path == 0 && p.from == Client && p.is_data();
        sent += u32::from(data);
        if data && sent % 60 == 0 { Fate::Drop } else { Fate::Pass }
    };
    traced_over(script, config, delays, bytes)
}

#[track_caller]
fn traced_over(
    script: impl FnMut(&mut Packet) -> Fate + 'static,
    config: ConnectionConfig,
    delays: [u64; 2],
    bytes: u64,
) -> Vec<Observation> {
    let mut pair = Pair::new(&delays, config);
    pair.connect_with_subflows(2);
    pair.script(script);
    // Both paths' round-trip times are known.
    pair.write(Client, 40_000);
    pair.run_until_received(Server, 40_001, secs(5));
    pair.run_for(secs(1));
    pair.driver.endpoints[0].observe_all(Kinds::CONNECTION.and(Kinds::DECISIONS));
    pair.write(Client, bytes);
    pair.run_until("all has arrived", secs(120), |p| p.received(Server) == 40_001 + bytes);
    pair.observed(Client)
}

/// λ of each decision that BLEST's rule made, and whether it skipped the slow subflow.
fn lambdas(trace: &[Observation]) -> Vec<(Instant, f64, bool)> {
    let of = |entry: &Observation| {
        let Happening::Decision(decided) = &entry.what else { return None };
        let Decided { decision, .. } = &**decided;
        let (reason, skips) = match decision {
            Decision::Assign(a) => (&a.reason, false),
            Decision::Wait { reason, .. } => (reason, true),
        };
        let lambda = reason.terms.iter().find(|(name, _)| *name == "lambda")?.1;
        Some((entry.at, lambda, skips))
    };
    trace.iter().filter_map(of).collect()
}

fn holders(trace: &[Observation]) -> Vec<(BlockedBy, SubflowSet)> {
    let of = |entry: &Observation| match &entry.what {
        Happening::WindowBlocked { by, holders } => Some((*by, *holders)),
        _ => None,
    };
    trace.iter().filter_map(of).collect()
}

#[test]
fn who_holds_the_window_up_is_told_before_the_copy_makes_the_fast_subflow_a_holder_too() {
    let trace = traced(small_window(true), [5, 200], 1_000_000);
    let mut told = None;
    let mut copies = 0;
    for entry in &trace {
        match &entry.what {
            Happening::WindowBlocked { holders, .. } => told = Some(*holders),
            Happening::WindowUnblocked => told = None,
            Happening::Reinjected { subflow, reason, .. } if reason.rule.starts_with("opportunistic") => {
                copies += 1;
                assert_eq!(*subflow, FAST);
                assert_eq!(told, Some(SubflowSet::only(SLOW)), "copy {copies}");
            }
            _ => {}
        }
    }
    assert!(copies > 5, "{copies} copies");
}

#[test]
fn after_the_copy_both_subflows_are_named() {
    let both = SubflowSet::only(FAST).with(SLOW);
    assert!(holders(&traced(small_window(true), [5, 200], 1_000_000)).iter().any(|(_, holders)| *holders == both));
}

#[test]
fn each_new_first_byte_is_told_while_the_window_stays_full() {
    // The slow subflow's segments are acknowledged one by one, and each lets just as much out.
    let trace = traced(small_window(false), [5, 200], 1_000_000);
    let begins = trace.windows(2).filter(|w| {
        let blocked = |t: &Observation| matches!(t.what, Happening::WindowBlocked { .. });
        blocked(&w[1]) && !blocked(&w[0])
    });
    let (begins, told) = (begins.count(), holders(&trace).len());
    assert!(told > begins && begins > 0, "told {told} times, {begins} of them at a beginning");
}

#[test]
fn a_full_send_buffer_holds_back_as_a_full_window_does() {
    let config = ConnectionConfig { send_buffer: 60_000, ..config() };
    let told = holders(&traced(config, [5, 200], 1_000_000));
    assert!(told.contains(&(BlockedBy::SendBuffer, SubflowSet::only(SLOW))), "{told:?}");
    let without = holders(&traced(small_window(false), [5, 200], 1_000_000));
    assert!(without.iter().all(|(by, _)| *by == BlockedBy::SendWindow), "{without:?}");
}

/// BLEST §V: without blocking during a round trip of the fast subflow, λ falls by δ.
#[test]
fn lambda_falls_by_delta_each_fast_round_trip_without_blocking() {
    let config = ConnectionConfig { send_buffer: 16 << 20, receive_buffer: ReceiveBuffer::Fixed(16 << 20), ..config() };
    let lambdas = lambdas(&traced_over(|_| Fate::Pass, blest("1.0", "0.01", config), [20, 60], 3_000_000));
    let (first, last) = (lambdas.first().expect("decisions"), lambdas.last().expect("decisions"));
    let rounds = last.0.since(first.0).as_secs_f64() / 0.040;
    assert!(rounds > 5.0, "{rounds} round trips");
    let steps = (first.1 - last.1) / 0.01;
    assert!(lambdas.windows(2).all(|w| w[1].1 <= w[0].1), "it never rises");
    assert!((steps - rounds).abs() <= 2.0, "{steps} steps in {rounds} round trips");
}

/// BLEST §V: blocking during a round trip of the fast subflow raises λ by δ, until the rule skips.
#[test]
fn lambda_rises_while_the_slow_subflow_blocks_the_window_until_it_is_skipped() {
    let lambdas = lambdas(&traced(blest("0", "0.05", small_window(false)), [5, 200], 2_000_000));
    let highest = lambdas.iter().map(|l| l.1).fold(0.0, f64::max);
    assert!(highest >= 0.5, "λ rose to {highest} only");
    assert!(lambdas.iter().any(|l| l.2), "nothing was skipped");
}

/// A copy ends the blocking within a round trip of the fast subflow: one step for each.
#[test]
fn lambda_rises_at_each_blocking_that_opportunistic_retransmission_ends() {
    let lambdas = lambdas(&traced(blest("0", "0.05", small_window(true)), [5, 200], 2_000_000));
    assert!(lambdas.iter().any(|l| l.1 >= 0.1), "{lambdas:?}");
    assert!(lambdas.iter().any(|l| l.2), "nothing was skipped");
}

/// The same if the slow subflow's data fills the send buffer.
#[test]
fn lambda_rises_while_the_slow_subflow_fills_the_send_buffer() {
    let config = ConnectionConfig { send_buffer: 60_000, ..config() };
    let lambdas = lambdas(&traced(blest("0", "0.05", config), [5, 200], 2_000_000));
    assert!(lambdas.iter().any(|l| l.1 >= 0.5), "{:?}", lambdas.last());
}

/// With the first λ the rule keeps the slow subflow out of a window that the fast one needs, and blocks less than
/// `minrtt`.
#[test]
fn blest_skips_where_the_slow_subflow_would_block_the_fast_one() {
    let trace = traced(blest("1.0", "0.01", small_window(true)), [5, 200], 2_000_000);
    let skips = lambdas(&trace).iter().filter(|l| l.2).count();
    let copies =
        |trace: &[Observation]| trace.iter().filter(|t| matches!(t.what, Happening::Reinjected { .. })).count();
    let minrtt = traced(small_window(true), [5, 200], 2_000_000);
    assert!(skips > 100, "{skips} skips");
    assert!(copies(&trace) * 4 < copies(&minrtt), "{} copies, minrtt {}", copies(&trace), copies(&minrtt));
}
