//! The end of `pathweave perf` when it cannot be clean: a path is dark, an address is gone, or a peer was killed. In
//! each case, the measurements so far must be reported. If all data arrived, the client must succeed; otherwise it must
//! say what is missing.

use super::OverLinks;
use super::trial::{Trial, address, device, engine_paths, until};
use crate::results::pathweave;
use crate::run::program;
use serde_json::Value;
use std::fmt;
use std::fs;

const LINK: &str = "rate = \"8Mbps\"\ndelay = \"10ms\"\nqueue = \"50packets\"";
/// Time of the event after the client's start, seconds. No transfer ends earlier, because of the links' rate and delay.
const AT: u32 = 3;
/// Time after which an engine gives up a connection without any answer. For the kernel it is a minute.
const SETTINGS: &str = "--set close_timeout=5s";
const CLIENT_SECONDS: u32 = 150;
/// Longest time until a server has printed its figures, in steps of 20 ms.
const SERVER_STEPS: u32 = 1500;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    Engine,
    Kernel,
}

/// A lasting event during the transfer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Dark(usize),
    /// Both paths go dark.
    AllDark,
    /// The client's address of this path is removed.
    NoAddress(usize),
    /// The client's TUN device of this path is removed.
    NoDevice(usize),
    ServerKilled,
}

/// The client's transfer: a name and its arguments.
type Transfer = (&'static str, &'static str);
const UP: Transfer = ("up", "--bytes 8MiB");
const DOWN: Transfer = ("down", "--reverse --bytes 8MiB");
const BOTH: Transfer = ("both ways", "--both --bytes 8MiB");
const TIME: Transfer = ("up for 5 s", "--time 5");
const PING: Transfer = ("ping", "--ping 100 --count 250");

/// A transfer whose end cannot be clean.
pub(super) struct End {
    client: Peer,
    server: Peer,
    transfer: Transfer,
    event: Event,
}

/// All such transfers. The quick ones leave out those that take a minute.
pub(super) fn all(quick: bool) -> Vec<End> {
    use Peer::{Engine, Kernel};
    let mut all = Vec::new();
    let mut add = |client, server, transfers: &[Transfer], events: &[Event]| {
        for transfer in transfers {
            all.extend(events.iter().map(|event| End { client, server, transfer: *transfer, event: *event }));
        }
    };
    if !quick {
        // The kernel waits for a minute.
        add(Kernel, Engine, &[UP, DOWN, PING], &[Event::ServerKilled, Event::AllDark]);
    }
    for (client, server) in [(Engine, Kernel), (Kernel, Engine), (Engine, Engine)] {
        add(client, server, &[UP, DOWN, BOTH, TIME, PING], &[Event::Dark(0), Event::Dark(1)]);
    }
    for server in [Kernel, Engine] {
        add(Engine, server, &[UP, DOWN, PING], &[Event::ServerKilled, Event::AllDark]);
        add(Engine, server, &[UP, DOWN], &[Event::NoAddress(1), Event::NoDevice(1)]);
    }
    add(Kernel, Engine, &[UP, DOWN], &[Event::NoAddress(0), Event::NoAddress(1)]);
    all
}

impl End {
    /// Whether all data arrives nevertheless.
    fn is_complete(&self) -> bool {
        !matches!(self.event, Event::ServerKilled | Event::AllDark)
    }

    /// A program of the engine or of the kernel, with the addresses of its side.
    fn program(peer: Peer, is_client: bool) -> String {
        let program = pathweave().get_program().to_string_lossy().into_owned();
        match peer {
            Peer::Engine => {
                let paths = engine_paths(is_client, &[true, true]).join(" --path ");
                format!("{program} perf {SETTINGS} --pcap {}.pcapng --path {paths}", side(is_client))
            }
            Peer::Kernel => format!("{program} perf --kernel"),
        }
    }

    fn scenario(&self) -> String {
        let mut text = String::from("format = 1\nname = \"ends\"\nduration = \"1s\"\n");
        for (path, name) in ["a", "b"].into_iter().enumerate() {
            text += &format!("[[path]]\nname = \"{name}\"\n{LINK}\n");
            if matches!(self.event, Event::AllDark) || self.event == Event::Dark(path) {
                text += &format!("[[path.change]]\nat = \"{AT}s\"\nup = false\n");
            }
        }
        text + "[[connection]]\nname = \"none\"\n"
    }

    /// The command in the client's namespace that causes the event.
    fn on_client(&self) -> Option<String> {
        match (self.event, self.client) {
            (Event::NoAddress(path), Peer::Kernel) => {
                Some(format!("ip address del {}/24 dev {}", address(true, path, 1), device(path)))
            }
            (Event::NoAddress(path), Peer::Engine) => {
                let (ours, machines) = (address(true, path, 5), address(true, path, 6));
                Some(format!("ip address del {machines} peer {ours} dev pw{path}"))
            }
            (Event::NoDevice(path), _) => Some(format!("ip link del pw{path}")),
            _ => None,
        }
    }

