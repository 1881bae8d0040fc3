//! Exchanging the scheduler of a living connection: every byte arrives once, whichever schedulers are exchanged.

use crate::pair::*;
use core::sync::atomic::{AtomicUsize, Ordering};
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer, TcpConfig};
use pathweave_proto::host::Host;
use pathweave_proto::parameter::{Described, Kind, Parameter, ParameterError, Values};
use pathweave_proto::scheduler::{
    BlockedBy, ChosenScheduler, Decision, Event, Reason, Scheduler, SchedulerFactory, View,
};
use pathweave_proto::{DataSeq, SubflowId};
use pathweave_units::random::Random;
use std::sync::{Arc, Mutex};

fn names() -> Vec<String> {
    Registry::builtin().schedulers().iter().map(|factory| factory.name().to_owned()).collect()
}

fn chosen(name: &str) -> ChosenScheduler {
    Registry::builtin().choose_scheduler(name, &[]).expect("defaults")
}

impl Pair {
    #[track_caller]
    fn set_scheduler(&mut self, side: Side, scheduler: ChosenScheduler) {
        self.command(side, |c, now| c.set_scheduler(now, scheduler).expect("it takes its values"));
    }
}

/// One transfer whose scheduler is exchanged in its middle, with a window that is full at times.
fn one_swap(from: &str, to: &str, host: Host, send_buffer_tuning: bool) {
    const LEN: u64 = 150_000;
    let what = format!("{from} to {to}, {host:?}");
    let tcp = TcpConfig { send_buffer_tuning, ..TcpConfig::default() };
    let settings = ConnectionConfig { host, tcp, receive_buffer: ReceiveBuffer::Fixed(40_000), ..config() };
    let mut pair = Pair::new(&[10, 40], with_scheduler(settings, from));
    pair.connect_with_subflows(2);
    pair.send_all(Client, LEN);
    pair.run_until(&what, secs(60), |p| p.received(Server) > LEN / 3);
    let given = pair.the(Client).snapshot().sending.acked_bytes;
    assert!(given < LEN, "{what}: the exchange is in the middle of the transfer");
    pair.set_scheduler(Client, chosen(to));
    assert_eq!(pair.the(Client).config().scheduler.factory().name(), to);
    pair.run_until(&what, secs(60), |p| p.received(Server) == LEN + 1);
    pair.run_until(&what, secs(60), |p| p.the(Client).snapshot().sending.acked_bytes == LEN + 1);
    assert_eq!(pair.the(Client).snapshot().counters.invalid_decisions, 0, "{what}");
}

/// Schedulers that queue beyond windows, send twice, wait, look ahead, and stay on one subflow.
const OF_EACH_KIND: [&str; 9] = ["minrtt", "redundant", "otias", "linux", "ecf", "blest", "dems", "fpdps", "single"];

#[test]
fn every_scheduler_takes_over_from_every_kind_of_scheduler_and_hands_over_to_it() {
    for name in names() {
        for other in OF_EACH_KIND {
            one_swap(&name, other, Host::Rfc, false);
            one_swap(other, &name, Host::Rfc, false);
        }
    }
}

/// On a Linux host a picked subflow may wait for its data while the scheduler is exchanged.
#[cfg(feature = "host-linux")]
#[test]
fn every_scheduler_takes_over_on_a_linux_host() {
    for name in names() {
        for other in ["linux", "otias-kernel", "minrtt"] {
            one_swap(&name, other, Host::Linux, true);
            one_swap(other, &name, Host::Linux, true);
        }
    }
}

