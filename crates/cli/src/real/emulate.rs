//! `pathweave emulate`.

use super::args::EmulateOptions;
use crate::output;
use crate::terminal::{self, INTERRUPTED, is_interrupted, listen_and_answer};
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{self, Scenario, SchedulerSpec, Variant};
use pathweave_lab::sim::network;
use pathweave_netsim::{Network, RouteId, Tagged};
use pathweave_report::{About, EmulatedPath, EmulatedWay, Emulation, emulation_page, link_text};
use pathweave_runner::{Failure, Source, Traces, open};
use pathweave_tun::emulate::{
    Carried, Ends, LATE, MOST_PATHS, Namespace, PathEnds, Report, Sample, Side, Started, forward,
};
use pathweave_units::{Duration, Instant, counted};
use serde_json::json;
use std::io;
use std::process::{ExitStatus, Stdio};

/// Most letters of a device's name.
const NAME_LETTERS: usize = 15;
/// Time by which the server's command starts before the client's.
const HEAD_START: std::time::Duration = std::time::Duration::from_millis(500);
/// Fraction of late packets above which the page has a warning.
const MANY_LATE: f64 = 0.01;
/// Bytes below which a direction counts as having carried no data.
const FEW_BYTES: u64 = 100_000;
/// A direction with fewer bytes than 1/`ACKNOWLEDGED` of the other direction's carried only acknowledgements, at most
/// 100 bytes for each full packet.
const ACKNOWLEDGED: u64 = 10;
/// Time that a command has to end after Ctrl-C, and that the server's command has after the end of the client's.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs commands on the scenario's paths.
///
/// # Errors
/// If the scenario is wrong, or namespaces, devices or commands cannot be made.
pub(crate) fn emulate(options: &EmulateOptions, registry: &Registry) -> Result<u8, Failure> {
    let mut source = open(&options.scenario)?;
    for (key, value) in &options.settings {
        check(key)?;
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
        Some(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
        None => INTERRUPTED,
    })
}

/// Refuses settings of things that are not run here.
///
/// # Errors
/// If the setting is of something that is not run.
fn check(key: &str) -> Result<(), Failure> {
    let table = key.split(['.', '[']).next().unwrap_or(key);
    let reason = match table {
        "connection" | "scheduler" | "traffic" => {
            "emulate runs only the scenario's paths, not its connections and traffic"
        }
        "duration" | "ends_with" => "everything ends with the client's command",
        "measure_from" | "series_step" => "it is about the simulator's results",
        _ => return Ok(()),
    };
    Err(Failure::Input(format!("the setting {key} has no meaning here: {reason}")))
}

/// Prints the rate, delay and queue of each direction of each path.
fn draw(scenario: &Scenario) {
    for path in &scenario.paths {
        for (direction, links) in [("up", &path.up), ("down", &path.down)] {
            let links: Vec<String> = links.iter().map(|link| link_text(&scenario.links[*link])).collect();
            eprintln!("{:<14}{}", format!("{} {direction}", path.name), links.join(", then "));
        }
    }
}

/// Makes the namespaces and forwards their packets until the client's command ends. Returns its status, or `None` after
/// Ctrl-C.
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
    // Standard output is the client's alone, so that its output can be piped.
    let in_background = |text| server.start(&shell(text), Stdio::null(), io::stderr().into());
    let mut service = options.server.as_ref().map(in_background).transpose()?;
    if service.is_some() {
        std::thread::sleep(HEAD_START);
    }
    if let Some(status) = service.as_mut().map_or(Ok(None), Started::ended)?
        && !status.success()
    {
        return Err(io::Error::other(format!("the server's command ended at once: {status}")));
    }
    let mut command = client.start(&options.command, Stdio::inherit(), Stdio::inherit())?;
    let mut ended = Ok(None);
    let mut interrupted = None;
    let mut ended_at = None;
    let mut report = forward(network, &ends, |now| {
        if ended_at.is_none() {
            ended = command.ended();
        }
        // Ctrl-C went to the command as well. It may have last words.
        let since = is_interrupted().then(|| *interrupted.get_or_insert(now));
        if since.is_some_and(|since| now.since(since) >= LAST_WORDS) {
            return false;
        }
        if matches!(ended, Ok(None)) {
            return true;
        }
        // The last acknowledgement may still be on its way to the server, which has a result to print.
        let goes_on = service.as_mut().is_some_and(|service| matches!(service.ended(), Ok(None)));
        goes_on && now.since(*ended_at.get_or_insert(now)) < LAST_WORDS
    })?;
    if let Some(ended_at) = ended_at {
        report.elapsed = ended_at.since(Instant::ZERO);
    }
    Ok((ended?, report))
}

/// The name of a path's device, made from the letters and digits of the path's name.
fn device_name(path: usize, name: &str) -> String {
    let kept: String = name.chars().filter(char::is_ascii_alphanumeric).take(NAME_LETTERS - 1).collect();
    format!("{kept}{}", path + 1)
}

/// Prints each path's traffic, a line for each direction, to standard error. Standard output is for the commands.
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
    unlimited_data(scenario, report).iter().for_each(|warning| eprintln!("{}: {warning}", terminal::warning()));
    eprintln!("{}", accuracy(report));
    if !report.has_priority {
        eprintln!("{NO_PRIORITY}");
    }
}

const NO_PRIORITY: &str =
    "real-time priority is not allowed here (chrt), so other work on this machine makes packets late";

/// A sentence about how well the packets' departure times were kept.
fn accuracy(report: &Report) -> String {
    let (late, longest) = (report.late, report.longest.as_secs_f64() * 1e3);
    let limit = LATE.as_secs_f64() * 1e3;
    format!(
        "{late} of {} were over {limit} ms late, the latest {longest:.3} ms",
        counted(all_packets(report), "packet")
    )
}

/// Directions that carried data although their rate has no limit.
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

/// The content of the page.
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
        version: pathweave_runner::version().into(),
        step,
        paths: paths.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_what_is_not_run_are_refused() {
        for key in ["connection.congestion", "connection[0].start", "traffic.start", "scheduler.minrtt.x", "duration"] {
            assert!(matches!(check(key), Err(Failure::Input(text)) if text.contains(key)), "{key}");
        }
        for key in ["path.rate", "path.wifi.delay", "link.up.loss", "trace_start"] {
            assert!(check(key).is_ok(), "{key}");
        }
    }
}
