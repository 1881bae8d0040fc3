//! Hundreds of kernel connections start to send at the same time to an engine behind one TUN device, while the engine
//! gets no processor time. The device's queue has room for all that they send.

use super::OverLinks;
use super::kernel::Counters;
use super::trial::{Trial, until};
use crate::results::pathweave;
use crate::run::program;
use serde_json::Value;
use std::fmt;
use std::fs;

const CONNECTIONS: u64 = 500;
const BYTES: u64 = 100_000;
const PORT: u16 = 5210;
const SECONDS: u32 = 150;
/// Counters that grow if the kernel stops using Multipath TCP because it believes that a path blocks it.
const GIVES_UP: [&str; 2] = ["Blackhole", "MPCapableSYNTXDisabled"];
const CLIENTS: &str = include_str!("crowd.py");

/// The kernel's connections to the engine.
pub(super) struct Crowd;

impl OverLinks for Crowd {
    /// Prepares only the folder, because there are no links.
    fn trial(&self, name: String) -> Trial {
        Trial::new(name, SECONDS)
    }

    fn run(&self, trial: &Trial) -> Result<(), String> {
        trial.prepare()?;
        let folder = trial.folder();
        let write = |name: &str, text: &str| {
            fs::write(folder.join(name), text).map_err(|e| format!("{}: {e}", folder.join(name).display()))
        };
        let perf = format!("{} perf --server --port {PORT}", pathweave().get_program().to_string_lossy());
        write("crowd.py", CLIENTS)?;
        let script = format!(
            "ip link set lo up\n{perf} --no-offload --path 10.77.1.2@10.77.1.1 >server.out 2>server.err &\npid=$!\n{}\n\
             timeout {SECONDS} python3 crowd.py 10.77.1.2 {PORT} pw0 {CONNECTIONS} {BYTES} $pid >clients.out 2>clients.err\n\
             cat /proc/net/netstat >netstat\nkill $pid\nwait\n",
            until("[ -s server.out ]", 250)
        );
        write("crowd.sh", &script)?;
        let mut unshare = program("unshare", "--net --pid --fork --kill-child --mount-proc -- sh crowd.sh");
        unshare.current_dir(&folder).output().map_err(|e| e.to_string())?;
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let said = || format!("{} {}", read("clients.err").trim(), read("server.err").trim());
        let found: Value = serde_json::from_str(&read("clients.out")).map_err(|e| format!("{e}: {}", said()))?;
        if found["right"] != CONNECTIONS || found["dropped"] != 0 {
            return Err(format!("{found}; {}", said()));
        }
        let counters = Counters::read(&read("netstat"));
        match GIVES_UP.iter().find(|name| counters.of(name) > 0) {
            Some(name) => Err(format!("the kernel counted {name} {}", counters.of(name))),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel to engine, {CONNECTIONS} connections at once")
    }
}
