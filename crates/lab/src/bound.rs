//! The bound: what no scheduler can exceed with a steady use of the paths.

use crate::scenario::{Connection, Direction, Link, Rate, Scenario};
use pathweave_netsim::Jitter;
use pathweave_proto::config::ReceiveBuffer;

/// IPv4 and TCP headers without options, bytes.
const HEADERS: f64 = 40.0;
/// The timestamp option with its padding, bytes.
const TIMESTAMPS: f64 = 12.0;
/// A mapping with its DATA_ACK in each segment, bytes.
const MAPPING: f64 = 24.0;

/// One path as the bound sees it.
struct Path {
    /// Bits per second on the path, frames with all headers; infinite where nothing limits it.
    rate: f64,
    /// Bytes of the longest frame on the link that limits it.
    frame: f64,
    /// The shortest time from the sender to the receiver, seconds, one packet's transmission included.
    forward: f64,
    /// The shortest time back, seconds.
    back: f64,
}

/// The most that the measured connection can deliver in the long run, 10⁶ bit/s of the application's data; `None` where this says
/// nothing: with several measured connections, with links that follow a trace, that change or whose delay is normally distributed,
/// and where nothing limits a path.
///
/// With rᵢ the rate of path i, W the receive window, RTTᵢ the shortest round trip, and o one-way delays, where the data of the slow
/// path s takes one packet's transmission more:
///
/// > bound = max(maxᵢ min(rᵢ·1448/1514, W/RTTᵢ), min((r₀ + r₁)·1424/1514, W/(o_s + o_f)))
///
/// The first term is one path alone: it carries 1448 bytes of data in each frame of 1514, and a window each round trip.
/// The second one is both: each segment also carries the 24 bytes of a mapping. When a packet leaves on the slow path, at most a window
/// lies between the first byte that is not acknowledged and its own. Until it has arrived and its DATA_ACK has come back, over the fast path
/// at best, the connection cannot get further than a window beyond it. So of the time in which the slow path is used, each o_s + o_f
/// brings at most a window; in the rest there is one path alone.
///
/// This is no proof. It takes the first byte that is not acknowledged to move on evenly; where the data of the slow path comes in bursts and
/// the fast path fills the time between them, times that each bring a window overlap. Of the papers' experiments, one point (28.9 Mbit/s with
/// 12.2 ms, 72.9 Mbit/s with 61.4 ms, 250 KB for both buffers) exceeds it, by up to 3.7 %. What holds in every case is twice as much as the
/// window each o_s + o_f, or the rates together.
///
/// The numbers are those of the scenario: header sizes, MTU, and the delays of all links. Losses and queues only make less of it. Of
/// three paths or more, each set of paths that are as fast as its slowest counts. Paths that share a link share its rate, which is left
/// out, so the bound is higher than need be there.
///
/// A short run can deliver slightly more, because data that waited in queues at the start of the measured time counts in it.
pub fn goodput_bound_mbps(scenario: &Scenario) -> Option<f64> {
    let mut measured = scenario.connections.iter().filter(|c| c.measured);
    let (Some(connection), None) = (measured.next(), measured.next()) else { return None };
    let window = match connection.engine.receive_buffer {
        ReceiveBuffer::Fixed(bytes) | ReceiveBuffer::Auto { max: bytes, .. } => bytes as f64 * 8.0,
    };
    let used = if connection.engine.mptcp { connection.paths.len() } else { 1 };
    let mut paths = Vec::new();
    for index in connection.paths.iter().take(used) {
        paths.push(path(scenario, connection, *index)?);
    }
    let options = if connection.engine.tcp.timestamps { TIMESTAMPS } else { 0.0 };
    let data = f64::from(connection.engine.tcp.mtu) - HEADERS - options;
    let alone = |p: &Path| (p.rate * data / p.frame).min(window / (p.forward + p.back));
    let together = |slowest: &Path| {
        let used = || paths.iter().filter(|p| p.forward <= slowest.forward);
        let rates: f64 = used().map(|p| p.rate * (data - MAPPING) / p.frame).sum();
        let back = used().map(|p| p.back).fold(f64::INFINITY, f64::min);
        rates.min(window / (slowest.forward + back))
    };
    let one = paths.iter().map(alone).fold(0.0, f64::max);
    let several = if paths.len() > 1 { paths.iter().map(together).fold(0.0, f64::max) } else { 0.0 };
    let bound = one.max(several) / 1e6;
    bound.is_finite().then_some(bound)
}

