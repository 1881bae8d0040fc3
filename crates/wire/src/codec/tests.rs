//! Tests of the codec: each value has one form in bytes, decoding gives the same value back, and any bytes give a value
//! or an error.

use super::arbitrary::{any_options, ecn, mptcp, options, segment};
use super::packet::{read_any_ip, read_plain_ipv4};
use super::{DecodeError, EncodeError, decode, decode_into, decode_options, encode, encode_header, encode_options};
use crate::mptcp::{
    AddressId, AddressIds, CapableContent, CapableFlags, DataNumber, Dss, Key, Mapping, MpCapable, MpJoin, MptcpOption,
    ResetReason, Token,
};
use crate::{Ecn, Flags, MAX_OPTION_BYTES, Options, Payload, SackBlock, Segment, Timestamps};
use etherparse::IpNumber;
use proptest::prelude::*;

mod icmp;
mod ip_options;
mod partial;

fn bytes_of(options: &Options) -> Vec<u8> {
    let mut out = [0; MAX_OPTION_BYTES];
    let len = encode_options(options, &mut out).expect("the options fit");
    out[..len].to_vec()
}

/// Checks that the options have this form in bytes, and that it decodes to the same options.
#[track_caller]
fn has_form(options: Options, form: &str) {
    let hex: String = bytes_of(&options).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, form.replace(' ', ""));
    assert_eq!(decode_options(&bytes_of(&options)), options);
}

fn only(option: MptcpOption) -> Options {
    Options { mptcp: vec![option], ..Options::default() }
}

fn capable(content: CapableContent) -> Options {
    only(MptcpOption::Capable(MpCapable { flags: CapableFlags::default(), content }))
}

const A: Key = Key(0x0102_0304_0506_0708);
const B: Key = Key(0x1112_1314_1516_1718);

/// RFC 8684 Fig. 4: 4, 12, 20, 22 and 24 bytes.
#[test]
fn mp_capable_in_all_lengths() {
    has_form(capable(CapableContent::Syn), "1e04 01 01");
    has_form(capable(CapableContent::SynAck { sender: B }), "1e0c 01 01 1112131415161718");
    let ack = |data_len, checksum| capable(CapableContent::Ack { sender: A, receiver: B, data_len, checksum });
    has_form(ack(None, None), "1e14 01 01 0102030405060708 1112131415161718");
    has_form(ack(Some(1380), None), "1e16 01 01 0102030405060708 1112131415161718 0564 0101");
    has_form(ack(Some(11), Some(0x349f)), "1e18 01 01 0102030405060708 1112131415161718 000b 349f");
}

#[test]
fn mp_capable_flags() {
    let with = |flags| only(MptcpOption::Capable(MpCapable { flags, content: CapableContent::Syn }));
    has_form(with(CapableFlags { checksum_required: true, ..CapableFlags::default() }), "1e04 01 81");
    has_form(with(CapableFlags { extensibility: true, ..CapableFlags::default() }), "1e04 01 41");
    has_form(with(CapableFlags { no_join_to_initial_address: true, ..CapableFlags::default() }), "1e04 01 21");
    has_form(with(CapableFlags { version: 0, hmac_sha256: false, ..CapableFlags::default() }), "1e04 00 00");
    // The flags D to G are not assigned and are ignored.
    assert_eq!(decode_options(&[30, 4, 0x01, 0x1f]), with(CapableFlags::default()));
}

/// RFC 8684 Fig. 6 to 8.
#[test]
fn mp_join_in_its_three_forms() {
    let join = |join| only(MptcpOption::Join(join));
    let syn = |backup| MpJoin::Syn { backup, address_id: AddressId(2), token: Token(0xccad_45ac), nonce: 0x2122_2324 };
    has_form(join(syn(false)), "1e0c 10 02 ccad45ac 21222324");
    has_form(join(syn(true)), "1e0c 11 02 ccad45ac 21222324");
    let answer =
        MpJoin::SynAck { backup: false, address_id: AddressId(3), hmac: 0x0fce_2597_e55e_87ef, nonce: 0x3132_3334 };
    has_form(join(answer), "1e10 10 03 0fce2597e55e87ef 31323334");
    let hmac = crate::crypto::join_hmac_160(&crate::crypto::join_hmac(A, B, 0x2122_2324, 0x3132_3334));
    has_form(join(MpJoin::Ack { hmac }), "1e18 10 00 e19ad4ac22d51c2f064d49662431bc8f9d6b3a29");
}

