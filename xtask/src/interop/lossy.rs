//! Rows over emulated paths: delay, loss, reordering and duplication are further settings of the covering array.

use super::OverLinks;
use super::covering;
use super::rows::{self, Row};
use super::trial::{self, Trial, commands, device};
use std::fmt;

/// Delay one way, ms. Neighbouring paths have different delays, so that data arrives out of order over several paths.
const DELAYS_MS: [u32; 4] = [0, 5, 20, 50];
/// Random loss on each way, percent.
const LOSSES: [f64; 3] = [0.0, 0.5, 2.0];
/// Reordering: some packets are held back, so that others overtake them.
const REORDERED: &str = "2%:extra=4ms";
/// Duplication: some packets arrive twice.
const DUPLICATED: &str = "1%";
/// Each path's rate and queue.
const LINK: &str = "rate = \"20Mbps\"\nqueue = \"100packets\"";
/// Data each way, bytes.
const SIZES: [u64; 6] = [0, 1, 1000, 100_000, 1 << 20, 4 << 20];
const QUICK_SIZES: [u64; 6] = [0, 1, 1000, 30_000, 200_000, 1 << 20];
/// Longest time of a connection, seconds. 4 MiB over one path of 100 ms and 2 % loss each way take half of it.
const SECONDS: u32 = 120;
/// Amount of data that leaves time for every subflow to join: the largest of the sizes.
const ENOUGH: u64 = 4 << 20;
/// Amount that leaves time for it where no packet is lost. A SYN or an ADD_ADDR that is lost is repeated after a second
/// or more, and three paths carry this amount in less.
const ENOUGH_WITHOUT_LOSS: u64 = 1 << 20;
/// The engine's send buffer is smaller than that. With the kernel's failure detection, as `linux` has it, no subflow
/// joins after all data is written and the stream is closed.
const SEND_BUFFER: &str = "--set send_buffer=256KiB";

/// A row over emulated paths.
pub(super) struct Lossy {
    row: Row,
    /// Delay of the first path.
    delay: usize,
    loss: f64,
    reorder: bool,
    duplicate: bool,
    /// Seed of the links' random events.
    seed: u64,
    /// Amount of data with which each path must have its subflow.
    enough: u64,
}

/// All rows. Any two values of two settings are together in some row.
///
/// # Errors
/// If the schedulers cannot be listed.
pub(super) fn all(quick: bool) -> Result<Vec<Lossy>, String> {
    let (schedulers, sizes) = (rows::schedulers(quick)?, if quick { QUICK_SIZES } else { SIZES });
    let mut settings = rows::settings(&schedulers, sizes.len()).to_vec();
    let links = settings.len();
    settings.extend([DELAYS_MS.len(), LOSSES.len(), 2, 2]);
    let lossy = |(i, values): (usize, &Vec<usize>)| Lossy {
        row: Row::new(values, &schedulers, &sizes),
        delay: values[links],
        loss: LOSSES[values[links + 1]],
        reorder: values[links + 2] == 1,
        duplicate: values[links + 3] == 1,
        seed: i as u64 + 1,
        enough: if LOSSES[values[links + 1]] == 0.0 { ENOUGH_WITHOUT_LOSS } else { ENOUGH },
    };
    Ok(covering::rows(&settings).iter().enumerate().map(lossy).collect())
}

impl OverLinks for Lossy {
    fn run(&self, trial: &Trial) -> Result<(), String> {
        let found = trial.right_result()?;
        let bytes = self.row.bytes;
        // For the engine and the kernel alike.
        if !found.server.ends_with(&format!("sent {bytes} bytes\n")) {
            return Err(format!("the server: {}", found.server.lines().last().unwrap_or_default()));
        }
        self.row.has_all_subflows(&found.counters, self.enough)
    }

    fn trial(&self, name: String) -> Trial {
        let row = &self.row;
        let ours: Vec<bool> = (0..row.paths).map(|path| row.family.is_ipv4(path)).collect();
        let settings = format!("{} {SEND_BUFFER}", row.arguments().join(" "));
        let asks = format!("--both --bytes {}", row.bytes);
        let (engine, kernel) = commands(row.engine_is_client, &ours, &settings, &asks);
        Trial {
            paths: (0..row.paths).map(|path| self.link(path)).collect(),
            engine_is_client: row.engine_is_client,
            before: self.kernel_settings(),
            engine,
            kernel,
            seed: self.seed,
            ..Trial::new(name, SECONDS)
        }
    }
}

impl Lossy {
    fn link(&self, path: usize) -> String {
        let delay = DELAYS_MS[(self.delay + path) % DELAYS_MS.len()];
        let mut text = format!("{LINK}\ndelay = \"{delay}ms\"\nloss = \"{}%\"", self.loss);
        if self.reorder {
            text += &format!("\nreorder = \"{REORDERED}\"");
        }
        if self.duplicate {
            text += &format!("\nduplicate = \"{DUPLICATED}\"");
        }
        text
    }

    /// The kernel's checksums and addresses. A client joins from each of its own addresses; a server announces its
    /// addresses of the other IP version.
    fn kernel_settings(&self) -> Vec<String> {
        let row = &self.row;
        let mut all = vec![
            format!("sysctl -qw net.mptcp.checksum_enabled={}", u8::from(row.checksum.1)),
            "ip mptcp endpoint flush".to_owned(),
        ];
        for path in 1..row.paths {
            match row.engine_is_client {
                true if row.family.is_ipv4(path) == row.family.is_ipv4(0) => {}
                true => all.push(format!("ip mptcp endpoint add {} signal", address(row, path, 2))),
                false => {
                    let (address, device) = (address(row, path, 1), device(path));
                    all.push(format!("ip mptcp endpoint add {address} dev {device} subflow"));
                }
            }
        }
        all
    }
}

/// An address of an emulated path. Its last part names the host.
fn address(row: &Row, path: usize, last: u8) -> String {
    trial::address(row.family.is_ipv4(path), path, last)
}

impl fmt::Display for Lossy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reorder = if self.reorder { ", reordering" } else { "" };
        let duplicate = if self.duplicate { ", duplicates" } else { "" };
        write!(f, "{}; {} ms, {} % lost{reorder}{duplicate}", self.row, DELAYS_MS[self.delay], self.loss)
    }
}
