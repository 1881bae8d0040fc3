//! What data takes of a kernel's memory: each segment has a buffer of its own, of two kilobytes with its management.

/// A buffer of a full segment on Ethernet with what manages it (`SKB_TRUESIZE`), bytes.
const BUFFER: u64 = 2304;
/// Data bytes of a full segment with timestamps, of plain TCP and of Multipath TCP.
const TCP_SEGMENT: u64 = 1448;
const MPTCP_SEGMENT: u64 = 1424;

fn segment(mptcp: bool) -> u64 {
    if mptcp { MPTCP_SEGMENT } else { TCP_SEGMENT }
}

/// The memory of `bytes` of data in full segments.
pub(crate) fn taken(bytes: u64, mptcp: bool) -> u64 {
    bytes.div_ceil(segment(mptcp)) * BUFFER
}

/// The bytes of data in the buffers that are begun before the memory has reached `limit`.
pub(crate) fn room(limit: u64, mptcp: bool) -> u64 {
    limit.div_ceil(BUFFER) * segment(mptcp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_begun_takes_its_whole_buffer() {
        assert_eq!([taken(0, true), taken(1, true), taken(1424, true), taken(1425, true)], [0, 2304, 2304, 4608]);
        assert_eq!([taken(1448, true), taken(1448, false)], [4608, 2304]);
        assert_eq!([room(0, true), room(1, true), room(2304, false), room(2305, false)], [0, 1424, 1448, 2896]);
    }
}
