//! The kernel of the namespace: its settings and counters.

use crate::run::{capture, program, run};
use std::collections::BTreeMap;

/// Counters that must stay zero. Linux 6.18 has a counter for each way to fall back to plain TCP; older kernels have
/// some of them.
const WRONG: [&str; 20] = [
    "MPJoinAckHMacFailure",
    "MPJoinSynAckHMacFailure",
    "DSSNoMatchTCP",
    "DSSNotMatching",
    "DataCsumErr",
    "MPFailRx",
    "MPFailTx",
    "MPRstRx",
    "MPFastcloseRx",
    "DSSCorruptionFallback",
    "DSSCorruptionReset",
    "InfiniteMapTx",
    "InfiniteMapRx",
    "MPCapableFallbackACK",
    "MPCapableFallbackSYNACK",
    "MPCapableDataFallback",
    "MPFallbackTokenInit",
    "DssFallback",
    "SimultConnectFallback",
    "FallbackFailed",
];
/// Counters of joined subflows, one for each side.
const JOINED: [&str; 2] = ["MPJoinAckRx", "MPJoinSynAckRx"];

/// A kernel's counters: `MPTcpExt` of `/proc/net/netstat`.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// Reads the text of `/proc/net/netstat`.
    pub(super) fn read(netstat: &str) -> Self {
        let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("MPTcpExt: "));
        let (names, numbers) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let numbers = numbers.split(' ').map(|number| number.parse().unwrap_or(0));
        Counters(names.split(' ').map(str::to_owned).zip(numbers).collect())
    }

    /// The growth of each counter since `before`.
    pub(super) fn since(&self, before: &Counters) -> Self {
        Counters(self.0.iter().map(|(name, n)| (name.clone(), n.saturating_sub(before.of(name)))).collect())
    }

    /// The value of a counter; 0 if the kernel does not have it.
    pub(super) fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Checks that the kernel counted no error.
    pub(super) fn nothing_wrong(&self) -> Result<(), String> {
        self.nothing_wrong_but(&[])
    }

    /// Checks that the kernel counted no error except these.
    pub(super) fn nothing_wrong_but(&self, allowed: &[&str]) -> Result<(), String> {
        let names = WRONG.iter().filter(|name| !allowed.contains(name) && self.of(name) > 0);
        let grown: Vec<String> = names.map(|name| format!("{name} {}", self.of(name))).collect();
        if grown.is_empty() { Ok(()) } else { Err(format!("the kernel counted {}", grown.join(", "))) }
    }

    /// Number of joined subflows.
    pub(super) fn joined(&self) -> u64 {
        JOINED.iter().map(|name| self.of(name)).sum()
    }
}

/// The kernel of this process's network namespace.
pub(super) struct Kernel;

impl Kernel {
    /// Allows many subflows for a connection, arriving at any device.
    pub(super) fn set_up() -> Result<Self, String> {
        for setting in [
            "net.mptcp.enabled=1",
            "net.ipv4.conf.all.rp_filter=0",
            "net.ipv4.conf.default.rp_filter=0",
            "net.ipv6.conf.all.disable_ipv6=0",
            "net.ipv6.conf.default.disable_ipv6=0",
        ] {
            set(setting)?;
        }
        run(&mut program("ip", "link set lo up"))?;
        run(&mut program("ip", "mptcp limits set subflows 8 add_addr_accepted 8"))?;
        Ok(Kernel)
    }

    /// Sets whether the kernel asks for checksums.
    pub(super) fn set_checksums(&self, on: bool) -> Result<(), String> {
        set(&format!("net.mptcp.checksum_enabled={}", u8::from(on)))
    }

    /// Sets the addresses that the kernel announces.
    pub(super) fn announce(&self, addresses: &[String]) -> Result<(), String> {
        quiet("ip mptcp endpoint flush")?;
        addresses.iter().try_for_each(|address| quiet(&format!("ip mptcp endpoint add {address} signal")))
    }

    /// The counters now.
    pub(super) fn counters(&self) -> Counters {
        Counters::read(&std::fs::read_to_string("/proc/net/netstat").unwrap_or_default())
    }
}

fn set(setting: &str) -> Result<(), String> {
    quiet(&format!("sysctl -qw {setting}"))
}

/// Runs a command whose output is shown only if it fails.
pub(super) fn quiet(command: &str) -> Result<(), String> {
    let (name, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let output = program(name, arguments).output().map_err(|e| format!("{name}: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The names of all schedulers.
pub(super) fn schedulers() -> Result<Vec<String>, String> {
    let listed = capture(crate::results::pathweave().args(["list", "schedulers", "--json"]))?;
    let listed: serde_json::Value = serde_json::from_slice(&listed).map_err(|e| e.to_string())?;
    let names = listed.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}
