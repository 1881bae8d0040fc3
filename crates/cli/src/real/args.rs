//! The arguments of commands with real packets.

use crate::output::{self, Content, Output};
use clap::{Args, ValueHint};
use pathweave_tun::Interface;
use pathweave_tun::uplinks::Endpoint;
use std::net::IpAddr;

/// Measures the throughput of a connection with real packets, as iperf3 does; needs root.
///
/// Each side is the engine over TUN devices (one for each --path), or with --kernel the kernel's Multipath TCP. A
/// server runs until it is stopped. The other end of an engine's TUN device is the machine that it runs on. If the
/// server is elsewhere, that machine has to forward packets.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub(crate) struct PerfOptions {
    /// Waits for clients.
    #[arg(long, required_unless_present = "client", conflicts_with = "client")]
    pub(crate) server: bool,

    /// Connects to the server at this address.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) client: Option<IpAddr>,

    /// The server's port.
    #[arg(long, value_name = "PORT", default_value_t = pathweave_tun::perf::PORT)]
    pub(crate) port: u16,

    /// A path of the engine: the addresses of the engine's and the machine's end of a TUN device that is made for it;
    /// can be repeated.
    #[arg(long = "path", value_name = "OURS@MACHINES", value_parser = path, conflicts_with = "kernel")]
    pub(crate) paths: Vec<(IpAddr, IpAddr)>,

    /// Uses the machine's own addresses, and follows them as they change. A client has a path for each address that has
    /// a route to the server, while it has one. A server has a path for each address with a route; it announces the
    /// address (ADD_ADDR), and withdraws it when it is gone (REMOVE_ADDR).
    ///
    /// Packets leave the machine with its own addresses, and packets to a server's port are forwarded to the engine
    /// (nftables). A machine can run one client or server at a time for each IP version.
    #[arg(long, conflicts_with_all = ["paths", "kernel"])]
    pub(crate) auto: bool,

    /// With --server --auto: uses IPv6 instead of IPv4.
    #[arg(long, requires_all = ["server", "auto"])]
    pub(crate) ipv6: bool,

    /// With --auto: the uses of an address, as in `ip mptcp endpoint`: "192.0.2.5 subflow", "dev wlan0 subflow backup",
    /// "dev usb0" (not used at all); can be repeated, and the first match counts. Flags are subflow, backup and
    /// fullmesh for clients, signal and backup for servers. An address without a match has subflow on a client, signal
    /// on a server.
    #[arg(long = "endpoint", value_name = "ENDPOINT", requires = "auto")]
    pub(crate) endpoints: Vec<Endpoint>,

    /// Prefix of the TUN devices' names; a number follows.
    #[arg(long, value_name = "NAME", default_value = "pw")]
    pub(crate) device: String,

    /// Largest packet, bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: u16,

    /// Makes TUN devices without super-segments and unfinished checksums.
    #[arg(long)]
    pub(crate) no_offload: bool,

    /// Uses the kernel's Multipath TCP instead of the engine.
    #[arg(long)]
    pub(crate) kernel: bool,

    /// Uses the kernel's plain TCP.
    #[arg(long, requires = "kernel")]
    pub(crate) plain: bool,

    /// The engine's scheduler, with parameters after colons (see `pathweave list schedulers`).
    #[arg(long, value_name = "NAME", default_value = "minrtt", conflicts_with = "kernel")]
    pub(crate) scheduler: String,

    /// The congestion controller [default: cubic; with --kernel the system's default].
    #[arg(long, value_name = "NAME")]
    pub(crate) congestion: Option<String>,

    /// Any other connection setting of scenarios, such as receive_buffer=8MiB or path_mode=backup; can be repeated. A
    /// setting without a meaning for real packets is an error.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = crate::key_value::key_value, conflicts_with = "kernel")]
    pub(crate) settings: Vec<(String, String)>,

    /// Duration of the transfer in seconds [default: 10]. What waits in the send buffer at its end (at most 16 MiB by default) is
    /// delivered afterwards, and the result has the whole time. Ctrl-C stops at once and prints the figures so far.
    #[arg(long, value_name = "SECONDS", conflicts_with = "bytes", requires = "client")]
    pub(crate) time: Option<f64>,

    /// Leaves the first seconds out of the figures, and sends for as much longer.
    #[arg(long, value_name = "SECONDS", conflicts_with = "bytes", requires = "client")]
    pub(crate) omit: Option<f64>,

    /// Sends this amount in each direction instead, such as 0, 4MiB or 1GB.
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "client")]
    pub(crate) bytes: Option<u64>,

    /// Makes the server send instead of the client.
    #[arg(long, requires = "client")]
    pub(crate) reverse: bool,

    /// Makes client and server send at the same time.
    #[arg(long, conflicts_with = "reverse", requires = "client")]
    pub(crate) both: bool,

    /// Sends messages of this many bytes one after the other, which the server sends back, and measures their
    /// round-trip times.
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["reverse", "both", "bytes", "time", "omit"], requires = "client")]
    pub(crate) ping: Option<usize>,

    /// Number of messages that --ping sends.
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "ping")]
    pub(crate) count: u64,

    /// Sends data that does not repeat, and compares the SHA-256 of sent and received data in both directions.
    #[arg(long, requires = "client")]
    pub(crate) verify: bool,

    /// Ends the server after this many clients.
    #[arg(long, value_name = "N", requires = "server")]
    pub(crate) clients: Option<u64>,

    /// Writes a capture of the engine's packets.
    #[arg(long, value_name = "FILE.pcapng", conflicts_with = "kernel", value_parser = output::capture, value_hint = ValueHint::FilePath)]
    pub(crate) pcap: Option<Output>,

    /// Prints JSON as iperf3 does, for programs that read iperf3's output. Its streams are the engine's subflows, or
    /// the kernel's one connection. If the measurement is not complete, `error` says what is missing.
    #[arg(long, requires = "client")]
    pub(crate) json: bool,
}

