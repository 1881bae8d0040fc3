//! The paths between two hosts: their addresses, shared bottlenecks and faults.

use crate::draw::{Draw, LIMIT};
use crate::middlebox::Tampering;
use core::net::{IpAddr, Ipv6Addr};
use pathweave_units::{Duration, Instant};

/// The faults in one direction of a path. Numbers are probabilities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction {
    pub(crate) loss: f64,
    pub(crate) duplicate: f64,
    /// The probability that a packet is late, and the largest delay of such a packet.
    pub(crate) reorder: f64,
    pub(crate) late_by: Duration,
    /// A copy arrives seconds later.
    pub(crate) ghost: f64,
    /// Data that a checksum covers is changed.
    pub(crate) corrupt: f64,
    pub(crate) tampering: Vec<Tampering>,
}

#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// The numbers of the client's address and of the server's address that the path joins.
    pub(crate) ends: [u8; 2],
    /// The path whose rate and queue this path uses: itself, or the first path.
    pub(crate) bottleneck: usize,
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    /// The rate in bytes per second, and the bytes that can wait.
    pub(crate) rate: u64,
    pub(crate) queue: u64,
    /// To the server, to the client.
    pub(crate) directions: [Direction; 2],
    pub(crate) outages: Vec<(Instant, Instant)>,
    /// Whether a middlebox replaces the hosts' sequence numbers by its own.
    pub(crate) renumbers: bool,
}

/// The IP versions of a run's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    Four,
    Six,
    /// IPv6 for every second address.
    Both,
}

impl Versions {
    /// A host's address by its number.
    pub(crate) fn address(self, number: u8, server: bool) -> IpAddr {
        let host = if server { 2 } else { 1 };
        match self == Versions::Six || (self == Versions::Both && number % 2 == 1) {
            true => Ipv6Addr::from([0xfd00, 0, 0, u16::from(number) + 1, 0, 0, 0, host]).into(),
            false => IpAddr::from([10, 0, number + 1, host as u8]),
        }
    }
}

/// Draws the addresses that the paths join, in the order of the paths, and their IP versions. The first path joins the
/// first addresses.
pub(crate) fn shape(d: &mut Draw) -> (Vec<[u8; 2]>, Versions) {
    let version = if d.chance(0.2) { Versions::Six } else { Versions::Four };
    let several = d.between(2, 3) as u8;
    match d.between(0, 9) {
        0..=5 => {
            let versions = if d.chance(0.1) { Versions::Both } else { version };
            ((0..d.one(&[1, 1, 2, 2, 2, 3, 4])).map(|p| [p, p]).collect(), versions)
        }
        6..=7 => ((0..several).map(|client| [client, 0]).collect(), version),
        8 => ((0..several).map(|server| [0, server]).collect(), version),
        _ => (vec![[0, 0], [1, 1], [0, 1], [1, 0]], version),
    }
}

fn direction(d: &mut Draw, lossy: f64, tampers: bool) -> Direction {
    let tampering = match tampers && d.chance(0.6) {
        true => (0..d.between(1, 2)).map(|_| Tampering::draw(d)).collect(),
        false => Vec::new(),
    };
    Direction {
        loss: if d.chance(0.7) { lossy } else { d.mostly_none(0.5, 0.3) },
        duplicate: d.mostly_none(0.6, 0.1),
        reorder: d.mostly_none(0.5, 0.2),
        late_by: d.millis(1, 400),
        ghost: d.mostly_none(0.8, 0.02),
        corrupt: d.mostly_none(0.7, 0.05),
        tampering,
    }
}

impl Path {
    pub(crate) fn draw(d: &mut Draw, ends: [u8; 2], bottleneck: usize, tampers: bool) -> Path {
        let lossy = d.mostly_none(0.4, 0.1);
        let outages = match d.chance(0.25) {
            true => (0..d.between(1, 3))
                .map(|_| {
                    let from = d.at_millis(1, 30_000);
                    let length = if d.chance(0.15) { LIMIT } else { d.millis(50, 30_000) };
                    (from, from + length)
                })
                .collect(),
            false => Vec::new(),
        };
        let delay = Duration::from_micros(d.spread(100, 200_000));
        Path {
            ends,
            bottleneck,
            delay,
            jitter: if d.chance(0.5) { Duration::ZERO } else { Duration::from_micros(d.spread(10, 20_000)) },
            rate: d.spread(20_000, 20_000_000),
            queue: d.spread(5_000, 1_000_000),
            directions: [direction(d, lossy, tampers), direction(d, lossy, tampers)],
            outages,
            renumbers: tampers && d.chance(0.15),
        }
    }

    /// Reduces the faults so far that a connection over the path can neither fail nor fall back to plain TCP.
    pub(crate) fn make_mild(&mut self) {
        self.outages.clear();
        self.rate = self.rate.max(200_000);
        self.queue = self.queue.max(50_000);
        self.renumbers = false;
        for direction in &mut self.directions {
            direction.loss = direction.loss.min(0.02);
            direction.corrupt = 0.0;
            direction.tampering.clear();
        }
    }
}
