//! The window as a half of a kernel's receive buffer (`net.ipv4.tcp_adv_win_scale` = 1).
//!
//! On this host the receive buffer is memory, as `net.ipv4.tcp_rmem` sizes it. Half of what is free is offered, and what waits for
//! earlier data takes the memory of its segments.

use super::memory;

/// One of this many parts of the memory is offered.
const SHARES: u64 = 2;

pub(crate) fn offered_of(memory: u64) -> u64 {
    memory / SHARES
}

/// What of the memory is taken where `bytes` are unread or wait for earlier ones.
pub(crate) fn occupied(bytes: u64, mptcp: bool) -> u64 {
    memory::taken(bytes, mptcp)
}

/// The memory of at most `max` bytes for a window of `wanted` bytes, and the window (`tcp_rcv_space_adjust`).
pub(crate) fn grown(wanted: u64, max: u64) -> (u64, u64) {
    let memory = wanted.saturating_mul(SHARES).min(max);
    (memory, offered_of(memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_memory_is_offered() {
        assert_eq!(offered_of(200_000), 100_000);
        assert_eq!(grown(30_000, 200_000), (60_000, 30_000));
        assert_eq!(grown(130_000, 200_000), (200_000, 100_000));
        assert_eq!(occupied(2 * 1424, true), 2 * 2304);
    }
}
