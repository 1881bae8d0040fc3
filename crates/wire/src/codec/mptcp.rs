//! Reads and writes the options of Multipath TCP (RFC 8684 §3). Subtype, flags and length decide what an option holds.

use super::{NOP, Reader, Writer};
use crate::Options;
use crate::mptcp::{
    AddressId, AddressIds, CapableContent, CapableFlags, DataNumber, Dss, Key, Mapping, MpCapable, MpJoin, MptcpOption,
    ResetReason, Token,
};
use core::net::IpAddr;

/// The TCP option kind of Multipath TCP.
pub(super) const KIND: u8 = 30;

// Subtypes (RFC 8684 §8.2), in the upper half of the third octet.
const CAPABLE: u8 = 0x00;
const JOIN: u8 = 0x10;
const DSS: u8 = 0x20;
const ADD_ADDR: u8 = 0x30;
const REMOVE_ADDR: u8 = 0x40;
const PRIO: u8 = 0x50;
const FAIL: u8 = 0x60;
const FASTCLOSE: u8 = 0x70;
const TCPRST: u8 = 0x80;
const SUBTYPE: u8 = 0xf0;

// MP_CAPABLE's flags (§3.1).
const CHECKSUM_REQUIRED: u8 = 0x80;
const EXTENSIBILITY: u8 = 0x40;
const NO_JOIN_TO_INITIAL: u8 = 0x20;
const HMAC_SHA256: u8 = 0x01;

/// The lowest bit of the subtype's octet: B of MP_JOIN (§3.2) and MP_PRIO (§3.3.8), E of ADD_ADDR (§3.4.1), T of
/// MP_TCPRST (§3.6).
const LAST: u8 = 0x01;

// The data sequence signal's flags (§3.3).
const DATA_FIN: u8 = 0x10;
const LONG_DSN: u8 = 0x08;
const MAPPING: u8 = 0x04;
const LONG_ACK: u8 = 0x02;
const DATA_ACK: u8 = 0x01;

/// Writes the first three octets of an option: kind, length, and the subtype with the bits beside it.
fn start(w: &mut Writer<'_>, len: usize, subtype: u8, bits: u8) {
    w.put(&[KIND, len as u8, subtype | bits]);
}

fn bit(set: bool, mask: u8) -> u8 {
    if set { mask } else { 0 }
}

//= RFC 8684 §3.3: "The remaining reserved bits MUST be set to 0 by an implementation of this specification"
//= tests: codec::data_sequence_signals
pub(super) fn encode_dss(dss: &Dss, w: &mut Writer<'_>) {
    let ack = dss.data_ack.map_or(0, |n| DATA_ACK | bit(matches!(n, DataNumber::Long(_)), LONG_ACK));
    let mapping = dss.mapping.map_or(0, |m| MAPPING | bit(matches!(m.dsn, DataNumber::Long(_)), LONG_DSN));
    w.put(&[KIND, dss.wire_len() as u8, DSS, ack | mapping | bit(dss.data_fin, DATA_FIN)]);
    if let Some(number) = dss.data_ack {
        put_number(number, w);
    }
    if let Some(m) = dss.mapping {
        put_number(m.dsn, w);
        w.put(&m.ssn.to_be_bytes());
        let [l0, l1] = m.len.to_be_bytes();
        // Without a checksum, two NOPs of padding are in its place.
        let [c0, c1] = m.checksum.map_or([NOP, NOP], u16::to_be_bytes);
        w.put(&[l0, l1, c0, c1]);
    }
}

fn put_number(number: DataNumber, w: &mut Writer<'_>) {
    match number {
        DataNumber::Short(n) => w.put(&n.to_be_bytes()),
        DataNumber::Long(n) => w.put(&n.to_be_bytes()),
    }
}

