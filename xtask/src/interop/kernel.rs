//! The kernel of the namespace: its settings, and what it counts.

use crate::run::{capture, program, run};
use std::collections::BTreeMap;

/// Nothing of this may happen.
const WRONG: [&str; 12] = [
    "MPJoinAckHMacFailure",
    "MPJoinSynAckHMacFailure",
    "DSSNoMatchTCP",
    "DSSNotMatching",
    "DataCsumErr",
    "MPFailRx",
    "MPFailTx",
    "MPRstRx",
    "DSSCorruptionFallback",
    "DSSCorruptionReset",
    "MPCapableFallbackACK",
    "MPCapableFallbackSYNACK",
];
/// In each list of [`Kernel::counters`], so many subflows joined.
const JOINED: [&str; 2] = ["MPJoinAckRx", "MPJoinSynAckRx"];

/// What the kernel counted so far.
pub(super) type Counters = BTreeMap<String, u64>;

/// The kernel of this process's network namespace.
pub(super) struct Kernel;

impl Kernel {
    /// Lets connections have many subflows, which may come in at any device.
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

    /// Whether it asks for checksums.
    pub(super) fn set_checksums(&self, on: bool) -> Result<(), String> {
        set(&format!("net.mptcp.checksum_enabled={}", u8::from(on)))
    }

    /// The addresses that it announces.
    pub(super) fn announce(&self, addresses: &[String]) -> Result<(), String> {
        quiet("ip mptcp endpoint flush")?;
        addresses.iter().try_for_each(|address| quiet(&format!("ip mptcp endpoint add {address} signal")))
    }

    /// `MPTcpExt` of `/proc/net/netstat`.
    pub(super) fn counters(&self) -> Counters {
        let text = std::fs::read_to_string("/proc/net/netstat").unwrap_or_default();
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("MPTcpExt: "));
        let (names, numbers) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let numbers = numbers.split(' ').map(|number| number.parse().unwrap_or(0));
        names.split(' ').map(str::to_owned).zip(numbers).collect()
    }

    /// How much a counter grew.
    fn growth(&self, before: &Counters, now: &Counters, name: &str) -> u64 {
        let of = |counters: &Counters| counters.get(name).copied().unwrap_or(0);
        of(now).saturating_sub(of(before))
    }

    /// That the kernel met nothing wrong.
    pub(super) fn nothing_wrong_since(&self, before: &Counters) -> Result<(), String> {
        let now = self.counters();
        let grown = WRONG.iter().map(|name| (*name, self.growth(before, &now, name))).filter(|(_, n)| *n > 0);
        let grown: Vec<String> = grown.map(|(name, n)| format!("{name} {n}")).collect();
        if grown.is_empty() { Ok(()) } else { Err(format!("the kernel counted {}", grown.join(", "))) }
    }

    /// How many subflows joined.
    pub(super) fn joined_since(&self, before: &Counters) -> u64 {
        let now = self.counters();
        JOINED.iter().map(|name| self.growth(before, &now, name)).sum()
    }
}

fn set(setting: &str) -> Result<(), String> {
    quiet(&format!("sysctl -qw {setting}"))
}

/// Runs a command of which only failure is worth a line.
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
