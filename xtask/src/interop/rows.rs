//! One connection between the engine and the kernel, and all that are made.

use super::Running;
use super::covering;
use super::kernel::{self, Kernel};
use crate::results::pathweave;
use crate::run::program;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A connection takes so long at most, seconds.
const SECONDS: &str = "20";
/// Schedulers of the quick rows.
const QUICK: [&str; 6] = ["minrtt", "linux", "roundrobin", "redundant", "blest", "ecf"];
/// Data each way, bytes: none, one, less than a segment, and windows of different fullness.
const SIZES: [u64; 6] = [0, 1, 1000, 100_000, 4 << 20, 64 << 20];
/// With so much data there is time for every subflow to join.
const ENOUGH: u64 = 64 << 20;
/// The port of the engine as server.
const ENGINE_PORT: &str = "5211";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    V4,
    V6,
    Mixed,
}

/// What is different between connections.
#[derive(Clone, Debug)]
pub(super) struct Row {
    engine_is_client: bool,
    paths: usize,
    family: Family,
    /// Asked for by the engine, and by the kernel.
    checksum: (bool, bool),
    offload: bool,
    scheduler: String,
    bytes: u64,
}

/// What was seen of a connection.
pub(super) struct Seen {
    joined: u64,
}

/// Every row, any two values of two settings together in one.
///
/// # Errors
/// If the schedulers cannot be listed.
pub(super) fn all(quick: bool) -> Result<Vec<Row>, String> {
    const FAMILIES: [Family; 3] = [Family::V4, Family::V6, Family::Mixed];
    const CHECKSUMS: [(bool, bool); 3] = [(false, false), (true, false), (false, true)];
    let schedulers = if quick { QUICK.map(str::to_owned).into() } else { kernel::schedulers()? };
    let settings = [2, 4, FAMILIES.len(), CHECKSUMS.len(), 2, schedulers.len(), SIZES.len()];
    let row = |values: Vec<usize>| Row {
        engine_is_client: values[0] == 0,
        paths: 1 + values[1],
        family: FAMILIES[values[2]],
        checksum: CHECKSUMS[values[3]],
        offload: values[4] == 0,
        scheduler: schedulers[values[5]].clone(),
        bytes: SIZES[values[6]],
    };
    Ok(covering::rows(&settings).into_iter().map(row).collect())
}

impl Row {
    /// The engine's and the machine's address of a path.
    fn addresses(&self, path: usize) -> (String, String) {
        let ipv4 = match self.family {
            Family::V4 => true,
            Family::V6 => false,
            Family::Mixed => path.is_multiple_of(2),
        };
        let number = path + 1;
        match ipv4 {
            true => (format!("10.77.{number}.2"), format!("10.77.{number}.1")),
            false => (format!("fd77:{number}::2"), format!("fd77:{number}::1")),
        }
    }

    /// A command of the engine.
    fn engine(&self) -> Command {
        let mut command = pathweave();
        command.args(["perf", "--scheduler", &self.scheduler]);
        for path in 0..self.paths {
            let (ours, machines) = self.addresses(path);
            command.args(["--path", &format!("{ours}@{machines}")]);
        }
        command.args((!self.offload).then_some("--no-offload"));
        command.args(["--set", &format!("checksum={}", self.checksum.0)]);
        command
    }

    /// What the client is to do.
    fn as_client(&self, command: &mut Command, server: &str) -> Result<(), String> {
        command.args(["--client", server, "--both", "--verify", "--bytes", &self.bytes.to_string(), "--json"]);
        let output = limited(command).output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}, {}", output.status, error.trim()));
        }
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        // The kernel does not tell whether it fell back, but it counts that.
        match (&result["verified"], &result["multipath"]) {
            (serde_json::Value::Bool(true), serde_json::Value::Bool(true) | serde_json::Value::Null) => Ok(()),
            (verified, multipath) => Err(format!("verified: {verified}, multipath: {multipath}")),
        }
    }

    /// Makes the connection.
    pub(super) fn run(&self, kernel: &Kernel) -> Result<Seen, String> {
        kernel.set_checksums(self.checksum.1)?;
        let before = kernel.counters();
        if self.engine_is_client {
            // Where all paths are of one version, one address is enough for all of them.
            let announced: Vec<String> = match self.family {
                Family::Mixed => (1..self.paths).map(|path| self.addresses(path).1).collect(),
                _ => Vec::new(),
            };
            kernel.announce(&announced)?;
            self.as_client(&mut self.engine(), &self.addresses(0).1)?;
        } else {
            kernel.announce(&[])?;
            let mut server = self.engine();
            server.args(["--server", "--clients", "1", "--port", ENGINE_PORT]);
            let mut server = server.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
            let mut said = BufReader::new(server.stdout.take().ok_or("the server says nothing")?);
            let server = Running(server);
            let mut line = String::new();
            said.read_line(&mut line).map_err(|e| e.to_string())?;
            let mut client = pathweave();
            client.args(["perf", "--kernel", "--port", ENGINE_PORT]);
            self.as_client(&mut client, &self.addresses(0).0)?;
            line.clear();
            said.read_line(&mut line).map_err(|e| e.to_string())?;
            drop(server);
            if !line.ends_with(&format!("sent {} bytes\n", self.bytes)) {
                return Err(format!("the engine as server: {}", line.trim()));
            }
        }
        Ok(Seen { joined: kernel.joined_since(&before) })
    }

    /// That every path had its subflow, where there was time for it.
    pub(super) fn has_all_subflows(&self, seen: &Seen) -> Result<(), String> {
        // The kernel forgets an announced address that comes while it still works on the one before, and the engine repeats it
        // only later than these connections last. So of announced addresses one is enough.
        let most = if self.engine_is_client { u64::MAX } else { 1 };
        let expected = (self.paths as u64 - 1).min(most);
        if self.bytes < ENOUGH || seen.joined >= expected {
            return Ok(());
        }
        Err(format!("{} subflows joined, not {expected}", seen.joined))
    }
}

/// The command, which is ended where it takes too long.
fn limited(command: &Command) -> Command {
    let mut limited = program("timeout", SECONDS);
    limited.arg(command.get_program()).args(command.get_args());
    limited
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = if self.engine_is_client { "engine to kernel" } else { "kernel to engine" };
        let checksum = match self.checksum {
            (false, false) => "no checksums",
            (true, _) => "checksums by the engine",
            (_, true) => "checksums by the kernel",
        };
        let offload = if self.offload { "offload" } else { "no offload" };
        let Row { paths, family, scheduler, bytes, .. } = self;
        write!(f, "{client}, {paths} paths, {family:?}, {checksum}, {offload}, {scheduler}, {bytes} bytes")
    }
}
