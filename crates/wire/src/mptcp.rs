//! The options of Multipath TCP version 1 (RFC 8684 §3), one type each.

use core::net::IpAddr;

/// A 64-bit connection key (RFC 8684 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub u64);

/// A connection's token: the first 32 bits of its key's SHA-256 (RFC 8684 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u32);

/// The identifier that a host gives to one of its addresses within a connection (RFC 8684 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressId(pub u8);

/// The identifiers of a REMOVE_ADDR: at least one, at most [`AddressIds::MAX`] (RFC 8684 §3.4.2).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AddressIds {
    len: u8,
    /// Zero beyond `len`, so that equal lists are equal values.
    ids: [AddressId; AddressIds::MAX],
}

impl AddressIds {
    /// The most identifiers that fit: 40 bytes of options less the bytes for kind, length and subtype.
    pub const MAX: usize = 37;

    /// A list of one identifier.
    pub const fn one(id: AddressId) -> Self {
        let mut ids = [AddressId(0); AddressIds::MAX];
        ids[0] = id;
        AddressIds { len: 1, ids }
    }

    /// A list of 1 to [`AddressIds::MAX`] identifiers; `None` if `list` is empty or longer.
    pub fn new(list: &[AddressId]) -> Option<Self> {
        if list.is_empty() || list.len() > Self::MAX {
            return None;
        }
        let mut ids = [AddressId(0); Self::MAX];
        ids[..list.len()].copy_from_slice(list);
        Some(AddressIds { len: list.len() as u8, ids })
    }

    /// The identifiers, in wire order.
    pub fn as_slice(&self) -> &[AddressId] {
        &self.ids[..usize::from(self.len)]
    }
}

impl core::fmt::Debug for AddressIds {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.as_slice().iter().map(|id| id.0)).finish()
    }
}

/// A data sequence number or data acknowledgement as it stands in an option: 4 or 8 bytes (RFC 8684 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataNumber {
    /// The low 32 bits.
    Short(u32),
    /// All 64 bits.
    Long(u64),
}

impl DataNumber {
    /// Length on the wire, bytes.
    pub const fn wire_len(self) -> usize {
        match self {
            DataNumber::Short(_) => 4,
            DataNumber::Long(_) => 8,
        }
    }

    /// The full 64-bit number. A short number becomes the number nearest to `near` that has these low 32 bits.
    //= RFC 8684 §3.3.1: "Implementations MUST accept a 32-bit DSN and implicitly promote it to a 64-bit quantity by
    //= incrementing the upper 32 bits of the sequence number each time the lower 32 bits wrap"
    //= tests: mappings::numbers_of_32_bits_are_taken_by_their_nearest_place, mappings::a_number_half_of_32_bits_away_is_dropped, mptcp::short_numbers_expand_to_the_nearest
    //= RFC 8684 §3.3.1: "An implementation MUST be able to receive and process both 64-bit and 32-bit sequence number values"
    //= tests: mappings::numbers_of_32_bits_are_taken_by_their_nearest_place, mptcp::short_numbers_expand_to_the_nearest
    //= RFC 8684 §3.3.1: "A sanity check MUST be implemented to ensure that a wrap occurs at an expected time"
    //= tests: mappings::a_number_half_of_32_bits_away_is_dropped, mptcp::short_numbers_expand_to_the_nearest
    pub const fn expand(self, near: u64) -> u64 {
        match self {
            DataNumber::Long(n) => n,
            DataNumber::Short(low) => {
                let delta = low.wrapping_sub(near as u32) as i32;
                near.wrapping_add(delta as i64 as u64)
            }
        }
    }
}

/// Version and flags of an MP_CAPABLE option (RFC 8684 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapableFlags {
    /// Protocol version; 1 for RFC 8684.
    pub version: u8,
    /// A: the sender requires checksums.
    pub checksum_required: bool,
    /// B: extensibility; must be 0.
    pub extensibility: bool,
    /// C: the sender accepts no further subflows to the address and port that it sends this option from.
    pub no_join_to_initial_address: bool,
    /// H: HMAC-SHA256; must be 1.
    pub hmac_sha256: bool,
}

