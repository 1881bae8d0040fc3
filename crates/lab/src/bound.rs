//! The bound, which no scheduler can exceed in the long run.

use crate::scenario::{Connection, HostModel, Link, Rate, Scenario};
use pathweave_netsim::{Jitter, LossPosition};
use pathweave_proto::config::ReceiveBuffer;

/// IPv4 and TCP headers without options, bytes.
const HEADERS: f64 = 40.0;
/// The timestamp option with its padding, bytes.
const TIMESTAMPS: f64 = 12.0;
/// A mapping with its DATA_ACK in each segment, bytes.
const MAPPING: f64 = 24.0;
/// Size of the last segment that a kernel accepts while its send buffer has any room, bytes.
const LAST_SEGMENT: f64 = 65_536.0;

/// The properties of a path that the bound needs.
struct Path {
    /// Most frames of full size that arrive per second, without those lost at random; infinite if nothing limits them.
    frames_per_s: f64,
    /// Shortest time from the sender to the receiver without transmissions, seconds.
    forward: f64,
    /// Shortest time back, seconds.
    back: f64,
}

/// The most that the measured connection can deliver in the long run, 10⁶ bit/s of the application's data. The bound
/// does not apply, and the result is `None`, in these cases: several connections are measured; a link follows a trace,
/// changes, or has a normally distributed delay; or nothing limits a path.
///
/// Let cᵢ be the data that path i can bring each second, without the share that random losses take. Let fᵢ be the
/// path's shortest delay to the receiver, b the shortest delay back of any path, and W the window (the receive buffer,
/// or the send buffer if that is smaller). Then:
///
/// > bound = max Σ xᵢ, where 0 ≤ xᵢ ≤ cᵢ and Σ xᵢ·(fᵢ + b) ≤ W
///
/// A byte that arrives over path i was sent fᵢ earlier at the latest, and is acknowledged b later at the earliest.
/// During all this time the byte takes up room in the window, and all bytes together take up at most W at any time.
/// `docs/notes/the-bound.md` has the whole proof, and says what it leaves out. The maximum is reached by filling the
/// paths in the order of their delays.
///
/// The numbers are those of the scenario: header sizes, MTU, random losses and the delays of all links. Paths that
/// share a link count with the link's whole rate each, so the bound is higher than necessary for them.
///
/// A short run can deliver slightly more, because data that waited at the receiver when the measured time began counts
/// in the run.
pub fn goodput_bound_mbps(scenario: &Scenario) -> Option<f64> {
    let mut measured = scenario.connections.iter().filter(|c| c.measured);
    let (Some(connection), None) = (measured.next(), measured.next()) else { return None };
    let used = if connection.engine.mptcp { connection.paths.len() } else { 1 };
    let mut paths = Vec::new();
    for index in connection.paths.iter().take(used) {
        paths.push(path(scenario, connection, *index, shortest_delay)?);
    }
    let window = window_bits(connection);
    let (plain, mapped) = (8.0 * plain_data(connection), 8.0 * data_per_frame(connection));
    // Each path alone: a connection that has fallen back to plain TCP sends no mappings.
    let alone = |p: &Path| (p.frames_per_s * plain).min(window / (p.forward + p.back));
    let one = paths.iter().map(alone).fold(0.0, f64::max);
    let several = if paths.len() > 1 { together(&mut paths, window, mapped) } else { 0.0 };
    let bound = one.max(several) / 1e6;
    bound.is_finite().then_some(bound)
}

