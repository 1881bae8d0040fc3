//! Two hosts with the engine, the network between them, and nothing else, to measure the cost of the engine and the
//! network alone.
//!
//! In [`World`] the data is virtual. In [`Transfer`] it has bytes, and a wire in memory replaces the network. The loop
//! is the driver's, as in the simulator of `pathweave-lab`, which adds scenarios, metrics and the digest.

mod transfer;
mod world;

pub use transfer::{Transfer, TransferSetup};
pub use world::{Setup, World, minrtt_and_reno};

/// Processor time of this process, user and system, in seconds. Linux counts it in hundredths.
pub fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // utime and stime are fields 14 and 15 of proc(5). Fields are split after the program's name (field 2), because the
    // name may contain spaces and brackets.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks as f64 / 100.0)
}

/// Peak resident memory of this process (`VmHWM`), bytes.
pub fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Work that is done about as many times as the argument says. It returns the exact number.
pub type Work = fn(u64) -> u64;

/// Runs the work that the command line names, with the count that it gives, and prints the result. Without arguments,
/// prints the names of all work.
///
/// # Panics
/// If there is no such work, or the count is not a number.
pub fn run(work: &[(&str, Work)]) {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let [name, count] = &arguments[..] else {
        return work.iter().for_each(|(name, _)| println!("{name}"));
    };
    let (_, work) = work.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("there is no {name}"));
    println!("{}", work(count.parse().unwrap_or_else(|e| panic!("{count}: {e}"))));
}
