//! `pathweave perf`.

use super::args::PerfOptions;
use super::perf_json;
use super::settings::{Settings, settings};
use crate::output;
use crate::terminal::{INTERRUPTED, is_interrupted, listen_and_answer, warning};
use pathweave_algorithms::Registry;
use pathweave_runner::Failure;
use pathweave_tun::perf::{Amount, Interval, Measurement, Request, Served, Totals, engine, kernel, rate};
use pathweave_tun::uplinks::{self, Change};
use pathweave_units::Duration;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

const DEFAULT_SECONDS: f64 = 10.0;

/// Runs a server or a client.
///
/// # Errors
/// If a setting is wrong, or devices or the connection fail.
pub(crate) fn perf(options: &PerfOptions, registry: &Registry) -> Result<u8, Failure> {
    let engine_options = match options.kernel {
        true => None,
        false if options.paths.is_empty() && !options.auto => {
            return Err(Failure::Input(
                "the engine needs a --path OURS@MACHINES, or --auto; --kernel needs none".into(),
            ));
        }
        false => Some(engine_options(options, registry)?),
    };
    let kernel_options = kernel::KernelOptions { plain: options.plain, congestion: options.congestion.clone() };
    match options.client {
        Some(address) => {
            let remote = SocketAddr::new(address, options.port);
            client(options, remote, engine_options.as_ref(), &kernel_options)
        }
        None => serve(options, engine_options.as_ref(), &kernel_options),
    }
}

fn engine_options(options: &PerfOptions, registry: &Registry) -> Result<engine::EngineOptions, Failure> {
    for endpoint in &options.endpoints {
        endpoint.check(options.server).map_err(|error| Failure::Input(format!("--endpoint: {error}")))?;
    }
    let mut given = options.settings.clone();
    given.extend(options.congestion.iter().map(|name| ("congestion".to_owned(), name.clone())));
    let is_given = |name: &str| given.iter().any(|(key, _)| key == name);
    let Settings { mut config, backups } = settings(&options.scheduler, &given, registry)?;
    config.tcp.mtu = u32::from(options.mtu);
    if options.ping.is_some() && !is_given("nagle") {
        // A message leaves at once, although the one before it may not be acknowledged yet.
        config.nagle = false;
    }
    if options.auto && backups {
        let reason =
            "with --auto, --endpoint says which paths are backups, such as --endpoint \"dev wlan0 subflow backup\"";
        return Err(Failure::Input(format!("path_mode = backup: {reason}")));
    }
    output::check(&options.pcap, &[])?;
    let pcap = options.pcap.as_ref().map(|output| output.named_file("--pcap", "what is measured is shown there"));
    let pcap = pcap.transpose()?;
    Ok(engine::EngineOptions {
        interfaces: options.interfaces(),
        backups,
        uplinks: options.auto.then(|| uplinks::UplinkOptions {
            device: options.device.clone(),
            mtu: options.mtu,
            endpoints: options.endpoints.clone(),
            notify: tell,
        }),
        offload: !options.no_offload,
        config,
        pcap: pcap.map(Path::to_owned),
    })
}

/// Prints a path that comes or goes to standard error, because standard output may be JSON.
fn tell(change: &Change) {
    let (path, what) = match change {
        Change::Up(path) => (path, "comes"),
        Change::Down(path) => (path, "goes"),
    };
    let backup = if path.flags.backup { ", a backup" } else { "" };
    eprintln!("path {}: {} on {}{backup} {what}", path.interface.ours, path.uplink.address, path.uplink.device);
}

/// Turns an error during the measurement into a failure. It is not a mistake in the input.
fn failed(error: io::Error) -> Failure {
    Failure::Output(error.to_string())
}

fn serve(
    options: &PerfOptions,
    engine_options: Option<&engine::EngineOptions>,
    kernel_options: &kernel::KernelOptions,
) -> Result<u8, Failure> {
    let mut on_ready = || println!("waiting on port {}", options.port);
    let on_served = |served: &Served<'_>| println!("{}", served_text(served));
    match engine_options {
        Some(engine_options) => {
            let mut on_served = on_served;
            let any: IpAddr = match options.ipv6 || options.paths.iter().any(|(ours, _)| ours.is_ipv6()) {
                true => Ipv6Addr::UNSPECIFIED.into(),
                false => Ipv4Addr::UNSPECIFIED.into(),
            };
            let at = SocketAddr::new(any, options.port);
            engine::server(engine_options, at, options.clients, &mut on_served, &mut on_ready)
        }
        None => kernel::server(kernel_options, options.port, options.clients, &on_served, &mut on_ready),
    }
    .map_err(failed)?;
    Ok(0)
}

/// The server's line about a client that it has served.
fn served_text(served: &Served<'_>) -> String {
    let Totals { received, written, nanoseconds, .. } = *served.totals;
    let seconds = Duration::from_nanos(nanoseconds).as_secs_f64();
    let sent = match served.error {
        None => format!("sent {written} bytes"),
        Some(_) => format!("wrote {written} bytes, which need not all have arrived"),
    };
    let end = served.error.map_or(String::new(), |error| format!("; {error}"));
    format!("received {received} bytes in {seconds:.3} s, {sent}{end}")
}

