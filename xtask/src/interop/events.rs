//! Changes of a kernel's addresses while data goes both ways, and paths that fail, as in the kernel's own tests.

use super::OverLinks;
use super::captures;
use super::trial::{Trial, address, commands, device};
use std::fmt;

/// Settings of each of the two paths.
const LINK: &str = "rate = \"10Mbps\"\ndelay = \"10ms\"\nqueue = \"50packets\"";
/// Bytes each way: five seconds on one path, half of that on both.
const BYTES: u64 = 6 << 20;
const SECONDS: u32 = 60;
/// A path that is down for two seconds, from half a second after the transfer's start on.
const FAILS: &str = "[[path.change]]\nat = \"1s\"\nup = false\n[[path.change]]\nat = \"3s\"\nup = true";
const BACKUP: &str = "--scheduler minrtt --set path_mode=backup";
/// Identifier of the kernel's address on the second path.
const ID: u8 = 5;

/// An event while data goes both ways.
pub(super) struct Event {
    name: &'static str,
    engine_is_client: bool,
    /// The engine's settings.
    settings: &'static str,
    /// Commands in the kernel's namespace before the connection, and during it with the seconds to wait before each.
    before: Vec<String>,
    during: Vec<(f32, String)>,
    /// The path that fails.
    fails: Option<usize>,
    /// Counters of the kernel and their least values.
    counted: &'static [(&'static str, u64)],
}

/// All events.
pub(super) fn all() -> Vec<Event> {
    let (client, server) = (address(true, 1, 1), address(true, 1, 2));
    let device = device(1);
    let subflow = |flags: &str| format!("ip mptcp endpoint add {client} dev {device} id {ID} subflow {flags}");
    let signal = |of: &str| format!("ip mptcp endpoint add {of} id {ID} signal");
    let (remove, backup, normal) = (
        format!("ip mptcp endpoint delete id {ID}"),
        format!("ip mptcp endpoint change id {ID} backup"),
        format!("ip mptcp endpoint change id {ID} nobackup"),
    );
    // A kernel that takes no announcements joins from its own endpoints only.
    let alone = || "ip mptcp limits set subflows 8 add_addr_accepted 0".to_owned();
    // An engine that may not join at the first address has to wait for an announcement.
    let waits = || "sysctl -qw net.mptcp.allow_join_initial_addr_port=0".to_owned();
    let event = |name, engine_is_client, before: Vec<String>, during: Vec<(f32, String)>, counted| Event {
        name,
        engine_is_client,
        settings: "--scheduler minrtt",
        before,
        during,
        fails: None,
        counted,
    };
    let mut all = vec![
        event("a late join", false, vec![alone()], vec![(1.0, subflow(""))], &[("MPJoinSynAckRx", 1)]),
        event(
            "an address goes and comes back",
            false,
            vec![alone(), subflow("")],
            vec![(1.0, remove.clone()), (1.0, subflow(""))],
            &[("RmAddrTx", 1), ("MPJoinSynAckRx", 2)],
        ),
        event(
            "the first address goes",
            false,
            vec![alone(), subflow("")],
            vec![(1.0, format!("ip mptcp endpoint delete id 0 {}", address(true, 0, 1)))],
            &[("RmAddrTx", 1), ("MPJoinSynAckRx", 1)],
        ),
        event(
            "a subflow becomes a backup and is none again",
            false,
            vec![alone(), subflow("")],
            vec![(1.0, backup.clone()), (1.0, normal.clone())],
            &[("MPPrioTx", 2)],
        ),
        event(
            "a join as backup, which is none later",
            false,
            vec![alone(), subflow("backup")],
            vec![(1.0, normal.clone())],
            &[("MPJoinSynAckRx", 1), ("MPPrioTx", 1)],
        ),
        event(
            "the client announces an address",
            false,
            vec![alone()],
            vec![(1.0, signal(&client))],
            &[("AddAddrTx", 1), ("EchoAdd", 1)],
        ),
        event("a full mesh", false, vec![subflow("fullmesh")], vec![], &[("MPJoinSynAckRx", 2), ("AddAddr", 1)]),
        event(
            "a late announcement",
            true,
            vec![waits()],
            vec![(1.5, signal(&server))],
            &[("EchoAdd", 1), ("MPJoinAckRx", 1)],
        ),
        event(
            "an announced address goes and comes back",
            true,
            vec![waits(), signal(&server)],
            // The identifier is not free each time: once the kernel answered EBUSY, probably for an implicit endpoint of its own.
            vec![(1.5, remove), (1.0, format!("ip mptcp endpoint add {server} signal"))],
            &[("RmAddrTx", 1), ("EchoAdd", 2), ("MPJoinAckRx", 2)],
        ),
        event(
            "the server makes a subflow a backup and none again",
            true,
            vec![waits(), signal(&server)],
            vec![(1.5, backup), (1.0, normal)],
            &[("MPPrioTx", 2), ("MPJoinAckRx", 1)],
        ),
    ];
    let backup = event("the second path is a backup", true, vec![], vec![], &[("MPJoinSynBackupRx", 1)]);
    all.push(Event { settings: BACKUP, ..backup });
    for (engine_is_client, path) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        let before = if engine_is_client { vec![] } else { vec![subflow("")] };
        let name = if path == 0 { "the first path fails and returns" } else { "the second path fails and returns" };
        all.push(Event { fails: Some(path), ..event(name, engine_is_client, before, vec![], &[]) });
    }
    all
}

impl OverLinks for Event {
    fn trial(&self, name: String) -> Trial {
        let (engine, kernel) =
            commands(self.engine_is_client, &[true, true], self.settings, &format!("--both --bytes {BYTES}"));
        let mut before = vec!["ip mptcp endpoint flush".to_owned()];
        before.extend_from_slice(&self.before);
        let during = self.during.iter().flat_map(|(wait, command)| [format!("sleep {wait}"), command.clone()]);
        let path = |path| match self.fails == Some(path) {
            true => format!("{LINK}\n{FAILS}"),
            false => LINK.to_owned(),
        };
        Trial {
            paths: vec![path(0), path(1)],
            engine_is_client: self.engine_is_client,
            before,
            meanwhile: during.collect(),
            engine,
            kernel,
            ..Trial::new(name, SECONDS)
        }
    }

    fn run(&self, trial: &Trial) -> Result<(), String> {
        let found = trial.right_result()?;
        let too_few = self.counted.iter().filter(|(name, least)| found.counters.of(name) < *least);
        let too_few: Vec<String> =
            too_few.map(|(name, least)| format!("{name} is {}, not {least}", found.counters.of(name))).collect();
        if !too_few.is_empty() {
            return Err(too_few.join(", "));
        }
        if self.settings != BACKUP {
            return Ok(());
        }
        match captures::data_packets(&trial.capture(), &format!("ip.src == {}", address(true, 1, 5)), 0.0)? {
            0 => Ok(()),
            packets => Err(format!("the backup carried {packets} packets with data")),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = if self.engine_is_client { "engine to kernel" } else { "kernel to engine" };
        write!(f, "{client}, {}", self.name)
    }
}
