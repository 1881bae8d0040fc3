//! Joins that wait for a subflow's name, because unproved joins hold all names (RFC 8684 §3.2).

use crate::mp_join::{join, join_syn};
use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_wire::mptcp::{MpJoin, MptcpOption, ResetReason};
use pathweave_wire::{Flags, Segment};

/// Port of a join that never gets its answer.
const STRANGER: u16 = 7000;

/// An unproved join has the last name, and the client's own join waits: its SYN, and its third ACK, which is delayed by
/// 100 ms.
fn waiting() -> (Pair, Segment, Segment) {
    let mut pair = Pair::new(&[10, 20], config());
    pair.listen(ConnectionConfig { max_subflows: 2, ..config() });
    pair.kill(1);
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(ms(500));
    pair.script(|p| match p.segment.dst.port() {
        STRANGER => Fate::Drop,
        _ if p.from == Client && p.path == 1 && p.is_pure_ack() => Fate::Late(ms(100)),
        _ => Fate::Pass,
    });
    let stranger = join_syn(&pair, STRANGER);
    pair.inject(Server, stranger);
    assert!(holds_a_name(&pair, STRANGER));
    pair.revive(1);
    pair.clear_log();
    pair.run_until("the third ACK is on its way", secs(10), |p| third_ack(p).is_some());
    let syn = pair.sent(Client).rfind(|p| p.path == 1 && p.is_syn()).expect("a join").segment.clone();
    let third = third_ack(&pair).expect("it was sent");
    assert!(!holds_a_name(&pair, syn.src.port()), "it waits");
    (pair, syn, third)
}

fn third_ack(pair: &Pair) -> Option<Segment> {
    let third = pair.sent(Client).find(|p| p.path == 1 && matches!(join(p), Some(MpJoin::Ack { .. })));
    third.map(|p| p.segment.clone())
}

fn holds_a_name(pair: &Pair, port: u16) -> bool {
    pair.the(Server).subflows().any(|s| s.remote.port() == port)
}

/// The client's first try succeeds and takes the stranger's name.
#[track_caller]
fn joins(mut pair: Pair) {
    pair.run_until("the client has joined", ms(400), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
    assert_eq!(pair.sent(Server).filter(|p| p.path == 1 && p.is_syn()).count(), 1, "{}", pair.describe());
    assert!(!holds_a_name(&pair, STRANGER));
    assert!(pair.subflow(Server, 1).rto <= secs(1), "the time that it has waited is no round trip");
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 101_000, secs(2));
}

/// A flood of forged segments for joins that wait for a name removes none of them.
#[test]
fn a_blind_packet_removes_no_waiting_join() {
    let (mut pair, syn, _) = waiting();
    for flags in [Flags::ACK, Flags::RST, Flags::RST | Flags::ACK] {
        let mut blind = Segment::new(syn.src, syn.dst);
        (blind.flags, blind.seq, blind.ack) = (flags, syn.seq.wrapping_add(77), 12345);
        pair.inject(Server, blind);
    }
    // Only a reset with this number would end it.
    let mut exact = Segment::new(syn.src, syn.dst);
    (exact.flags, exact.seq, exact.ack) = (Flags::ACK, syn.seq.wrapping_add(1), 12345);
    pair.inject(Server, exact);
    joins(pair);
}

/// The client gives its join up: its reset has the exact number.
#[test]
fn a_reset_at_the_exact_number_ends_a_waiting_join() {
    let (mut pair, syn, third) = waiting();
    let mut reset = Segment::new(syn.src, syn.dst);
    (reset.flags, reset.seq) = (Flags::RST, syn.seq.wrapping_add(1));
    pair.inject(Server, reset);
    pair.inject(Server, third);
    assert!(!holds_a_name(&pair, syn.src.port()));
    assert!(holds_a_name(&pair, STRANGER));
    // Nothing is left of it: the next join between these addresses is like any other.
    pair.clear_log();
    pair.inject(Server, syn);
    assert!(pair.sent(Server).any(Packet::is_syn));
}

/// "If Host B does not receive the expected HMAC ... it MUST close the subflow with a TCP RST" (RFC 8684 §3.2); an
/// unproved join takes no name from another.
#[test]
fn a_wrong_hmac_takes_no_name() {
    let (mut pair, syn, mut third) = waiting();
    for option in &mut third.options.mptcp {
        if let MptcpOption::Join(MpJoin::Ack { hmac }) = option {
            hmac[7] ^= 1;
        }
    }
    pair.inject(Server, third);
    let refusal = pair.sent(Server).next_back().expect("an answer");
    assert!(refusal.is_rst() && refusal.segment.dst == syn.src);
    assert!(refusal.has_option(|o| matches!(o, MptcpOption::Reset { reason: ResetReason::MptcpError, .. })));
    assert!(holds_a_name(&pair, STRANGER), "it may still prove that it is the peer's");
    assert!(!holds_a_name(&pair, syn.src.port()));
}

/// A third ACK counts only if TCP would accept it: with the right numbers, and not on a reset.
#[test]
fn a_proof_with_wrong_numbers_does_not_count() {
    let (mut pair, syn, third) = waiting();
    let beyond = |s: &mut Segment| s.seq = s.seq.wrapping_add(1 << 30);
    let other_ack = |s: &mut Segment| s.ack = s.ack.wrapping_add(1);
    let reset = |s: &mut Segment| s.flags |= Flags::RST;
    for change in [beyond, other_ack, reset as fn(&mut Segment)] {
        let mut forged = third.clone();
        change(&mut forged);
        pair.inject(Server, forged);
        assert!(!holds_a_name(&pair, syn.src.port()) && holds_a_name(&pair, STRANGER));
    }
    joins(pair);
}

/// A join that still waits when the connection has failed is too late and revives nothing.
#[test]
fn a_failed_connection_refuses_a_waiting_join() {
    let (mut pair, syn, third) = waiting();
    pair.kill(1);
    // Unread data keeps the connection.
    pair.driver.applications.apps[1].reads = false;
    pair.write(Client, 1000);
    pair.run_for(ms(20));
    pair.command(Client, |c, now| c.abort(now));
    pair.run_until("the server's connection has failed", secs(1), |p| p.the(Server).error().is_some());
    pair.clear_log();
    pair.inject(Server, third);
    let refusal = pair.sent(Server).next_back().expect("an answer");
    assert!(refusal.is_rst() && refusal.segment.dst == syn.src, "{}", pair.describe());
    assert!(refusal.has_option(|o| matches!(o, MptcpOption::Reset { reason: ResetReason::MptcpError, .. })));
    assert!(!holds_a_name(&pair, syn.src.port()));
}