/// Goodput of two paths behind one window in steady state, if every window is sent in order, 10⁶ bit/s of the
/// application's data. `None` if the measured connection does not have two paths, or if [`goodput_bound_mbps`] is
/// `None`.
///
/// Symbols: rᵢ is the rate of path i in bit/s, W the window in bits, RTTᵢ the round trip of path i in seconds with one
/// packet's transmission, o_slow the longer delay to the receiver with one packet's transmission, and o_fast the
/// shorter delay back, both in seconds:
///
/// > max(min(rᵢ·1448/1514, W/RTTᵢ), min((r₀ + r₁)·1424/1514, W/(o_slow + o_fast)))
///
/// 1448 and 1424 bytes are the data of a frame of 1514 bytes without and with a mapping; other MTUs have other values.
/// Delays are those of the scenario, with the mean of their jitter. The result is an aim and not a bound, because
/// bursts exceed it.
pub fn two_path_formula_mbps(scenario: &Scenario) -> Option<f64> {
    let mut measured = scenario.connections.iter().filter(|c| c.measured);
    let (Some(connection), None) = (measured.next(), measured.next()) else { return None };
    let [first, second] = connection.paths[..] else { return None };
    let named = |link: &Link| shortest_delay(link).map(|_| link.settings.delay.as_secs_f64());
    let paths = [path(scenario, connection, first, named)?, path(scenario, connection, second, named)?];
    let window = window_bits(connection);
    let (plain, mapped) = (8.0 * plain_data(connection), 8.0 * data_per_frame(connection));
    let there = |p: &Path| p.forward + 1.0 / p.frames_per_s;
    let alone = |p: &Path| (p.frames_per_s * plain).min(window / (there(p) + p.back));
    let one = paths.iter().map(alone).fold(0.0, f64::max);
    let slow = paths.iter().map(there).fold(0.0, f64::max);
    let back = paths.iter().map(|p| p.back).fold(f64::INFINITY, f64::min);
    let frames: f64 = paths.iter().map(|p| p.frames_per_s).sum();
    let formula = one.max((frames * mapped).min(window / (slow + back))) / 1e6;
    formula.is_finite().then_some(formula)
}

/// Bytes of the application's data in a full frame of plain TCP.
fn plain_data(connection: &Connection) -> f64 {
    let options = if connection.engine.tcp.timestamps { TIMESTAMPS } else { 0.0 };
    f64::from(connection.engine.tcp.mtu) - HEADERS - options
}

/// Bytes of the application's data in a full segment of this connection, with a mapping if it uses Multipath TCP.
pub fn data_per_frame(connection: &Connection) -> f64 {
    plain_data(connection) - if connection.engine.mptcp { MAPPING } else { 0.0 }
}

/// Most that all paths together deliver, bit/s. The path with the shortest delay is filled first, which is the solution
/// of the linear programme. `data` is in bits per frame.
fn together(paths: &mut [Path], window: f64, data: f64) -> f64 {
    let back = paths.iter().map(|p| p.back).fold(f64::INFINITY, f64::min);
    paths.sort_by(|a, b| a.forward.total_cmp(&b.forward));
    let (mut sum, mut left) = (0.0, window);
    for path in paths {
        let rate = (path.frames_per_s * data).min(left / (path.forward + back));
        sum += rate;
        left = (left - rate * (path.forward + back)).max(0.0);
    }
    sum
}

/// Most data in flight beyond the first unacknowledged byte, bits.
fn window_bits(connection: &Connection) -> f64 {
    let receive = match connection.engine.receive_buffer {
        ReceiveBuffer::Fixed(bytes) | ReceiveBuffer::Auto { max: bytes, .. } => bytes as f64,
    };
    let beyond = if connection.host == HostModel::Rfc { 0.0 } else { LAST_SEGMENT };
    receive.min(connection.engine.send_buffer as f64 + beyond) * 8.0
}

/// The properties of a path. `delay` gives the seconds that a packet takes on a link, without its transmission.
fn path(
    scenario: &Scenario,
    connection: &Connection,
    index: usize,
    delay: impl Fn(&Link) -> Option<f64>,
) -> Option<Path> {
    let path = &scenario.paths[index];
    let (there, back) = path.links(connection.direction);
    let mtu = f64::from(connection.engine.tcp.mtu);
    let mut of = Path { frames_per_s: f64::INFINITY, forward: 0.0, back: 0.0 };
    for link in there.iter().map(|i| &scenario.links[*i]) {
        let rate = match &link.settings.shaper {
            Rate::Unlimited => f64::INFINITY,
            Rate::Constant(rate) | Rate::TokenBucket { rate, .. } => rate.as_bps() as f64,
            Rate::Trace(_) => return None,
        };
        let frame = (mtu + f64::from(link.settings.overhead_bytes)) * 8.0;
        of.forward += delay(link)?;
        if link.settings.loss_position == LossPosition::BeforeQueue {
            of.frames_per_s *= survivors(link);
        }
        of.frames_per_s = of.frames_per_s.min(rate / frame);
        if link.settings.loss_position == LossPosition::AfterQueue {
            of.frames_per_s *= survivors(link);
        }
    }
    for link in back.iter().map(|i| &scenario.links[*i]) {
        of.back += delay(link)?;
    }
    Some(of)
}