impl Default for CapableFlags {
    fn default() -> Self {
        CapableFlags {
            version: 1,
            checksum_required: false,
            extensibility: false,
            no_join_to_initial_address: false,
            hmac_sha256: true,
        }
    }
}

/// MP_CAPABLE in its four lengths (RFC 8684 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpCapable {
    /// Version and flags.
    pub flags: CapableFlags,
    /// The fields after the flags.
    pub content: CapableContent,
}

/// The fields of an MP_CAPABLE option after its flags; which ones there are depends on the handshake's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapableContent {
    /// On the SYN: no key.
    Syn,
    /// On the SYN/ACK: the listener's key.
    SynAck {
        /// The sender's key.
        sender: Key,
    },
    /// On the third ACK, and on the initiator's first data, which adds the length and the checksum.
    Ack {
        /// The sender's key.
        sender: Key,
        /// The receiver's key, echoed.
        receiver: Key,
        /// Length of the segment's data, if it carries data.
        data_len: Option<u16>,
        /// Checksum, if it is required and there is data.
        checksum: Option<u16>,
    },
}

/// MP_JOIN in its three forms (RFC 8684 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpJoin {
    /// On the SYN.
    Syn {
        /// The subflow is a backup.
        backup: bool,
        /// The sender's address identifier.
        address_id: AddressId,
        /// The receiver's token.
        token: Token,
        /// The sender's nonce.
        nonce: u32,
    },
    /// On the SYN/ACK.
    SynAck {
        /// The subflow is a backup.
        backup: bool,
        /// The sender's address identifier.
        address_id: AddressId,
        /// The leftmost 64 bits of the sender's HMAC.
        hmac: u64,
        /// The sender's nonce.
        nonce: u32,
    },
    /// On the third ACK.
    Ack {
        /// The leftmost 160 bits of the sender's HMAC.
        hmac: [u8; 20],
    },
}

/// A mapping of data sequence numbers onto a subflow (RFC 8684 §3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Data sequence number of the first byte.
    pub dsn: DataNumber,
    /// Relative subflow sequence number of the first byte (the SYN is 0); 0 with an infinite mapping.
    pub ssn: u32,
    /// Number of bytes; 0 is an infinite mapping. A DATA_FIN counts one.
    pub len: u16,
    /// Checksum over the data and a pseudo-header, if checksums were negotiated.
    pub checksum: Option<u16>,
}

/// The data sequence signal (RFC 8684 §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dss {
    /// DATA_ACK: the next data sequence number expected.
    pub data_ack: Option<DataNumber>,
    /// The mapping of this segment's data.
    pub mapping: Option<Mapping>,
    /// DATA_FIN: the mapping's last octet ends the stream.
    pub data_fin: bool,
}

impl Dss {
    /// Length on the wire before padding, bytes.
    pub fn wire_len(&self) -> usize {
        let ack = self.data_ack.map_or(0, DataNumber::wire_len);
        let map = self.mapping.map_or(0, |m| m.dsn.wire_len() + 4 + 2 + if m.checksum.is_some() { 2 } else { 0 });
        4 + ack + map
    }
}

/// Why a subflow was reset (RFC 8684 §3.6, MP_TCPRST).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// 0: unspecified.
    Unspecified,
    /// 1: Multipath TCP specific error.
    MptcpError,
    /// 2: lack of resources.
    LackOfResources,
    /// 3: administratively prohibited.
    Prohibited,
    /// 4: too much outstanding data.
    TooMuchOutstanding,
    /// 5: unacceptable performance.
    UnacceptablePerformance,
    /// 6: middlebox interference.
    Middlebox,
    /// Any other value.
    Other(u8),
}

impl ResetReason {
    /// The octet on the wire.
    pub const fn code(self) -> u8 {
        match self {
            ResetReason::Unspecified => 0,
            ResetReason::MptcpError => 1,
            ResetReason::LackOfResources => 2,
            ResetReason::Prohibited => 3,
            ResetReason::TooMuchOutstanding => 4,
            ResetReason::UnacceptablePerformance => 5,
            ResetReason::Middlebox => 6,
            ResetReason::Other(code) => code,
        }
    }

