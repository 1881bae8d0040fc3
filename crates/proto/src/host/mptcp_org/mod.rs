//! The out-of-tree kernel of mptcp.org, versions 0.86 to 0.95 on Linux 3.5 to 4.19, which most papers used for their
//! measurements (`docs/notes/mptcp-org-kernel.md`).
//!
//! This module has the rules that differ from today's Linux and affect the papers' results: opportunistic
//! retransmission and penalisation (`penalisation`), the memory of data in both buffers, and the growth of the
//! congestion window (`subflow`). The other rules are shared with [`linux`](super::linux): the variance of round trips,
//! the clock of timers, the delay of acknowledgements (but not their compression, which is newer) and the window after
//! an idle time.
//!
//! Each segment has a buffer of its own, which takes 2304 bytes of memory with its overhead. The kernel offers half of
//! the receive buffer's memory (`net.ipv4.tcp_adv_win_scale` = 1). Sizes of both buffers are given here as windows: the
//! kernel's `tcp_rmem` and `tcp_wmem` are twice as large.

mod deferral;
mod penalisation;
mod subflow;

use super::connection::{ConnectionRules, Picked};
use super::linux::acks::LinuxAcks;
use super::linux::time::MeanDeviation;
use super::linux::window;
use super::unblocking::Obstacle;
use super::window::WindowRules;
use super::{Carrier, HostRules, Penalty, Remedy, Room, WindowSetting, Written};
use deferral::Deferral;
use pathweave_scheduler::DataSeq;
use pathweave_units::{Duration, Instant};
use subflow::MptcpOrgSubflow;

/// The kernel of mptcp.org.
pub(crate) struct MptcpOrg;

impl HostRules for MptcpOrg {
    type Subflow = MptcpOrgSubflow;
    type Acks = LinuxAcks;
    type Rtt = MeanDeviation;
    type Connection = MptcpOrgConnection;
    type Window = MptcpOrgWindow;

    fn subflow(tunes: bool, cwnd: u32, mss: u32) -> MptcpOrgSubflow {
        MptcpOrgSubflow::new(tunes, cwnd, mss)
    }
    fn acks(longest_delay: Duration) -> LinuxAcks {
        LinuxAcks::new(longest_delay, false)
    }
    fn rtt() -> MeanDeviation {
        MeanDeviation::default()
    }
    fn connection(tunes: bool) -> MptcpOrgConnection {
        MptcpOrgConnection { tunes, deferral: None }
    }
    fn window(_setting: &WindowSetting) -> MptcpOrgWindow {
        MptcpOrgWindow
    }
}

/// Versions 0.86 to 0.88 of the same kernel, with segmentation offload. They differ only in [`deferral`].
pub(crate) struct Mptcp088;

impl HostRules for Mptcp088 {
    type Subflow = MptcpOrgSubflow;
    type Acks = LinuxAcks;
    type Rtt = MeanDeviation;
    type Connection = MptcpOrgConnection;
    type Window = MptcpOrgWindow;

    fn subflow(tunes: bool, cwnd: u32, mss: u32) -> MptcpOrgSubflow {
        MptcpOrg::subflow(tunes, cwnd, mss)
    }
    fn acks(longest_delay: Duration) -> LinuxAcks {
        MptcpOrg::acks(longest_delay)
    }
    fn rtt() -> MeanDeviation {
        MptcpOrg::rtt()
    }
    fn connection(tunes: bool) -> MptcpOrgConnection {
        MptcpOrgConnection { deferral: Some(Deferral::default()), ..MptcpOrg::connection(tunes) }
    }
    fn window(setting: &WindowSetting) -> MptcpOrgWindow {
        MptcpOrg::window(setting)
    }
}

/// State of one connection's sending half.
#[derive(Debug)]
pub(crate) struct MptcpOrgConnection {
    tunes: bool,
    /// State of the rule that lets data wait, if the version has this rule.
    deferral: Option<Deferral>,
}

impl ConnectionRules for MptcpOrgConnection {
    #[inline]
    fn counts_memory(&self) -> bool {
        true
    }

    /// Sum of the subflows' send buffers (`mptcp_update_sndbuf`), converted from bytes of memory.
    fn send_buffer(&self, max: u64, _mptcp: bool, subflows: u64) -> u64 {
        if self.tunes { (subflows / SHARES).min(max) } else { max }
    }

    fn send_memory(&self, written: &Written, _queued: impl FnOnce(u64) -> u64) -> u64 {
        taken(written.bytes(), written.mptcp)
    }

    /// A writer begins buffers until the limit is reached, and fills each of them.
    fn writable(
        &self,
        written: &Written,
        _memory: u64,
        limit: u64,
        _is_out: impl FnOnce() -> bool,
        _fills: impl FnOnce(u64) -> u64,
    ) -> u64 {
        room(limit, written.mptcp).saturating_sub(written.bytes())
    }

    /// A waiting writer continues when a third of the buffer is free (`sk_stream_is_writeable`).
    fn tells_writer(&self, memory: u64, limit: u64, _writable: u64, _worth: u64) -> bool {
        3 * memory <= 2 * limit
    }

    /// A send buffer counts as full if written data fills more than two thirds of it (`sk_stream_wspace` below
    /// `sk_stream_min_wspace`).
    fn obstacle(
        &self,
        window_is_full: bool,
        all_is_out: bool,
        written: &Written,
        limit: impl FnOnce() -> u64,
    ) -> Option<Obstacle> {
        if window_is_full || !all_is_out {
            return window_is_full.then_some(Obstacle::ReceiveWindow);
        }
        let (memory, limit) = (taken(written.bytes(), written.mptcp), limit());
        (3 * memory > 2 * limit).then_some(Obstacle::SendBuffer { full: memory >= limit })
    }

