//! One connection between the engine and a kernel over emulated paths.

use super::kernel::Counters;
use super::rows;
use crate::results::pathweave;
use crate::run::{program, target};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// The programs of both sides, and the paths between them. Commands are for a shell and run in the trial's folder.
pub(super) struct Trial {
    /// The folder's name, below `target/interop`.
    pub(super) name: String,
    /// Settings of each path, in the form of a scenario's `[[path]]`.
    pub(super) paths: Vec<String>,
    /// Whether the engine is the client and the kernel the server, instead of the reverse.
    pub(super) engine_is_client: bool,
    /// Commands in the kernel's namespace before its program.
    pub(super) before: Vec<String>,
    /// Commands in the kernel's namespace while its program runs, one after the other.
    pub(super) meanwhile: Vec<String>,
    /// The engine's program.
    pub(super) engine: String,
    /// The kernel's program.
    pub(super) kernel: String,
    /// Longest time of the client, seconds.
    pub(super) seconds: u32,
    /// Seed of the links' random events.
    pub(super) seed: u64,
}

/// The results of a trial.
pub(super) struct Found {
    /// The kernel's counters.
    pub(super) counters: Counters,
    /// The client's output.
    pub(super) client: String,
    /// The server's output.
    pub(super) server: String,
}

/// Longest time of the steps before and after the client's program, seconds.
const BESIDE_SECONDS: u32 = 60;

/// Steps of 20 ms in five seconds.
const FIVE_SECONDS: u32 = 250;

/// A shell loop that waits until a condition holds, at most `steps` of 20 ms.
pub(super) fn until(condition: &str, steps: u32) -> String {
    format!("i=0; until {condition} || [ $i -ge {steps} ]; do sleep 0.02; i=$((i+1)); done")
}

/// Condition that this namespace has no socket of Multipath TCP left. `/proc/net/protocols` also counts sockets that
/// wait for their end.
const NONE_IS_LEFT: &str = "awk '/^MPTCP/ { n += $3 } END { exit n > 0 }' /proc/net/protocols";

/// Name of the engine's capture in the trial's folder.
pub(super) const CAPTURE: &str = "engine.pcapng";

/// The folder of all trials.
pub(super) fn folder() -> PathBuf {
    target().join("interop")
}

/// The path's device in both namespaces.
pub(super) fn device(path: usize) -> String {
    format!("{}{}", letter(path), path + 1)
}

/// The path's name in the scenario, with which the name of its device begins.
fn letter(path: usize) -> char {
    char::from(b'a' + path as u8)
}

/// An address of an emulated path. Its last part names the host (see docs/emulate.md).
pub(super) fn address(ipv4: bool, path: usize, last: u8) -> String {
    let number = path + 1;
    if ipv4 { format!("10.0.{number}.{last}") } else { format!("fd00:0:0:{number}::{last:x}") }
}

/// The engine's address of each path, and the address at the other end of its device, as its program takes them.
pub(super) fn engine_paths(is_client: bool, ipv4: &[bool]) -> Vec<String> {
    let (ours, machines) = if is_client { (5, 6) } else { (9, 10) };
    let ends =
        |(path, ipv4): (usize, &bool)| format!("{}@{}", address(*ipv4, path, ours), address(*ipv4, path, machines));
    ipv4.iter().enumerate().map(ends).collect()
}

/// The engine's program and the kernel's program. `ipv4` says which paths use IPv4, `settings` are the engine's, and
/// `asks` is the client's request.
pub(super) fn commands(engine_is_client: bool, ipv4: &[bool], settings: &str, asks: &str) -> (String, String) {
    let program = pathweave().get_program().to_string_lossy().into_owned();
    let paths = engine_paths(engine_is_client, ipv4).join(" --path ");
    let engine = format!("{program} perf {settings} --pcap engine.pcapng --path {paths}");
    let server = address(ipv4[0], 0, if engine_is_client { 2 } else { 9 });
    let (serves, asks) = ("--server --clients 1", format!("--client {server} --verify --json {asks}"));
    match engine_is_client {
        true => (format!("{engine} {asks}"), format!("{program} perf --kernel {serves}")),
        false => (format!("{engine} {serves}"), format!("{program} perf --kernel {asks}")),
    }
}

impl Trial {
    /// A trial with only a folder: for trials with scripts of their own, and to add to.
    pub(super) fn new(name: String, seconds: u32) -> Self {
        Trial {
            name,
            paths: Vec::new(),
            engine_is_client: false,
            before: Vec::new(),
            meanwhile: Vec::new(),
            engine: String::new(),
            kernel: String::new(),
            seconds,
            seed: 1,
        }
    }