/// RFC 8684 Fig. 9: M = 0x04, m = 0x08, A = 0x01, a = 0x02, F = 0x10.
#[test]
fn data_sequence_signals() {
    let dss = |dss| Options { dss: Some(dss), ..Options::default() };
    let (short, long) = (DataNumber::Short(0xd29d_6f73), DataNumber::Long(0xf5a1_01d3_d29d_6f73));
    let map = |dsn, checksum| Some(Mapping { dsn, ssn: 1, len: 11, checksum });
    has_form(dss(Dss::default()), "1e04 20 00");
    has_form(dss(Dss { data_ack: Some(short), ..Dss::default() }), "1e08 20 01 d29d6f73");
    has_form(dss(Dss { data_ack: Some(long), ..Dss::default() }), "1e0c 20 03 f5a101d3d29d6f73");
    let with = |mapping| dss(Dss { data_ack: None, mapping, data_fin: false });
    has_form(with(map(short, None)), "1e0e 20 04 d29d6f73 00000001 000b 0101");
    has_form(with(map(short, Some(0x349f))), "1e10 20 04 d29d6f73 00000001 000b 349f");
    has_form(with(map(long, None)), "1e12 20 0c f5a101d3d29d6f73 00000001 000b 0101");
    let all = Dss { data_ack: Some(long), mapping: map(long, Some(0x349f)), data_fin: true };
    has_form(dss(all), "1e1c 20 1f f5a101d3d29d6f73 f5a101d3d29d6f73 00000001 000b 349f");
    // The infinite mapping of §3.7, and a DATA_FIN without data (§3.3.3).
    let infinite = Mapping { dsn: long, ssn: 1, len: 0, checksum: Some(0) };
    has_form(with(Some(infinite)), "1e14 20 0c f5a101d3d29d6f73 00000001 0000 0000");
    let fin =
        Dss { data_ack: None, mapping: Some(Mapping { dsn: long, ssn: 0, len: 1, checksum: None }), data_fin: true };
    has_form(dss(fin), "1e12 20 1c f5a101d3d29d6f73 00000000 0001 0101");
}

/// RFC 8684 Fig. 12 and 13, with the HMACs of key A to key B.
#[test]
fn address_announcements() {
    let add = |address: &str, port, hmac| {
        only(MptcpOption::AddAddress { id: AddressId(5), address: address.parse().expect("an address"), port, hmac })
    };
    let hmac = |address: &str, port| {
        Some(crate::crypto::add_address_hmac(A, B, AddressId(5), address.parse().expect("an address"), port))
    };
    let (v4, v6) = ("10.0.3.1", "dead:beef:3::1");
    has_form(add(v4, None, hmac(v4, None)), "1e10 30 05 0a000301 d1ba0c01fb96f8f2");
    has_form(add(v4, Some(8080), hmac(v4, Some(8080))), "1e12 30 05 0a000301 1f90 eafda9b0c5612327 0101");
    has_form(add(v6, None, hmac(v6, None)), "1e1c 30 05 deadbeef000300000000000000000001 a1e75a609d91ab30");
    let with_port = "1e1e 30 05 deadbeef000300000000000000000001 1f90 0102030405060708 0101";
    has_form(add(v6, Some(8080), Some(0x0102_0304_0506_0708)), with_port);
    has_form(add(v4, None, None), "1e08 31 05 0a000301");
    has_form(add(v4, Some(8080), None), "1e0a 31 05 0a000301 1f90 0101");
    has_form(add(v6, None, None), "1e14 31 05 deadbeef000300000000000000000001");
    has_form(add(v6, Some(8080), None), "1e16 31 05 deadbeef000300000000000000000001 1f90 0101");
    let remove = |ids: &[u8]| {
        let ids: Vec<AddressId> = ids.iter().copied().map(AddressId).collect();
        only(MptcpOption::RemoveAddress { ids: AddressIds::new(&ids).expect("a list of a right length") })
    };
    has_form(remove(&[7]), "1e04 40 07");
    has_form(remove(&[7, 8, 9]), "1e06 40 070809 0101");
    assert_eq!(AddressIds::new(&[]), None);
    assert_eq!(AddressIds::new(&[AddressId(0); 38]), None);
}

