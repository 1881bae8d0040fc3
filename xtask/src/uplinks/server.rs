//! The server's side, to which a kernel sends.

use super::{SCENARIO_FILE, Version, nodad};
use crate::results::pathweave;
use crate::run::{capture, target};
use std::fs;
use std::path::Path;

/// Changes of the machine while the engine receives: seconds of rest before each, and the commands. `TWO` stands for
/// the prefix of the second path's addresses.
const STEPS: [(f64, &str); 5] = [
    (0.0, "ip address del TWO2 dev two2"),
    // The client starts half a second after the server.
    (3.5, "ip address add TWO2 dev two2;"),
    (3.0, "ip address del TWO2 dev two2"),
    (3.0, "ip address add TWO4 dev two2;"),
    (3.0, "ip link set one1 down"),
];
const SECONDS: usize = 15;
/// The messages of the engine about its paths meanwhile.
const TOLD: [&str; 5] =
    ["ONE2 on one1 comes", "TWO2 on two2 comes", "TWO2 on two2 goes", "TWO4 on two2 comes", "ONE2 on one1 goes"];
/// Seconds after the client's start, and the server's addresses to which subflows go then.
const JOINED: [(usize, &[&str]); 5] =
    [(2, &["ONE2"]), (5, &["ONE2", "TWO2"]), (8, &["ONE2"]), (11, &["ONE2", "TWO4"]), (14, &["TWO4"])];
/// Counters of the client's kernel.
const COUNTED: [(&str, u64); 2] = [("MPTcpExtAddAddr", 2), ("MPTcpExtRmAddr", 2)];
/// A path carries data in a second if it carries at least this many bytes.
const CARRIES: u64 = 125_000;

/// Output of the client's kernel one second after the last line: bytes that left on each path so far, and the
/// destinations of subflows.
struct Second {
    sent: [u64; 2],
    peers: Vec<String>,
}

pub(super) fn follow(version: &Version) -> Result<(), String> {
    let (one, two) = version.paths();
    let folder = target().join("uplinks");
    let file = |name: &str| folder.join(name);
    let (told, left, seen) = (file("told.txt"), file("left.txt"), file("seen.txt"));
    let perf = format!("{} perf", Path::new(pathweave().get_program()).display());
    let ip = version.ip();
    let addressed = |text: &str| {
        let bits = version.prefix_bits;
        let text = text.replace("TWO2", &format!("{two}2/{bits}")).replace("TWO4", &format!("{two}4/{bits}"));
        text.replace("dev two2;", &nodad(version))
    };
    let mut steps = STEPS.iter().map(|(rest, change)| format!("sleep {rest}; {}\n", addressed(change)));
    let first = steps.next().unwrap_or_default();
    let changes: String = steps.collect();
    let option = if version.name == "IPv6" { "--ipv6" } else { "" };
    let server = format!(
        "sysctl -qw {forwarding}=0\n{first}( {changes} ) &\n{perf} --server --auto {option} --clients 1 >/dev/null 2>{}\n\
         {{ nft list ruleset; {ip}rule | grep '^7:'; sysctl -n {forwarding}; }} >{}",
        told.display(),
        left.display(),
        forwarding = version.forwarding,
    );
    // Only announced addresses are joined. The server waits a few seconds for the end of the subflow whose path is gone.
    let client = format!(
        "ip mptcp endpoint flush\n{perf} --client {one}2 --kernel --verify --time {SECONDS} >&2 &\n\
         for second in $(seq {}); do sleep 1; \
         awk '/one1:|two2:/ {{print $1, $10}}' /proc/net/dev; ss -Htn state established | awk '{{print \"peer\", $4}}'; echo end; done >{}\n\
         wait $! && sleep 8 && nstat -asz {}",
        SECONDS - 1,
        seen.display(),
        COUNTED.map(|(name, _)| name).join(" "),
    );
    let mut run = pathweave();
    run.arg("emulate").arg(file(SCENARIO_FILE)).args(["--server", &server, "--", "sh", "-c", &client]);
    let counters = String::from_utf8_lossy(&capture(&mut run)?).into_owned();
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let told = read(&told)?;
    let changes: Vec<&str> =
        told.lines().filter_map(|line| Some(line.strip_prefix("path ")?.split_once(": ")?.1)).collect();
    let named = |text: &str| text.replace("ONE", &one).replace("TWO", &two);
    if changes != TOLD.map(named) {
        return Err(format!("the engine saw other changes:\n{told}"));
    }
    check_seconds(&read(&seen)?, &named)?;
    for (name, expected) in COUNTED {
        let words = counters.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = words.filter(|words| words.first() == Some(&name)).find_map(|words| words.get(1)?.parse().ok());
        if found != Some(expected) {
            return Err(format!("the client's kernel has counted {found:?} of {name}, not {expected}"));
        }
    }
    let left = read(&left)?;
    if left.trim() == "0" { Ok(()) } else { Err(format!("the server has left behind:\n{left}")) }
}

/// Checks the destinations of subflows, and the paths that carried data.
fn check_seconds(seen: &str, named: &impl Fn(&str) -> String) -> Result<(), String> {
    let seconds: Vec<Second> = seen.split("end\n").map(read_second).collect();
    for (second, expected) in JOINED {
        let found = seconds.get(second - 1).ok_or("the client has ended too early")?;
        if found.peers != expected.iter().map(|address| named(address)).collect::<Vec<_>>() {
            return Err(format!("in second {second} subflows go to {:?}, not to {expected:?}", found.peers));
        }
        for (path, name) in ["ONE", "TWO"].into_iter().enumerate() {
            let before = if second > 1 { seconds[second - 2].sent[path] } else { 0 };
            let carries = found.sent[path] - before > CARRIES;
            if carries != expected.iter().any(|address| address.starts_with(name)) {
                let what = if carries { "data" } else { "nothing" };
                return Err(format!("path {} carries {what} in second {second}", path + 1));
            }
        }
    }
    Ok(())
}

fn read_second(text: &str) -> Second {
    let mut second = Second { sent: [0; 2], peers: Vec::new() };
    for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        match name {
            "one1:" => second.sent[0] = value.parse().unwrap_or(0),
            "two2:" => second.sent[1] = value.parse().unwrap_or(0),
            "peer" => second.peers.extend(value.rsplit_once(':').map(|(address, _)| plain(address))),
            _ => {}
        }
    }
    second.peers.sort();
    second
}

/// An address without brackets. A socket of IPv6 shows one of IPv4 with a prefix.
fn plain(address: &str) -> String {
    let address = address.trim_matches(['[', ']']);
    address.strip_prefix("::ffff:").unwrap_or(address).to_owned()
}
