//! The attackers' packets during a run.

use crate::attackers::{Attacker, Forgery, Sees};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::mptcp::{
    AddressId, AddressIds, CapableContent, CapableFlags, DataNumber, Dss, Key, Mapping, MpCapable, MpJoin, MptcpOption,
    ResetReason, Token,
};
use pathweave_wire::{Flags, PacketTooBig, Payload, SackBlock, Segment, Timestamps, crypto};

/// Number of a host's arrived packets that are remembered.
const REMEMBERED: usize = 128;

/// A packet or message from an attacker to its victim.
#[derive(Debug)]
pub(crate) enum Forged {
    Segment(Segment),
    Message(PacketTooBig),
}

pub(crate) struct Forger<'c> {
    attackers: &'c [Attacker],
    random: Random,
    /// Time of each attacker's next packet, and the number of packets left.
    next: Vec<(Instant, u64)>,
    /// Addresses and ports of the subflows: the client's and the server's.
    tuples: Vec<(SocketAddr, SocketAddr)>,
    /// A part of the packets that have arrived at each host, the newest last.
    arrived: [Vec<Segment>; 2],
    /// Keys of the client and the server, once they were seen in a packet.
    keys: [Option<Key>; 2],
}

impl<'c> Forger<'c> {
    pub(crate) fn new(seed: u64, attackers: &'c [Attacker]) -> Forger<'c> {
        Forger {
            attackers,
            random: Random::substream(seed, "attackers"),
            next: attackers.iter().map(|a| (a.first, a.packets)).collect(),
            tuples: Vec::new(),
            arrived: [Vec::new(), Vec::new()],
            keys: [None; 2],
        }
    }

    /// Time at which the next forged packet arrives.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next.iter().filter(|(_, left)| *left > 0).map(|(at, _)| *at).min()
    }

    /// Notes the addresses and ports of a packet that a host sends.
    pub(crate) fn see_ports(&mut self, from_client: bool, segment: &Segment) {
        if self.attackers.is_empty() {
            return;
        }
        let tuple = if from_client { (segment.src, segment.dst) } else { (segment.dst, segment.src) };
        if !self.tuples.contains(&tuple) {
            self.tuples.push(tuple);
        }
    }

    /// Notes a packet that arrives at a host.
    pub(crate) fn see_packet(&mut self, host: usize, segment: &Segment) {
        if self.attackers.iter().all(|a| a.sees == Sees::Ports) {
            return;
        }
        for option in &segment.options.mptcp {
            if let MptcpOption::Capable(MpCapable { content, .. }) = option {
                match *content {
                    CapableContent::Syn => {}
                    CapableContent::SynAck { sender } => self.keys[1] = Some(sender),
                    CapableContent::Ack { sender, receiver, .. } => self.keys = [Some(sender), Some(receiver)],
                }
            }
        }
        let arrived = &mut self.arrived[host];
        if arrived.len() == REMEMBERED {
            arrived.remove(self.random.below(REMEMBERED as u64) as usize);
        }
        arrived.push(segment.clone());
    }

