//! The cost of a segment as connections and windows grow. Each line has the case, segments, CPU seconds, nanoseconds
//! per segment, the same in units of the small flow's, and the peak memory that a connection adds.
//!
//! `scale` runs every case in a process of its own, alternating with the small flow. `scale CASE` runs one case. `scale
//! --svg FILE` also draws the costs over connections and windows.

use pathweave_benches::{Setup, World, cpu_seconds, peak_resident_bytes};
use pathweave_units::{Bitrate, Duration, Instant};
use std::process::Command;

/// A case of measurement.
struct Case {
    name: &'static str,
    setup: fn() -> Setup,
    /// Simulated time before and during measurement.
    warm_up: Duration,
    measured: Duration,
}

const fn gigabits(n: u64) -> Bitrate {
    Bitrate::from_bps(n * 1_000_000_000)
}

/// Flows that share one link of 10 Mbit/s for each, whose queue holds a bandwidth-delay product.
fn shared(connections: u16) -> Setup {
    let rate = Bitrate::from_bps(u64::from(connections) * 10_000_000);
    let queue = (rate.as_bps() / 8 / 50 / 1500) as u32;
    Setup { connections, rate, queue, buffer: 1 << 20, ..Setup::tcp() }
}

/// One flow whose window has this many segments: a link without loss, as long as that takes at 10 Gbit/s.
fn window(segments: u64) -> Setup {
    let rate = gigabits(10);
    let bytes = segments * 1448;
    let delay = rate.time_to_send(segments * 1500).div(2);
    Setup { rate, delay, queue: u32::MAX, buffer: bytes, ..Setup::tcp() }
}

const CASES: &[Case] = &[
    Case { name: "small flow", setup: Setup::tcp, warm_up: secs(5), measured: secs(60) },
    Case { name: "two subflows", setup: Setup::mptcp, warm_up: secs(5), measured: secs(30) },
    Case {
        name: "1 Gbit/s, 1000 packets of queue",
        setup: || Setup { rate: gigabits(1), queue: 1000, buffer: 16 << 20, ..Setup::tcp() },
        warm_up: secs(2),
        measured: secs(8),
    },
    Case { name: "10 flows", setup: || shared(10), warm_up: secs(5), measured: secs(60) },
    Case { name: "100 flows", setup: || shared(100), warm_up: secs(2), measured: secs(6) },
    Case { name: "1000 flows", setup: || shared(1000), warm_up: secs(2), measured: millis(700) },
    Case { name: "10000 flows", setup: || shared(10_000), warm_up: secs(2), measured: millis(200) },
    Case { name: "window of 10", setup: || window(10), warm_up: secs(1), measured: secs(1) },
    Case { name: "window of 100", setup: || window(100), warm_up: secs(1), measured: secs(1) },
    Case { name: "window of 1000", setup: || window(1000), warm_up: secs(1), measured: secs(1) },
    Case { name: "window of 10000", setup: || window(10_000), warm_up: secs(1), measured: secs(1) },
    Case { name: "window of 100000", setup: || window(100_000), warm_up: secs(2), measured: secs(1) },
];

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}
const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Segments, CPU seconds, peak memory in bytes.
fn run(case: &Case) -> (u64, f64, u64) {
    let mut world = World::new(&(case.setup)());
    let start = Instant::ZERO + case.warm_up;
    world.run_until(start);
    let (before, cpu) = (world.data_segments_received(), cpu_seconds().unwrap_or(0.0));
    world.run_until(start + case.measured);
    let spent = cpu_seconds().unwrap_or(0.0) - cpu;
    (world.data_segments_received() - before, spent, peak_resident_bytes().unwrap_or(0))
}