/// Fraction of the packets that random loss spares.
fn survivors(link: &Link) -> f64 {
    1.0 - link.settings.loss.share()
}

/// Shortest delay of a link, seconds. `None` if the link changes or its delay has no lower limit.
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
    use super::{goodput_bound_mbps, two_path_formula_mbps};
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
    fn the_path_with_the_shorter_delay_is_filled_first() {
        // 480 kbit: the fast path holds 7.5 Mbit/s · 20 ms of it, the slow one 0.9 Mbit/s · 85 ms. Both fit.
        close(bound(&Variant::AsWritten, &[]), 9.0 * 1424.0 / 1514.0);
        // With 200 kbit, the slow path gets less than its rate.
        let fast = 8.0 * 1424.0 / 1514.0;
        let left = 0.2 - fast * 0.020;
        close(bound(&Variant::AsWritten, &[("connection.receive_buffer", "25KB")]), fast + left / 0.085);
        // 160 kbit: mappings cost more than the slow path adds. Without mappings there is only one path.
        close(bound(&Variant::AsWritten, &[("connection.receive_buffer", "20KB")]), 8.0 * 1448.0 / 1514.0);
        // The fast path carries 80 kbit in each round trip of 20 ms.
        close(bound(&Variant::AsWritten, &[("connection.receive_buffer", "10KB")]), 0.08 / 0.020);
    }

    #[test]
    fn the_formula_has_a_transmission_on_the_way_there() {
        let formula = |buffer: &str| {
            let mut document = Document::parse("two.toml", TEXT).expect("it is TOML");
            document.set("connection.receive_buffer", buffer).expect("the setting is there");
            two_path_formula_mbps(
                &document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is a scenario"),
            )
        };
        let frame = 1514.0 * 8.0 / 1e6;
        // With a large window, the bound is the sum of the rates. With a middle one it is the faster path's rate, and
        // with a small one a window in each round trip of the faster path.
        close(formula("1MB"), 9.0 * 1424.0 / 1514.0);
        close(formula("60KB"), 8.0 * 1448.0 / 1514.0);
        close(formula("10KB"), 0.08 / (0.020 + frame / 8.0));
        // Between these, it is one window in each 75 ms, a transmission at 1 Mbit/s and 10 ms back.
        close(formula("99KB"), 0.792 / (0.085 + frame));
    }

    #[test]
    fn a_smaller_send_buffer_is_the_window() {
        let small = [("connection.send_buffer", "10KB"), ("connection.host", "rfc")];
        close(bound(&Variant::AsWritten, &small), 0.08 / 0.020);
    }

    #[test]
    fn what_is_lost_at_random_does_not_arrive() {
        let (fast, slow) = (8.0 * 1424.0 / 1514.0, 1424.0 / 1514.0);
        let after = [("path.slow.loss", "2%"), ("path.slow.loss_position", "after")];
        close(bound(&Variant::AsWritten, &after), fast + slow * 0.98);
        // A loss before the queue takes nothing of the link's rate.
        let before = [("path.slow.loss", "2%"), ("path.slow.loss_position", "before")];
        close(bound(&Variant::AsWritten, &before), fast + slow);
    }

    #[test]
    fn three_paths_share_the_window() {
        let third = TEXT.replace(
            "[[connection]]",
            "[[path]]\nname = \"third\"\nrate = \"4Mbps\"\ndelay = \"40ms\"\ndown = { rate = \"unlimited\" }\n[[connection]]",
        );
        let mut document = Document::parse("three.toml", &third).expect("it is TOML");
        document.set("connection.receive_buffer", "40KB").expect("the setting is there");
        let scenario = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is a scenario");
        let (fast, middle) = (8.0 * 1424.0 / 1514.0, 4.0 * 1424.0 / 1514.0);
        // The slowest path gets no part of the window: not even the middle one gets enough for its rate.
        let left = 0.32 - fast * 0.020;
        assert!(left / 0.050 < middle, "the middle path is short of window");
        close(goodput_bound_mbps(&scenario), fast + left / 0.050);
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
        // With two unlimited paths, only the window limits the goodput.
        close(bound(&Variant::AsWritten, &[("path.rate", "unlimited")]), 0.48 / 0.020);
    }
}