    /// The reason that an octet on the wire stands for.
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => ResetReason::Unspecified,
            1 => ResetReason::MptcpError,
            2 => ResetReason::LackOfResources,
            3 => ResetReason::Prohibited,
            4 => ResetReason::TooMuchOutstanding,
            5 => ResetReason::UnacceptablePerformance,
            6 => ResetReason::Middlebox,
            other => ResetReason::Other(other),
        }
    }
}

/// Any Multipath TCP option except the data sequence signal, which is [`Dss`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MptcpOption {
    /// MP_CAPABLE.
    Capable(MpCapable),
    /// MP_JOIN.
    Join(MpJoin),
    /// ADD_ADDR (RFC 8684 §3.4.1).
    AddAddress {
        /// Identifier of the address.
        id: AddressId,
        /// The address.
        address: IpAddr,
        /// The port, if it differs from the connection's.
        port: Option<u16>,
        /// The rightmost 64 bits of the HMAC. An echo has none.
        hmac: Option<u64>,
    },
    /// REMOVE_ADDR (RFC 8684 §3.4.2).
    RemoveAddress {
        /// Identifiers of the addresses.
        ids: AddressIds,
    },
    /// MP_PRIO (RFC 8684 §3.3.8).
    Priority {
        /// Whether the subflow becomes a backup; if false, a regular subflow.
        backup: bool,
    },
    /// MP_FAIL (RFC 8684 §3.7).
    Fail {
        /// Data sequence number of the first byte of the mapping whose checksum was wrong.
        dsn: u64,
    },
    /// MP_FASTCLOSE (RFC 8684 §3.5).
    FastClose {
        /// The key of the host that receives the option.
        receiver: Key,
    },
    /// MP_TCPRST (RFC 8684 §3.6).
    Reset {
        /// T: the condition is transient, so that another attempt may succeed later.
        transient: bool,
        /// The reason.
        reason: ResetReason,
    },
}

impl MptcpOption {
    /// Length on the wire before padding, bytes.
    pub fn wire_len(&self) -> usize {
        match self {
            MptcpOption::Capable(c) => match c.content {
                CapableContent::Syn => 4,
                CapableContent::SynAck { .. } => 12,
                CapableContent::Ack { data_len: None, .. } => 20,
                CapableContent::Ack { data_len: Some(_), checksum: None, .. } => 22,
                CapableContent::Ack { data_len: Some(_), checksum: Some(_), .. } => 24,
            },
            MptcpOption::Join(MpJoin::Syn { .. }) => 12,
            MptcpOption::Join(MpJoin::SynAck { .. }) => 16,
            MptcpOption::Join(MpJoin::Ack { .. }) => 24,
            MptcpOption::AddAddress { address, port, hmac, .. } => {
                let address = if address.is_ipv4() { 4 } else { 16 };
                4 + address + if port.is_some() { 2 } else { 0 } + if hmac.is_some() { 8 } else { 0 }
            }
            MptcpOption::RemoveAddress { ids } => 3 + ids.as_slice().len(),
            MptcpOption::Priority { .. } => 3,
            MptcpOption::Fail { .. } => 12,
            MptcpOption::FastClose { .. } => 12,
            MptcpOption::Reset { .. } => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_expand_to_the_nearest() {
        let near = 0x1_ffff_fff0;
        assert_eq!(DataNumber::Short(0xffff_ffff).expand(near), 0x1_ffff_ffff);
        assert_eq!(DataNumber::Short(5).expand(near), 0x2_0000_0005);
        assert_eq!(DataNumber::Short(0xffff_ff00).expand(0x2_0000_0005), 0x1_ffff_ff00);
    }

    #[test]
    fn a_full_data_sequence_signal_takes_26_bytes_and_28_with_a_checksum() {
        let mut dss = Dss {
            data_ack: Some(DataNumber::Long(1)),
            mapping: Some(Mapping { dsn: DataNumber::Long(1), ssn: 1, len: 1, checksum: None }),
            data_fin: false,
        };
        assert_eq!(dss.wire_len(), 26);
        dss.mapping.as_mut().expect("it was just set").checksum = Some(0);
        assert_eq!(dss.wire_len(), 28);
    }
}