#[test]
fn priorities_failures_and_ends() {
    has_form(only(MptcpOption::Priority { backup: true }), "1e03 51 01");
    has_form(only(MptcpOption::Priority { backup: false }), "1e03 50 01");
    has_form(only(MptcpOption::Fail { dsn: 0xf5a1_01d3_d29d_6f73 }), "1e0c 60 00 f5a101d3d29d6f73");
    has_form(only(MptcpOption::FastClose { receiver: B }), "1e0c 70 00 1112131415161718");
    let reset = |transient, reason| only(MptcpOption::Reset { transient, reason });
    has_form(reset(false, ResetReason::MptcpError), "1e04 80 01");
    has_form(reset(true, ResetReason::Middlebox), "1e04 81 06");
    has_form(reset(false, ResetReason::Other(0xff)), "1e04 80 ff");
    for code in 0..=u8::MAX {
        assert_eq!(ResetReason::from_code(code).code(), code);
    }
}

/// Linux's layout: SACK-permitted takes the place of the timestamps' padding.
#[test]
fn options_of_tcp() {
    let timestamps = Some(Timestamps { value: 0x0102_0304, echo: 0x0506_0708 });
    let syn =
        Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, timestamps, ..Options::default() };
    has_form(syn, "0204 05b4 0402 080a 01020304 05060708 01 0303 07");
    has_form(Options { timestamps, ..Options::default() }, "0101 080a 01020304 05060708");
    has_form(Options { sack_permitted: true, ..Options::default() }, "0101 0402");
    let blocks = [SackBlock { left: 1, right: 2 }, SackBlock { left: 0xffff_ffff, right: 1 }];
    let sack = Options { sack: blocks.into_iter().collect(), ..Options::default() };
    has_form(sack, "0101 0512 00000001 00000002 ffffffff 00000001");
}

/// Bad input, row 1: "option length 0, 1 or past the header: stop parsing options". What stands before is kept.
/// Bad-input row 1.
#[test]
fn a_length_that_leads_nowhere_ends_the_options() {
    let prio = [30, 3, 0x51];
    let kept = only(MptcpOption::Priority { backup: true });
    for wrong in [&[30, 0][..], &[30, 1], &[30, 200], &[30], &[5, 0], &[99, 1], &[0]] {
        let bytes = [&prio[..], wrong, &prio].concat();
        assert_eq!(decode_options(&bytes), kept, "{wrong:?}");
    }
    assert_eq!(decode_options(&[30, 4, 0x01]), Options::default());
}

/// Bad input, row 2: "unknown subtype: ignored", and so is an unknown kind.
/// Bad-input row 2.
#[test]
fn an_unknown_option_is_passed_over() {
    let prio = [30, 3, 0x51];
    for unknown in [&[30, 4, 0x90, 0][..], &[30, 3, 0xf0], &[30, 2], &[254, 5, 1, 2, 3], &[19, 2]] {
        let bytes = [unknown, &prio].concat();
        assert_eq!(decode_options(&bytes), only(MptcpOption::Priority { backup: true }), "{unknown:?}");
    }
}

/// "receivers MUST be prepared to process options even if they do not begin on a word boundary" (RFC 9293 §3.2).
#[test]
fn options_may_begin_anywhere_in_a_word() {
    let (mss, shift) = (&[2, 4, 0x05, 0xb4][..], &[3, 3, 7][..]);
    let both = Options { mss: Some(1460), window_scale: Some(7), ..Options::default() };
    for before in 0..4 {
        let bytes = [&[1, 1, 1][..before], shift, mss, &[0]].concat();
        assert_eq!(decode_options(&bytes), both, "{before}");
    }
}

/// Bad input, row 3: "malformed DSS followed by a valid one: the first leaves no trace".
/// Bad-input row 3.
#[test]
fn a_malformed_signal_leaves_no_trace() {
    let valid = Dss { data_ack: Some(DataNumber::Short(7)), mapping: None, data_fin: false };
    let form = [30, 8, 0x20, 0x01, 0, 0, 0, 7];
    // The flags announce a long DATA_ACK and a mapping, but the length is too short for them.
    let short = [30, 12, 0x20, 0x17, 9, 9, 9, 9, 9, 9, 9, 9];
    // One octet too many.
    let long = [30, 9, 0x20, 0x01, 9, 9, 9, 9, 9];
    for malformed in [&short[..], &long] {
        assert_eq!(decode_options(malformed), Options::default());
        let both = Options { dss: Some(valid), ..Options::default() };
        assert_eq!(decode_options(&[malformed, &form].concat()), both);
        assert_eq!(decode_options(&[&form, malformed].concat()), both);
    }
}