    pub(super) fn folder(&self) -> PathBuf {
        folder().join(&self.name)
    }

    /// The engine's capture.
    pub(super) fn capture(&self) -> PathBuf {
        self.folder().join(CAPTURE)
    }

    /// Makes an empty folder for the trial.
    pub(super) fn prepare(&self) -> Result<(), String> {
        let folder = self.folder();
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))
    }

    /// Runs both sides to their end, in the folder.
    ///
    /// # Errors
    /// If one of them fails, or a socket is left.
    pub(super) fn run(&self) -> Result<Found, String> {
        let folder = self.folder();
        let in_folder = |e: std::io::Error| format!("{}: {e}", folder.display());
        fs::write(folder.join("scenario.toml"), self.scenario()).map_err(in_folder)?;
        fs::write(folder.join("server.sh"), self.server()).map_err(in_folder)?;
        fs::write(folder.join("client.sh"), self.client()).map_err(in_folder)?;
        let mut emulate = program("timeout", &format!("--kill-after=10 {}", self.seconds + BESIDE_SECONDS));
        emulate.arg(pathweave().get_program()).current_dir(&folder);
        emulate.args(["emulate", "scenario.toml", "--seed", &self.seed.to_string()]);
        emulate.args(["--server", "exec sh server.sh", "--json", "paths.json", "--", "sh", "client.sh"]);
        let output = emulate.output().map_err(|e| e.to_string())?;
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let (client, server) = (read("client.status"), read("server.status"));
        if !output.status.success() || client.trim() != "0" || server.trim() != "0" {
            let said = [read("client.err"), read("server.err"), String::from_utf8_lossy(&output.stderr).into_owned()];
            let said: Vec<&str> = said.iter().map(|text| text.lines().next().unwrap_or_default()).collect();
            return Err(format!(
                "status of the client {:?}, of the server {:?}: {}",
                client.trim(),
                server.trim(),
                said.join("; ")
            ));
        }
        if !read("events.err").is_empty() {
            return Err(format!("beside the kernel's program: {}", read("events.err").trim()));
        }
        if !read("left").is_empty() {
            return Err(format!("a socket of the kernel is not closed: {}", read("left").trim()));
        }
        Ok(Found { counters: Counters::read(&read("netstat")), client: read("client.out"), server: read("server.out") })
    }

    /// Runs both sides in a new folder.
    ///
    /// # Errors
    /// If [`Trial::run`] fails, what arrived is not what was sent, or the kernel counted an error.
    pub(super) fn right_result(&self) -> Result<Found, String> {
        self.prepare()?;
        let found = self.run()?;
        rows::is_right(&found.client)?;
        found.counters.nothing_wrong()?;
        Ok(found)
    }

    fn scenario(&self) -> String {
        let mut text = String::from("format = 1\nname = \"interop\"\nduration = \"1s\"\n");
        for (path, settings) in self.paths.iter().enumerate() {
            let _ = write!(text, "\n[[path]]\nname = \"{}\"\n{settings}\n", letter(path));
        }
        text + "\n[[connection]]\nname = \"none\"\n"
    }

    /// The script of the kernel's side: its program with the commands beside it, then the kernel's counters.
    fn kernels(&self, program: &str, out: &str) -> String {
        let mut text = String::new();
        for command in &self.before {
            let _ = writeln!(text, "{command} || exit 1");
        }
        if !self.meanwhile.is_empty() {
            let _ = writeln!(text, "( {} ) 2>>events.err &", self.meanwhile.join("\n"));
        }
        let _ = writeln!(text, "{program} >{out}.out 2>{out}.err\nstatus=$?");
        let _ = writeln!(text, "{}", until(NONE_IS_LEFT, FIVE_SECONDS));
        let _ = writeln!(text, "{NONE_IS_LEFT} || ss -Mna >left 2>&1");
        text + "cat /proc/net/netstat >netstat\n"
    }

    fn server(&self) -> String {
        let text = match self.engine_is_client {
            true => self.kernels(&self.kernel, "server"),
            false => format!("{} >server.out 2>server.err\nstatus=$?\n", self.engine),
        };
        text + "echo $status >server.status\n"
    }

    fn client(&self) -> String {
        let mut text = until("[ -s server.out ]", FIVE_SECONDS) + "\n";
        let limited = |program: &str| format!("timeout --kill-after=5 {} {program}", self.seconds);
        text += &match self.engine_is_client {
            true => format!("{} >client.out 2>client.err\nstatus=$?\n", limited(&self.engine)),
            false => self.kernels(&limited(&self.kernel), "client"),
        };
        text += "echo $status >client.status\n";
        text + &until("[ -s server.status ]", FIVE_SECONDS) + "\n"
    }
}