/// Both directions, loss, reordering, duplicates, dark paths, and another scheduler after every few packets.
fn many_swaps(seed: u64) {
    let mut random = Random::substream(seed, "case");
    let names = names();
    let any = |random: &mut Random| chosen(&names[random.below(names.len() as u64) as usize]);
    let mut settings = ConnectionConfig { scheduler: any(&mut random), ..config() };
    settings.receive_buffer = ReceiveBuffer::Fixed(10_000 + random.below(100_000));
    settings.send_buffer = 10_000 + random.below(100_000);
    settings.pr = random.chance(0.5);
    settings.nagle = random.chance(0.5);
    let mut fates = Random::substream(seed, "fates");
    let mut pair = Pair::new(&[1 + random.below(60), 1 + random.below(60), 1 + random.below(60)], settings);
    pair.script(move |_| match fates.unit() {
        x if x < 0.02 => Fate::Drop,
        x if x < 0.05 => Fate::Late(ms(fates.below(60))),
        x if x < 0.07 => Fate::Twice(ms(fates.below(60))),
        _ => Fate::Pass,
    });
    pair.connect();
    let (up, down) = (1 + random.below(300_000), 1 + random.below(300_000));
    pair.send_all(Client, up);
    pair.send_all(Server, down);
    for round in 0..60 {
        pair.run_for(ms(random.below(60)));
        for side in [Client, Server] {
            let scheduler = any(&mut random);
            pair.set_scheduler(side, scheduler);
        }
        match round {
            20 => pair.kill((seed % 3) as usize),
            40 => pair.revive((seed % 3) as usize),
            _ => {}
        }
    }
    let what = format!("seed {seed}: all bytes");
    pair.run_until(&what, secs(1200), |p| p.received(Server) == up && p.received(Client) == down);
}

#[test]
fn exchanging_again_and_again_loses_no_byte() {
    for seed in 0..60 {
        many_swaps(seed);
    }
}

#[test]
fn a_wrong_parameter_leaves_the_old_scheduler_in_place() {
    let mut pair = Pair::new(&[10, 20], with_scheduler(config(), "minrtt"));
    pair.connect_with_subflows(2);
    pair.write(Client, 50_000);
    pair.command(Client, |c, now| {
        // The kind is text: only the scheduler itself can see what is wrong with it.
        let given = [("delay_constraint".to_owned(), "fast".to_owned())];
        let scheduler = Registry::builtin().choose_scheduler("cp", &given).expect("text");
        let error = c.set_scheduler(now, scheduler).expect_err("no time");
        assert_eq!((error.name.as_str(), error.value.as_str()), ("delay_constraint", "fast"));
        assert_eq!(c.config().scheduler.factory().name(), "minrtt");
    });
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 100_001, secs(10));
}

/// What a scheduler saw first.
#[derive(Debug, Default)]
struct Seen {
    events: Vec<String>,
    up: Vec<SubflowId>,
    blocked: Option<BlockedBy>,
    /// The first unacknowledged byte and the bytes in flight at the first decision.
    asked: Option<(DataSeq, u64)>,
}

/// A factory made at run time: its name is its own, and its schedulers share state.
#[derive(Debug)]
struct Patient {
    name: String,
    default: String,
    alive: Arc<AtomicUsize>,
    seen: Arc<Mutex<Seen>>,
}

impl Patient {
    fn watched(number: usize) -> (Arc<dyn SchedulerFactory>, Arc<AtomicUsize>, Arc<Mutex<Seen>>) {
        let (alive, seen) = <(Arc<AtomicUsize>, Arc<Mutex<Seen>>)>::default();
        let factory = Patient {
            name: format!("patient-{number}"),
            default: format!("{number}s"),
            alive: Arc::clone(&alive),
            seen: Arc::clone(&seen),
        };
        (Arc::new(factory), alive, seen)
    }
}

impl Described for Patient {
    fn name(&self) -> &str {
        &self.name
    }
    fn source(&self) -> &str {
        "tests"
    }
    fn summary(&self) -> &str {
        "waits first, then takes subflows as they come"
    }
    fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![Parameter {
            name: "wait",
            kind: Kind::Time,
            unit: "time",
            default: &self.default,
            description: "how long it waits",
            source: "tests",
        }]
    }
}

impl SchedulerFactory for Patient {
    fn queues(&self) -> bool {
        false
    }
    fn duplicates(&self) -> bool {
        false
    }
    fn build(&self, values: &Values) -> Result<Box<dyn Scheduler>, ParameterError> {
        self.alive.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Waiting {
            wait: values.time("wait"),
            until: None,
            alive: Arc::clone(&self.alive),
            seen: Arc::clone(&self.seen),
        }))
    }
}

struct Waiting {
    wait: pathweave_units::Duration,
    until: Option<pathweave_units::Instant>,
    alive: Arc<AtomicUsize>,
    seen: Arc<Mutex<Seen>>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Scheduler for Waiting {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let mut seen = self.seen.lock().expect("no panic");
        seen.asked.get_or_insert((view.first_unacked(), view.bytes_in_flight()));
        let until = *self.until.get_or_insert(view.now + self.wait);
        if view.now < until {
            return Decision::Wait { until: Some(until), for_subflow: None, reason: Reason::new("not yet") };
        }
        Decision::no_space()
    }