/// Every subtype with every length: only the combinations that the RFC names are options.
#[test]
fn only_the_lengths_of_the_rfc_are_options() {
    let allowed = |subtype: u8, bits: u8, len: usize| match subtype {
        0 => [4, 12, 20, 22, 24].contains(&len),
        1 => [12, 16, 24].contains(&len),
        2 => len == 4,
        3 if bits & 1 == 1 => [8, 10, 20, 22].contains(&len),
        3 => [16, 18, 28, 30].contains(&len),
        4 => (4..=40).contains(&len),
        5 => len == 3,
        6 | 7 => len == 12,
        8 => len == 4,
        _ => false,
    };
    for first in 0..=u8::MAX {
        for len in 2..=40 {
            let mut bytes = vec![0; len];
            (bytes[0], bytes[1]) = (30, len as u8);
            if len > 2 {
                bytes[2] = first;
            }
            let o = decode_options(&bytes);
            let found = o.dss.is_some() || !o.mptcp.is_empty();
            assert_eq!(found, len > 2 && allowed(first >> 4, first & 0xf, len), "{first:02x}, {len} bytes");
        }
    }
}

/// Bad-input row 30.
#[test]
fn options_that_do_not_fit_are_an_error_and_never_cut_off() {
    let hmac = Some(1);
    let address = "::1".parse().expect("an address");
    let add = MptcpOption::AddAddress { id: AddressId(1), address, port: Some(1), hmac };
    let mut options = Options { timestamps: Some(Timestamps { value: 1, echo: 1 }), ..only(add) };
    assert_eq!(encode_options(&options, &mut [0; 40]), Err(EncodeError::Options { len: 44 }));
    options.timestamps = None;
    assert_eq!(encode_options(&options, &mut [0; 40]), Ok(32));
}

fn hello(src: &str, dst: &str) -> Segment {
    let address = |s: &str| s.parse().expect("a socket address");
    let mut segment = Segment::new(address(src), address(dst));
    (segment.seq, segment.ack, segment.window, segment.flags) = (1, 2, 3, Flags::ACK | Flags::PSH);
    segment.payload = Payload::Bytes(b"hello world".as_slice().into());
    segment
}

/// The expected checksums were computed by RFC 1071's sum in another language.
#[test]
fn whole_packets() {
    let mut out = Vec::new();
    encode(&hello("10.0.1.1:1000", "10.0.1.2:80"), Ecn::Ect0, &mut out).expect("it has a form");
    let hex: String = out.iter().map(|b| format!("{b:02x}")).collect();
    let ip = "4502 0033 00004000 4006 24c1 0a000101 0a000102";
    let tcp = "03e8 0050 00000001 00000002 5018 0003 03b3 0000";
    assert_eq!(hex, format!("{ip}{tcp}68656c6c6f20776f726c64").replace(' ', ""));
    encode(&hello("[2001:db8::1]:1000", "[2001:db8::2]:80"), Ecn::Ce, &mut out).expect("it has a form");
    let hex: String = out.iter().map(|b| format!("{b:02x}")).collect();
    let ip = "60300000 001f 06 40 20010db8000000000000000000000001 20010db8000000000000000000000002";
    let tcp = "03e8 0050 00000001 00000002 5018 0003 be40 0000";
    assert_eq!(hex, format!("{ip}{tcp}68656c6c6f20776f726c64").replace(' ', ""));
}

#[test]
fn a_virtual_payload_is_zeros() {
    let (mut real, mut out) = (hello("10.0.1.1:1", "10.0.1.2:2"), Vec::new());
    real.payload = Payload::Bytes(vec![0; 1000].into());
    encode(&real, Ecn::NotEct, &mut out).expect("it has a form");
    let mut again = Vec::new();
    real.payload = Payload::Virtual { start: 77, len: 1000 };
    encode(&real, Ecn::NotEct, &mut again).expect("it has a form");
    assert_eq!(out, again);
}