/// Runs programs over a scenario's paths in real time; needs root.
///
/// The scenario's links connect two network namespaces, the client's and the server's. Rates, delays, queues, losses
/// and traces are those of the simulator. Any program can run in them, over the kernel's Multipath TCP (`mptcpize run
/// ...`) or over the engine (`pathweave perf`). Path number P has the client address 10.0.P.1 and the server address
/// 10.0.P.2; an engine behind the client takes `--path 10.0.P.5@10.0.P.6`, one behind the server `--path
/// 10.0.P.9@10.0.P.10`. At the end, each path's traffic is shown. The scenario's own connections and traffic are not
/// run.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub(crate) struct EmulateOptions {
    /// A built-in scenario (see `pathweave list scenarios`) or a scenario file.
    #[arg(value_name = "NAME|FILE")]
    pub(crate) scenario: String,

    /// A shell command to run in the server's namespace. It starts first and ends last, and its output goes to standard
    /// error.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) server: Option<String>,

    /// Overrides a setting of the scenario, as in `compare`; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = crate::key_value::key_value)]
    pub(crate) settings: Vec<(String, String)>,

    /// Seed of losses, jitter and generated traces.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Largest packet, bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: u16,

    /// Writes each path's traffic as JSON; with `-` to standard output, after the command's own output.
    #[arg(long, value_name = "FILE|-", value_parser = json, value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<Output>,

    /// Writes a page that shows each path over time: rates, delays, queues and drops.
    #[arg(long, value_name = "FILE.html|-", value_parser = output::page, value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<Output>,

    /// The command to run in the client's namespace, with its arguments. Everything ends when it ends.
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<String>,
}

impl PerfOptions {
    /// The interfaces of the TUN devices to make.
    pub(crate) fn interfaces(&self) -> Vec<Interface> {
        let interface = |(i, (ours, machines)): (usize, &(IpAddr, IpAddr))| Interface {
            name: format!("{}{i}", self.device),
            ours: *ours,
            machines: *machines,
            mtu: self.mtu,
            public: None,
        };
        self.paths.iter().enumerate().map(interface).collect()
    }
}

fn json(text: &str) -> Result<Output, String> {
    Output::read(text, Content::Json)
}

fn path(text: &str) -> Result<(IpAddr, IpAddr), String> {
    let wrong = || "write OURS@MACHINES, two addresses of one IP version, such as 10.1.0.2@10.1.0.1".to_owned();
    let (ours, machines) = text.split_once('@').ok_or_else(wrong)?;
    let (ours, machines): (IpAddr, IpAddr) = ours.parse().ok().zip(machines.parse().ok()).ok_or_else(wrong)?;
    if ours.is_ipv4() == machines.is_ipv4() { Ok((ours, machines)) } else { Err(wrong()) }
}

fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("KB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("", 1),
    ];
    let parsed = UNITS.iter().find_map(|(unit, factor)| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(*factor)
    });
    parsed.ok_or_else(|| "write a whole number with a unit, such as 4MiB or 1GB".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_paths() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("4MiB"), Ok(4 << 20));
        assert_eq!(size("1 GB"), Ok(1_000_000_000));
        assert!(size("4 parsecs").is_err() && size("99999999999GiB").is_err());
        assert!(path("10.1.0.2@10.1.0.1").is_ok() && path("fd01::2@fd01::1").is_ok());
        assert!(path("10.1.0.2").is_err() && path("10.1.0.2@fd01::1").is_err());
    }
}