fn client(
    options: &PerfOptions,
    remote: SocketAddr,
    engine_options: Option<&engine::EngineOptions>,
    kernel_options: &kernel::KernelOptions,
) -> Result<u8, Failure> {
    let amount = match options.bytes {
        Some(bytes) => Amount::Bytes(bytes),
        None => Amount::Time(Duration::from_secs_f64(options.time.unwrap_or(DEFAULT_SECONDS))),
    };
    let request = Request {
        up: !options.reverse && options.ping.is_none(),
        down: options.reverse || options.both,
        verify: options.verify,
        echo: options.ping.is_some(),
        amount,
        omit: Duration::from_secs_f64(options.omit.unwrap_or(0.0)),
    };
    let echo = options.ping.map(|size| (size.max(1), options.count));
    let mut on_interval = |interval: &Interval| {
        if !options.json && options.ping.is_none() {
            print!("{}", interval_text(interval));
            let _ = io::stdout().flush();
        }
    };
    listen_and_answer("");
    let result = match engine_options {
        Some(engine_options) => {
            engine::client(engine_options, remote, request, echo, &mut on_interval, &is_interrupted)
        }
        None => kernel::client(kernel_options, remote, request, echo, &mut on_interval, &is_interrupted),
    };
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => {
            if options.json {
                println!("{}", perf_json::nothing(options, &request, &error.to_string()));
            }
            if is_interrupted() {
                eprintln!("{error}");
                return Ok(INTERRUPTED);
            }
            return Err(failed(error));
        }
    };
    let error = what_is_wrong(&outcome);
    if options.json {
        println!("{}", perf_json::json(options, &request, &outcome, error.as_deref()));
    } else {
        print!("{}", summary(&request, &outcome));
    }
    if outcome.server.is_none() && is_interrupted() {
        eprintln!("interrupted: the server's figures are missing");
        return Ok(INTERRUPTED);
    }
    match (error, outcome.trouble) {
        (Some(error), _) => return Err(Failure::Output(error)),
        (None, Some(trouble)) => eprintln!("{}: {trouble}", warning()),
        (None, None) => {}
    }
    Ok(0)
}

/// The error, if the figures are not complete or the data did not arrive unchanged.
fn what_is_wrong(outcome: &Measurement) -> Option<String> {
    match outcome.server {
        Some(_) if outcome.is_right() => None,
        Some(_) => Some("what arrived is not what was sent".into()),
        None => Some(outcome.trouble.clone().unwrap_or_else(|| "the server's figures are missing".into())),
    }
}

/// A rate with its unit, for people.
fn shown(bits_per_second: f64) -> String {
    match bits_per_second {
        bits if bits >= 1e9 => format!("{:.2} Gbit/s", bits / 1e9),
        bits => format!("{:.2} Mbit/s", bits / 1e6),
    }
}

/// A line for the interval, and one for each subflow.
fn interval_text(interval: &Interval) -> String {
    let (from, to) = (interval.from.as_secs_f64(), interval.to.as_secs_f64());
    let of = |bytes| shown(rate(bytes, to - from));
    let mut text = format!(
        "{from:6.2}-{to:<6.2} s  sent {:>14}  received {:>14}\n",
        of(interval.sent_bytes),
        of(interval.received_bytes)
    );
    for subflow in &interval.subflows {
        text += &format!(
            "    {} to {}: sent {}, received {}, {} again, window {} KB, round trip {:.2} ms\n",
            subflow.local,
            subflow.remote,
            of(subflow.sent_bytes),
            of(subflow.received_bytes),
            subflow.retransmitted_segments,
            subflow.window_bytes / 1000,
            subflow.round_trip.as_secs_f64() * 1e3,
        );
    }
    text
}

fn summary(request: &Request, outcome: &Measurement) -> String {
    let mut text = String::new();
    let Measurement { client, server, .. } = outcome;
    if request.up {
        let seconds = outcome.duration.as_secs_f64();
        let (bytes, what, seconds) = match (server, outcome.acknowledged) {
            (Some(server), _) => (server.counted, "bytes", server.counted_seconds()),
            (None, Some(acknowledged)) => (acknowledged, "bytes acknowledged", seconds),
            (None, None) => (client.written, "bytes given to the kernel", seconds),
        };
        text += &format!("upload:   {bytes} {what} in {seconds:.3} s, {}\n", shown(rate(bytes, seconds)));
    }
    if request.down {
        let (bytes, seconds) = (client.counted, client.counted_seconds());
        text += &format!("download: {bytes} bytes in {seconds:.3} s, {}\n", shown(rate(bytes, seconds)));
    }
    if let [first, .., last] = outcome.round_trips[..] {
        let at = |part: usize| outcome.round_trips[outcome.round_trips.len() * part / 100].as_secs_f64() * 1e6;
        let (first, last) = (first.as_secs_f64() * 1e6, last.as_secs_f64() * 1e6);
        text += &format!(
            "round trips: least {first:.1} us, median {:.1}, 99th percentile {:.1}, most {last:.1}\n",
            at(50),
            at(99)
        );
    }
    let seconds = outcome.processor.nanoseconds as f64 / 1e9;
    text += &format!("processor time of the client: {seconds:.3} s");
    text += match outcome.multipath {
        Some(true) => "; Multipath TCP\n",
        Some(false) => "; plain TCP\n",
        None => "\n",
    };
    if request.verify {
        let same = match server {
            Some(_) if outcome.is_right() => "the same",
            Some(_) => "NOT the same",
            None => "not compared, because the server's is missing",
        };
        text += &format!("SHA-256 of what was sent and what arrived: {same}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_sent_only_of_what_was_acknowledged() {
        let totals = Totals { received: 7, written: 5000, nanoseconds: 1_500_000_000, ..Totals::default() };
        let said = |error| served_text(&Served { totals: &totals, error });
        assert_eq!(said(None), "received 7 bytes in 1.500 s, sent 5000 bytes");
        assert_eq!(
            said(Some("reset by the peer")),
            "received 7 bytes in 1.500 s, wrote 5000 bytes, which need not all have arrived; reset by the peer"
        );
    }
}
