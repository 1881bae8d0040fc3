//! The ECN codepoint of an IP header: hosts set it, queues mark it.

/// Explicit congestion notification (RFC 3168 §5). As a number it is the two bits of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the last two bits of an IPv4 type of service or an IPv6 traffic class.
    pub const fn from_traffic_class(traffic_class: u8) -> Self {
        match traffic_class & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a queue may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

#[cfg(test)]
mod tests {
    use super::Ecn;

    #[test]
    fn the_number_is_the_headers_two_bits() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(Ecn::from_traffic_class(0xb8 | ecn as u8), ecn);
        }
        assert_eq!(Ecn::Ect0 as u8, 2, "RFC 3168 §5, figure 1: ECT(0) is 10");
    }
}