pub(super) fn encode(option: &MptcpOption, w: &mut Writer<'_>) {
    let len = option.wire_len();
    match option {
        MptcpOption::Capable(c) => encode_capable(c, len, w),
        MptcpOption::Join(join) => encode_join(join, len, w),
        MptcpOption::AddAddress { id, address, port, hmac } => {
            start(w, len, ADD_ADDR, bit(hmac.is_none(), LAST));
            w.put(&[id.0]);
            match address {
                IpAddr::V4(a) => w.put(&a.octets()),
                IpAddr::V6(a) => w.put(&a.octets()),
            }
            if let Some(port) = port {
                w.put(&port.to_be_bytes());
            }
            if let Some(hmac) = hmac {
                w.put(&hmac.to_be_bytes());
            }
        }
        MptcpOption::RemoveAddress { ids } => {
            start(w, len, REMOVE_ADDR, 0);
            ids.as_slice().iter().for_each(|id| w.put(&[id.0]));
        }
        MptcpOption::Priority { backup } => start(w, len, PRIO, bit(*backup, LAST)),
        MptcpOption::Fail { dsn } => {
            start(w, len, FAIL, 0);
            w.put(&[0]);
            w.put(&dsn.to_be_bytes());
        }
        MptcpOption::FastClose { receiver } => {
            start(w, len, FASTCLOSE, 0);
            w.put(&[0]);
            w.put(&receiver.0.to_be_bytes());
        }
        MptcpOption::Reset { transient, reason } => {
            //= RFC 8684 §3.6: "An implementation of this specification MUST set these flags to 0, and a receiver MUST ignore them"
            //= tests: codec::priorities_failures_and_ends
            start(w, len, TCPRST, bit(*transient, LAST));
            w.put(&[reason.code()]);
        }
    }
}

fn encode_capable(c: &MpCapable, len: usize, w: &mut Writer<'_>) {
    let f = c.flags;
    start(w, len, CAPABLE, f.version & !SUBTYPE);
    w.put(&[bit(f.checksum_required, CHECKSUM_REQUIRED)
        | bit(f.extensibility, EXTENSIBILITY)
        | bit(f.no_join_to_initial_address, NO_JOIN_TO_INITIAL)
        | bit(f.hmac_sha256, HMAC_SHA256)]);
    match c.content {
        CapableContent::Syn => {}
        CapableContent::SynAck { sender } => w.put(&sender.0.to_be_bytes()),
        CapableContent::Ack { sender, receiver, data_len, checksum } => {
            w.put(&sender.0.to_be_bytes());
            w.put(&receiver.0.to_be_bytes());
            if let Some(data_len) = data_len {
                w.put(&data_len.to_be_bytes());
                if let Some(checksum) = checksum {
                    w.put(&checksum.to_be_bytes());
                }
            }
        }
    }
}

//= RFC 8684 §3.2: "3 of which are currently reserved and MUST be set to 0 by the sender"
//= tests: codec::mp_join_in_its_three_forms
//= RFC 8684 §3.2: "The reserved bits in this option MUST be set to 0 by the sender"
//= tests: codec::mp_join_in_its_three_forms
fn encode_join(join: &MpJoin, len: usize, w: &mut Writer<'_>) {
    match join {
        MpJoin::Syn { backup, address_id, token, nonce } => {
            start(w, len, JOIN, bit(*backup, LAST));
            w.put(&[address_id.0]);
            w.put(&token.0.to_be_bytes());
            w.put(&nonce.to_be_bytes());
        }
        MpJoin::SynAck { backup, address_id, hmac, nonce } => {
            start(w, len, JOIN, bit(*backup, LAST));
            w.put(&[address_id.0]);
            w.put(&hmac.to_be_bytes());
            w.put(&nonce.to_be_bytes());
        }
        MpJoin::Ack { hmac } => {
            start(w, len, JOIN, 0);
            w.put(&[0]);
            w.put(hmac);
        }
    }
}

/// Reads an option into `options`; `content` is what follows kind and length. `None` if the subtype is unknown, or if
/// the length is not one that subtype and flags allow.
pub(super) fn read(content: &[u8], options: &mut Options) -> Option<()> {
    match content {
        [subtype, rest @ ..] if subtype & SUBTYPE == DSS => options.dss = Some(decode_dss(Reader(rest))?),
        _ => options.mptcp.push(decode_other(Reader(content))?),
    }
    Some(())
}

