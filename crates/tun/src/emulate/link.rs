//! Moves packets between devices through the simulator's network.

use super::nap::Nap;
use super::series::Series;
use crate::{Clock, Device};
use pathweave_netsim::{Fate, NetEvent, Network, Pool, RouteId, Tagged};
use pathweave_units::{Duration, Instant};
use pathweave_wire::Ecn;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::{gettid, set_current_timer_slack};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

/// Longest sleep, and so the longest time between two calls of `go_on`.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// Time by which the kernel may prolong a sleep, nanoseconds. Linux's default is 50,000.
const TIMER_SLACK: NonZeroU64 = NonZeroU64::new(1000).expect("it is not zero");
/// Bytes of an IPv4 header without options.
const IPV4_BYTES: usize = 20;
/// Most packets read from one device before the other devices have their turn.
const BURST: usize = 64;

/// The devices and routes of a path.
#[derive(Debug)]
pub struct Ends {
    /// The device in the client's namespace.
    pub client: Device,
    /// The device in the server's namespace.
    pub server: Device,
    /// The route from the client to the server, and the route back.
    pub ways: (RouteId, RouteId),
}

/// A packet on its way through the network.
#[derive(Debug, Default)]
struct Slot {
    packet: Vec<u8>,
    sent: Instant,
}

/// A packet that leaves more than this time after it should have left counts as late.
pub const LATE: Duration = Duration::from_micros(500);

/// Traffic of one direction of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Packets delivered at the path's end.
    pub packets: u64,
    /// Bytes of the delivered packets.
    pub bytes: u64,
    /// Packets dropped at a full queue or by CoDel.
    pub dropped_by_queue: u64,
    /// Packets lost for any other reason.
    pub lost: u64,
}

/// The traffic, and how well the packets' departure times were kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Duration of the emulation.
    pub elapsed: Duration,
    /// Traffic of each path: from the client, and from the server.
    pub paths: Vec<[Carried; 2]>,
    /// The traffic over time.
    pub series: Series,
    /// Packets delivered more than [`LATE`] after their time.
    pub late: u64,
    /// Largest delay of a delivery behind its time.
    pub longest: Duration,
    /// Whether the emulating thread had real-time priority.
    pub has_priority: bool,
}

