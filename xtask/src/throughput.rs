//! The speed of the engine with real packets against that of the kernel's Multipath TCP in the same run: the table of
//! docs/performance.md.

use crate::interop::show_devices;
use crate::results::{build, put};
use crate::run::{capture, cargo, machine_and_load, median, program, root, run, target};
use crate::setup;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Argument that tells this process that it is inside of the namespace.
const INSIDE: &str = "throughput-inside";
const ROUNDS: usize = 3;
/// Seconds that do not count, and seconds that count.
const TIMES: &str = "--omit 1 --time 4";
/// The messages that measure the latency.
const PINGS: &str = "--ping 64 --count 20000";
const PAGE: &str = "docs/performance.md";
const START: &str = "<!-- written by `cargo xtask throughput` -->\n";
const END: &str = "<!-- end of what it writes -->";
/// The controller of every sender. Otherwise a kernel would use its system's default.
const CONGESTION: &str = "--congestion cubic";
/// The kernel's connection over veth, and the engine's to a kernel.
const OVER_VETH: &str = "--client 10.1.0.2 --kernel";
const OVER_TUN: &str = "--client 10.3.0.1 --path 10.3.0.2@10.3.0.1 --path 10.4.0.2@10.4.0.1";
/// A second endpoint beside it, with addresses and devices of its own.
const BESIDE: &str = "--client 10.5.0.1 --path 10.5.0.2@10.5.0.1 --path 10.6.0.2@10.6.0.1 --device px";

/// A transfer, with the least fraction of the kernel's rate that it must reach.
struct Case {
    title: &'static str,
    offload: bool,
    options: &'static str,
    /// The least fraction; `None` for the kernel's own transfer.
    least_ratio: Option<f64>,
}

const CASES: [Case; 6] = [
    Case { title: "kernel to kernel, veth", offload: true, options: "", least_ratio: None },
    Case { title: "engine to kernel, TUN", offload: true, options: "", least_ratio: Some(1.1) },
    Case { title: "kernel to engine, TUN", offload: true, options: "--reverse", least_ratio: Some(1.4) },
    Case { title: "kernel to kernel, veth", offload: false, options: "", least_ratio: None },
    Case { title: "engine to kernel, TUN", offload: false, options: "", least_ratio: Some(0.9) },
    Case { title: "kernel to engine, TUN", offload: false, options: "--reverse", least_ratio: Some(1.3) },
];

/// Gbit/s, and Gbit per second of processor time of all programs.
#[derive(Clone, Copy, Default)]
struct Rate {
    wall: f64,
    processor: f64,
    /// Fraction of the bytes on the second veth pair; `None` over TUN.
    second: Option<f64>,
}

/// Least fraction of the kernel's connection on the path that carried less. Otherwise it is no reference for two
/// subflows.
const LEAST_PART: f64 = 0.2;

/// Builds the command with Cargo's profile `profile` and measures in a network namespace of its own.
///
/// # Errors
/// If something cannot be measured or written, or a ratio is missed.
pub(crate) fn measure(profile: &str) -> Result<(), String> {
    setup::install(&[setup::ETHTOOL])?;
    match profile {
        // As other checks have it.
        "release" => build()?,
        _ => run(&mut cargo(&format!("build --profile {profile} --package pathweave --bins --features tun")))?,
    }
    let mut command = program("unshare", "--net --pid --fork --kill-child --mount-proc --");
    command.arg(target().join("debug/xtask")).args([INSIDE, profile]);
    run(&mut command)
}

