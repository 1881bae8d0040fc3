//! What data takes of a kernel's memory: each segment has a buffer of its own, of two kilobytes with its management.
//!
//! Half of the receive buffer's memory is offered (`net.ipv4.tcp_adv_win_scale` = 1). Both buffers are counted here so that a size is
//! the window that the kernel makes of it: `tcp_rmem` and `tcp_wmem` would be twice that.

/// A buffer of a full segment on Ethernet with what manages it (`SKB_TRUESIZE`), bytes of memory.
const BUFFER_MEMORY: u64 = 2304;
/// Memory of which a byte of window is made.
pub(crate) const SHARES: u64 = 2;
/// What a segment takes of a size.
const BUFFER: u64 = BUFFER_MEMORY / SHARES;
/// Data bytes of a full segment with timestamps, of plain TCP and of Multipath TCP.
const TCP_SEGMENT: u64 = 1448;
const MPTCP_SEGMENT: u64 = 1424;

fn segment(mptcp: bool) -> u64 {
    if mptcp { MPTCP_SEGMENT } else { TCP_SEGMENT }
}

/// What `bytes` of data in full segments take of a buffer.
pub(crate) fn taken(bytes: u64, mptcp: bool) -> u64 {
    bytes.div_ceil(segment(mptcp)) * BUFFER
}

/// The bytes of data in the segments that are begun before as much as `limit` is taken.
pub(crate) fn room(limit: u64, mptcp: bool) -> u64 {
    limit.div_ceil(BUFFER) * segment(mptcp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_begun_takes_its_whole_buffer() {
        assert_eq!([taken(0, true), taken(1, true), taken(1424, true), taken(1425, true)], [0, 1152, 1152, 2304]);
        assert_eq!([taken(1448, true), taken(1448, false)], [2304, 1152]);
        assert_eq!([room(0, true), room(1, true), room(1152, false), room(1153, false)], [0, 1424, 1448, 2896]);
    }
}