fn path(scenario: &Scenario, connection: &Connection, index: usize) -> Option<Path> {
    let path = &scenario.paths[index];
    let (there, back) = match connection.direction {
        Direction::Upload => (&path.up, &path.down),
        Direction::Download => (&path.down, &path.up),
    };
    let mtu = f64::from(connection.engine.tcp.mtu);
    let mut of = Path { rate: f64::INFINITY, frame: mtu, forward: 0.0, back: 0.0 };
    for link in there.iter().map(|i| &scenario.links[*i]) {
        let frame = mtu + f64::from(link.settings.overhead_bytes);
        let (rate, transmission) = match &link.settings.shaper {
            Rate::Unlimited => (f64::INFINITY, 0.0),
            Rate::Constant(rate) => (rate.as_bps() as f64, frame * 8.0 / rate.as_bps() as f64),
            // A full bucket lets a packet through at once.
            Rate::TokenBucket { rate, .. } => (rate.as_bps() as f64, 0.0),
            Rate::Trace(_) => return None,
        };
        of.forward += shortest_delay(link)? + transmission;
        if rate / frame < of.rate / of.frame {
            (of.rate, of.frame) = (rate, frame);
        }
    }
    for link in back.iter().map(|i| &scenario.links[*i]) {
        of.back += shortest_delay(link)?;
    }
    Some(of)
}

/// Seconds; `None` where the link changes or where there is no such thing.
fn shortest_delay(link: &Link) -> Option<f64> {
    let delay = link.settings.delay.as_secs_f64();
    match link.settings.jitter {
        _ if !link.changes.is_empty() => None,
        Jitter::None => Some(delay),
        Jitter::Uniform { amplitude } => Some((delay - amplitude.as_secs_f64()).max(0.0)),
        Jitter::Normal { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::goodput_bound_mbps;
    use crate::scenario::{Document, Variant};
    use pathweave_algorithms::Registry;

    const TEXT: &str = r#"
format = 1
name = "two"
duration = "10s"
[[path]]
name = "fast"
rate = "8Mbps"
delay = "10ms"
down = { rate = "unlimited" }
[[path]]
name = "slow"
rate = "1Mbps"
delay = "75ms"
down = { rate = "unlimited" }
[[connection]]
receive_buffer = "60KB"
"#;

    fn bound(variant: &Variant, settings: &[(&str, &str)]) -> Option<f64> {
        let mut document = Document::parse("two.toml", TEXT).expect("it is TOML");
        for (key, value) in settings {
            document.set(key, value).expect("the setting is there");
        }
        let scenario = document.scenario(&Registry::builtin(), variant).expect("it is a scenario");
        goodput_bound_mbps(&scenario)
    }

    fn close(found: Option<f64>, expected: f64) {
        assert!(found.is_some_and(|b| (b - expected).abs() < 1e-3), "{found:?} instead of {expected}");
    }

    #[test]
    fn its_three_terms() {
        // The window lets 480 kbit through in 75 + 12.112 + 10 ms, which is less than the fast path alone.
        close(bound(&Variant::AsWritten, &[]), 8.0 * 1448.0 / 1514.0);
        // A large window fills both, less 90 bytes in each frame of 1514.
        close(bound(&Variant::AsWritten, &[("connection.receive_buffer", "1MB")]), 9.0 * 1424.0 / 1514.0);
        // 100 KB in 97.112 ms.
        close(bound(&Variant::AsWritten, &[("connection.receive_buffer", "100KB")]), 0.8 / 0.097_112);
        // 10 KB in a round trip of 20 ms and 1.514 ms.
        close(bound(&Variant::AsWritten, &[("connection.receive_buffer", "10KB")]), 0.08 / 0.021_514);
    }

    #[test]
    fn plain_tcp_has_one_path() {
        close(bound(&Variant::PlainTcp(0), &[]), 8.0 * 1448.0 / 1514.0);
        close(bound(&Variant::PlainTcp(1), &[]), 1448.0 / 1514.0);
    }

    #[test]
    fn where_it_says_nothing() {
        assert_eq!(bound(&Variant::AsWritten, &[("path.fast.trace", "cellular:mean_rate=12Mbps")]), None);
        assert_eq!(bound(&Variant::AsWritten, &[("path.fast.jitter", "normal:deviation=1ms")]), None);
        // Two unlimited paths: the window is what is left.
        close(bound(&Variant::AsWritten, &[("path.rate", "unlimited")]), 0.48 / 0.020);
    }
}
