//! Every scheduler by name, asked by a program whose paths change at random.

use crate::program::{MSS, Program, decision, string};
use pathweave_scheduler_c::*;
use pathweave_units::random::Random;
use std::collections::{BTreeMap, VecDeque};
use std::ptr::null;

/// Decisions to send that each scheduler makes.
const DECISIONS: u32 = 1000;
/// Most steps of a run, and most steps in which the rest is delivered.
const MOST_STEPS: u32 = 20_000;

struct World {
    program: Program,
    random: Random,
    /// What each path carries, oldest first, and how much of it was acknowledged.
    carried: BTreeMap<u32, VecDeque<Range>>,
    down: Vec<Path>,
    written: u64,
    decisions: u32,
    what: String,
}

impl World {
    fn new(scheduler: &str, seed: u64) -> Self {
        let program = Program::new(scheduler, 4);
        let carried = program.paths.iter().map(|path| (path.id, VecDeque::new())).collect();
        let random = Random::substream(seed, scheduler);
        let what = format!("{scheduler}, seed {seed}");
        World { program, random, carried, down: Vec::new(), written: 0, decisions: 0, what }
    }

    fn draw(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    #[track_caller]
    fn fine(&mut self, status: Status) {
        assert_eq!(status, Status::Ok, "{}: {}", self.what, self.program.error());
    }

    fn any_path(&mut self) -> usize {
        self.draw(self.program.paths.len())
    }

    /// Changes a number of a path, mostly to a usual value, sometimes to an extreme one.
    fn change(&mut self) {
        let i = self.any_path();
        let extreme = self.random.chance(0.05);
        let rtt = if extreme { 86_400_000_000_000 } else { 1_000_000 * (1 + self.random.below(800)) };
        let bytes = if extreme { (1 << 62) - 1 } else { MSS * (1 + self.random.below(60)) };
        let rate = if extreme { u64::MAX } else { 10_000 + self.random.below(10_000_000) };
        let part = self.random.unit();
        let number = self.random.next_u32();
        let now = self.program.now_ns;
        let path = &mut self.program.paths[i];
        match number % 14 {
            0 => path.smoothed_rtt_ns = rtt,
            1 => path.min_rtt_ns = rtt,
            2 => (path.latest_rtt_ns, path.max_rtt_ns) = (rtt, rtt),
            3 => path.rtt_variation_ns = rtt,
            4 => path.congestion_window_bytes = bytes,
            5 => path.slow_start_threshold_bytes = bytes,
            6 => path.delivery_rate_bytes_per_s = rate,
            7 => path.pacing_rate_bytes_per_s = rate,
            8 => path.loss_ratio = part,
            9 => path.phase = number / 14 % 5,
            10 => path.queue_limit_bytes = bytes,
            11 => path.round_start_ns = now,
            12 => (path.priority, path.cost_per_gigabyte, path.quota_left_bytes) = (number % 2, part, bytes),
            _ => path.flags = number / 14 % 16,
        }
    }

    fn write(&mut self) {
        let bytes = 1 + self.random.below(60_000);
        self.program.write(bytes);
        self.written += bytes;
    }

    /// Asks until the answer is a wait, and carries out what it is asked for, or a part of it.
    fn drain(&mut self) {
        // A path carries a packet at most once.
        let most = (self.written / MSS + 1) * u64::from(MAX_PATHS);
        for _ in 0..most {
            let mut decision = decision();
            let status = self.program.ask(&mut decision);
            self.fine(status);
            if decision.action == Action::Wait {
                assert!(decision.wait_until_ns == 0 || decision.wait_until_ns > self.program.now_ns, "{}", self.what);
                return;
            }
            self.decisions += 1;
            let Range { start, mut end } = decision.range;
            let first = self.program.acknowledged_end();
            assert!(first <= start && start < end && end <= self.written, "{}: {start} to {end}", self.what);
            assert!(self.program.paths.iter().any(|path| path.id == decision.path), "{}", self.what);
            if end - start > MSS && self.random.chance(0.1) {
                end = start + MSS;
            }
            self.program.assign(decision.path, start, end);
            self.carried.get_mut(&decision.path).expect("the path is up").push_back(Range { start, end });
        }
        panic!("{}: it never waits", self.what);
    }

    /// Acknowledges the oldest range of a path, or reports it as lost.
    fn answer(&mut self, may_lose: bool) {
        let i = self.any_path();
        let id = self.program.paths[i].id;
        let Some(range) = self.carried.get_mut(&id).and_then(VecDeque::pop_front) else { return };
        if may_lose && self.random.chance(0.1) {
            self.program.carries(id, |carried| carried - (range.end - range.start));
            let view = self.program.view();
            let loss = self.random.next_u32() % 2;
            // SAFETY: the arguments are as the header says.
            let status = unsafe { pathweave_scheduler_lost(self.program.handle(), &view, id, &range, 1, loss) };
            self.fine(status);
            return;
        }
        self.program.acknowledge(id, range.start, range.end, UNKNOWN);
        let rtt = 1 + self.random.below(1_000_000_000);
        let view = self.program.view();
        // SAFETY: as above.
        let status = unsafe { pathweave_scheduler_rtt_sample(self.program.handle(), &view, id, rtt) };
        self.fine(status);
    }

    /// Takes a path down, or brings one up again.
    fn toggle(&mut self) {
        if self.down.is_empty() || (self.program.paths.len() > 1 && self.random.chance(0.5)) {
            let i = self.any_path();
            let path = self.program.paths.remove(i);
            self.carried.insert(path.id, VecDeque::new());
            let view = self.program.view();
            // SAFETY: as above.
            let status = unsafe { pathweave_scheduler_path_down(self.program.handle(), &view, path.id) };
            self.fine(status);
            self.down.push(path);
        } else if let Some(path) = self.down.pop() {
            self.program.up(Path { in_flight_bytes: 0, queued_bytes: 0, ..path });
        }
        if self.program.paths.is_empty() {
            self.toggle();
        }
    }

    fn step(&mut self) {
        match self.draw(20) {
            0..4 => self.write(),
            4..12 => self.answer(true),
            12..16 => self.change(),
            16 => self.toggle(),
            17 => self.program.send_window_end = self.program.acknowledged_end() + MSS * self.random.below(200),
            _ => self.program.now_ns += self.random.below(300_000_000),
        }
        self.drain();
    }

    /// Answers until everything is acknowledged.
    fn deliver(&mut self) {
        self.program.send_window_end = 0;
        for path in &mut self.program.paths {
            let carried = path.in_flight_bytes + path.queued_bytes;
            *path = Path {
                size: size_of::<Path>(),
                id: path.id,
                mss_bytes: MSS as u32,
                congestion_window_bytes: carried + 20 * MSS,
                in_flight_bytes: carried,
                smoothed_rtt_ns: 50_000_000,
                ..Path::default()
            };
        }
        for _ in 0..MOST_STEPS {
            if self.program.acknowledged_end() == self.written {
                return;
            }
            self.program.now_ns += 10_000_000;
            self.drain();
            for _ in 0..20 {
                self.answer(false);
            }
        }
        panic!("{}: {} of {} delivered", self.what, self.program.acknowledged_end(), self.written);
    }
}

#[test]
fn every_scheduler_survives_a_thousand_decisions() {
    let names: Vec<_> = (0..).map_while(|i| string(pathweave_scheduler_name(i))).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let mut world = World::new(&name, 1);
        let steps = (0..MOST_STEPS).take_while(|_| {
            world.step();
            world.decisions < DECISIONS
        });
        let steps = steps.count();
        assert!(world.decisions >= DECISIONS, "{name}: {} decisions in {steps} steps", world.decisions);
        world.deliver();
    }
}

/// A view without paths is no error: there is nothing to decide.
#[test]
fn without_paths_every_scheduler_waits() {
    for name in (0..).map_while(|i| string(pathweave_scheduler_name(i))) {
        let mut program = Program::new(&name, 0);
        program.write(10 * MSS);
        let mut decision = decision();
        assert_eq!(program.ask(&mut decision), Status::Ok, "{name}");
        assert_eq!((decision.action, program.reason().as_str()), (Action::Wait, "no path is up"));
        let view = program.view();
        // SAFETY: as above.
        let down = unsafe { pathweave_scheduler_path_down(program.handle(), &view, 0) };
        // SAFETY: as above.
        let acknowledged = unsafe { pathweave_scheduler_acknowledged(program.handle(), &view, NO_PATH, null(), 0, 0) };
        assert_eq!((down, acknowledged), (Status::UnknownPath, Status::Ok));
    }
}