    /// The next packet that is due, and its victim.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(usize, Forged)> {
        loop {
            let i = self.next.iter().position(|(at, left)| *left > 0 && *at <= now)?;
            let attacker = &self.attackers[i];
            let (at, left) = &mut self.next[i];
            (*at, *left) = (*at + attacker.pause, *left - 1);
            let forgery = attacker.forgeries[self.random.below(attacker.forgeries.len() as u64) as usize];
            if let Some(forged) = self.forge(attacker, forgery) {
                return Some((attacker.victim, forged));
            }
        }
    }

    fn forge(&mut self, attacker: &Attacker, forgery: Forgery) -> Option<Forged> {
        let victim = attacker.victim;
        let among = self.random.below(self.tuples.len().max(1) as u64) as usize;
        let (client, server) = *self.tuples.get(among)?;
        let (us, them) = if victim == 0 { (client, server) } else { (server, client) };
        let seen = match attacker.sees {
            Sees::Ports => None,
            _ => self.arrived[victim].iter().rev().find(|s| s.src == them && s.dst == us).cloned(),
        };
        if forgery == Forgery::Copy {
            let arrived = &self.arrived[victim];
            let which = self.random.below(arrived.len().max(1) as u64) as usize;
            return arrived.get(which).cloned().map(Forged::Segment);
        }
        if forgery == Forgery::TooBig {
            let sequence = seen.as_ref().map_or_else(|| self.random.next_u32(), |s| s.ack);
            let mtu = self.random.below(1600) as u32;
            return Some(Forged::Message(PacketTooBig { local: us, remote: them, sequence, mtu }));
        }
        let mut segment = self.plausible(us, them, seen.as_ref());
        let data_ack = seen.as_ref().and_then(|s| s.options.dss?.data_ack);
        let mapping = seen.as_ref().and_then(|s| s.options.dss?.mapping);
        let keys = (self.keys[1 - victim], self.keys[victim]);
        let keys = if let (Sees::Packets, (Some(sender), Some(receiver))) = (attacker.sees, keys) {
            (sender, receiver)
        } else {
            (Key(self.random.next_u64()), Key(self.random.next_u64()))
        };
        let random = &mut self.random;
        let number = DataNumber::Long(random.next_u64());
        let after = mapping.map_or(number, |m| match m.dsn {
            DataNumber::Short(n) => DataNumber::Short(n.wrapping_add(u32::from(m.len))),
            DataNumber::Long(n) => DataNumber::Long(n.wrapping_add(u64::from(m.len))),
        });
        let dss = &mut segment.options.dss;
        let mut option = None;
        match forgery {
            Forgery::Reset => segment.flags = if random.chance(0.5) { Flags::RST } else { Flags::RST | Flags::ACK },
            Forgery::Syn | Forgery::SynAck => {
                segment.flags = if forgery == Forgery::Syn { Flags::SYN } else { Flags::SYN | Flags::ACK };
                segment.options.mss = Some(1460);
                let flags = CapableFlags::default();
                let sender = Key(random.next_u64());
                let content =
                    if forgery == Forgery::Syn { CapableContent::Syn } else { CapableContent::SynAck { sender } };
                option = random.chance(0.5).then_some(MptcpOption::Capable(MpCapable { flags, content }));
            }
            Forgery::Acknowledgement => {
                segment.ack = segment.ack.wrapping_add(random.below(100_000) as u32);
                if random.chance(0.5) {
                    let right = segment.ack.wrapping_add(random.below(100_000) as u32);
                    segment.options.sack.push(SackBlock { left: right.wrapping_sub(1000), right });
                }
            }
            Forgery::Data => {
                let bytes: Vec<u8> = (0..=random.below(1300)).map(|_| random.next_u32() as u8).collect();
                let len = bytes.len() as u16;
                *dss = random.chance(0.7).then_some(Dss {
                    data_ack: Some(data_ack.unwrap_or(number)),
                    mapping: Some(Mapping { dsn: after, ssn: mapping.map_or(1, |m| m.ssn), len, checksum: None }),
                    data_fin: false,
                });
                segment.payload = Payload::Bytes(bytes.into());
            }
            Forgery::Fin => segment.flags |= Flags::FIN,
            Forgery::DataFin => {
                let mapping = Some(Mapping { dsn: after, ssn: 0, len: 1, checksum: None });
                *dss = Some(Dss { data_ack: Some(data_ack.unwrap_or(number)), mapping, data_fin: true });
            }
            Forgery::DataAck => {
                let beyond = random.below(100_000);
                let data_ack = data_ack.map_or(number, |n| match n {
                    DataNumber::Short(n) => DataNumber::Short(n.wrapping_add(beyond as u32)),
                    DataNumber::Long(n) => DataNumber::Long(n.wrapping_add(beyond)),
                });
                *dss = Some(Dss { data_ack: Some(data_ack), mapping: None, data_fin: false });
            }
            Forgery::AddAddress => {
                let id = AddressId(random.below(9) as u8);
                let address = if random.chance(0.5) { them.ip() } else { stranger(random, them.is_ipv4()) };
                let port = random.chance(0.3).then(|| random.next_u32() as u16);
                let hmac = Some(crypto::add_address_hmac(keys.0, keys.1, id, address, port));
                option = Some(MptcpOption::AddAddress { id, address, port, hmac });
            }
            Forgery::RemoveAddress => {
                option = Some(MptcpOption::RemoveAddress { ids: AddressIds::one(AddressId(random.below(9) as u8)) });
            }
            Forgery::Fail => option = Some(MptcpOption::Fail { dsn: random.next_u64() }),
            Forgery::FastClose => option = Some(MptcpOption::FastClose { receiver: keys.1 }),
            Forgery::Priority => option = Some(MptcpOption::Priority { backup: random.chance(0.5) }),
            Forgery::ResetWithReason => {
                segment.flags = Flags::RST | Flags::ACK;
                let reason = ResetReason::from_code(random.below(7) as u8);
                option = Some(MptcpOption::Reset { transient: random.chance(0.5), reason });
            }
            Forgery::Join => {
                segment.flags = Flags::SYN;
                segment.src.set_port(random.next_u32() as u16);
                let token = if seen.is_some() { crypto::token(keys.1) } else { Token(random.next_u32()) };
                let address_id = AddressId(random.below(9) as u8);
                let join = MpJoin::Syn { backup: random.chance(0.5), address_id, token, nonce: random.next_u32() };
                option = Some(MptcpOption::Join(join));
            }
            Forgery::Stranger => {
                segment.flags = Flags::SYN;
                segment.src = SocketAddr::new(stranger(random, us.is_ipv4()), random.next_u32() as u16);
                if random.chance(0.1) {
                    segment.src = us;
                }
                let flags = CapableFlags::default();
                option = Some(MptcpOption::Capable(MpCapable { flags, content: CapableContent::Syn }));
            }
            Forgery::TooBig | Forgery::Copy => {}
        }
        segment.options.mptcp.extend(option);
        Some(Forged::Segment(segment))
    }

    /// An acknowledgement that could come next, made from what the attacker knows.
    fn plausible(&mut self, us: SocketAddr, them: SocketAddr, seen: Option<&Segment>) -> Segment {
        let mut segment = Segment::new(them, us);
        segment.flags = Flags::ACK;
        if let Some(seen) = seen {
            (segment.seq, segment.ack) = (seen.seq.wrapping_add(seen.sequence_len()), seen.ack);
            (segment.window, segment.options.timestamps) = (seen.window, seen.options.timestamps);
        } else {
            let random = &mut self.random;
            (segment.seq, segment.ack, segment.window) =
                (random.next_u32(), random.next_u32(), random.next_u32() as u16);
            let stamps = Timestamps { value: random.next_u32(), echo: random.next_u32() };
            segment.options.timestamps = random.chance(0.5).then_some(stamps);
        }
        segment
    }
}

/// An address that no host has. Some of these can never be a sender's: multicast, broadcast, the victim's own.
fn stranger(random: &mut Random, ipv4: bool) -> IpAddr {
    let low = random.next_u32() as u16;
    match (ipv4, random.below(10)) {
        (true, 0) => Ipv4Addr::new(224, 0, 0, 1).into(),
        (true, 1) => Ipv4Addr::BROADCAST.into(),
        (true, 2) => Ipv4Addr::LOCALHOST.into(),
        (true, 3) => Ipv4Addr::from(0xc612_0000 | u32::from(low)).into(),
        (true, _) => Ipv4Addr::from(0x6440_0000 | u32::from(low)).into(),
        (false, 0) => Ipv6Addr::from([0xff02, 0, 0, 0, 0, 0, 0, 1]).into(),
        (false, 1) => Ipv6Addr::LOCALHOST.into(),
        (false, 2) => Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, low]).into(),
        (false, 3) => Ipv6Addr::from([0x2002, 0x7f00, low, 0, 0, 0, 0, 1]).into(),
        (false, _) => Ipv6Addr::from([0x2a00, 0, 0, 0, 0, 0, 0, low]).into(),
    }
}
