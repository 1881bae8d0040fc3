//! A hash of everything that a capture of all links would show: time, link, header and fate of each packet.

use core::net::{IpAddr, SocketAddr};
use pathweave_netsim::Tap;
use pathweave_wire::mptcp::{CapableContent, DataNumber, Dss, MpJoin, MptcpOption};
use pathweave_wire::{Ecn, Segment};
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are collected before they are hashed, because hashing many short pieces costs more.
const HASHED_TOGETHER: usize = 4096;

#[derive(Default)]
pub(super) struct Digest {
    hash: Xxh3,
    /// Bytes that are not hashed yet.
    line: Vec<u8>,
}

impl Digest {
    pub(super) fn record(&mut self, tap: &Tap, segment: &Segment, ecn: Ecn) {
        let fate = u64::from(tap.link.0) << 32 | tap.fate as u64;
        self.numbers([tap.at.as_nanos(), fate, tap.sequence << 8 | ecn as u64]);
        self.address(segment.src);
        self.address(segment.dst);
        let flags = u64::from(segment.flags.bits());
        let rest = flags << 48 | u64::from(segment.window) << 32 | u64::from(segment.payload.len());
        self.numbers([u64::from(segment.seq) << 32 | u64::from(segment.ack), rest]);
        let o = &segment.options;
        if let Some(t) = o.timestamps {
            self.number(u64::from(t.value) << 32 | u64::from(t.echo));
        }
        if o.mss.is_some() || o.window_scale.is_some() || o.sack_permitted {
            let (mss, scale) = (u64::from(o.mss.unwrap_or(0)), u64::from(o.window_scale.unwrap_or(255)));
            self.number(mss << 16 | scale << 8 | u64::from(o.sack_permitted));
        }
        for block in &o.sack {
            self.number(u64::from(block.left) << 32 | u64::from(block.right));
        }
        if let Some(dss) = &o.dss {
            self.dss(dss);
        }
        for option in &o.mptcp {
            self.mptcp(option);
        }
        segment.payload.slices().for_each(|bytes| self.line.extend_from_slice(bytes));
        if self.line.len() >= HASHED_TOGETHER {
            self.hash.update(&self.line);
            self.line.clear();
        }
    }

    fn number(&mut self, n: u64) {
        self.numbers([n]);
    }

    /// Adds several numbers, which together cost little more than one.
    #[inline]
    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        self.line.extend_from_slice(numbers.map(u64::to_le_bytes).as_flattened());
    }

    #[inline]
    fn address(&mut self, a: SocketAddr) {
        let port = a.port().to_le_bytes();
        match a.ip() {
            IpAddr::V4(ip) => {
                let [a, b, c, d] = ip.octets();
                self.line.extend_from_slice(&[a, b, c, d, port[0], port[1]]);
            }
            IpAddr::V6(ip) => {
                self.line.extend_from_slice(&ip.octets());
                self.line.extend_from_slice(&port);
            }
        }
    }

    fn data_number(&mut self, n: DataNumber) {
        match n {
            DataNumber::Short(n) => self.line.extend_from_slice(&n.to_le_bytes()),
            DataNumber::Long(n) => self.number(n),
        }
    }

    fn dss(&mut self, dss: &Dss) {
        self.line.push(0xd0 | u8::from(dss.data_fin));
        if let Some(ack) = dss.data_ack {
            self.data_number(ack);
        }
        if let Some(m) = dss.mapping {
            self.data_number(m.dsn);
            self.number(u64::from(m.ssn) << 32 | u64::from(m.len) << 16 | u64::from(m.checksum.unwrap_or(0)));
        }
    }

    fn mptcp(&mut self, option: &MptcpOption) {
        match option {
            MptcpOption::Capable(c) => {
                self.line.extend_from_slice(&[0xc0, c.flags.version, u8::from(c.flags.checksum_required)]);
                match c.content {
                    CapableContent::Syn => {}
                    CapableContent::SynAck { sender } => self.number(sender.0),
                    CapableContent::Ack { sender, receiver, data_len, checksum } => {
                        self.number(sender.0);
                        self.number(receiver.0);
                        self.number(u64::from(data_len.unwrap_or(0)) << 16 | u64::from(checksum.unwrap_or(0)));
                    }
                }
            }
            MptcpOption::Join(MpJoin::Syn { backup, address_id, token, nonce }) => {
                self.line.extend_from_slice(&[0xc1, u8::from(*backup), address_id.0]);
                self.number(u64::from(token.0) << 32 | u64::from(*nonce));
            }
            MptcpOption::Join(MpJoin::SynAck { backup, address_id, hmac, nonce }) => {
                self.line.extend_from_slice(&[0xc2, u8::from(*backup), address_id.0]);
                self.number(*hmac);
                self.number(u64::from(*nonce));
            }
            MptcpOption::Join(MpJoin::Ack { hmac }) => self.line.extend_from_slice(hmac),
            MptcpOption::AddAddress { id, address, port, hmac } => {
                self.line.extend_from_slice(&[0xc3, id.0]);
                self.address(SocketAddr::new(*address, port.unwrap_or(0)));
                self.number(hmac.unwrap_or(0));
            }
            MptcpOption::RemoveAddress { ids } => {
                self.line.push(0xc4);
                self.line.extend(ids.as_slice().iter().map(|id| id.0));
            }
            MptcpOption::Priority { backup } => self.line.extend_from_slice(&[0xc5, u8::from(*backup)]),
            MptcpOption::Fail { dsn } => self.number(*dsn),
            MptcpOption::FastClose { receiver } => self.number(receiver.0),
            MptcpOption::Reset { transient, reason } => {
                self.line.extend_from_slice(&[0xc6, u8::from(*transient), reason.code()]);
            }
        }
    }

    /// The hash as 32 hexadecimal digits.
    pub(super) fn finish(mut self) -> String {
        self.hash.update(&self.line);
        format!("{:032x}", self.hash.digest128())
    }
}
