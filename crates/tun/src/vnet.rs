//! The header in front of each packet of a device with offload. It says who completes the checksum, and how a
//! super-segment is cut (`struct virtio_net_hdr`, virtio 1.2 §5.1.6). Numbers are in the machine's byte order, as Linux
//! uses it for TUN devices.

/// Length of the header, bytes.
pub(crate) const VNET_BYTES: usize = 10;

const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_ECN: u8 = 0x80;

/// The fields of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vnet {
    flags: u8,
    gso_type: u8,
    header_len: u16,
    gso_size: u16,
    csum_start: u16,
    csum_offset: u16,
}

impl Vnet {
    /// The header of a packet whose checksum the device completes. The sum starts at `csum_start` and is stored
    /// `csum_offset` bytes later.
    pub(crate) fn partial(csum_start: u16, csum_offset: u16) -> Self {
        Vnet { flags: NEEDS_CSUM, csum_start, csum_offset, ..Vnet::default() }
    }

    /// The same packet as a super-segment: headers of `header_len` bytes, and data to be cut every `size` bytes.
    pub(crate) fn cut(self, ipv4: bool, header_len: u16, size: u16, reduces_window: bool) -> Self {
        let family = if ipv4 { GSO_TCPV4 } else { GSO_TCPV6 };
        // Only the first part reports a reduced window, which not every network card can do.
        let ecn = if reduces_window { GSO_ECN } else { 0 };
        Vnet { gso_type: family | ecn, header_len, gso_size: size, ..self }
    }

    /// Whether the TCP checksum was verified, or was never needed.
    pub(crate) fn is_verified(&self) -> bool {
        self.flags & (NEEDS_CSUM | DATA_VALID) != 0
    }

    /// Data bytes of each part, if the packet is a TCP super-segment.
    pub(crate) fn segment_size(&self) -> Option<u16> {
        let is_tcp = matches!(self.gso_type & !GSO_ECN, GSO_TCPV4 | GSO_TCPV6);
        (is_tcp && self.gso_size > 0).then_some(self.gso_size)
    }

    pub(crate) fn read(bytes: &[u8; VNET_BYTES]) -> Self {
        let [flags, gso_type, h0, h1, s0, s1, c0, c1, o0, o1] = *bytes;
        Vnet {
            flags,
            gso_type,
            header_len: u16::from_ne_bytes([h0, h1]),
            gso_size: u16::from_ne_bytes([s0, s1]),
            csum_start: u16::from_ne_bytes([c0, c1]),
            csum_offset: u16::from_ne_bytes([o0, o1]),
        }
    }

    pub(crate) fn bytes(&self) -> [u8; VNET_BYTES] {
        let [h0, h1] = self.header_len.to_ne_bytes();
        let [s0, s1] = self.gso_size.to_ne_bytes();
        let [c0, c1] = self.csum_start.to_ne_bytes();
        let [o0, o1] = self.csum_offset.to_ne_bytes();
        [self.flags, self.gso_type, h0, h1, s0, s1, c0, c1, o0, o1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_as_bytes() {
        for cut in [Vnet::partial(20, 16), Vnet::partial(40, 16).cut(false, 92, 1388, true)] {
            assert_eq!(Vnet::read(&cut.bytes()), cut);
            assert!(cut.is_verified());
        }
        assert_eq!(Vnet::partial(20, 16).cut(true, 72, 1400, false).segment_size(), Some(1400));
    }

    #[test]
    fn a_packet_that_nobody_vouches_for_is_verified_here_and_other_protocols_are_not_cut() {
        assert!(!Vnet::default().is_verified());
        assert_eq!(Vnet::default().segment_size(), None);
        // Segmentation of UDP.
        let udp = Vnet { gso_type: 5, gso_size: 1200, ..Vnet::default() };
        assert_eq!(udp.segment_size(), None);
    }
}