/// Makes all rounds, inside of the namespace.
///
/// # Errors
/// As for [`measure`].
pub(crate) fn inside(profile: &str) -> Result<(), String> {
    let perf = target().join(profile).join("pathweave");
    show_devices()?;
    let peer = set_up()?;
    let _near = server(&mut Command::new(&perf))?;
    let _far = server(peer.program().arg(&perf))?;
    let mut rates = vec![Vec::new(); CASES.len()];
    let mut pairs = vec![Vec::new(); CASES.len()];
    let mut round_trips = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        println!("round {} of {ROUNDS}", round + 1);
        for (case, (rates, pairs)) in CASES.iter().zip(rates.iter_mut().zip(&mut pairs)) {
            if case.least_ratio.is_none() {
                peer.set_offload(case.offload)?;
            }
            rates.push(case.run(&perf)?);
            if case.least_ratio.is_some() {
                pairs.push(case.run_two(&perf)?);
            }
        }
        for (target, medians) in [OVER_TUN, "--client 127.0.0.1 --kernel"].into_iter().zip(&mut round_trips) {
            let document = client(&perf, &format!("{target} {PINGS}"))?;
            medians.push(document["end"]["round_trips_us"]["p50"].as_f64().ok_or("there are no round trips")?);
        }
    }
    let (mut table, missed) = table(profile, &rates, &round_trips.map(median));
    table.push_str(&table_of_two(&rates, &pairs));
    print!("{table}");
    let page = root().join(PAGE);
    let text = fs::read_to_string(&page).map_err(|e| format!("{PAGE}: {e}"))?;
    let (before, rest) = text.split_once(START).ok_or_else(|| format!("{PAGE}: there is no {START}"))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| format!("{PAGE}: there is no {END}"))?;
    put(PAGE, format!("{before}{START}{table}{END}{after}").as_bytes())?;
    if missed.is_empty() { Ok(()) } else { Err(format!("less than wanted: {}", missed.join("; "))) }
}

fn table(profile: &str, rates: &[Vec<Rate>], round_trips: &[f64; 2]) -> (String, Vec<String>) {
    let mut missed = Vec::new();
    let mut table = String::from(
        "| | offload | Gbit/s | Gbit in a second of processor time | of the kernel's rate | wanted |\n|---|---|---|---|---|---|\n",
    );
    let mut kernels: &[Rate] = &[];
    for (case, rates) in CASES.iter().zip(rates) {
        let of = |rate: fn(&Rate) -> f64| rates.iter().map(rate).collect::<Vec<_>>();
        let (wall, processor) = (of(|r| r.wall), of(|r| r.processor));
        let offload = if case.offload { "yes" } else { "no" };
        let _ = write!(table, "| {} | {offload} | {} | {} ", case.title, spread(&wall), spread(&processor));
        let Some(least) = case.least_ratio else {
            kernels = rates;
            table.push_str("| 1 | |\n");
            continue;
        };
        // Round by round, because the machine may change between rounds.
        let ratios: Vec<f64> = rates.iter().zip(kernels).map(|(rate, kernel)| rate.wall / kernel.wall).collect();
        let _ = writeln!(table, "| {} | {least} |", spread(&ratios));
        if median(ratios.clone()) < least {
            missed.push(format!("{}, offload {offload}: {:.2} of {least}", case.title, median(ratios)));
        }
    }
    let [ours, kernels] = round_trips;
    let _ = writeln!(
        table,
        "\nMessages of 64 bytes, back and forth, median: {ours:.1} µs between the engine and a kernel over TUN, {kernels:.1} µs between two \
         sockets of the kernel over loopback.\n"
    );
    if ours > kernels {
        missed.push(format!("a round trip takes {ours:.1} µs, the kernel's {kernels:.1}"));
    }
    let second: Vec<f64> = rates.iter().flatten().filter_map(|rate| rate.second).collect();
    let (least, most) = second.iter().fold((1.0f64, 0.0f64), |(least, most), part| (least.min(*part), most.max(*part)));
    let _ = writeln!(
        table,
        "Of what the kernel sent to the kernel, {:.0} to {:.0} % went over the second path.\n",
        least * 100.0,
        most * 100.0
    );
    if least.min(1.0 - most) < LEAST_PART {
        missed.push(format!("a path carried only {:.2} of the kernel's data", least.min(1.0 - most)));
    }
    let (machine, load) = machine_and_load();
    let _ = writeln!(
        table,
        "{machine}, profile `{profile}`; the load averages of 1, 5 and 15 minutes afterwards were {load}."
    );
    (table, missed)
}

