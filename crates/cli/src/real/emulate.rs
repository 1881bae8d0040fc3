//! `pathweave emulate`.

use super::args::EmulateOptions;
use crate::output;
use crate::terminal::{INTERRUPTED, is_interrupted, listen_and_answer};
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{self, Scenario, SchedulerSpec, Variant};
use pathweave_lab::sim::network;
use pathweave_netsim::{Network, RouteId, Tagged};
use pathweave_report::{About, EmulatedPath, EmulatedWay, Emulation, emulation_page, link_text};
use pathweave_runner::{Failure, Source, Traces, open};
use pathweave_tun::emulate::{
    Carried, Ends, LATE, MOST_PATHS, Namespace, PathEnds, Report, Sample, Side, Started, forward,
};
use pathweave_units::Duration;
use serde_json::json;
use std::io;
use std::process::{ExitCode, ExitStatus, Stdio};

/// Letters of a device's name.
const NAME_LETTERS: usize = 15;
/// How long the server's command is ahead of the client's.
const HEAD_START: std::time::Duration = std::time::Duration::from_millis(500);
/// The page warns of a run with more than this part of the packets late.
const MANY_LATE: f64 = 0.01;
/// A way that carried less carried no data that counts.
const FEW_BYTES: u64 = 100_000;
/// A way that carried less than this part of the other way's bytes carried acknowledgements: at most 100 bytes for each full packet.
const ACKNOWLEDGED: u64 = 10;
/// How long a command goes on after Ctrl-C.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs commands on the scenario's paths.
///
/// # Errors
/// If the scenario is wrong, or namespaces, devices or commands cannot be made.
pub(crate) fn emulate(options: &EmulateOptions, registry: &Registry) -> Result<ExitCode, Failure> {
    let mut source = open(&options.scenario)?;
    for (key, value) in &options.settings {
        source.document.set(key, value)?;
    }
    output::check(options.json.iter().chain(&options.html), &source.files(registry))?;
    let Source { document, folder, .. } = source;
    let variant = Variant::Scheduler(SchedulerSpec::parse("minrtt")?);
    let scenario = document.scenario(registry, &variant)?;
    let mut traces = Traces::new(folder.as_deref());
    traces.load(&scenario).map_err(|(name, reason)| document.trace_error(&name, &reason))?;
    let (mut network, ways) = network::<Tagged<u32>>(&scenario, options.seed, &traces)
        .map_err(|error| Failure::Input(format!("{}: {error}", scenario.name)))?;

    if scenario.paths.len() > MOST_PATHS {
        let message = format!(
            "{} has {} paths, and the kernel's Multipath TCP takes {MOST_PATHS} at most",
            scenario.name,
            scenario.paths.len()
        );
        return Err(Failure::Input(message));
    }
    if scenario.paths.iter().any(|path| !path.middleboxes.is_empty()) {
        return Err(Failure::Input(format!("{} has middleboxes, which only the simulator has", scenario.name)));
    }
    draw(&scenario);
    listen_and_answer("");
    let (status, report) =
        run(options, &scenario, &mut network, &ways).map_err(|error| Failure::Output(error.to_string()))?;
    print(&scenario, &report);
    if let Some(output) = &options.json {
        output.write(&format!("{:#}\n", as_json(&scenario, &report)))?;
    }
    if let Some(output) = &options.html {
        output.write(&emulation_page(&as_page(options, &scenario, &report)))?;
    }
    Ok(match status {
        Some(status) => {
            status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        None => ExitCode::from(INTERRUPTED),
    })
}

/// Each direction of each path: rate, delay and queue of its links.
fn draw(scenario: &Scenario) {
    for path in &scenario.paths {
        for (direction, links) in [("up", &path.up), ("down", &path.down)] {
            let links: Vec<String> = links.iter().map(|link| link_text(&scenario.links[*link])).collect();
            eprintln!("{:<14}{}", format!("{} {direction}", path.name), links.join(", then "));
        }
    }
}

/// Makes the namespaces and carries their packets until the client's command has ended. Its status is `None` where Ctrl-C came first.
fn run(
    options: &EmulateOptions,
    scenario: &Scenario,
    network: &mut Network<Tagged<u32>>,
    ways: &[(RouteId, RouteId)],
) -> io::Result<(Option<ExitStatus>, Report)> {
    let paths: Vec<PathEnds> = scenario
        .paths
        .iter()
        .enumerate()
        .map(|(i, path)| PathEnds { device: device_name(i, &path.name), backup: path.backup })
        .collect();
    let (server, server_devices) = Namespace::new(Side::Server, paths.clone(), options.mtu)?;
    let (client, client_devices) = Namespace::new(Side::Client, paths, options.mtu)?;
    let pairs = client_devices.into_iter().zip(server_devices).zip(ways);
    let ends: Vec<Ends> = pairs.map(|((client, server), ways)| Ends { client, server, ways: *ways }).collect();

    let shell = |text: &String| ["sh", "-c", text].map(str::to_owned);
    let mut service = options.server.as_ref().map(|text| server.start(&shell(text), Stdio::null())).transpose()?;
    if service.is_some() {
        std::thread::sleep(HEAD_START);
    }
    if let Some(status) = service.as_mut().map_or(Ok(None), Started::ended)?
        && !status.success()
    {
        return Err(io::Error::other(format!("the server's command ended at once: {status}")));
    }
    let mut command = client.start(&options.command, Stdio::inherit())?;
    let mut ended = Ok(None);
    let mut interrupted = None;
    let report = forward(network, &ends, |now| {
        ended = command.ended();
        // Ctrl-C went to the command as well. It may have last words.
        let since = is_interrupted().then(|| *interrupted.get_or_insert(now));
        matches!(ended, Ok(None)) && since.is_none_or(|since| now.since(since) < LAST_WORDS)
    })?;
    Ok((ended?, report))
}

/// A path's name as a device's: letters and digits only.
fn device_name(path: usize, name: &str) -> String {
    let kept: String = name.chars().filter(char::is_ascii_alphanumeric).take(NAME_LETTERS - 1).collect();
    format!("{kept}{}", path + 1)
}

/// What each path carried, a line for each direction. It goes to standard error: standard output is the commands'.
fn print(scenario: &Scenario, report: &Report) {
    eprintln!("{:<14}{:>9}{:>13}{:>11}{:>17}{:>7}", "path", "packets", "bytes", "Mbit/s", "dropped by queue", "lost");
    let all = scenario.paths.iter().zip(&report.paths);
    for (name, direction, carried) in
        all.flat_map(|(path, [up, down])| [(&path.name, "up", up), (&path.name, "down", down)])
    {
        let Carried { packets, bytes, dropped_by_queue, lost } = carried;
        let name = format!("{name} {direction}");
        let rate = rate(*bytes, report.elapsed) / 1e6;
        eprintln!("{name:<14}{packets:>9}{bytes:>13}{rate:>11.3}{dropped_by_queue:>17}{lost:>7}");
    }
    unlimited_data(scenario, report).iter().for_each(|warning| eprintln!("Warning: {warning}"));
    eprintln!("{}", accuracy(report));
    if !report.has_priority {
        eprintln!("{NO_PRIORITY}");
    }
}

const NO_PRIORITY: &str =
    "real-time priority is not allowed here (chrt), so other work on this machine makes packets late";

/// How well the network's times were kept.
fn accuracy(report: &Report) -> String {
    let (late, longest) = (report.late, report.longest.as_secs_f64() * 1e3);
    let limit = LATE.as_secs_f64() * 1e3;
    format!("{late} of {} packets were over {limit} ms late, the latest {longest:.3} ms", all_packets(report))
}

/// The ways that carried data although nothing limits their rates.
fn unlimited_data(scenario: &Scenario, report: &Report) -> Vec<String> {
    let mut all = Vec::new();
    for (path, [up, down]) in scenario.paths.iter().zip(&report.paths) {
        let ways = [(up, down, &path.up, "to the server", "up"), (down, up, &path.down, "to the client", "down")];
        for (carried, other, links, to, key) in ways {
            let is_data = carried.bytes > FEW_BYTES && carried.bytes > other.bytes / ACKNOWLEDGED;
            if is_data && !links.iter().any(|link| scenario.links[*link].has_rate()) {
                all.push(format!(
                    "{} carried {:.1} MB {to}, and no rate limits it that way (--set path.{}.{key}.rate=10Mbps gives it one).",
                    path.name,
                    carried.bytes as f64 / 1e6,
                    path.name
                ));
            }
        }
    }
    all
}

fn all_packets(report: &Report) -> u64 {
    report.paths.iter().flatten().map(|carried| carried.packets).sum()
}

fn rate(bytes: u64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

fn as_json(scenario: &Scenario, report: &Report) -> serde_json::Value {
    let way = |carried: &Carried| {
        json!({
            "packets": carried.packets, "bytes": carried.bytes, "bits_per_second": rate(carried.bytes, report.elapsed),
            "dropped_by_queue": carried.dropped_by_queue, "lost": carried.lost,
        })
    };
    let path = |(path, [up, down]): (&scenario::Path, &[Carried; 2])| json!({ "name": path.name, "up": way(up), "down": way(down) });
    json!({
        "scenario": scenario.name,
        "seconds": report.elapsed.as_secs_f64(),
        "paths": scenario.paths.iter().zip(&report.paths).map(path).collect::<Vec<_>>(),
        "late_packets": report.late,
        "latest_seconds": report.longest.as_secs_f64(),
        "real_time_priority": report.has_priority,
    })
}

/// What the page shows.
fn as_page(options: &EmulateOptions, scenario: &Scenario, report: &Report) -> Emulation {
    let step = report.series.step().as_secs_f64();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let way = |(carried, samples): (&Carried, &[Sample])| EmulatedWay {
        packets: carried.packets,
        bytes: carried.bytes,
        dropped_by_queue: carried.dropped_by_queue,
        lost: carried.lost,
        rate: samples.iter().map(|s| rate(s.bytes, report.series.step()) / 1e6).collect(),
        delay: samples.iter().map(|s| s.mean_delay().map(millis)).collect(),
        longest: samples.iter().map(|s| s.mean_delay().map(|_| millis(s.longest_delay))).collect(),
        queue: samples.iter().map(|s| s.queue_bytes as f64 / 1e3).collect(),
        dropped: samples.iter().map(|s| s.dropped).collect(),
    };
    let paths = scenario.paths.iter().zip(&report.paths).zip(report.series.paths());
    let paths = paths.map(|((path, [up, down]), [up_series, down_series])| EmulatedPath {
        name: path.name.clone(),
        ways: [way((up, up_series)), way((down, down_series))],
    });
    let warning = if report.has_priority { String::new() } else { format!("; {NO_PRIORITY}") };
    Emulation {
        // Its connections are not run.
        about: About::of(&Scenario { connections: Vec::new(), ..scenario.clone() }),
        seed: options.seed,
        command: options.command.join(" "),
        seconds: report.elapsed.as_secs_f64(),
        accuracy: format!("{}{warning}.", accuracy(report)),
        warnings: unlimited_data(scenario, report),
        is_inaccurate: report.late as f64 > MANY_LATE * all_packets(report) as f64,
        version: env!("CARGO_PKG_VERSION").into(),
        step,
        paths: paths.collect(),
    }
}
