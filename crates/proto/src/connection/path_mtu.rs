//! Knowledge of the largest packets that paths take.

use super::Connection;
use crate::tcp::PacketTooBigVerdict;
use core::net::IpAddr;
use pathweave_scheduler::SubflowId;
use pathweave_units::Instant;

impl Connection {
    /// Sets the path's MTU to `mtu` bytes per IP packet. Larger segments of its subflows are cut.
    pub(crate) fn set_path_mtu(&mut self, now: Instant, local: IpAddr, remote: IpAddr, mtu: u32) {
        for subflow in
            self.subflows.iter_mut().filter(|s| s.tcp.address_pair() == (local, remote) && !s.tcp.is_closed())
        {
            subflow.tcp.configure_path_mtu(now, mtu);
        }
    }

    /// Notes that the path takes no packets larger than `mtu`. Returns whether that is new to a subflow.
    #[cold]
    pub(crate) fn limit_path_mtu(&mut self, now: Instant, pair: (IpAddr, IpAddr), mtu: u32) -> bool {
        let mut is_new = false;
        for subflow in self.subflows.iter_mut().filter(|s| s.tcp.address_pair() == pair && !s.tcp.is_closed()) {
            is_new |= subflow.tcp.limit_path_mtu(now, mtu);
        }
        is_new
    }

    /// The next MTU that a subflow has discovered and that was not taken yet, with the subflow's addresses.
    #[inline]
    pub(crate) fn take_learned_path_mtu(&mut self) -> Option<((IpAddr, IpAddr), u32)> {
        self.subflows.iter_mut().find_map(|s| Some((s.tcp.address_pair(), s.tcp.take_learned_path_mtu()?)))
    }

    /// Handles a router's message about a segment of this subflow.
    pub(crate) fn handle_packet_too_big(
        &mut self,
        now: Instant,
        id: SubflowId,
        sequence: u32,
        mtu: u32,
    ) -> PacketTooBigVerdict {
        let tcp = &mut self.subflows.at(id).subflow.tcp;
        match tcp.is_closed() {
            true => PacketTooBigVerdict::UnknownSubflow,
            false => tcp.handle_packet_too_big(now, sequence, mtu),
        }
    }
}
