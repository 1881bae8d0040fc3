//! `pathweave perf --auto` on a machine whose addresses come, go and change.

use crate::results::{build, pathweave};
use crate::run::{capture, target};
use crate::setup;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Two paths that are easily told apart.
const SCENARIO: &str = "format = 1\nname = \"uplinks\"\nduration = \"1s\"\n[[path]]\nname = \"one\"\nrate = \"8Mbps\"\ndelay = \"10ms\"\n\
    [[path]]\nname = \"two\"\nrate = \"4Mbps\"\ndelay = \"20ms\"\n[[connection]]\nname = \"none\"\n";
/// What happens to the machine while the engine sends: seconds of rest before it, and the commands.
const STEPS: [(u32, &str); 5] = [
    (0, "ip address del 10.0.2.1/24 dev two2"),
    (3, "ip address add 10.0.2.1/24 dev two2; ip route replace default dev two2 table 101"),
    (3, "ip address del 10.0.2.1/24 dev two2"),
    (3, "ip address add 10.0.2.3/24 dev two2; ip route replace default dev two2 table 101"),
    (3, "ip link set one1 down"),
];
const SECONDS: f64 = 15.0;
/// What the engine says of its paths meanwhile.
const TOLD: [&str; 5] = [
    "10.0.1.1 on one1 comes",
    "10.0.2.1 on two2 comes",
    "10.0.2.1 on two2 goes",
    "10.0.2.3 on two2 comes",
    "10.0.1.1 on one1 goes",
];
/// The addresses of the engine, and the whole seconds in which each must carry data, and may not.
const USED: [(&str, &[usize], &[usize]); 3] = [
    ("198.18.1.2", &[1, 2, 4, 5, 7, 8, 10, 11], &[14]),
    ("198.18.2.2", &[4, 5], &[1, 2, 8, 11, 14]),
    ("198.18.3.2", &[10, 11, 13, 14], &[1, 2, 4, 5, 7, 8]),
];
/// A path carries data in a second if it carries so many bit/s.
const CARRIES: f64 = 1e6;

/// Runs a transfer while addresses come, go and change, and a link goes down.
///
/// # Errors
/// What was not followed.
pub(crate) fn check() -> Result<(), String> {
    setup::nft()?;
    build()?;
    let folder = target().join("uplinks");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let file = |name: &str| folder.join(name);
    let (scenario, told) = (file("uplinks.toml"), file("told.txt"));
    fs::write(&scenario, SCENARIO).map_err(|e| format!("{}: {e}", scenario.display()))?;
    let program = pathweave().get_program().to_owned();
    let perf = format!("{} perf", Path::new(&program).display());
    // The first change comes before the engine starts.
    let mut steps = STEPS.iter().map(|(rest, change)| format!("sleep {rest}; {change}\n"));
    let first = steps.next().unwrap_or_default();
    let changes: String = steps.collect();
    let client = format!(
        "{first}{perf} --client $PATHWEAVE_SERVER --auto --time {SECONDS} --json --set send_buffer=256KiB 2>{} &\n\
         {changes}wait $! && test -z \"$(nft list ruleset)\" && ! ip rule | grep 7000 >&2",
        told.display()
    );
    let mut run = pathweave();
    run.arg("emulate").arg(&scenario).args(["--server", &format!("exec {perf} --server --kernel >/dev/null")]);
    run.args(["--", "sh", "-c", &client]);
    let document: Value = serde_json::from_slice(&capture(&mut run)?).map_err(|e| e.to_string())?;
    let told = fs::read_to_string(&told).map_err(|e| format!("{}: {e}", told.display()))?;
    let changes: Vec<&str> = told.lines().filter_map(|line| Some(line.split_once(": ")?.1)).collect();
    if changes != TOLD {
        return Err(format!("the engine saw other changes:\n{told}"));
    }
    for (address, used, unused) in USED {
        let carries = |second: &&usize| carried(&document, address, **second) > CARRIES;
        if let Some(second) = used.iter().find(|second| !carries(second)) {
            return Err(format!("{address} carries nothing in second {second}"));
        }
        if let Some(second) = unused.iter().find(carries) {
            return Err(format!("{address} carries data in second {second}"));
        }
    }
    Ok(())
}

/// Bit/s of the subflow from an address in the interval that begins nearest to this second.
fn carried(document: &Value, address: &str, second: usize) -> f64 {
    let start = |interval: &&Value| {
        ((interval["sum"]["start"].as_f64().unwrap_or(f64::MAX) - second as f64).abs() * 1e3) as u64
    };
    let interval = document["intervals"].as_array().into_iter().flatten().min_by_key(start);
    let streams = interval.and_then(|interval| interval["streams"].as_array()).into_iter().flatten();
    let of_address = streams
        .filter(|stream| stream["local"].as_str().is_some_and(|local| local.starts_with(&format!("{address}:"))));
    of_address.filter_map(|stream| stream["bits_per_second"].as_f64()).sum()
}