#[test]
fn a_payload_in_pieces_is_the_same_packet() {
    let (mut segment, mut whole, mut out) = (hello("10.0.1.1:1", "10.0.1.2:2"), Vec::new(), Vec::new());
    encode(&segment, Ecn::NotEct, &mut whole).expect("it has a form");
    let text = segment.payload.to_vec();
    for cut in 0..=text.len() {
        for second in cut..=text.len() {
            let pieces = [&text[..cut], &text[cut..second], &text[second..]];
            segment.payload = Payload::Chunks(pieces.into_iter().map(bytes::Bytes::copy_from_slice).collect());
            encode(&segment, Ecn::NotEct, &mut out).expect("it has a form");
            assert_eq!(out, whole);
        }
    }
}

#[test]
fn what_has_no_form_is_an_error() {
    let mut out = Vec::new();
    let mixed = hello("10.0.1.1:1", "[2001:db8::2]:2");
    assert_eq!(encode(&mixed, Ecn::NotEct, &mut out), Err(EncodeError::Addresses));
    for (dst, src, most) in [("10.0.1.1:1", "10.0.1.2:1", 65_495), ("[::1]:1", "[::2]:1", 65_515)] {
        for real in [false, true] {
            let mut long = hello(src, dst);
            let payload = |len: u32| match real {
                true => Payload::Bytes(vec![0; len as usize].into()),
                false => Payload::Virtual { start: 0, len },
            };
            long.payload = payload(most);
            assert_eq!(encode(&long, Ecn::NotEct, &mut out), Ok(()));
            assert_eq!(decode(&out).expect("a packet").payload.len(), most as usize);
            for len in [most + 1, 65_536, 70_000] {
                long.payload = payload(len);
                assert_eq!(encode(&long, Ecn::NotEct, &mut out), Err(EncodeError::Payload { len }));
            }
        }
    }
}

#[test]
fn what_is_no_segment_is_an_error() {
    let mut good = Vec::new();
    encode(&hello("10.0.1.1:1", "10.0.1.2:2"), Ecn::NotEct, &mut good).expect("it has a form");
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    let error = |bytes: &[u8]| decode(bytes).expect_err("it is none");
    assert_eq!(error(&[]), DecodeError::Ip);
    assert_eq!(error(&good[..19]), DecodeError::Ip);
    assert_eq!(error(&changed(0, 0x55)), DecodeError::Ip);
    assert_eq!(error(&changed(6, 0x20)), DecodeError::Fragment);
    assert_eq!(error(&changed(9, 17)), DecodeError::Protocol);
    assert_eq!(error(&changed(32, 0x40)), DecodeError::Tcp);
    assert_eq!(error(&changed(8, 63)), DecodeError::Checksum);
    assert_eq!(error(&changed(50, b'D')), DecodeError::Checksum);
    // Ethernet pads short packets.
    assert_eq!(decode(&[&good[..], &[0; 9]].concat()), decode(&good));
}

