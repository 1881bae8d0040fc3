//! `pathweave perf --auto` on a machine whose addresses come, go and change.

mod server;

use crate::results::{build, pathweave};
use crate::run::{capture, target};
use crate::setup;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A scenario with two paths that are easily told apart.
const SCENARIO: &str = "format = 1\nname = \"uplinks\"\nduration = \"1s\"\n[[path]]\nname = \"one\"\nrate = \"8Mbps\"\ndelay = \"10ms\"\n\
    [[path]]\nname = \"two\"\nrate = \"4Mbps\"\ndelay = \"20ms\"\n[[connection]]\nname = \"none\"\n";
const SCENARIO_FILE: &str = "uplinks.toml";

/// An IP version: the form of its addresses, and the setting that lets the machine forward it.
struct Version {
    name: &'static str,
    /// Prefix of the addresses of path P, with `P` for the number.
    machines: &'static str,
    prefix_bits: u8,
    /// Addresses of the engine, with `P` for the path's number.
    engines: &'static str,
    forwarding: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        name: "IPv4",
        machines: "10.0.P.",
        prefix_bits: 24,
        engines: "198.18.P.2:",
        forwarding: "net.ipv4.ip_forward",
    },
    Version {
        name: "IPv6",
        machines: "fd00:0:0:P::",
        prefix_bits: 64,
        engines: "[fdb4:6c1e:8d57:P::2]:",
        forwarding: "net.ipv6.conf.all.forwarding",
    },
];

/// Changes of the machine while the engine sends: seconds of rest before each, and the commands. `TWO` stands for the
/// prefix of the second path's addresses.
const STEPS: [(u32, &str); 5] = [
    (0, "ip address del TWO1 dev two2"),
    (3, "ip address add TWO1 dev two2; ip route replace default dev two2 table 101"),
    (3, "ip address del TWO1 dev two2"),
    (3, "ip address add TWO3 dev two2; ip route replace default dev two2 table 101"),
    (3, "ip link set one1 down"),
];
const SECONDS: f64 = 15.0;
/// The messages of the engine about its paths meanwhile.
const TOLD: [&str; 5] =
    ["ONE1 on one1 comes", "TWO1 on two2 comes", "TWO1 on two2 goes", "TWO3 on two2 comes", "ONE1 on one1 goes"];
/// The engine's paths, and the whole seconds in which each must carry data, and must not.
const USED: [(&str, &[usize], &[usize]); 3] = [
    ("1", &[1, 2, 4, 5, 7, 8, 10, 11], &[14]),
    ("2", &[4, 5], &[1, 2, 8, 11, 14]),
    ("3", &[10, 11, 13, 14], &[1, 2, 4, 5, 7, 8]),
];
/// Rate in bit/s from which on a path counts as carrying data.
const CARRIES: f64 = 1e6;

impl Version {
    /// The prefixes of the machine's addresses on the two paths.
    fn paths(&self) -> (String, String) {
        (self.machines.replace('P', "1"), self.machines.replace('P', "2"))
    }

    fn ip(&self) -> &'static str {
        if self.name == "IPv6" { "ip -6 " } else { "ip " }
    }
}

/// Runs transfers of each IP version, from a client and to a server, while addresses come, go and change, and a link
/// goes down.
///
/// # Errors
/// Each change that was not followed.
pub(crate) fn check() -> Result<(), String> {
    setup::install(&[setup::NFT])?;
    build()?;
    let folder = target().join("uplinks");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let scenario = folder.join(SCENARIO_FILE);
    fs::write(&scenario, SCENARIO).map_err(|e| format!("{}: {e}", scenario.display()))?;
    for version in &VERSIONS {
        follow(version).map_err(|error| format!("client, {}: {error}", version.name))?;
        server::follow(version).map_err(|error| format!("server, {}: {error}", version.name))?;
    }
    Ok(())
}

fn follow(version: &Version) -> Result<(), String> {
    let (one, two) = version.paths();
    let file = |name: &str| target().join("uplinks").join(name);
    let (scenario, told) = (file(SCENARIO_FILE), file("told.txt"));
    let program = pathweave().get_program().to_owned();
    let perf = format!("{} perf", Path::new(&program).display());
    let ip = version.ip();
    let command = |change: &str| {
        let bits = version.prefix_bits;
        let change = change.replace("TWO1", &format!("{two}1/{bits}")).replace("TWO3", &format!("{two}3/{bits}"));
        change.replace("ip route", &format!("{ip}route")).replace("dev two2;", &nodad(version))
    };
    // The first change comes before the engine starts.
    let mut steps = STEPS.iter().map(|(rest, change)| format!("sleep {rest}; {}\n", command(change)));
    let first = steps.next().unwrap_or_default();
    let changes: String = steps.collect();
    let client = format!(
        "sysctl -qw {forwarding}=0\n{first}timeout 60 {perf} --client {one}2 --auto --time {SECONDS} --json --set send_buffer=256KiB 2>{} &\n\
         {changes}wait $! && test -z \"$(nft list ruleset)\" && ! {ip}rule | grep -E '^7:' >&2 && test $(sysctl -n {forwarding}) = 0",
        told.display(),
        forwarding = version.forwarding,
    );
    let mut run = pathweave();
    run.arg("emulate").arg(&scenario).args(["--server", &format!("exec {perf} --server --kernel >/dev/null")]);
    run.args(["--", "sh", "-c", &client]);
    let document: Value = serde_json::from_slice(&capture(&mut run)?).map_err(|e| e.to_string())?;
    let told = fs::read_to_string(&told).map_err(|e| format!("{}: {e}", told.display()))?;
    let changes: Vec<&str> =
        told.lines().filter_map(|line| Some(line.strip_prefix("path ")?.split_once(": ")?.1)).collect();
    if changes != TOLD.map(|change| change.replace("ONE", &one).replace("TWO", &two)) {
        return Err(format!("the engine saw other changes:\n{told}"));
    }
    for (path, used, unused) in USED {
        let address = version.engines.replace('P', path);
        let carries = |second: &&usize| carried(&document, &address, **second) > CARRIES;
        if let Some(second) = used.iter().find(|second| !carries(second)) {
            return Err(format!("path {path} carries nothing in second {second}"));
        }
        if let Some(second) = unused.iter().find(carries) {
            return Err(format!("path {path} carries data in second {second}"));
        }
    }
    Ok(())
}

/// The option that puts an IPv6 address in use at once, without duplicate address detection.
fn nodad(version: &Version) -> String {
    format!("dev two2{};", if version.name == "IPv6" { " nodad" } else { "" })
}

/// Bit/s of the subflow from an address with this prefix, in the interval that begins nearest to this second.
fn carried(document: &Value, address: &str, second: usize) -> f64 {
    let start = |interval: &&Value| {
        ((interval["sum"]["start"].as_f64().unwrap_or(f64::MAX) - second as f64).abs() * 1e3) as u64
    };
    let interval = document["intervals"].as_array().into_iter().flatten().min_by_key(start);
    let streams = interval.and_then(|interval| interval["streams"].as_array()).into_iter().flatten();
    let of_address = streams.filter(|stream| stream["local"].as_str().is_some_and(|local| local.starts_with(address)));
    of_address.filter_map(|stream| stream["bits_per_second"].as_f64()).sum()
}
