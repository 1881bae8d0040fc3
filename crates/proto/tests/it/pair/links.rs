//! The paths between the two hosts, and what a script does with each packet.

use super::{Packet, Side};
use core::convert::Infallible;
use core::net::IpAddr;
use pathweave_driver::{PacketIo, Received};
use pathweave_proto::PacketTooBig;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, MAX_OPTION_BYTES, Segment};
use std::collections::{BTreeMap, VecDeque};

use super::packet::Fate;

type Script = Box<dyn FnMut(&mut Packet) -> Fate>;

pub(super) struct Flying {
    to: Side,
    pub(super) path: usize,
    ecn: Ecn,
    segment: Segment,
}

pub(crate) struct Path {
    pub(crate) addresses: [IpAddr; 2],
    pub(crate) delay: Duration,
    pub(crate) up: bool,
    /// Size of the largest IP packet that a link on the path takes, and whether the link reports larger ones.
    pub(crate) narrow: Option<(u32, Says)>,
}

/// What happens to the message that a packet was too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// It reaches the sender after the path's delay.
    Message,
    Nothing,
}

pub(crate) struct Links {
    pub(crate) paths: Vec<Path>,
    /// Packets on their way, by time of arrival and number.
    pub(super) flying: BTreeMap<(Instant, usize), Flying>,
    pub(super) script: Script,
    /// Every packet that was sent, as the script left it.
    pub(crate) log: Vec<Packet>,
    /// Whether data is virtual, without contents.
    pub(crate) virtual_payload: bool,
    /// Most bytes of a packet.
    pub(super) mtu: u32,
    /// The newest initial sequence number of each end, by path.
    pub(super) isns: Vec<[u32; 2]>,
    /// Messages about packets that were too large: time of arrival, and index of the host.
    messages: VecDeque<(Instant, usize, PacketTooBig)>,
    /// Most segments that hosts send as one, and how often they have sent several.
    pub(crate) max_segments: usize,
    pub(crate) several_sent: u32,
    /// Whether segments that arrive at one time and can be joined arrive as one.
    pub(crate) joins: bool,
    pub(crate) several_arrived: u32,
    place: Segment,
    /// Whether a packet was handed out in this round: applications act after each one.
    handed_out: bool,
}

impl Links {
    pub(super) fn new(paths: Vec<Path>, mtu: u32) -> Links {
        Links {
            flying: BTreeMap::new(),
            script: Box::new(|_| Fate::Pass),
            log: Vec::new(),
            virtual_payload: false,
            mtu,
            isns: vec![[0; 2]; paths.len()],
            paths,
            messages: VecDeque::new(),
            max_segments: 1,
            several_sent: 0,
            joins: false,
            several_arrived: 0,
            place: Segment::default(),
            handed_out: false,
        }
    }

    /// Sends the message of the link for which a packet was too large.
    fn tell(&mut self, now: Instant, packet: &Packet) {
        let path = &self.paths[packet.path];
        if let Some((mtu, Says::Message)) = path.narrow {
            let Segment { src: local, dst: remote, seq: sequence, .. } = packet.segment;
            let message = PacketTooBig { local, remote, sequence, mtu };
            self.messages.push_back((now + path.delay, packet.from as usize, message));
        }
    }

    /// Joins arriving packets to `segment`, which has just arrived, as far as they continue it.
    fn join_arrivals(&mut self, at: Instant, to: Side, ecn: Ecn, segment: &mut Segment) {
        while let Some(next) = self.flying.first_entry()
            && next.key().0 == at
            && (next.get().to as usize, next.get().ecn) == (to as usize, ecn)
            && segment.try_join(&next.get().segment)
        {
            next.remove();
        }
        self.several_arrived += u32::from(segment.segment_size.is_some());
    }

    fn check(&self, segment: &Segment) {
        if !segment.payload.is_empty() && !self.virtual_payload {
            assert!(
                !segment.payload.is_virtual(),
                "a segment of a stream of real bytes carries real bytes: {segment:?}"
            );
        }
        assert!(segment.options.wire_len() <= MAX_OPTION_BYTES, "options fit: {:?}", segment.options);
        assert!(segment.ip_len() <= self.mtu, "{} bytes on a path of {}", segment.ip_len(), self.mtu);
    }
}

impl PacketIo for Links {
    type Error = Infallible;

    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, Infallible> {
        let first = self.flying.first_entry().filter(|first| first.key().0 <= now && !self.handed_out);
        self.handed_out = first.is_some();
        let Some(((at, _), flying)) = first.map(|first| first.remove_entry()) else { return Ok(None) };
        let Flying { to, ecn, mut segment, .. } = flying;
        if self.joins {
            self.join_arrivals(at, to, ecn, &mut segment);
        }
        self.place = segment;
        Ok(Some(Received { host: to as usize, ecn, segment: &self.place }))
    }

    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, Infallible> {
        let mut segment = Segment::default();
        let Some(ecn) = fill(&mut segment) else { return Ok(false) };
        self.several_sent += u32::from(segment.segment_size.is_some());
        assert!(segment.part_count() as usize <= self.max_segments, "no more than were asked for: {segment:?}");
        segment.parts().for_each(|part| self.send_one(now, host, part, ecn));
        Ok(true)
    }

    fn max_segments(&self) -> usize {
        self.max_segments
    }

    fn receive_packet_too_big(&mut self, now: Instant) -> Option<(usize, PacketTooBig)> {
        let (_, host, message) = self.messages.pop_front_if(|(at, ..)| *at <= now)?;
        Some((host, message))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let message = self.messages.front().map(|(at, ..)| *at);
        self.flying.keys().map(|(at, _)| *at).next().into_iter().chain(message).min()
    }
}

impl Links {
    fn send_one(&mut self, now: Instant, host: usize, segment: Segment, ecn: Ecn) {
        let ends = [segment.src.ip(), segment.dst.ip()];
        let path = self.paths.iter().position(|p| p.addresses[host] == ends[0] && p.addresses[1 - host] == ends[1]);
        let Some(path) = path else { panic!("no route for {segment:?}") };
        self.check(&segment);
        if segment.flags.contains(Flags::SYN) {
            self.isns[path][host] = segment.seq;
        }
        let number = self.log.len();
        let mut packet = Packet { at: now, from: Side::of(host), path, segment, ecn, number };
        let fate = (self.script)(&mut packet);
        self.log.push(packet.clone());
        let base = now + self.paths[path].delay;
        let arrivals = match fate {
            _ if !self.paths[path].up => vec![],
            _ if self.paths[path].narrow.is_some_and(|(mtu, _)| packet.segment.ip_len() > mtu) => {
                self.tell(now, &packet);
                vec![]
            }
            Fate::Pass => vec![base],
            Fate::Drop => vec![],
            Fate::Late(extra) => vec![base + extra],
            Fate::Twice(extra) => vec![base, base + extra],
        };
        for at in arrivals {
            let Packet { from, ecn, segment, .. } = packet.clone();
            self.flying.insert((at, number), Flying { to: from.other(), path, ecn, segment });
        }
    }
}