proptest! {
    #[test]
    fn values_come_back(segment in segment(), ecn in ecn()) {
        let mut out = Vec::new();
        encode(&segment, ecn, &mut out).expect("its options fit");
        prop_assert_eq!(out.len(), segment.ip_len() as usize);
        let packet = decode(&out).expect("it is a packet");
        prop_assert_eq!(packet.ecn, ecn);
        prop_assert_eq!(&Payload::Bytes(packet.payload.to_vec().into()), &segment.payload);
        let back = Segment { payload: segment.payload.clone(), ..packet.segment };
        prop_assert_eq!(back, segment);
    }

    #[test]
    fn every_option_is_as_long_as_it_says(option in mptcp()) {
        let options = only(option);
        let bytes = bytes_of(&options);
        prop_assert_eq!(usize::from(bytes[1]), option.wire_len());
        prop_assert_eq!(bytes.len(), options.wire_len());
        prop_assert_eq!(decode_options(&bytes), options);
    }

    #[test]
    fn encoding_fails_only_beyond_40_bytes(options in any_options()) {
        let len = options.wire_len();
        let expected = if len <= MAX_OPTION_BYTES { Ok(len) } else { Err(EncodeError::Options { len }) };
        prop_assert_eq!(encode_options(&options, &mut [0; MAX_OPTION_BYTES]), expected);
    }

    /// Any bytes decode to a value, and encoding and decoding that value gives it back.
    #[test]
    fn any_option_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..=40)) {
        one_form(&bytes);
    }

    /// Nearly correct bytes: a correct form with some octets changed and the end cut off.
    #[test]
    fn damaged_option_bytes_are_read(
        options in options(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = bytes_of(&options);
        if !bytes.is_empty() {
            changes.into_iter().for_each(|(at, value)| *at.get_mut(&mut bytes) = value);
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        one_form(&bytes);
    }

    /// Most headers that are changed in a few places are still plain, or look plain.
    #[test]
    fn a_plain_header_is_read_as_any_other(
        segment in segment(),
        ecn in ecn(),
        changes in proptest::collection::vec((0usize..20, any::<u8>()), 0..3),
        padding in 0usize..4,
        sum_is_right: bool,
    ) {
        let mut out = Vec::new();
        encode(&segment, ecn, &mut out).expect("its options fit");
        out.resize(out.len() + padding, 0);
        changes.into_iter().for_each(|(at, value)| out[at] = value);
        if sum_is_right && out[0] == 0x45 {
            out[10..12].fill(0);
            let sum = !crate::checksum::fold(crate::checksum::swapped_sum(&out[..20]));
            out[10..12].copy_from_slice(&sum.to_le_bytes());
        }
        if let Some(plain) = read_plain_ipv4(&out) {
            prop_assert_eq!(Ok(plain), read_any_ip(&out, IpNumber::TCP));
        } else if out[0] == 0x45 && out[9] == 6 {
            prop_assert!(read_any_ip(&out, IpNumber::TCP).is_err());
        }
    }

    #[test]
    fn a_packet_in_shared_memory_is_read_as_any_other(segment in segment(), ecn in ecn(), before in 0usize..9, padding in 0usize..4) {
        let mut out = Vec::new();
        encode(&segment, ecn, &mut out).expect("its options fit");
        out.splice(0..0, vec![1; before]);
        let packet = before..out.len() + padding;
        out.resize(packet.end + 3, 0);
        let mut back = hello("10.0.1.1:1", "10.0.1.2:2");
        back.options.sack_permitted = true;
        prop_assert_eq!(decode_into(&out.clone().into(), packet.clone(), &mut back), Ok(ecn));
        let sent = match segment.payload.is_empty() {
            true => Segment { payload: Payload::EMPTY, ..segment },
            false => segment,
        };
        prop_assert_eq!(&back, &sent);
        out[before] = 0;
        prop_assert_eq!(decode_into(&out.into(), packet, &mut back), Err(DecodeError::Ip));
        prop_assert_eq!(&back, &sent);
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn a_changed_bit_is_noticed_or_is_outside_of_what_is_summed(segment in segment(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut out = Vec::new();
        encode(&segment, Ecn::NotEct, &mut out).expect("its options fit");
        let at = at.index(out.len());
        out[at] ^= 1 << bit;
        // The IPv6 header has no checksum of its own; TCP's covers only its addresses.
        if segment.src.is_ipv4() || at >= 8 {
            prop_assert!(decode(&out).is_err());
        }
    }
}

fn one_form(bytes: &[u8]) {
    let value = decode_options(bytes);
    let mut form = [0; MAX_OPTION_BYTES];
    match encode_options(&value, &mut form) {
        Ok(len) => {
            let again = decode_options(&form[..len]);
            assert_eq!(again, value);
            let mut second = [0; MAX_OPTION_BYTES];
            assert_eq!(encode_options(&again, &mut second), Ok(len));
            assert_eq!(form, second);
        }
        // Foreign options may be packed more tightly than our padding allows.
        Err(error) => assert_eq!(error, EncodeError::Options { len: value.wire_len() }),
    }
}

#[test]
fn the_header_alone_is_the_packets_beginning() {
    let segment = hello("10.0.1.1:1", "10.0.1.2:2");
    let (mut whole, mut header) = (Vec::new(), [0; super::MAX_HEADER_BYTES]);
    encode(&segment, Ecn::NotEct, &mut whole).expect("it has a form");
    let len = encode_header(&segment, Ecn::NotEct, &mut header).expect("it has a form");
    assert_eq!(header[..len], whole[..len]);
    assert_eq!(len, 40);
}