/// The same in a process of its own, so that the peak of memory belongs to this case alone.
fn apart(case: &Case) -> (u64, f64, u64) {
    let program = std::env::current_exe().unwrap_or_else(|e| panic!("{e}"));
    let output = Command::new(program).arg(case.name).output().unwrap_or_else(|e| panic!("{e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [segments, spent, peak] = fields[..] else { panic!("{}: {text}", case.name) };
    let parsed = (|| Some((segments.parse().ok()?, spent.parse().ok()?, peak.parse().ok()?)))();
    parsed.unwrap_or_else(|| panic!("{}: {text}", case.name))
}

/// One panel of the picture: a line over a logarithmic axis.
fn panel(left: f64, title: &str, points: &[(f64, f64)], limit: f64) -> String {
    let (width, height, top) = (320.0, 200.0, 50.0);
    let widest = points.iter().fold(1.0, |w: f64, p| w.max(libm::log10(p.0)));
    let highest = points.iter().fold(limit, |h: f64, p| h.max(p.1)) * 1.1;
    let x = |n: f64| left + libm::log10(n) / widest * width;
    let y = |cost: f64| top + height - cost / highest * height;
    let mut svg = format!("<text x=\"{left}\" y=\"30\" font-weight=\"bold\">{title}</text>\n");
    for decade in 0..=widest.round() as i32 {
        let n = f64::from(10i32.pow(decade.unsigned_abs()));
        let (at, bottom) = (x(n), top + height);
        svg += &format!("<line x1=\"{at}\" x2=\"{at}\" y1=\"{top}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\n");
        svg += &format!("<text x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{n}</text>\n", bottom + 18.0);
    }
    for cost in 0..=highest as i32 {
        let (at, right) = (y(f64::from(cost)), left + width);
        svg += &format!("<line x1=\"{left}\" x2=\"{right}\" y1=\"{at}\" y2=\"{at}\" stroke=\"#ddd\"/>\n");
        svg += &format!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{cost}</text>\n", left - 8.0, at + 4.0);
    }
    let (at, right) = (y(limit), left + width);
    svg += &format!(
        "<line x1=\"{left}\" x2=\"{right}\" y1=\"{at}\" y2=\"{at}\" stroke=\"#c33\" stroke-dasharray=\"6 4\"/>\n"
    );
    let line: Vec<String> = points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
    svg += &format!("<polyline points=\"{}\" fill=\"none\" stroke=\"#1565c0\" stroke-width=\"2\"/>\n", line.join(" "));
    for p in points {
        svg += &format!("<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#1565c0\"/>\n", x(p.0), y(p.1));
    }
    svg
}

/// The costs over connections and over windows, in units of the small flow's.
fn picture(costs: &[(&str, f64)]) -> String {
    let of = |prefix: &str, suffix: &str| -> Vec<(f64, f64)> {
        let number = |name: &str| name.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok();
        costs.iter().filter_map(|(name, cost)| Some((number(name)?, *cost))).collect()
    };
    let mut flows = of("", " flows");
    flows.insert(0, (1.0, 1.0));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 300\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"820\" height=\"300\" fill=\"white\"/>\n{}{}\
         <text x=\"60\" y=\"292\">Processor time of a segment, in units of one small flow's; dashed: the limit.</text>\n</svg>\n",
        panel(60.0, "Connections, 10 Mbit/s each", &flows, 3.0),
        panel(460.0, "Window of one flow, segments", &of("window of ", ""), 3.0)
    )
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let svg = match &arguments[..] {
        [option, file] if option == "--svg" => Some(file),
        _ => None,
    };
    if let (None, Some(name)) = (svg, arguments.first()) {
        let case = CASES.iter().find(|c| c.name == *name).unwrap_or_else(|| panic!("there is no case {name}"));
        let (segments, spent, peak) = run(case);
        return println!("{segments} {spent} {peak}");
    }
    println!("case\tsegments\tCPU s\tns a segment\tof the small flow's\tpeak MB\tkB a connection");
    let nanoseconds = |(segments, spent, _): (u64, f64, u64)| spent * 1e9 / segments as f64;
    let mut costs = Vec::new();
    for case in CASES {
        // Before and after it, so that what else runs on the machine slows both.
        let (first, own, second) = (apart(&CASES[0]), apart(case), apart(&CASES[0]));
        let small = (nanoseconds(first) + nanoseconds(second)) / 2.0;
        let (own_ns, peak, least) = (nanoseconds(own), own.2 as f64, first.2.min(second.2) as f64);
        let each = (peak - least).max(0.0) / f64::from((case.setup)().connections) / 1e3;
        println!(
            "{}\t{}\t{:.2}\t{own_ns:.0}\t{:.2}\t{:.1}\t{each:.1}",
            case.name,
            own.0,
            own.1,
            own_ns / small,
            peak / 1e6
        );
        costs.push((case.name, own_ns / small));
    }
    if let Some(file) = svg {
        std::fs::write(file, picture(&costs)).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
}
