//! Subflows that go away, and schedulers that break the rules.

use crate::pair::*;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, FailureDetection};
use pathweave_proto::connection::ScheduleError;
use pathweave_proto::parameter::Values;
use pathweave_proto::scheduler::{
    Assign, ChosenScheduler, Decision, Reason, Scheduler, SchedulerEntry, View, WindowUse,
};
use pathweave_proto::{DataSeq, SubflowId};
use pathweave_wire::{Flags, Payload};

/// Bad-input row 32: a subflow is reset in the middle of the transfer, whatever state the scheduler keeps of it.
#[test]
fn a_reset_in_the_middle_of_scheduling_leaves_no_trace_of_its_subflow() {
    for factory in Registry::builtin().schedulers() {
        let configs = on_each_host(with_scheduler(config(), factory.name()));
        for (after, config) in [1, 15, 60, 61, 95].into_iter().flat_map(|t| configs.iter().map(move |c| (t, c.clone())))
        {
            let mut pair = Pair::new(&[10, 25, 15], config);
            pair.connect_with_subflows(3);
            pair.write(Client, 600_000);
            pair.run_for(ms(after));
            for path in [0, 1] {
                for (to, from) in [(Server, Client), (Client, Server)] {
                    let mut reset = pair.forge(from, path);
                    // The number that the receiver expects exactly.
                    let seen = pair.sent(to).rev().find(|p| p.path == path).expect("used").segment.ack;
                    reset.flags = Flags::RST;
                    reset.seq = seen;
                    reset.options = Default::default();
                    pair.inject(to, reset);
                }
            }
            pair.run_until_received(Server, 600_001, secs(60));
            assert_eq!(pair.the(Client).error(), None, "{}", factory.name());
        }
    }
}

/// A scheduler that always gives the same answer.
struct Stubborn(fn(&View<'_>) -> Decision);

impl Scheduler for Stubborn {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        (self.0)(view)
    }
}

fn stubborn(
    build: fn(&Values) -> Result<Box<dyn Scheduler>, pathweave_proto::parameter::ParameterError>,
) -> ConnectionConfig {
    let entry = SchedulerEntry {
        name: "stubborn",
        source: "tests",
        summary: "",
        parameters: &[],
        queues: false,
        duplicates: false,
        build,
    };
    ConnectionConfig { scheduler: ChosenScheduler::new(entry.into(), &[]).expect("no parameters"), ..config() }
}

fn to(subflow: u8, view: &View<'_>) -> Decision {
    let range = view.sendable().unwrap_or_else(|| panic!("asked without anything to send"));
    Decision::Assign(Assign {
        subflow: SubflowId(subflow),
        range,
        window: WindowUse::Respect,
        reason: Reason::new("always"),
    })
}

/// Bad-input row 33: the error is typed, and the default takes over.
#[test]
fn a_scheduler_that_names_a_dead_or_unknown_subflow_or_nothing_does_not_stop_the_stream() {
    let unknown = stubborn(|_| Ok(Box::new(Stubborn(|view| to(31, view)))));
    let second = stubborn(|_| Ok(Box::new(Stubborn(|view| to(1, view)))));
    let nothing = stubborn(|_| Ok(Box::new(Stubborn(|_| Decision::nothing_to_send()))));
    for (config, error) in [
        (unknown, ScheduleError::UnknownSubflow(SubflowId(31))),
        (second, ScheduleError::UnknownSubflow(SubflowId(1))),
        (nothing, ScheduleError::EndlessWait),
    ] {
        let mut pair = Pair::new(&[10, 20], config);
        pair.connect_with_subflows(2);
        pair.write(Client, 300_000);
        pair.run_for(ms(50));
        // The second subflow dies and stays dead.
        pair.kill(1);
        pair.run_until_received(Server, 300_001, secs(20));
        // The stream may have continued before the timeout that shows it.
        pair.run_for(secs(1));
        pair.write(Client, 300_000);
        pair.run_until_received(Server, 600_001, secs(20));
        assert_eq!(pair.the(Client).snapshot().schedule_error, Some(error));
        assert!(pair.the(Client).snapshot().counters.invalid_decisions > 0);
    }
}

/// The peer has all data in flight, but a subflow does not learn that and retransmits its part. A scheduler that waits
/// for this subflow waits in vain.
#[test]
fn what_the_peer_has_already_ends_no_wait_of_a_scheduler_for_ever() {
    let second_then_nothing = stubborn(|_| {
        Ok(Box::new(Stubborn(|view| match view.sendable() {
            Some(range) if range.start < DataSeq(10_001) => to(1, view),
            _ => Decision::nothing_to_send(),
        })))
    });
    let config = ConnectionConfig { failure_detection: FailureDetection::Linux, ..second_then_nothing };
    let mut pair = Pair::new(&[10, 20], config);
    pair.connect_with_subflows(2);
    let mut first = None;
    pair.script(move |p| {
        if p.from == Server && p.path == 1 {
            p.segment.ack = *first.get_or_insert(p.segment.ack);
        }
        Fate::Pass
    });
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_001, secs(2));
    pair.write(Client, 20_000);
    pair.run_until_received(Server, 30_001, secs(30));
    assert!(pair.subflow(Client, 1).usable, "the second subflow still repeats");
}