/// Asks the kernel for real-time priority for this thread. A helper process does it, because the call is not available
/// without `unsafe`. Returns false if this process may not have that priority.
fn ask_for_priority() -> bool {
    let thread = gettid().as_raw_nonzero().to_string();
    let mut command = Command::new("chrt");
    command.args(["--fifo", "--pid", "1", &thread]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Forwards packets until `go_on` returns false. The network's time zero is the time of the call. `go_on` is called at
/// least every 20 ms.
///
/// This thread gets real-time priority if the system allows it, and keeps it, so it should do nothing else.
///
/// # Errors
/// If a device fails.
pub fn forward(
    network: &mut Network<Tagged<u32>>,
    ends: &[Ends],
    mut go_on: impl FnMut(Instant) -> bool,
) -> io::Result<Report> {
    let report = Report {
        has_priority: ask_for_priority(),
        paths: vec![Default::default(); ends.len()],
        series: Series::new(ends.len()),
        ..Report::default()
    };
    set_current_timer_slack(Some(TIMER_SLACK))?;
    let most = ends.iter().map(|e| usize::from(e.client.mtu())).max().unwrap_or(0);
    let (clock, pool, nap) = (Clock::start(), Pool::default(), Nap::default());
    let mut forwarder = Forwarder { network, ends, most, clock, pool, nap, report };
    loop {
        let busy = forwarder.read_in()?;
        let now = forwarder.clock.now();
        forwarder.deliver(now)?;
        forwarder.note(now);
        if !go_on(now) {
            return Ok(forwarder.report);
        }
        if !busy {
            forwarder.sleep()?;
        }
    }
}

/// The devices, the network between them, and counts of its traffic so far.
struct Forwarder<'a> {
    network: &'a mut Network<Tagged<u32>>,
    ends: &'a [Ends],
    /// The size of the largest packet, bytes.
    most: usize,
    clock: Clock,
    pool: Pool<Slot>,
    nap: Nap,
    report: Report,
}

impl Forwarder<'_> {
    /// Gives the network up to [`BURST`] packets of each device. Returns whether there were any.
    fn read_in(&mut self) -> io::Result<bool> {
        let mut busy = false;
        for Ends { client, server, ways } in self.ends {
            for (device, way) in [(client, ways.0), (server, ways.1)] {
                for _ in 0..BURST {
                    let (slot, Slot { packet, sent }) = self.pool.free_slot();
                    packet.clear();
                    packet.reserve(self.most);
                    if device.read_packet(packet)?.is_none() {
                        break;
                    }
                    busy = true;
                    *sent = self.clock.now();
                    let (len_bytes, ecn, sent) = (packet.len() as u32, ecn_of(packet), *sent);
                    self.network.send(sent, way, self.pool.fill(slot, len_bytes, ecn));
                }
            }
        }
        Ok(busy)
    }

    /// Writes the packets that have arrived by `now` to their devices, and counts them and those that were lost.
    fn deliver(&mut self, now: Instant) -> io::Result<()> {
        while let Some(event) = self.network.poll(now) {
            let route = event.tap().route;
            let to = self.ends.iter().enumerate().find_map(|(path, end)| match route {
                route if route == end.ways.0 => Some((&end.server, path, 0)),
                route if route == end.ways.1 => Some((&end.client, path, 1)),
                _ => None,
            });
            let Some((device, path, way)) = to else { continue };
            let (carried, sample) = (&mut self.report.paths[path][way], self.report.series.now(path, way));
            match event {
                NetEvent::Delivered { tap, mut packet, .. } => {
                    // A copy that is still on its way has the same bytes, so a change applies to both, as if an earlier
                    // link had made it.
                    let Slot { packet: bytes, sent } = self.pool.get_mut(packet.tag);
                    if tap.fate == Fate::Corrupted || packet.corrupted {
                        packet.corrupted = true;
                        bytes.last_mut().into_iter().for_each(|byte| *byte ^= 0x55);
                    }
                    if packet.ecn == Ecn::Ce {
                        mark(bytes);
                    }
                    device.write_packet(bytes)?;
                    carried.packets += 1;
                    carried.bytes += bytes.len() as u64;
                    let delivered = self.clock.now();
                    let (late, delay) = (delivered.since(tap.at), delivered.since(*sent));
                    sample.packets += 1;
                    sample.bytes += bytes.len() as u64;
                    sample.delays += delay;
                    sample.longest_delay = sample.longest_delay.max(delay);
                    self.report.late += u64::from(late > LATE);
                    self.report.longest = self.report.longest.max(late);
                    self.pool.release(packet.tag);
                }
                NetEvent::Dropped { tap, packet } => {
                    match tap.fate {
                        Fate::QueueFull | Fate::Codel => carried.dropped_by_queue += 1,
                        _ => carried.lost += 1,
                    }
                    sample.dropped += 1;
                    self.pool.release(packet.tag);
                }
                NetEvent::Duplicated { packet, .. } => self.pool.share(packet.tag),
                NetEvent::Forwarded { .. } => {}
            }
        }
        Ok(())
    }

    /// Brings the series and the elapsed time up to `now`.
    fn note(&mut self, now: Instant) {
        let (network, ends) = (&*self.network, self.ends);
        self.report.series.go_on(now, |path, way| {
            let route = if way == 0 { ends[path].ways.0 } else { ends[path].ways.1 };
            network.route_links(route).map(|link| network.link_queue(link).1).sum()
        });
        self.report.elapsed = now.since(Instant::ZERO);
    }

    /// Waits for a packet of a device, until the next departure, or for [`LONGEST_SLEEP`].
    fn sleep(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let next = now + LONGEST_SLEEP;
        let next = self.network.poll_timeout().map_or(next, |departure| departure.min(next));
        let Some(sleep) = self.nap.until(now, next) else { return Ok(()) };
        let timeout = Timespec { tv_sec: 0, tv_nsec: sleep.as_nanos() as _ };
        let devices = self.ends.iter().flat_map(|e| [&e.client, &e.server]);
        let mut descriptors: Vec<PollFd<'_>> =
            devices.map(|device| PollFd::from_borrowed_fd(device.as_fd(), PollFlags::IN)).collect();
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(0) => self.nap.learn(self.clock.now().since(now + sleep)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// The ECN codepoint of an IP packet.
fn ecn_of(packet: &[u8]) -> Ecn {
    match packet {
        [version, class, ..] if version >> 4 == 4 => Ecn::from_traffic_class(*class),
        [version, class, ..] if version >> 4 == 6 => Ecn::from_traffic_class(*class >> 4),
        _ => Ecn::from_traffic_class(0),
    }
}

/// Sets the mark of a congested queue in an IP packet (RFC 3168 §5).
fn mark(packet: &mut [u8]) {
    match packet {
        [version, class, ..] if *version >> 4 == 6 => *class |= 0x30,
        [version, ..] if *version >> 4 == 4 && packet.len() >= IPV4_BYTES => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= 3;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            // RFC 1624, equation 3.
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = (sum & 0xffff) + (sum >> 16);
            packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_wire::Segment;
    use pathweave_wire::codec::{decode, encode};

    #[test]
    fn a_marked_packet_has_a_right_checksum() {
        for address in ["10.0.0.1:1", "[fd00::1]:1"] {
            let address = address.parse().expect("an address");
            let segment = Segment::new(address, address);
            for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                let mut packet = Vec::new();
                encode(&segment, ecn, &mut packet).expect("it has a form");
                assert_eq!(ecn_of(&packet), ecn);
                mark(&mut packet);
                assert_eq!(decode(&packet).map(|p| p.ecn), Ok(Ecn::Ce), "{address}, {ecn:?}");
            }
        }
    }
}
