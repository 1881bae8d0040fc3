//! A transfer through middleboxes, and the packets that were seen on the way.

use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Document, NoFiles, Variant};
use pathweave_lab::sim::Simulation;
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{MptcpOption, ResetReason};
use pathweave_wire::{Flags, Segment};
use std::cell::RefCell;
use std::rc::Rc;

pub(super) const SIZE: u64 = 3_000_000;
pub(super) const DIRECTIONS: [&str; 2] = ["upload", "download"];

/// A packet that was seen on a link, between the client's middleboxes and the server.
pub(super) struct Seen {
    pub(super) at: Instant,
    pub(super) path: usize,
    pub(super) from_client: bool,
    pub(super) segment: Segment,
}

impl Seen {
    pub(super) fn is_reset(&self) -> bool {
        self.segment.flags.contains(Flags::RST)
    }

    pub(super) fn is_syn(&self) -> bool {
        self.segment.flags.contains(Flags::SYN) && !self.segment.flags.contains(Flags::ACK)
    }

    pub(super) fn has(&self, option: impl Fn(&MptcpOption) -> bool) -> bool {
        self.segment.options.mptcp.iter().any(option)
    }

    pub(super) fn fails(&self) -> bool {
        self.has(|o| matches!(o, MptcpOption::Fail { .. }))
    }

    /// The reason in its MP_TCPRST.
    pub(super) fn reason(&self) -> Option<ResetReason> {
        self.segment.options.mptcp.iter().find_map(|o| match o {
            MptcpOption::Reset { reason, .. } => Some(*reason),
            _ => None,
        })
    }

    pub(super) fn is_infinite(&self) -> bool {
        self.segment.options.dss.and_then(|d| d.mapping).is_some_and(|m| m.len == 0)
    }
}

/// A transfer of [`SIZE`] bytes over paths of 8 Mbit/s, each with these middleboxes.
pub(super) struct Run {
    pub(super) simulation: Simulation,
    pub(super) seen: Rc<RefCell<Vec<Seen>>>,
    pub(super) text: String,
}

impl Run {
    pub(super) fn new(direction: &str, connection: &str, paths: &[&str]) -> Self {
        let mut run = Run::of_virtual_payload(direction, connection, paths);
        run.simulation.set_real_payload();
        run
    }

    pub(super) fn of_virtual_payload(direction: &str, connection: &str, paths: &[&str]) -> Self {
        let mut text = String::from("format = 1\nname = \"middleboxes\"\nduration = \"100s\"\n");
        for (i, lines) in paths.iter().enumerate() {
            let delay = 10 * (i + 1);
            text += &format!("[[path]]\nrate = \"8Mbps\"\ndelay = \"{delay}ms\"\nqueue = \"1000packets\"\n{lines}\n");
        }
        let workload = format!("workload = \"transfer:size={SIZE}B\"");
        let workload = if connection.contains("workload") { "" } else { &workload };
        text += &format!("[[connection]]\ndirection = \"{direction}\"\n{workload}\n{connection}\n");
        let registry = Registry::builtin();
        let scenario = Document::parse("test.toml", &text).expect("the text is TOML");
        let scenario = scenario.scenario(&registry, &Variant::AsWritten).expect("a right scenario");
        let mut simulation = Simulation::new(&scenario, 1, &registry, &NoFiles).expect("it can be built");
        let seen: Rc<RefCell<Vec<Seen>>> = Rc::default();
        let log = seen.clone();
        simulation.set_capture(Box::new(move |tap, segment| {
            let (path, from_client) = (tap.link.0 as usize / 2, tap.link.0 % 2 == 0);
            log.borrow_mut().push(Seen { at: tap.at, path, from_client, segment: segment.clone() });
        }));
        Run { simulation, seen, text }
    }

    /// Runs to the end of the transfer, or of the time.
    pub(super) fn finish(mut self) -> Self {
        self.simulation.run_until(Instant::ZERO + Duration::from_secs(100));
        self
    }

    #[track_caller]
    pub(super) fn all_arrived(&self) {
        assert_eq!((self.simulation.received_bytes(), self.simulation.altered_bytes()), (SIZE, 0), "{}", self.text);
    }

    /// Whether both ends use Multipath TCP.
    #[track_caller]
    pub(super) fn is_mptcp(&self) -> bool {
        let ends: Vec<_> = self.simulation.measured_ends().collect();
        let [(Some(sender), Some(receiver))] = ends[..] else { panic!("both ends live: {}", self.text) };
        assert_eq!(sender.is_mptcp(), receiver.is_mptcp(), "{}", self.text);
        sender.is_mptcp()
    }

    /// Number of packets seen for which `is` is true.
    pub(super) fn count(&self, is: impl Fn(&Seen) -> bool) -> usize {
        self.seen.borrow().iter().filter(|s| is(s)).count()
    }

    pub(super) fn resets(&self, path: usize) -> usize {
        self.count(|s| s.path == path && s.is_reset())
    }

    /// Bytes of data seen on a path.
    pub(super) fn data(&self, path: usize) -> u64 {
        let seen = self.seen.borrow();
        seen.iter().filter(|s| s.path == path).map(|s| u64::from(s.segment.payload.len())).sum()
    }
}