/// Table of the rates of two endpoints at once, each on a thread of its own, beside that of one.
fn table_of_two(rates: &[Vec<Rate>], pairs: &[Vec<f64>]) -> String {
    let mut table = String::from(
        "\n| two endpoints at once, a connection each | offload | Gbit/s of both | of one endpoint's |\n|---|---|---|---|\n",
    );
    for ((case, rates), pairs) in CASES.iter().zip(rates).zip(pairs).filter(|(_, pairs)| !pairs.is_empty()) {
        let offload = if case.offload { "yes" } else { "no" };
        let ratios: Vec<f64> = pairs.iter().zip(rates).map(|(pair, rate)| pair / rate.wall).collect();
        let _ = writeln!(table, "| {} | {offload} | {} | {} |", case.title, spread(pairs), spread(&ratios));
    }
    table
}

impl Case {
    /// The options of a client at this place.
    fn arguments(&self, place: &str) -> String {
        let offload = if self.offload || self.least_ratio.is_none() { "" } else { "--no-offload" };
        format!("{place} {offload} {} {TIMES}", self.options)
    }

    /// Gbit/s of two clients at once, each an engine with devices of its own.
    fn run_two(&self, perf: &Path) -> Result<f64, String> {
        let documents = std::thread::scope(|scope| {
            let clients = [OVER_TUN, BESIDE].map(|place| scope.spawn(move || client(perf, &self.arguments(place))));
            clients.map(|client| client.join().unwrap_or_else(|_| Err("a client's thread panicked".into())))
        });
        let mut rate = 0.0;
        for document in documents {
            rate += received(&document?)? / 1e9;
        }
        println!(
            "  {} {}, two endpoints: {rate:.2} Gbit/s",
            self.title,
            if self.offload { "" } else { "without offload" }
        );
        Ok(rate)
    }

    fn run(&self, perf: &Path) -> Result<Rate, String> {
        let place = if self.least_ratio.is_some() { OVER_TUN } else { OVER_VETH };
        let (carried, before) = (sent_bytes()?, processor_seconds()?);
        let document = client(perf, &self.arguments(place))?;
        let used = processor_seconds()? - before;
        let carried: Vec<f64> = sent_bytes()?.iter().zip(carried).map(|(after, before)| after - before).collect();
        let wall = received(&document)? / 1e9;
        // Of everything that was sent, also in the time that does not count.
        let side = if self.options.is_empty() { "server" } else { "client" };
        let bits = number(&document[side]["received"])? * 8.0;
        let second = self.least_ratio.is_none().then(|| carried[1] / (carried[0] + carried[1]));
        let rate = Rate { wall, processor: bits / 1e9 / used, second };
        println!("  {} {}: {:.2} Gbit/s", self.title, if self.offload { "" } else { "without offload" }, rate.wall);
        Ok(rate)
    }
}

/// Bit/s that the receiver had.
fn received(document: &Value) -> Result<f64, String> {
    number(&document["end"]["sum_received"]["bits_per_second"])
}

fn number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or("the client reports no rate".into())
}

/// Bytes sent over each veth pair so far.
fn sent_bytes() -> Result<[f64; 2], String> {
    let text = fs::read_to_string("/proc/net/dev").map_err(|e| format!("/proc/net/dev: {e}"))?;
    // Eight fields of what was received come before it.
    let of = |device: &str| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().nth(8)?.parse().ok())
            .ok_or(format!("/proc/net/dev has no {device}"))
    };
    Ok([of("va")?, of("vb")?])
}

