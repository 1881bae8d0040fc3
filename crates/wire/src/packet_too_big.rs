//! What a router says of a packet that it could not forward.

use core::net::SocketAddr;

/// A router's message that it cannot forward a packet because it is too large: ICMPv4 "fragmentation needed" (RFC 1191), or ICMPv6
/// "packet too big" (RFC 8201). Whoever takes it from the wire has checked its checksum and that it quotes a TCP segment of
/// its receiver's, as [`decode_packet_too_big`](crate::codec::decode_packet_too_big) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// The source of the quoted packet: the address and port of who gets the message.
    pub local: SocketAddr,
    /// Its destination.
    pub remote: SocketAddr,
    /// The TCP sequence number of the quoted packet.
    pub sequence: u32,
    /// The largest IP packet that the next link takes, bytes; 0 where a router does not say (RFC 1191 §5).
    pub mtu: u32,
}
