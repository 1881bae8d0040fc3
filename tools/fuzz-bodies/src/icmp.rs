//! Fuzzes ICMP messages: any bytes must give a message or an error, and an accepted message must say what its bytes
//! say.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use pathweave_wire::codec::{DecodeError, decode, decode_packet_too_big};

/// The address of the host that gets the messages. It must appear in two places, so it is one that a fuzzer can guess.
const V4: Ipv4Addr = Ipv4Addr::new(0, 0, 0, 0);
const V6: Ipv6Addr = Ipv6Addr::UNSPECIFIED;

/// Reads the bytes as a packet, and as the content of packets to this host with correct checksums.
pub fn icmp(data: &[u8]) {
    let _ = decode_packet_too_big(data);
    // A packet's length limits the length of a message.
    let data = &data[..data.len().min(60_000)];
    let (v4, v6) = (ipv4(data), ipv6(data));
    for (packet, receiver, mtu) in [(v4, IpAddr::V4(V4), data.get(6..8)), (v6, IpAddr::V6(V6), data.get(4..8))] {
        assert_eq!(decode(&packet).err(), Some(DecodeError::Protocol), "a message is no segment");
        match decode_packet_too_big(&packet) {
            Ok(message) => {
                assert_eq!(message.local.ip(), receiver);
                assert_eq!(message.remote.is_ipv4(), receiver.is_ipv4());
                let named = mtu.expect("it has a size").iter().fold(0, |mtu, byte| mtu << 8 | u32::from(*byte));
                assert_eq!(message.mtu, named);
            }
            Err(error) => assert!(
                matches!(error, DecodeError::Icmp | DecodeError::OtherMessage | DecodeError::Quote),
                "the packet around the message is right: {error}"
            ),
        }
    }
}

fn ipv4(data: &[u8]) -> Vec<u8> {
    let [l0, l1] = (20 + data.len() as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, l0, l1, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1];
    packet.extend(V4.octets());
    put_checksum(&mut packet, 10, 0);
    let mut message = data.to_vec();
    put_checksum(&mut message, 2, 0);
    [packet, message].concat()
}

/// All addresses are zeros or have one bit, so that the pseudo-header's sum is easy to see.
fn ipv6(data: &[u8]) -> Vec<u8> {
    let [l0, l1] = (data.len() as u16).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, l0, l1, 58, 64];
    packet.extend(Ipv6Addr::LOCALHOST.octets());
    packet.extend(V6.octets());
    let mut message = data.to_vec();
    put_checksum(&mut message, 2, 1 + 58 + data.len() as u32);
    [packet, message].concat()
}

/// Writes the checksum of all bytes at `at`, if there are enough bytes. `more` is the sum of the other data that it
/// covers.
fn put_checksum(bytes: &mut [u8], at: usize, more: u32) {
    let Some(field) = bytes.get_mut(at..at + 2) else { return };
    field.fill(0);
    let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low)));
    let mut sum: u32 = more + words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
