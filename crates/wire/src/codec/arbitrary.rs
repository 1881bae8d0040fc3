//! Arbitrary segments for property tests: every option with any content that fits the header.

use crate::mptcp::{
    AddressId, AddressIds, CapableContent, CapableFlags, DataNumber, Dss, Key, Mapping, MpCapable, MpJoin, MptcpOption,
    ResetReason, Token,
};
use crate::{Ecn, Flags, MAX_OPTION_BYTES, Options, Payload, SackBlock, Segment, Timestamps};
use core::net::{IpAddr, SocketAddr};
use proptest::prelude::*;

fn key() -> impl Strategy<Value = Key> {
    any::<u64>().prop_map(Key)
}

fn address_id() -> impl Strategy<Value = AddressId> {
    any::<u8>().prop_map(AddressId)
}

fn number() -> impl Strategy<Value = DataNumber> {
    prop_oneof![any::<u32>().prop_map(DataNumber::Short), any::<u64>().prop_map(DataNumber::Long)]
}

fn capable() -> impl Strategy<Value = MptcpOption> {
    let content = prop_oneof![
        Just(CapableContent::Syn),
        key().prop_map(|sender| CapableContent::SynAck { sender }),
        (key(), key(), any::<Option<(u16, Option<u16>)>>()).prop_map(|(sender, receiver, data)| {
            CapableContent::Ack { sender, receiver, data_len: data.map(|d| d.0), checksum: data.and_then(|d| d.1) }
        }),
    ];
    (0u8..16, any::<[bool; 4]>(), content).prop_map(|(version, bits, content)| {
        let flags = CapableFlags {
            version,
            checksum_required: bits[0],
            extensibility: bits[1],
            no_join_to_initial_address: bits[2],
            hmac_sha256: bits[3],
        };
        MptcpOption::Capable(MpCapable { flags, content })
    })
}

fn join() -> impl Strategy<Value = MptcpOption> {
    prop_oneof![
        (any::<bool>(), address_id(), any::<u32>(), any::<u32>()).prop_map(|(backup, address_id, token, nonce)| {
            MpJoin::Syn { backup, address_id, token: Token(token), nonce }
        }),
        (any::<bool>(), address_id(), any::<u64>(), any::<u32>())
            .prop_map(|(backup, address_id, hmac, nonce)| MpJoin::SynAck { backup, address_id, hmac, nonce }),
        any::<[u8; 20]>().prop_map(|hmac| MpJoin::Ack { hmac }),
    ]
    .prop_map(MptcpOption::Join)
}

fn ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

/// Any Multipath TCP option except the data sequence signal.
pub(super) fn mptcp() -> impl Strategy<Value = MptcpOption> {
    prop_oneof![
        capable(),
        join(),
        (address_id(), ip(), any::<Option<u16>>(), any::<Option<u64>>())
            .prop_map(|(id, address, port, hmac)| MptcpOption::AddAddress { id, address, port, hmac }),
        proptest::collection::vec(address_id(), 1..=AddressIds::MAX).prop_map(|list| MptcpOption::RemoveAddress {
            ids: AddressIds::new(&list).expect("a list of a right length")
        }),
        any::<bool>().prop_map(|backup| MptcpOption::Priority { backup }),
        any::<u64>().prop_map(|dsn| MptcpOption::Fail { dsn }),
        key().prop_map(|receiver| MptcpOption::FastClose { receiver }),
        (any::<bool>(), any::<u8>())
            .prop_map(|(transient, code)| MptcpOption::Reset { transient, reason: ResetReason::from_code(code) }),
    ]
}

fn dss() -> impl Strategy<Value = Dss> {
    let mapping = (number(), any::<u32>(), any::<u16>(), any::<Option<u16>>())
        .prop_map(|(dsn, ssn, len, checksum)| Mapping { dsn, ssn, len, checksum });
    (proptest::option::of(number()), proptest::option::of(mapping), any::<bool>())
        .prop_map(|(data_ack, mapping, data_fin)| Dss { data_ack, mapping, data_fin })
}

/// Arbitrary options, which may take more than the header has room for.
pub(super) fn any_options() -> impl Strategy<Value = Options> {
    let block = (any::<u32>(), any::<u32>()).prop_map(|(left, right)| SackBlock { left, right });
    let sack = proptest::collection::vec(block, 0..=4).prop_map(|blocks| blocks.into_iter().collect());
    let timestamps = (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    let of_tcp = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), proptest::option::of(timestamps), sack);
    let of_mptcp = (proptest::option::of(dss()), proptest::collection::vec(mptcp(), 0..3));
    (of_tcp, of_mptcp).prop_map(|((mss, window_scale, sack_permitted, timestamps, sack), (dss, mptcp))| Options {
        mss,
        window_scale,
        sack_permitted,
        timestamps,
        sack,
        dss,
        mptcp,
    })
}

/// Arbitrary options that fit the header: some are removed until they do.
pub(super) fn options() -> impl Strategy<Value = Options> {
    (any_options(), any::<[u8; 16]>()).prop_map(|(mut o, choices)| {
        for choice in choices {
            if o.wire_len() <= MAX_OPTION_BYTES {
                return o;
            }
            match choice % 7 {
                0 => o.mss = None,
                1 => o.window_scale = None,
                2 => o.sack_permitted = false,
                3 => o.timestamps = None,
                4 => o.dss = None,
                5 => {
                    o.mptcp.pop();
                }
                _ => {
                    o.sack.pop();
                }
            }
        }
        if o.wire_len() <= MAX_OPTION_BYTES { o } else { Options { dss: o.dss, ..Options::default() } }
    })
}

pub(super) fn ecn() -> impl Strategy<Value = Ecn> {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)]
}

/// An arbitrary segment whose data is real bytes.
pub(super) fn segment() -> impl Strategy<Value = Segment> {
    let v4 = any::<([u8; 4], [u8; 4])>().prop_map(|(a, b)| (IpAddr::from(a), IpAddr::from(b)));
    let v6 = any::<([u8; 16], [u8; 16])>().prop_map(|(a, b)| (IpAddr::from(a), IpAddr::from(b)));
    let payload = proptest::collection::vec(any::<u8>(), 0..100);
    (prop_oneof![v4, v6], any::<(u16, u16)>(), any::<(u32, u32, u8, u16)>(), options(), payload).prop_map(
        |((src, dst), ports, (seq, ack, flags, window), options, payload)| Segment {
            src: SocketAddr::new(src, ports.0),
            dst: SocketAddr::new(dst, ports.1),
            seq,
            ack,
            flags: Flags::from_bits(flags),
            window,
            options,
            payload: Payload::Bytes(payload.into()),
            segment_size: None,
        },
    )
}
