//! Work whose instructions `cargo xtask instructions` counts: `instructions NAME COUNT` does one kind of work about so many
//! times and prints how often it was. Without arguments: the names.

use pathweave_benches::{Setup, World};

/// Does one kind of work about so many times; how often it was.
type Work = fn(u64) -> u64;

const WORK: &[(&str, Work)] = &[("tcp-segment", tcp_segment), ("mptcp-segment", mptcp_segment)];

/// A data segment of one flow with its share of acknowledgements and timers: both ends and the network.
fn tcp_segment(count: u64) -> u64 {
    World::new(&Setup::tcp()).run_until_received(count)
}

/// The same with Multipath TCP and two subflows.
fn mptcp_segment(count: u64) -> u64 {
    World::new(&Setup::mptcp()).run_until_received(count)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let [name, count] = &arguments[..] else {
        return WORK.iter().for_each(|(name, _)| println!("{name}"));
    };
    let (_, work) = WORK.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("there is no {name}"));
    println!("{}", work(count.parse().unwrap_or_else(|e| panic!("{count}: {e}"))));
}
