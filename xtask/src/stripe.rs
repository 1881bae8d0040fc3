//! Schedulers in a program that is not Multipath TCP: `examples/stripe` over emulated links.

use crate::results::{pathweave, put};
use crate::run::{cargo, machine_and_load, median, root, run, target};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;

/// Links, in the order in which legs are added.
struct Case {
    name: &'static str,
    links: &'static [Link],
    /// Numbers of legs that are used, from the first link on.
    legs: &'static [usize],
    bound: Bound,
}

/// Rate of a link, Mbit/s; its delay one way, ms; its queue.
type Link = (f64, u32, &'static str);

/// The rate that `weave` must reach.
#[derive(Clone, Copy)]
enum Bound {
    /// A fraction of what the first leg carries alone.
    First(f64),
    /// A fraction of the sum of what each leg carries alone.
    Sum(f64),
    /// A fraction of what `weave` itself carries with fewer legs.
    Fewer(f64),
}

const QUEUE: &str = "100packets";
const CASES: [Case; 5] = [
    Case {
        name: "a dead leg, 1 s of queue",
        links: &[(56.0, 22, QUEUE), (0.48, 22, "60KB")],
        legs: &[2],
        bound: Bound::First(0.95),
    },
    Case {
        name: "a dead leg, 9 s of queue",
        links: &[(56.0, 22, QUEUE), (0.48, 22, "540KB")],
        legs: &[2],
        bound: Bound::First(0.95),
    },
    Case { name: "fast links", links: &[(300.0, 10, "1MB"), (80.0, 30, "1MB")], legs: &[2], bound: Bound::Sum(0.9) },
    Case {
        name: "fast links, a tenth",
        links: &[(30.0, 10, QUEUE), (8.0, 30, QUEUE)],
        legs: &[2],
        bound: Bound::Sum(0.9),
    },
    Case {
        name: "more and more legs",
        links: &[
            (28.0, 40, QUEUE),
            (14.0, 90, QUEUE),
            (8.0, 60, QUEUE),
            (0.48, 22, "540KB"),
            (20.0, 160, QUEUE),
            (5.0, 120, QUEUE),
        ],
        legs: &[1, 2, 4, 6],
        bound: Bound::Fewer(0.97),
    },
];
/// Cases of the same links: at their whole rates, and at a tenth. One of the two is measured.
const WHOLE: usize = 2;
const TENTH: usize = 3;
const SCHEDULERS: [&str; 4] = ["weave", "minrtt", "ecf", "roundrobin"];
/// The kernel's controller, which must fill queues: with `bbr` even the slow leg of the first cases has none.
const CONGESTION: &str = "cubic";
const SECONDS: f64 = 30.0;
/// Transfers of each kind; the median counts.
const RUNS: usize = 3;
const QUICK_SECONDS: f64 = 3.0;
/// The least fraction of the first leg that `weave` must carry in the quick check, whose time is mostly slow start.
const QUICK_BOUND: f64 = 0.8;
const PAGE: &str = "docs/embedding.md";
const START: &str = "<!-- written by `cargo xtask stripe` -->\n";
const END: &str = "<!-- end of what it writes -->";

/// Sends for some seconds over the first case's links with `weave`, and over its first link alone.
///
/// # Errors
/// If a transfer fails, or two legs carry less than one.
pub(crate) fn check() -> Result<(), String> {
    build()?;
    let case = &CASES[0];
    let alone = case.transfer(&[0], "weave", QUICK_SECONDS)?;
    let both = case.transfer(&[0, 1], "weave", QUICK_SECONDS)?;
    if both < alone * QUICK_BOUND {
        return Err(format!("{both:.2} Mbit/s with two legs, {alone:.2} with the first alone"));
    }
    Ok(())
}

/// Measures all cases and writes the table. `tenth`: the fast links have a tenth of their rates.
///
/// # Errors
/// If a transfer fails or the table cannot be written.
pub(crate) fn measure(tenth: bool) -> Result<(), String> {
    build()?;
    let left_out = if tenth { WHOLE } else { TENTH };
    let mut table = String::from("| links, Mbit/s and ms one way | legs | ");
    let _ = write!(table, "{} | `weave` must have | |\n|---|---|", SCHEDULERS.map(|s| format!("`{s}`")).join(" | "));
    let _ = writeln!(table, "{}---|---|", "---|".repeat(SCHEDULERS.len()));
    for (_, case) in CASES.iter().enumerate().filter(|(i, _)| *i != left_out) {
        table += &case.rows()?;
    }
    let (machine, load) = machine_and_load();
    let _ = writeln!(
        table,
        "\nMedians of {RUNS} transfers of {SECONDS} s with {CONGESTION}. {machine}; the load averages of 1, 5 and 15 minutes after the last \
         transfer were {load}."
    );
    let text = fs::read_to_string(root().join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    let missing = || format!("{PAGE}: there is no {START}");
    let (before, rest) = text.split_once(START).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    put(PAGE, format!("{before}{START}{table}{END}{after}").as_bytes())
}

fn build() -> Result<(), String> {
    run(&mut cargo("build --release --package pathweave --package pathweave-stripe --bins --features pathweave/tun"))
}

impl Case {
    /// The case's rows of the table: Mbit/s of each scheduler, and whether `weave`'s bound holds.
    fn rows(&self) -> Result<String, String> {
        let alone = |leg| self.median(&[leg], "weave");
        let (mut reference, what) = match self.bound {
            Bound::First(_) => (alone(0)?, "of the first leg alone"),
            Bound::Sum(_) => ((0..self.links.len()).map(alone).sum::<Result<f64, _>>()?, "of the legs alone, added up"),
            Bound::Fewer(_) => (0.0, "with fewer legs"),
        };
        let (Bound::First(part) | Bound::Sum(part) | Bound::Fewer(part)) = self.bound;
        let mut rows = String::new();
        for legs in self.legs {
            let used: Vec<usize> = (0..*legs).collect();
            let rates: Vec<f64> = SCHEDULERS.iter().map(|s| self.median(&used, s)).collect::<Result<_, _>>()?;
            let least = part * reference;
            let holds = if rates[0] >= least { "held" } else { "**missed**" };
            let must = match reference > 0.0 {
                true => format!("{least:.2}: {part} {what} ({reference:.2}) | {holds} ({:.3})", rates[0] / reference),
                false => "– |".into(),
            };
            let links: Vec<String> = self.links[..*legs].iter().map(|(rate, ms, _)| format!("{rate}/{ms}")).collect();
            let rates_shown: Vec<String> = rates.iter().map(|rate| format!("{rate:.2}")).collect();
            let _ = writeln!(
                rows,
                "| {}: {} | {legs} | {} | {must} |",
                self.name,
                links.join(", "),
                rates_shown.join(" | ")
            );
            if matches!(self.bound, Bound::Fewer(_)) {
                reference = reference.max(rates[0]);
            }
        }
        print!("{rows}");
        Ok(rows)
    }

    /// The median rate of several transfers, Mbit/s. One alone says little: losses in slow start cost seconds.
    fn median(&self, legs: &[usize], scheduler: &str) -> Result<f64, String> {
        let rates = (0..RUNS).map(|_| self.transfer(legs, scheduler, SECONDS)).collect::<Result<_, _>>()?;
        Ok(median(rates))
    }

    /// Mbit/s of the stream over these legs, whose bytes must arrive as they were sent.
    fn transfer(&self, legs: &[usize], scheduler: &str, seconds: f64) -> Result<f64, String> {
        let folder = target().join("stripe");
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let scenario = folder.join("links.toml");
        fs::write(&scenario, self.scenario()).map_err(|e| format!("{}: {e}", scenario.display()))?;
        let program = target().join("release/stripe");
        let stripe = program.display();
        let ends: Vec<String> =
            legs.iter().map(|leg| leg + 1).map(|p| format!("--leg 10.0.{p}.1=10.0.{p}.2:7000")).collect();
        let send = format!(
            "seq inf | exec {stripe} send {} --congestion {CONGESTION} --scheduler {scheduler} --seconds {seconds}",
            ends.join(" ")
        );
        let mut emulate = pathweave();
        emulate.arg("emulate").arg(&scenario);
        emulate.args(["--server", &format!("exec {stripe} receive 0.0.0.0:7000 >/dev/null"), "--", "sh", "-c", &send]);
        let output = emulate.output().map_err(|e| e.to_string())?;
        let told = String::from_utf8_lossy(&output.stderr);
        let failed = |reason: &str| format!("{}, {scheduler}, legs {legs:?}: {reason}\n{told}", self.name);
        if !output.status.success() {
            return Err(failed(&output.status.to_string()));
        }
        let sent: Value = serde_json::from_slice(&output.stdout).map_err(|e| failed(&e.to_string()))?;
        let received = told.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
        let received = received.ok_or_else(|| failed("the receiver reports nothing"))?;
        if (&sent["sha256"], &sent["bytes"]) != (&received["sha256"], &received["bytes"]) {
            return Err(failed("other bytes arrived than were sent"));
        }
        println!("{}, {scheduler}: {sent}", self.name);
        sent["mbps"].as_f64().ok_or_else(|| failed("the sender reports no rate"))
    }

    fn scenario(&self) -> String {
        let mut text = "format = 1\nname = \"stripe\"\nduration = \"1s\"\n".to_owned();
        for (i, (rate, delay, queue)) in self.links.iter().enumerate() {
            let _ = write!(
                text,
                "[[path]]\nname = \"link{i}\"\nrate = \"{rate}Mbps\"\ndelay = \"{delay}ms\"\nqueue = \"{queue}\"\n"
            );
        }
        text + "[[connection]]\nname = \"none\"\n"
    }
}
