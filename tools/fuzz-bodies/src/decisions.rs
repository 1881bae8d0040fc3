//! Passes arbitrary decisions of a scheduler through the connection's validation. All data must still arrive, in order.

use crate::world::{World, path_manager};
use arbitrary::{Arbitrary, Unstructured};
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::host::Host;
use pathweave_proto::parameter::{Described, Parameter, ParameterError, Values};
use pathweave_proto::scheduler::{
    Assign, ChosenScheduler, Decision, Reason, Scheduler, SchedulerFactory, View, WindowUse,
};
use pathweave_proto::{DataSeq, SubflowId};
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The most decisions of an input; after them the subflows take data in order.
const DECISIONS: usize = 300;
/// The paths lose only the segments that the input names, so everything must have arrived by then.
const TIME_LIMIT: Duration = Duration::from_secs(1000);

#[derive(Arbitrary, Debug)]
struct Settings {
    path_manager: u8,
    pr: bool,
    queues: bool,
    duplicates: bool,
    small_buffer: bool,
    on_linux: bool,
    upload: u16,
    download: u16,
    /// Each set bit loses a segment.
    losses: u64,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Place {
    /// From the first unassigned byte.
    Unassigned(i16),
    /// From the first unacknowledged byte.
    Unacked(i16),
    /// From the end of what has been written.
    Written(i16),
    /// From the end of the send window.
    Window(i16),
    Absolute(u64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Scripted {
    Assign {
        subflow: u8,
        start: Place,
        end: Place,
        queue: bool,
    },
    /// The decision of a sensible scheduler, on any subflow.
    Next {
        subflow: u8,
        segments: u8,
        queue: bool,
    },
    WaitFor {
        milliseconds: i8,
        subflow: Option<u8>,
    },
    Wait {
        subflow: Option<u8>,
    },
}

/// The decisions that both ends' schedulers take next.
type Script = Arc<Mutex<VecDeque<Scripted>>>;

/// Makes schedulers that take their decisions from one script.
#[derive(Debug)]
struct FromScriptFactory {
    queues: bool,
    duplicates: bool,
    script: Script,
}

impl Described for FromScriptFactory {
    fn name(&self) -> &str {
        "script"
    }
    fn source(&self) -> &str {
        "fuzzing"
    }
    fn summary(&self) -> &str {
        "decides what the input says"
    }
    fn parameters(&self) -> Vec<Parameter<'_>> {
        Vec::new()
    }
}

impl SchedulerFactory for FromScriptFactory {
    fn queues(&self) -> bool {
        self.queues
    }
    fn duplicates(&self) -> bool {
        self.duplicates
    }
    fn build(&self, _: &Values) -> Result<Box<dyn Scheduler>, ParameterError> {
        Ok(Box::new(FromScript(Arc::clone(&self.script))))
    }
}

struct FromScript(Script);

fn place(at: Place, view: &View<'_>) -> DataSeq {
    let queue = view.queue;
    let (from, by) = match at {
        Place::Unassigned(d) => (view.sendable().map_or(queue.written_end(), |r| r.start), d),
        Place::Unacked(d) => (queue.first_unacked(), d),
        Place::Written(d) => (queue.written_end(), d),
        Place::Window(d) => (view.send_window_end, d),
        Place::Absolute(n) => return DataSeq(n),
    };
    DataSeq(from.0.saturating_add_signed(i64::from(by)))
}

impl Scheduler for FromScript {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let reason = Reason::new("the script says so");
        let window = |queue| if queue { WindowUse::Queue } else { WindowUse::Respect };
        let next = self.0.lock().expect("no scheduler has panicked").pop_front();
        match next {
            Some(Scripted::Assign { subflow, start, end, queue }) => Decision::Assign(Assign {
                subflow: SubflowId(subflow),
                range: place(start, view)..place(end, view),
                window: window(queue),
                reason,
            }),
            Some(Scripted::Next { subflow, segments, queue }) => {
                let some = usize::from(subflow).checked_rem(view.subflows.len()).map(|i| &view.subflows[i]);
                let range = some.and_then(|s| view.next_for(s, u32::from(segments)));
                match (some, range) {
                    (Some(s), Some(range)) => {
                        Decision::Assign(Assign { subflow: s.id, range, window: window(queue), reason })
                    }
                    _ => Decision::nothing_to_send(),
                }
            }
            Some(Scripted::WaitFor { milliseconds, subflow }) => {
                let by = Duration::from_millis(u64::from(milliseconds.unsigned_abs()));
                let until =
                    if milliseconds < 0 { Instant::ZERO + view.now.since(Instant::ZERO + by) } else { view.now + by };
                Decision::Wait { until: Some(until), for_subflow: subflow.map(SubflowId), reason }
            }
            Some(Scripted::Wait { subflow }) => {
                Decision::Wait { until: None, for_subflow: subflow.map(SubflowId), reason }
            }
            None => {
                let next = view.candidates().filter(|s| s.has_space()).find_map(|s| Some((s, view.next_for(s, 1)?)));
                match next {
                    Some((s, range)) => {
                        Decision::Assign(Assign { subflow: s.id, range, window: window(false), reason })
                    }
                    None => Decision::no_space(),
                }
            }
        }
    }
}

/// Sends data both ways with the input's decisions.
pub fn decisions(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let Ok(settings) = Settings::arbitrary(&mut u) else { return };
    let mut script = VecDeque::new();
    while let (Ok(next), true) = (Scripted::arbitrary(&mut u), script.len() < DECISIONS && !u.is_empty()) {
        script.push_back(next);
    }
    let config = config(&settings, script);
    let mut world = World::new(config.clone(), config, false);
    let (mut to_write, mut losses) = ([u64::from(settings.upload), u64::from(settings.download)], settings.losses);
    let limit = world.now + TIME_LIMIT;
    loop {
        for (i, left) in to_write.iter_mut().enumerate() {
            let before = world.written[i];
            world.write(i, *left as u32);
            *left -= world.written[i] - before;
            if *left == 0 && world.handle(i).is_some() {
                world.command(i, |c, now| c.close(now));
            }
        }
        let mut moved = false;
        for to in 0..2 {
            if losses & 1 == 1 && world.connection(to).is_some_and(|c| c.is_connected()) {
                moved |= world.wire(to).pop_front().is_some();
            }
            losses >>= 1;
            moved |= world.pass(to);
            world.read(to, u64::MAX);
        }
        if moved {
            continue;
        }
        match world.next_timer() {
            Some(next) if next <= limit => world.advance(next.since(world.now)),
            _ => break,
        }
    }
    assert!(!world.damaged, "what is read is what was written");
    let expected = [u64::from(settings.download), u64::from(settings.upload)];
    assert_eq!(world.read, expected, "all data arrives");
}

fn config(settings: &Settings, script: VecDeque<Scripted>) -> ConnectionConfig {
    let script = Arc::new(Mutex::new(script));
    let factory = FromScriptFactory { queues: settings.queues, duplicates: settings.duplicates, script };
    let scheduler = ChosenScheduler::new(Arc::new(factory), &[]).expect("no parameters");
    let reno = Registry::builtin().choose_controller("reno", &[]).expect("Reno is built in");
    let mut config = ConnectionConfig::new(scheduler, reno);
    config.path_manager = path_manager(settings.path_manager);
    config.pr = settings.pr;
    if settings.on_linux {
        config.host = Host::Linux;
    }
    config.send_buffer = 100_000;
    config.receive_buffer = ReceiveBuffer::Fixed(if settings.small_buffer { 6000 } else { 100_000 });
    config
}
