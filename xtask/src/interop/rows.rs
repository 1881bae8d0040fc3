//! One connection between the engine and the kernel, and all that are made.

use super::Running;
use super::covering;
use super::kernel::{self, Counters, Kernel};
use crate::results::pathweave;
use crate::run::program;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Longest time of a connection, seconds.
const SECONDS: &str = "--kill-after=5 20";
/// Schedulers of the quick rows.
const QUICK: [&str; 6] = ["minrtt", "linux", "roundrobin", "redundant", "blest", "ecf"];
/// Data each way, bytes: none, one byte, less than a segment, and more than fits some windows.
const SIZES: [u64; 6] = [0, 1, 1000, 100_000, 4 << 20, 256 << 20];
const QUICK_SIZES: [u64; 6] = [0, 1, 1000, 100_000, 4 << 20, 64 << 20];
/// Amount of data that leaves time for every subflow to join.
const ENOUGH: u64 = 64 << 20;
/// The port of the engine as server.
const ENGINE_PORT: &str = "5211";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
    Mixed,
}

impl Family {
    /// Whether a path is of IPv4.
    pub(super) fn is_ipv4(self, path: usize) -> bool {
        match self {
            Family::V4 => true,
            Family::V6 => false,
            Family::Mixed => path.is_multiple_of(2),
        }
    }
}

/// The settings in which connections differ.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) engine_is_client: bool,
    pub(super) paths: usize,
    pub(super) family: Family,
    /// Whether the engine, and the kernel, ask for checksums.
    pub(super) checksum: (bool, bool),
    pub(super) offload: bool,
    pub(super) scheduler: String,
    pub(super) bytes: u64,
}

/// Number of values of each setting of a row.
pub(super) type Settings = [usize; 7];
const FAMILIES: [Family; 3] = [Family::V4, Family::V6, Family::Mixed];
const CHECKSUMS: [(bool, bool); 3] = [(false, false), (true, false), (false, true)];

/// The settings of rows with these schedulers and this number of sizes.
pub(super) fn settings(schedulers: &[String], sizes: usize) -> Settings {
    [2, 4, FAMILIES.len(), CHECKSUMS.len(), 2, schedulers.len(), sizes]
}

/// The schedulers of all rows, or of the quick ones.
///
/// # Errors
/// If they cannot be listed.
pub(super) fn schedulers(quick: bool) -> Result<Vec<String>, String> {
    if quick { Ok(QUICK.map(str::to_owned).into()) } else { kernel::schedulers() }
}

/// All rows. Any two values of two settings are together in some row.
///
/// # Errors
/// If the schedulers cannot be listed.
pub(super) fn all(quick: bool) -> Result<Vec<Row>, String> {
    let (schedulers, sizes) = (schedulers(quick)?, if quick { QUICK_SIZES } else { SIZES });
    let rows = covering::rows(&settings(&schedulers, sizes.len()));
    Ok(rows.iter().map(|values| Row::new(values, &schedulers, &sizes)).collect())
}

impl Row {
    /// A row from the indices of its values in [`Settings`].
    pub(super) fn new(values: &[usize], schedulers: &[String], sizes: &[u64]) -> Self {
        Row {
            engine_is_client: values[0] == 0,
            paths: 1 + values[1],
            family: FAMILIES[values[2]],
            checksum: CHECKSUMS[values[3]],
            offload: values[4] == 0,
            scheduler: schedulers[values[5]].clone(),
            bytes: sizes[values[6]],
        }
    }

    /// The engine's and the machine's address of a path.
    fn addresses(&self, path: usize) -> (String, String) {
        let number = path + 1;
        match self.family.is_ipv4(path) {
            true => (format!("10.77.{number}.2"), format!("10.77.{number}.1")),
            false => (format!("fd77:{number}::2"), format!("fd77:{number}::1")),
        }
    }

