//! `stripe` sends one byte stream over several TCP connections of the kernel, and one of Pathweave's schedulers decides
//! which connection carries which bytes. It is an example of a program that is not Multipath TCP and uses a scheduler.
//!
//! ```sh
//! stripe receive 0.0.0.0:7000 > copy
//! stripe send --leg 192.0.2.1=198.51.100.9:7000 --leg 203.0.113.5=198.51.100.9:7000 --scheduler weave < file
//! ```
//!
//! A leg is one TCP connection from a local address. The machine's routes must send packets from that address over the
//! leg's link. The sender connects, and the data flows from the sender to the receiver: for a download, the machine
//! with the data runs `send`. Data is neither encrypted nor authenticated. The program needs Linux.
//!
//! To read on: `connection.rs` fills a scheduler's view of a leg from `TCP_INFO`, and `stream.rs` fills that of the
//! stream. `sender.rs` runs the loop, and `decisions.rs` asks the scheduler and carries out its decisions.
//! docs/embedding.md explains each number.

mod carried;
mod connection;
mod decisions;
mod frame;
mod leg;
mod reassembly;
mod receiver;
mod sender;
mod stream;
mod tcp_info;

use clap::{Args, Parser};
use leg::Leg;
use pathweave_algorithms::Registry;
use pathweave_scheduler::{Duration, SubflowId};
use receiver::{Received, Receiver};
use sender::{Sender, Sent};
use serde_json::json;
use std::io::{stdin, stdout};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::process::ExitCode;

/// Send one byte stream over several TCP connections
#[derive(Debug, Parser)]
#[command(name = "stripe")]
enum Arguments {
    /// Send standard input, and print a report as JSON to standard output
    Send(SendArguments),
    /// Receive one stream, write it to standard output, and print a report as JSON to standard error
    Receive {
        /// Address and port to listen on
        address: SocketAddr,
        /// Receive window: how far ahead of the next missing byte data is kept
        #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
        window: u64,
    },
}

#[derive(Args, Debug)]
struct SendArguments {
    /// Local address and remote address with port of a leg; repeat the option for each leg
    #[arg(long = "leg", value_name = "LOCAL=REMOTE", required = true, value_parser = ends)]
    legs: Vec<(IpAddr, SocketAddr)>,
    /// Name of the scheduler
    #[arg(long, default_value = "weave")]
    scheduler: String,
    /// A parameter of the scheduler
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Congestion controller of the kernel, such as cubic; the system's default if none is given
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    /// Stop reading the input after this number of seconds
    #[arg(long)]
    seconds: Option<f64>,
    /// Send buffer: most bytes that are read and not acknowledged
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20)]
    buffer: u64,
}

fn ends(text: &str) -> Result<(IpAddr, SocketAddr), String> {
    let (local, remote) = text.split_once('=').ok_or("there is no `=` between the two addresses")?;
    let local = local.parse::<IpAddr>().map_err(|e| format!("{local}: {e}"))?;
    let remote = remote.parse::<SocketAddr>().map_err(|e| format!("{remote}: {e}, such as 192.0.2.1:7000"))?;
    Ok((local, remote))
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("there is no `=` between name and value")?;
    Ok((name.into(), value.into()))
}

fn main() -> ExitCode {
    let done = match Arguments::parse() {
        Arguments::Send(arguments) => send(&arguments),
        Arguments::Receive { address, window } => receive(address, window),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stripe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn send(arguments: &SendArguments) -> Result<(), String> {
    if arguments.legs.len() > SubflowId::MAX_SUBFLOWS {
        return Err(format!("{} legs: at most {} are allowed", arguments.legs.len(), SubflowId::MAX_SUBFLOWS));
    }
    let chosen = Registry::builtin().choose_scheduler(&arguments.scheduler, &arguments.settings);
    let chosen = chosen.map_err(|e| e.to_string())?;
    let leg = |(i, (local, remote)): (usize, &(_, _))| {
        Leg::new(SubflowId(i as u8), *local, *remote, arguments.congestion.clone())
    };
    let legs = arguments.legs.iter().enumerate().map(leg).collect();
    let mut sender = Sender::new(legs, &chosen, arguments.buffer)?;
    let time = arguments.seconds.map(Duration::from_secs_f64);
    let Sent { bytes, sha256, measured: (measured, time) } = sender.send(stdin(), time).map_err(|e| e.to_string())?;
    let legs: Vec<_> =
        sender.legs.iter().map(|leg| json!({ "local": leg.local, "bytes": leg.given, "deaths": leg.deaths })).collect();
    let mbps = measured as f64 * 8.0 / 1e6 / time.as_secs_f64();
    println!(
        "{}",
        json!({ "bytes": bytes, "sha256": sha256, "seconds": time.as_secs_f64(), "mbps": mbps, "legs": legs })
    );
    Ok(())
}

fn receive(address: SocketAddr, window: u64) -> Result<(), String> {
    let listener = TcpListener::bind(address).map_err(|e| format!("{address}: {e}"))?;
    eprintln!("listening on {}", listener.local_addr().map_err(|e| e.to_string())?);
    let mut receiver = Receiver::new(listener, window).map_err(|e| e.to_string())?;
    let Received { bytes, sha256 } = receiver.receive(&mut stdout().lock()).map_err(|e| e.to_string())?;
    eprintln!("{}", json!({ "bytes": bytes, "sha256": sha256 }));
    receiver.linger().map_err(|e| e.to_string())
}