/// Reads an option that is not the data sequence signal.
fn decode_other(mut r: Reader<'_>) -> Option<MptcpOption> {
    let first = r.u8()?;
    let last = first & LAST != 0;
    let option = match first & SUBTYPE {
        CAPABLE => MptcpOption::Capable(decode_capable(first & !SUBTYPE, r)?),
        JOIN => MptcpOption::Join(decode_join(last, r)?),
        ADD_ADDR => decode_add_address(last, r)?,
        REMOVE_ADDR => {
            let mut ids = [AddressId(0); AddressIds::MAX];
            let ids = ids.get_mut(..r.0.len())?;
            ids.iter_mut().zip(r.0).for_each(|(id, byte)| *id = AddressId(*byte));
            MptcpOption::RemoveAddress { ids: AddressIds::new(ids)? }
        }
        PRIO => r.end(MptcpOption::Priority { backup: last })?,
        FAIL => {
            let _reserved = r.u8()?;
            let dsn = r.u64()?;
            r.end(MptcpOption::Fail { dsn })?
        }
        FASTCLOSE => {
            let _reserved = r.u8()?;
            let receiver = Key(r.u64()?);
            r.end(MptcpOption::FastClose { receiver })?
        }
        TCPRST => {
            let reason = ResetReason::from_code(r.u8()?);
            r.end(MptcpOption::Reset { transient: last, reason })?
        }
        _ => return None,
    };
    Some(option)
}

fn decode_capable(version: u8, mut r: Reader<'_>) -> Option<MpCapable> {
    let bits = r.u8()?;
    let flags = CapableFlags {
        version,
        checksum_required: bits & CHECKSUM_REQUIRED != 0,
        extensibility: bits & EXTENSIBILITY != 0,
        no_join_to_initial_address: bits & NO_JOIN_TO_INITIAL != 0,
        hmac_sha256: bits & HMAC_SHA256 != 0,
    };
    let content = match r.0.len() {
        0 => CapableContent::Syn,
        8 => CapableContent::SynAck { sender: Key(r.u64()?) },
        16 | 18 | 20 => {
            CapableContent::Ack { sender: Key(r.u64()?), receiver: Key(r.u64()?), data_len: r.u16(), checksum: r.u16() }
        }
        _ => return None,
    };
    Some(MpCapable { flags, content })
}

fn decode_join(backup: bool, mut r: Reader<'_>) -> Option<MpJoin> {
    let address_id = AddressId(r.u8()?);
    Some(match r.0.len() {
        8 => MpJoin::Syn { backup, address_id, token: Token(r.u32()?), nonce: r.u32()? },
        12 => MpJoin::SynAck { backup, address_id, hmac: r.u64()?, nonce: r.u32()? },
        20 => MpJoin::Ack { hmac: r.bytes()? },
        _ => return None,
    })
}

/// Reads a data sequence signal. Its mapping has a checksum if the option is two bytes longer than it would be without
/// one. Only the connection knows whether checksums were negotiated (§3.3.1).
fn decode_dss(mut r: Reader<'_>) -> Option<Dss> {
    let flags = r.u8()?;
    let number = |r: &mut Reader<'_>, long: u8| {
        if flags & long != 0 { r.u64().map(DataNumber::Long) } else { r.u32().map(DataNumber::Short) }
    };
    let data_ack = if flags & DATA_ACK != 0 { Some(number(&mut r, LONG_ACK)?) } else { None };
    let mapping = if flags & MAPPING != 0 {
        Some(Mapping { dsn: number(&mut r, LONG_DSN)?, ssn: r.u32()?, len: r.u16()?, checksum: r.u16() })
    } else {
        None
    };
    r.end(Dss { data_ack, mapping, data_fin: flags & DATA_FIN != 0 })
}

/// Reads an ADD_ADDR. Its length tells the IP version, for which the option has no field since RFC 8684. An echo has no
/// HMAC, every other announcement has one.
//= RFC 8684 §3.4.1: "The other bits are currently unassigned; they MUST be set to 0 by a sender and MUST be ignored by the
//= receiver"
//= tests: codec::address_announcements
fn decode_add_address(echo: bool, mut r: Reader<'_>) -> Option<MptcpOption> {
    let id = AddressId(r.u8()?);
    let rest = r.0.len().checked_sub(if echo { 0 } else { 8 })?;
    let (address, port) = match rest {
        4 | 6 => (IpAddr::from(r.bytes::<4>()?), rest == 6),
        16 | 18 => (IpAddr::from(r.bytes::<16>()?), rest == 18),
        _ => return None,
    };
    let port = if port { Some(r.u16()?) } else { None };
    let hmac = if echo { None } else { Some(r.u64()?) };
    r.end(MptcpOption::AddAddress { id, address, port, hmac })
}