    /// The engine's settings.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut all = vec!["--scheduler".to_owned(), self.scheduler.clone()];
        all.extend((!self.offload).then(|| "--no-offload".to_owned()));
        all.extend(["--set".to_owned(), format!("checksum={}", self.checksum.0)]);
        all
    }

    /// A command of the engine, which leaves a capture.
    fn engine(&self, capture: &Path) -> Command {
        let mut command = pathweave();
        command.arg("perf").args(self.arguments()).arg("--pcap").arg(capture);
        for path in 0..self.paths {
            let (ours, machines) = self.addresses(path);
            command.args(["--path", &format!("{ours}@{machines}")]);
        }
        command
    }

    /// Runs the client with its task.
    fn as_client(&self, command: &mut Command, server: &str) -> Result<(), String> {
        command.args(["--client", server, "--both", "--verify", "--bytes", &self.bytes.to_string(), "--json"]);
        let output = limited(command).output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}, {}", output.status, error.trim()));
        }
        is_right(&String::from_utf8_lossy(&output.stdout))
    }

    /// Makes the connection.
    pub(super) fn run(&self, kernel: &Kernel, capture: &Path) -> Result<(), String> {
        kernel.set_checksums(self.checksum.1)?;
        let before = kernel.counters();
        if self.engine_is_client {
            // Where all paths are of one version, one address is enough for all of them.
            let announced: Vec<String> = match self.family {
                Family::Mixed => (1..self.paths).map(|path| self.addresses(path).1).collect(),
                _ => Vec::new(),
            };
            kernel.announce(&announced)?;
            self.as_client(&mut self.engine(capture), &self.addresses(0).1)?;
        } else {
            kernel.announce(&[])?;
            let mut server = self.engine(capture);
            server.args(["--server", "--clients", "1", "--port", ENGINE_PORT]);
            let mut server = server.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
            let mut said = BufReader::new(server.stdout.take().ok_or("the server says nothing")?);
            let mut server = Running(server);
            let mut line = String::new();
            said.read_line(&mut line).map_err(|e| e.to_string())?;
            let mut client = pathweave();
            client.args(["perf", "--kernel", "--port", ENGINE_PORT]);
            self.as_client(&mut client, &self.addresses(0).0)?;
            // It answers for some time after its last client, and then completes its capture.
            server.wait()?;
            line.clear();
            said.read_line(&mut line).map_err(|e| e.to_string())?;
            if !line.ends_with(&format!("sent {} bytes\n", self.bytes)) {
                return Err(format!("the engine as server: {}", line.trim()));
            }
        }
        let counters = kernel.counters().since(&before);
        counters.nothing_wrong()?;
        self.has_all_subflows(&counters, ENOUGH)
    }

    /// Checks that every path had its subflow, if the connection had at least `enough` data, which gives time for it.
    pub(super) fn has_all_subflows(&self, counters: &Counters, enough: u64) -> Result<(), String> {
        // The kernel has room for one announced address: what comes while its worker has not taken the one before is dropped and counted
        // (AddAddrDrop), and not echoed. The engine repeats it after a second, when many of these connections are over.
        let (joined, dropped) = (counters.joined(), counters.of("AddAddrDrop"));
        let expected = self.paths as u64 - 1;
        if self.bytes < enough || joined + dropped >= expected {
            return Ok(());
        }
        Err(format!("{joined} subflows joined and the kernel dropped {dropped} announcements, not {expected} together"))
    }
}

/// Checks that a client's document says that all data arrived unchanged, over Multipath TCP.
pub(super) fn is_right(document: &str) -> Result<(), String> {
    let result: serde_json::Value = serde_json::from_str(document).map_err(|e| e.to_string())?;
    // The kernel does not tell whether it fell back, but it counts that.
    match (&result["verified"], &result["multipath"]) {
        (serde_json::Value::Bool(true), serde_json::Value::Bool(true) | serde_json::Value::Null) => Ok(()),
        (verified, multipath) => Err(format!("verified: {verified}, multipath: {multipath}")),
    }
}

/// The command with a time limit.
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