    #[inline]
    fn defers(&self) -> bool {
        self.deferral.is_some()
    }

    fn leaving(&mut self, now: Instant, picked: &Picked) -> Option<DataSeq> {
        self.deferral.as_mut()?.leaving(now, picked)
    }

    fn helper_may_hold(&self) -> bool {
        true
    }

    fn remedy(
        &self,
        now: Instant,
        obstacle: Obstacle,
        helper: &Carrier,
        helper_holds: bool,
        holders: &[Carrier],
    ) -> Remedy {
        let penalised = holders.first().filter(|slow| penalisation::penalises(now, obstacle, helper, slow));
        let penalty = penalised.map(|slow| Penalty {
            slow: slow.id,
            halve: penalisation::halve,
            // The kernel notes the time at the subflow that helps.
            remembered_with: helper.id,
            at_once: true,
        });
        Remedy { resends: !helper_holds && penalisation::resends(helper.srtt, holders), penalty }
    }
}

/// The kernel's window rules: it offers half of its memory, and each segment takes a whole buffer.
#[derive(Debug)]
pub(crate) struct MptcpOrgWindow;

impl WindowRules for MptcpOrgWindow {
    #[inline(never)]
    fn possible(&self, room: &Room) -> u64 {
        window::possible(room, room.buffer, room.buffer.saturating_sub(room.occupied))
    }

    fn ends_quick_acks(&self, buffer: u64, occupied: u64) -> bool {
        buffer.saturating_sub(occupied) < buffer / 2
    }

    #[inline]
    fn is_news(&self, told: u64, possible: impl FnOnce() -> u64, mptcp: bool) -> bool {
        window::is_news(told, possible(), mptcp)
    }

    fn tells(&self, buffer: u64, _largest_segment: u64, left: u64, possible: u64) -> bool {
        window::tells(buffer, left, possible)
    }

    #[inline]
    fn occupied(&self, _buffer: u64, bytes: u64, held: u64, mptcp: bool) -> u64 {
        taken(bytes + held, mptcp)
    }

    #[inline]
    fn waits_for_rest(&self) -> bool {
        false
    }
}

/// Memory of a buffer with a full segment on Ethernet and its overhead (`SKB_TRUESIZE`), bytes.
const BUFFER_MEMORY: u64 = 2304;
/// Bytes of memory for one byte of window.
const SHARES: u64 = 2;
/// The part of a window that one segment takes, bytes.
const BUFFER: u64 = BUFFER_MEMORY / SHARES;
/// Data bytes of a full segment of plain TCP with timestamps.
const TCP_SEGMENT: u64 = 1448;
/// Data bytes of a full segment of Multipath TCP with timestamps.
const MPTCP_SEGMENT: u64 = 1424;

fn segment(mptcp: bool) -> u64 {
    if mptcp { MPTCP_SEGMENT } else { TCP_SEGMENT }
}

/// The part of a buffer that `bytes` of data in full segments take.
fn taken(bytes: u64, mptcp: bool) -> u64 {
    bytes.div_ceil(segment(mptcp)) * BUFFER
}

/// Data bytes of the full segments that are begun before `limit` bytes of the buffer are taken.
fn room(limit: u64, mptcp: bool) -> u64 {
    limit.div_ceil(BUFFER) * segment(mptcp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::DataSeq;

    fn written(bytes: u64) -> Written {
        Written { una: DataSeq(5000), end: DataSeq(5000 + bytes), unassigned: 0, mptcp: true }
    }

    #[test]
    fn a_writer_fills_the_buffer_that_crosses_the_limit_and_waits_for_a_third() {
        let host = MptcpOrg::connection(false);
        let writable = |bytes| host.writable(&written(bytes), 0, 100_000, || true, |free| free);
        // 86 segments take 99072 bytes, the 87th crosses the limit.
        assert_eq!([writable(0), writable(87 * 1424)], [87 * 1424, 0]);
        assert_eq!(host.send_memory(&written(87 * 1424), |queued| queued), 87 * 1152);
        assert!(!host.tells_writer(66_667, 100_000, 0, 0));
        assert!(host.tells_writer(66_666, 100_000, 0, 0));
    }

    #[test]
    fn a_buffer_counts_as_full_from_two_thirds_on() {
        let host = MptcpOrg::connection(false);
        let obstacle =
            |segments: u64, all_is_out| host.obstacle(false, all_is_out, &written(segments * 1424), || 100_000);
        assert_eq!(obstacle(57, true), None);
        assert_eq!(obstacle(58, true), Some(Obstacle::SendBuffer { full: false }));
        assert_eq!(obstacle(87, true), Some(Obstacle::SendBuffer { full: true }));
        assert_eq!(obstacle(87, false), None, "the writer does not wait");
    }

    #[test]
    fn with_tuning_the_send_buffer_is_what_the_subflows_have_together() {
        let tuned = MptcpOrg::connection(true);
        assert_eq!((tuned.send_buffer(1000, true, 700), tuned.send_buffer(300, true, 700)), (350, 300));
        assert_eq!(MptcpOrg::connection(false).send_buffer(1000, true, 700), 1000);
    }

    #[test]
    fn a_segment_begun_takes_its_whole_buffer() {
        assert_eq!([taken(0, true), taken(1, true), taken(1424, true), taken(1425, true)], [0, 1152, 1152, 2304]);
        assert_eq!([taken(1448, true), taken(1448, false)], [2304, 1152]);
        assert_eq!([room(0, true), room(1, true), room(1152, false), room(1153, false)], [0, 1424, 1448, 2896]);
    }
}
