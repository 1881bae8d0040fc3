//! A path that goes dark while the engine sends, and comes back: the requirements of `docs/failing-paths.md`, with real
//! packets to a kernel.

use super::OverLinks;
use super::captures;
use super::trial::{Trial, address, commands};
use serde_json::Value;
use std::fmt;

const SCHEDULERS: [&str; 3] = ["minrtt", "blest", "redundant"];
/// Cases of each scheduler and role, and how many of them are in the quick mode.
const CASES: u64 = 10;
const QUICK_CASES: u64 = 1;
/// Longest stall of the stream. The simulator's limit is 1 s or three timeouts, if that is longer; here one timeout is
/// about 0.3 s.
const LONGEST_PAUSE_MS: u64 = 1000;
/// Time that the transfer continues after the path is back.
const AFTERWARDS_MS: u64 = 3000;
/// Time after which a path that is back must carry data. Dark paths are probed every second.
const BACK_MS: u64 = 1500;
const SECONDS: u32 = 60;

/// A transfer over two paths, one of which goes dark.
pub(super) struct Failing {
    scheduler: &'static str,
    engine_is_client: bool,
    seed: u64,
    paths: [Path; 2],
    dark: usize,
    direction: &'static str,
    from_ms: u64,
    for_ms: u64,
}

struct Path {
    mbps: u64,
    delay_ms: u64,
}

/// Random numbers from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        least + (mixed ^ (mixed >> 31)) % (most - least + 1)
    }
}

/// Each scheduler as client and as server, with the same outages.
pub(super) fn all(quick: bool) -> Vec<Failing> {
    let seeds = 1..=if quick { QUICK_CASES } else { CASES };
    let cases = seeds.flat_map(|seed| [true, false].map(|engine_is_client| (seed, engine_is_client)));
    let with = |(seed, client)| SCHEDULERS.map(|scheduler| Failing::draw(scheduler, client, seed));
    cases.flat_map(with).collect()
}

impl Failing {
    fn draw(scheduler: &'static str, engine_is_client: bool, seed: u64) -> Self {
        let mut draw = Draw(seed << 1 | u64::from(engine_is_client));
        let mut path = || Path { mbps: draw.between(4, 16), delay_ms: draw.between(5, 50) };
        let paths = [path(), path()];
        let dark = draw.between(0, 1) as usize;
        let direction = ["both", "both", "up", "down"][draw.between(0, 3) as usize];
        let (from_ms, for_ms) = (draw.between(500, 3000), draw.between(300, 6000));
        Failing { scheduler, engine_is_client, seed, paths, dark, direction, from_ms, for_ms }
    }
}

impl OverLinks for Failing {
    fn trial(&self, name: String) -> Trial {
        let time = (self.from_ms + self.for_ms + AFTERWARDS_MS) as f64 / 1e3;
        // Both send. A kernel that has nothing to send ends its direction at once, and then it joins no more.
        let amount = format!("--both --time {time}");
        // Data waiting in a larger buffer would make the transfer longer by seconds.
        let settings = format!("--scheduler {} --set send_buffer=1MiB", self.scheduler);
        let (engine, kernel) = commands(self.engine_is_client, &[true, true], &settings, &amount);
        let path = |(i, path): (usize, &Path)| {
            let mut text =
                format!("rate = \"{}Mbps\"\ndelay = \"{}ms\"\nqueue = \"100packets\"", path.mbps, path.delay_ms);
            for (at, up) in [(self.from_ms, false), (self.from_ms + self.for_ms, true)] {
                if i == self.dark {
                    text +=
                        &format!("\n[[path.change]]\nat = \"{at}ms\"\ndirection = \"{}\"\nup = {up}", self.direction);
                }
            }
            text
        };
        Trial {
            paths: self.paths.iter().enumerate().map(path).collect(),
            engine_is_client: self.engine_is_client,
            engine,
            kernel,
            seed: self.seed,
            ..Trial::new(name, SECONDS)
        }
    }

    fn run(&self, trial: &Trial) -> Result<(), String> {
        let found = trial.right_result()?;
        let result: Value = serde_json::from_str(&found.client).map_err(|e| e.to_string())?;
        let receiver = &result[if self.engine_is_client { "server" } else { "client" }];
        let pause_ms =
            receiver["longest_pause_nanoseconds"].as_u64().ok_or("the receiver does not tell its pauses")? / 1_000_000;
        if pause_ms > LONGEST_PAUSE_MS {
            return Err(format!("nothing arrived for {pause_ms} ms"));
        }
        // A kernel that joins does it from its own address of the path, to any of the engine's.
        let of_the_path = match self.engine_is_client {
            true => format!("ip.src == {}", address(true, self.dark, 5)),
            false => format!("ip.dst == {}", address(true, self.dark, 1)),
        };
        let late_ms = self.from_ms + self.for_ms + BACK_MS;
        match captures::data_packets(&trial.capture(), &of_the_path, late_ms as f64 / 1e3)? {
            0 => Err("the path that was back carried nothing".into()),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sender = if self.engine_is_client { "client" } else { "server" };
        let Failing { scheduler, seed, dark, direction, from_ms, for_ms, .. } = self;
        let path = |path: &Path| format!("{} Mbit/s, {} ms", path.mbps, path.delay_ms);
        let [a, b] = self.paths.each_ref().map(path);
        let dark = dark + 1;
        write!(
            f,
            "{scheduler}, the engine as {sender}, seed {seed}: {a}; {b}; path {dark} dark from {from_ms} for {for_ms} ms ({direction})"
        )
    }
}
