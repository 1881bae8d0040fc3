//! Tokens, initial data sequence numbers and HMACs (RFC 8684 §3.1 to 3.4), and numbers that only the holder of a secret
//! can predict.

use crate::mptcp::{AddressId, Key, Token};
use core::net::{IpAddr, SocketAddr};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The token of a key: the first 32 bits of its SHA-256.
//= RFC 8684 §3.1: "the token MUST be a truncated (most significant 32 bits) SHA-256 hash [RFC6234] of the key"
//= tests: crypto::tokens_and_initial_numbers
//= RFC 8684 §3.1: "Note that the key MUST be hashed in network byte order"
//= tests: crypto::tokens_and_initial_numbers
pub fn token(key: Key) -> Token {
    let digest = Sha256::digest(key.0.to_be_bytes());
    Token(u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]))
}

/// The initial data sequence number of a key: the last 64 bits of its SHA-256.
//= RFC 8684 §3.1: "A different, 64-bit truncation (the least significant 64 bits) of the SHA-256 hash of the key MUST be used as
//= the IDSN"
//= tests: crypto::tokens_and_initial_numbers
//= RFC 8684 §3.1: "the "least significant" bits MUST be the rightmost bits of the SHA-256 digest"
//= tests: crypto::tokens_and_initial_numbers
pub fn initial_data_sequence(key: Key) -> u64 {
    let digest = Sha256::digest(key.0.to_be_bytes());
    let mut last = [0; 8];
    last.copy_from_slice(&digest[24..]);
    u64::from_be_bytes(last)
}

fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(message);
    let mut out = [0; 32];
    out.copy_from_slice(&mac.finalize().into_bytes());
    out
}

/// The HMAC of an MP_JOIN over the sender's and the receiver's nonce, keyed with the sender's and the receiver's key
/// (RFC 8684 §3.2).
pub fn join_hmac(sender: Key, receiver: Key, sender_nonce: u32, receiver_nonce: u32) -> [u8; 32] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&sender.0.to_be_bytes());
    key[8..].copy_from_slice(&receiver.0.to_be_bytes());
    let mut message = [0; 8];
    message[..4].copy_from_slice(&sender_nonce.to_be_bytes());
    message[4..].copy_from_slice(&receiver_nonce.to_be_bytes());
    hmac_sha256(&key, &message)
}

/// The leftmost 64 bits of [`join_hmac`], for the SYN/ACK.
pub fn join_hmac_64(hmac: &[u8; 32]) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hmac[..8]);
    u64::from_be_bytes(first)
}

/// The leftmost 160 bits of [`join_hmac`], for the third ACK.
pub fn join_hmac_160(hmac: &[u8; 32]) -> [u8; 20] {
    let mut first = [0; 20];
    first.copy_from_slice(&hmac[..20]);
    first
}

/// The HMAC of an ADD_ADDR: the rightmost 64 bits of the HMAC over identifier, address and port, with port 0 if the
/// option has none (RFC 8684 §3.4.1).
pub fn add_address_hmac(sender: Key, receiver: Key, id: AddressId, address: IpAddr, port: Option<u16>) -> u64 {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&sender.0.to_be_bytes());
    key[8..].copy_from_slice(&receiver.0.to_be_bytes());
    let mut message = vec![id.0];
    match address {
        IpAddr::V4(a) => message.extend_from_slice(&a.octets()),
        IpAddr::V6(a) => message.extend_from_slice(&a.octets()),
    }
    message.extend_from_slice(&port.unwrap_or(0).to_be_bytes());
    let digest = hmac_sha256(&key, &message);
    let mut last = [0; 8];
    last.copy_from_slice(&digest[24..]);
    u64::from_be_bytes(last)
}

/// Four numbers derived from a pair of socket addresses and from `numbers`, which only the holder of `secret` can
/// compute: the first four words of an HMAC over all of these.
pub fn keyed_numbers(secret: &[u8; 32], local: SocketAddr, remote: SocketAddr, numbers: &[u32]) -> [u32; 4] {
    let mut message = Vec::with_capacity(48);
    for address in [local, remote] {
        match address.ip() {
            IpAddr::V4(a) => message.extend_from_slice(&a.octets()),
            IpAddr::V6(a) => message.extend_from_slice(&a.octets()),
        }
        message.extend_from_slice(&address.port().to_be_bytes());
    }
    numbers.iter().for_each(|number| message.extend_from_slice(&number.to_be_bytes()));
    let digest = hmac_sha256(secret, &message);
    [0, 4, 8, 12].map(|at| u32::from_be_bytes([digest[at], digest[at + 1], digest[at + 2], digest[at + 3]]))
}

/// Whether two HMACs are equal. The comparison takes constant time, so that its duration does not show where they
/// differ.
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Key = Key(0x0102_0304_0506_0708);
    const B: Key = Key(0x1112_1314_1516_1718);

    #[test]
    fn tokens_and_initial_numbers() {
        assert_eq!((token(Key(1)), initial_data_sequence(Key(1))), (Token(0xcd26_6215), 0x19ec_5090_83d0_0a50));
        assert_eq!((token(A), initial_data_sequence(A)), (Token(0x6684_0dda), 0xf5a1_01d3_d29d_6f72));
        assert_eq!((token(B), initial_data_sequence(B)), (Token(0xccad_45ac), 0x535b_eea3_8e08_7c8e));
    }

    /// The vectors of the Linux kernel's unit tests. Key and message are the bytes of the texts, not hexadecimal
    /// numbers.
    #[test]
    fn the_kernels_hmac_vectors() {
        for (key, message, expected) in [
            ("0b0b0b0b0b0b0b0b", "48692054", "8385e24fb4235ac37556b6b886db106284a1da671699f46db1f235ec622dcafa"),
            ("aaaaaaaaaaaaaaaa", "dddddddd", "2c5e219164ff1dca1c4a92318d847bb6b9d44492984e1eb71aff9022f71046e9"),
            ("0102030405060708", "cdcdcdcd", "e73b9ba9969969cefb04aa0d6df18ec2fcc075b6f23b4d8c4da736a5dbbc6e7d"),
        ] {
            let hmac = hmac_sha256(key.as_bytes(), message.as_bytes());
            assert_eq!(hmac.iter().map(|b| format!("{b:02x}")).collect::<String>(), expected);
        }
    }

    #[test]
    fn join_hmacs() {
        let (ra, rb) = (0x2122_2324, 0x3132_3334);
        assert_eq!(join_hmac_64(&join_hmac(B, A, rb, ra)), 0x0fce_2597_e55e_87ef);
        let ack = join_hmac_160(&join_hmac(A, B, ra, rb));
        let hex: String = ack.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, "e19ad4ac22d51c2f064d49662431bc8f9d6b3a29");
    }

    #[test]
    fn address_hmacs() {
        let id = AddressId(5);
        let v4 = "10.0.3.1".parse().expect("an address");
        let v6 = "dead:beef:3::1".parse().expect("an address");
        assert_eq!(add_address_hmac(A, B, id, v4, None), 0xd1ba_0c01_fb96_f8f2);
        assert_eq!(add_address_hmac(A, B, id, v4, Some(8080)), 0xeafd_a9b0_c561_2327);
        assert_eq!(add_address_hmac(A, B, id, v6, None), 0xa1e7_5a60_9d91_ab30);
    }
}