    fn on_event(&mut self, event: &Event<'_>, _: &View<'_>) {
        let mut seen = self.seen.lock().expect("no panic");
        match event {
            Event::SubflowUp(id) => seen.up.push(*id),
            Event::WindowBlocked { by, .. } => seen.blocked = Some(*by),
            other => seen.events.push(format!("{other:?}")),
        }
    }
}

#[test]
fn what_the_old_scheduler_waited_for_is_forgotten_and_its_state_dropped() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let (factory, alive, _) = Patient::watched(1000);
    pair.set_scheduler(Client, ChosenScheduler::new(factory, &[]).expect("defaults"));
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    pair.write(Client, 20_000);
    pair.run_for(secs(2));
    assert_eq!(pair.received(Server), 1, "it waits");
    let asked_again = pair.the(Client).poll_timeout().expect("its wait is a timer");
    assert!(asked_again > pair.now + secs(900), "{asked_again}");
    pair.set_scheduler(Client, chosen("minrtt"));
    assert_eq!(alive.load(Ordering::Relaxed), 0, "the old one is dropped");
    assert!(pair.the(Client).poll_timeout().is_some_and(|t| t < pair.now + secs(10)), "so is its wait");
    pair.run_until_received(Server, 20_001, secs(1));
}

#[test]
fn the_new_scheduler_is_told_of_subflows_and_of_a_full_window() {
    let settings = ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(20_000), ..config() };
    let mut pair = Pair::new(&[10, 20, 30], with_scheduler(settings, "minrtt"));
    pair.connect_with_subflows(3);
    pair.driver.applications.apps[Server as usize].reads = false;
    pair.write(Client, 100_000);
    pair.run_for(ms(12));
    let (factory, _, seen) = Patient::watched(1);
    pair.set_scheduler(Client, ChosenScheduler::new(factory, &[]).expect("defaults"));
    let seen = seen.lock().expect("no panic");
    assert_eq!(seen.up, [SubflowId(0), SubflowId(1), SubflowId(2)]);
    assert_eq!(seen.blocked, Some(BlockedBy::SendWindow));
    assert_eq!(seen.events, [""; 0], "nothing else has happened since");
}

#[test]
fn the_new_scheduler_is_asked_at_once_and_sees_what_the_old_one_has_given() {
    let mut pair = Pair::new(&[30, 60], config());
    pair.connect_with_subflows(2);
    pair.write(Client, 200_000);
    pair.run_for(ms(100));
    let acked = pair.the(Client).snapshot().sending.acked_bytes;
    let (factory, _, seen) = Patient::watched(1);
    pair.set_scheduler(Client, ChosenScheduler::new(factory, &[]).expect("defaults"));
    let (first_unacked, out) = seen.lock().expect("no panic").asked.expect("it is asked at once");
    assert!(acked > 1 && acked < 200_001, "the exchange is in the middle");
    assert_eq!(first_unacked, DataSeq(acked));
    assert!(out > 10_000, "two windows are out: {out}");
}

/// On a Linux host an acknowledgement on one subflow can pick another, which gets data at the end of the instant.
#[cfg(feature = "host-linux")]
#[test]
fn a_pick_that_waits_for_the_end_of_the_instant_is_forgotten() {
    let linux = ConnectionConfig { host: Host::Linux, ..config() };
    let mut pair = Pair::new(&[10, 10], with_scheduler(linux, "linux"));
    pair.connect_with_subflows(2);
    pair.send_all(Client, 2_000_000);
    let mut picks = 0;
    while pair.received(Server) < 2_000_001 {
        pair.run_until("all bytes, or a pick that waits", secs(30), |p| {
            p.the(Client).poll_timeout() == Some(p.now) || p.received(Server) == 2_000_001
        });
        if pair.received(Server) < 2_000_001 {
            picks += 1;
            let sent = pair.driver.io.log.len();
            pair.set_scheduler(Client, chosen("single"));
            assert_ne!(pair.the(Client).poll_timeout(), Some(pair.now), "nothing waits any more");
            let pushed = pair.driver.io.log[sent..].iter().filter(|p| p.path == 1).count();
            assert_eq!(pushed, 0, "the new scheduler gives nothing to the second subflow");
            pair.run_for(ms(1));
            pair.set_scheduler(Client, chosen("linux"));
        }
    }
    assert!(picks > 1, "{picks}");
}