    /// A script for one side: its program and the event.
    fn script(&self, is_client: bool) -> String {
        let side = side(is_client);
        let mut text = String::new();
        if is_client {
            text += &until("[ -s server.out ]", 250);
            if let Some(command) = self.on_client() {
                text += &format!("\n( sleep {AT}; {command} ) 2>>events.err &");
            }
            let last = if self.server == Peer::Engine { 9 } else { 2 };
            let (program, asks) = (Self::program(self.client, true), self.transfer.1);
            text += &format!(
                "\ntimeout --kill-after=5 {CLIENT_SECONDS} {program} --client {} --verify --json {asks} >{side}.out 2>{side}.err",
                address(true, 0, last)
            );
            text += &format!("\necho $? >{side}.status\n");
            if self.event != Event::ServerKilled {
                text += &until("grep -q received server.out", SERVER_STEPS);
            }
            text + "\n"
        } else {
            text += &format!("{} --server --clients 1 >{side}.out 2>{side}.err &\n", Self::program(self.server, false));
            if self.event == Event::ServerKilled {
                text += &format!("pid=$!\nsleep {AT}.5; kill -9 $pid\n");
            }
            text + "wait\nsleep 300\n"
        }
    }

    /// Checks the files that the run has left.
    fn judge(&self, read: impl Fn(&str) -> String) -> Result<(), String> {
        let (status, said, server) = (read("client.status"), read("client.err"), read("server.out"));
        let here = |what: &str| format!("{what}; status {}, {}; server: {}", status.trim(), said.trim(), server.trim());
        if !read("events.err").is_empty() {
            return Err(here(&format!("beside the client: {}", read("events.err").trim())));
        }
        let document: Value = serde_json::from_str(&read("client.out")).map_err(|e| here(&format!("its JSON: {e}")))?;
        let complete = self.is_complete();
        if status.trim() != if complete { "0" } else { "1" } {
            return Err(here("another status was expected"));
        }
        let begin = if complete { "warning: " } else { "error: " };
        if said.lines().any(|line| !line.starts_with(begin)) || (!complete && said.is_empty()) {
            return Err(here("standard error says something else"));
        }
        let verified = if complete { Value::Bool(true) } else { Value::Null };
        if document["verified"] != verified || document["error"].is_null() != complete {
            return Err(here(&format!("verified: {}, error: {}", document["verified"], document["error"])));
        }
        let moved = if self.transfer == DOWN { "received" } else { "written" };
        if document["client"][moved].as_u64().is_none_or(|bytes| bytes == 0) {
            return Err(here(&format!("the client tells no bytes that were {moved}")));
        }
        if document["end"]["streams"].as_array().is_none_or(Vec::is_empty) {
            return Err(here("there are no streams"));
        }
        if self.transfer == PING && document["end"]["round_trips_us"]["p50"].as_f64().is_none() {
            return Err(here("there are no round trips"));
        }
        let server_tells = complete || (self.server == Peer::Engine && self.event != Event::ServerKilled);
        if server_tells && !server.contains("received") {
            return Err(here("the server tells no figures"));
        }
        Ok(())
    }
}

fn side(is_client: bool) -> &'static str {
    if is_client { "client" } else { "server" }
}

impl OverLinks for End {
    /// Prepares only the folder, because some trials have an engine on both sides.
    fn trial(&self, name: String) -> Trial {
        Trial::new(name, CLIENT_SECONDS)
    }

    fn run(&self, trial: &Trial) -> Result<(), String> {
        trial.prepare()?;
        let folder = trial.folder();
        let write = |name: &str, text: String| {
            fs::write(folder.join(name), text).map_err(|e| format!("{}: {e}", folder.join(name).display()))
        };
        write("scenario.toml", self.scenario())?;
        write("server.sh", self.script(false))?;
        write("client.sh", self.script(true))?;
        let mut emulate = program("timeout", &format!("--kill-after=10 {}", CLIENT_SECONDS + 60));
        emulate.arg(pathweave().get_program()).current_dir(&folder);
        emulate.args(["emulate", "scenario.toml", "--server", "exec sh server.sh", "--", "sh", "client.sh"]);
        let output = emulate.output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(format!("emulate: {}, {}", output.status, String::from_utf8_lossy(&output.stderr).trim()));
        }
        self.judge(|name| fs::read_to_string(folder.join(name)).unwrap_or_default())
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |peer| if peer == Peer::Engine { "engine" } else { "kernel" };
        let event = match self.event {
            Event::Dark(path) => format!("path {} dark at the end", path + 1),
            Event::AllDark => "both paths dark".into(),
            Event::NoAddress(path) => format!("the client's address of path {} is gone", path + 1),
            Event::NoDevice(path) => format!("the client's TUN device of path {} is gone", path + 1),
            Event::ServerKilled => "the server is killed".into(),
        };
        write!(f, "{} to {}, {}: {event}", name(self.client), name(self.server), self.transfer.0)
    }
}