/// The stream of the test below: one byte that opens it, three messages of this many bytes, and some bytes of a message
/// whose end is not known yet.
const MESSAGE: u64 = 8000;

#[test]
fn a_scheduler_sees_where_the_message_of_the_next_byte_ends() {
    let config = stubborn(|_| {
        Ok(Box::new(Stubborn(|view| {
            let next = view.sendable().map_or(0, |r| r.start.0);
            let end = (1..=3 * MESSAGE).contains(&next).then(|| DataSeq(1 + ((next - 1) / MESSAGE + 1) * MESSAGE));
            assert_eq!(view.message_end, end, "asked about byte {next}");
            to(0, view)
        })))
    });
    let mut pair = Pair::new(&[10], config);
    pair.connect();
    pair.write(Client, 1);
    let bytes =
        |at: u64, len: u64| Payload::Bytes((at..at + len).map(|i| byte_at(Client, i)).collect::<Vec<_>>().into());
    pair.command(Client, |c, now| {
        for at in [1, 1 + MESSAGE] {
            assert_eq!(c.write_message(now, bytes(at, MESSAGE)), Ok(MESSAGE));
        }
        // These fill the window. The third message is in two writes, and only the second ends it.
        let at = 1 + 2 * MESSAGE;
        assert_eq!(c.write(now, bytes(at, 1000)), Ok(1000));
        assert_eq!(c.write_message(now, bytes(at + 1000, MESSAGE - 1000)), Ok(MESSAGE - 1000));
        assert_eq!(c.write(now, bytes(1 + 3 * MESSAGE, 500)), Ok(500));
    });
    pair.run_until_received(Server, 1 + 3 * MESSAGE + 500, secs(5));
}

/// A message whose last bytes found no room has not ended.
#[test]
fn a_write_that_is_cut_short_ends_no_message() {
    let config = stubborn(|_| {
        Ok(Box::new(Stubborn(|view| {
            assert_eq!(view.message_end, None);
            to(0, view)
        })))
    });
    let mut pair = Pair::new(&[10], ConnectionConfig { send_buffer: 20_000, ..config });
    pair.connect();
    pair.command(Client, |c, now| {
        let bytes: Vec<u8> = (0..50_000).map(|i| byte_at(Client, i)).collect();
        assert_eq!(c.write_message(now, Payload::Bytes(bytes.into())), Ok(20_000));
    });
    pair.run_until_received(Server, 20_000, secs(5));
}

/// On one subflow data goes in order, whatever the scheduler says: plain TCP allows nothing else, and Multipath TCP may
/// become plain TCP.
#[test]
fn on_a_single_path_any_scheduler_sends_in_order() {
    for factory in Registry::builtin().schedulers() {
        for mptcp in [false, true] {
            let settings =
                pathweave_proto::config::ConnectionConfig { mptcp, ..with_scheduler(config(), factory.name()) };
            let mut pair = Pair::new(&[10], settings);
            pair.connect();
            pair.send_all(Client, 60_000);
            pair.run_until_received(Server, 60_000, secs(10));
        }
    }
}

/// The registry's own schedulers send in order on one path anyway; this one would not.
#[test]
fn plain_tcp_sends_in_order_also_with_a_scheduler_that_goes_backwards() {
    let settings = stubborn(|_| {
        Ok(Box::new(Stubborn(|view| {
            let Some(s) = view.candidates().find(|s| s.has_space()) else { return Decision::no_space() };
            let written = view.queue.unassigned().filter(|r| r.start < view.send_window_end).last();
            let Some(last) = written else { return Decision::nothing_to_send() };
            let end = last.end.min(view.send_window_end);
            let range = last.start.max(end - u64::from(s.mss))..end;
            let reason = Reason::new("backwards");
            Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
        })))
    });
    for mptcp in [false, true] {
        let mut pair = Pair::new(&[10], ConnectionConfig { mptcp, ..settings.clone() });
        pair.connect();
        pair.send_all(Client, 60_000);
        pair.run_until_received(Server, 60_000, secs(10));
        let starts: Vec<_> =
            pair.data(Client).filter_map(|p| p.segment.options.dss?.mapping.map(|m| m.dsn.expand(0))).collect();
        assert!(starts.is_sorted(), "{starts:?}");
        assert_eq!(pair.the(Client).snapshot().counters.invalid_decisions, 0, "it is no error of the scheduler");
    }
}

/// If the paths are equally long, or one device carries both, no data waits at the receiver for data that leaves a
/// moment later.
#[test]
fn what_leaves_together_leaves_in_the_order_of_the_stream() {
    let mut pair = Pair::new(&[10, 50], config());
    // The last segment to leave was the slow path's final acknowledgement of its handshake.
    pair.connect_with_subflows(2);
    pair.run_for(secs(1));
    pair.clear_log();
    pair.write(Client, 1448 * 15);
    let paths: Vec<usize> = pair.data(Client).map(|p| p.path).collect();
    assert!(paths.contains(&1) && paths.is_sorted(), "{paths:?}");
}