/// Busy time of all processors so far, from `/proc/stat`.
fn processor_seconds() -> Result<f64, String> {
    /// `USER_HZ` of all architectures that Linux runs on today.
    const TICKS_A_SECOND: f64 = 100.0;
    let text = fs::read_to_string("/proc/stat").map_err(|e| format!("/proc/stat: {e}"))?;
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq
    match ticks[..] {
        [user, nice, system, _, _, irq, softirq, ..] => Ok((user + nice + system + irq + softirq) / TICKS_A_SECOND),
        _ => Err("/proc/stat has another form".into()),
    }
}

fn client(perf: &Path, options: &str) -> Result<Value, String> {
    let mut command = Command::new(perf);
    command.arg("perf").args(options.split_whitespace()).args(CONGESTION.split(' ')).arg("--json");
    serde_json::from_slice(&capture(&mut command)?).map_err(|e| e.to_string())
}

/// A kernel's server; the namespace of processes ends it.
fn server(command: &mut Command) -> Result<Child, String> {
    let command = command
        .args(["perf", "--server", "--kernel"])
        .args(CONGESTION.split(' '))
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        output.read_line(&mut line).map_err(|e| e.to_string())?;
        // The server keeps writing a line for each client.
        std::thread::spawn(move || output.lines().for_each(drop));
    }
    if line.is_empty() { Err("the server does not start".into()) } else { Ok(child) }
}

/// The network namespace at the other end of the veth pairs, held by a process that does nothing else.
struct Peer(Child);

/// Two veth pairs to a second namespace, and Multipath TCP over them.
fn set_up() -> Result<Peer, String> {
    let child = program("unshare", "--net sleep infinity").spawn().map_err(|e| format!("unshare: {e}"))?;
    let peer = Peer(child);
    // The process is in its namespace once that differs from ours.
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    let id = peer.0.id().to_string();
    for _ in 0..500 {
        if namespace(&id) != namespace("self") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    for setting in ["net.mptcp.enabled=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"] {
        run(&mut program("sysctl", &format!("-qw {setting}")))?;
        run(peer.program().args(["sysctl", "-qw", setting]))?;
    }
    run(&mut program("ip", "link set lo up"))?;
    for (device, subnet) in [("va", "10.1.0"), ("vb", "10.2.0")] {
        run(&mut program("ip", &format!("link add {device} type veth peer name {device} netns {id}")))?;
        run(&mut program("ip", &format!("address add {subnet}.1/24 dev {device}")))?;
        run(&mut program("ip", &format!("link set {device} up")))?;
        run(peer.program().args(format!("ip address add {subnet}.2/24 dev {device}").split(' ')))?;
        run(peer.program().args(format!("ip link set {device} up").split(' ')))?;
    }
    for command in ["ip mptcp limits set subflows 8 add_addr_accepted 8", "ip mptcp endpoint flush"] {
        let (name, arguments) = command.split_once(' ').unwrap_or((command, ""));
        run(&mut program(name, arguments))?;
        run(peer.program().args(command.split(' ')))?;
    }
    // The second path: the client joins the server's second address, which it announces.
    run(peer.program().args("ip mptcp endpoint add 10.2.0.2 dev vb signal".split(' ')))?;
    Ok(peer)
}

impl Peer {
    fn program(&self) -> Command {
        program("nsenter", &format!("--net=/proc/{}/ns/net --", self.0.id()))
    }

    /// Switches super-segments and unfinished checksums of both pairs, at both ends. Receive offload of veth stays off,
    /// because receivers are faster without it.
    fn set_offload(&self, on: bool) -> Result<(), String> {
        let on = if on { "on" } else { "off" };
        for device in ["va", "vb"] {
            let arguments = format!("-K {device} tx {on} tso {on} gso {on}");
            capture(&mut program("ethtool", &arguments))?;
            capture(self.program().arg("ethtool").args(arguments.split(' ')))?;
        }
        Ok(())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The median, and the least and the most.
fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({least:.2} to {most:.2})", median(values.to_vec()))
}
