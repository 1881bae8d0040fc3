//! What is learned of the size of packets that a path takes.

use super::Connection;
use crate::seq::SubflowId;
use crate::tcp::PacketTooBigVerdict;
use core::net::IpAddr;
use pathweave_units::Instant;

impl Connection {
    /// A path takes IP packets of at most `mtu` bytes: those of its subflows that are larger are cut.
    pub(crate) fn set_path_mtu(&mut self, now: Instant, local: IpAddr, remote: IpAddr, mtu: u32) {
        for subflow in
            self.subflows.iter_mut().filter(|s| s.tcp.address_pair() == (local, remote) && !s.tcp.is_closed())
        {
            subflow.tcp.configure_path_mtu(now, mtu);
        }
    }

    /// The path is known to take no larger packets; the answer is whether that is new to a subflow.
    #[cold]
    pub(crate) fn limit_path_mtu(&mut self, now: Instant, pair: (IpAddr, IpAddr), mtu: u32) -> bool {
        let mut is_new = false;
        for subflow in self.subflows.iter_mut().filter(|s| s.tcp.address_pair() == pair && !s.tcp.is_closed()) {
            is_new |= subflow.tcp.limit_path_mtu(now, mtu);
        }
        is_new
    }

    /// What a subflow has found out since this was asked last: its addresses, and the largest packet that its path takes.
    #[inline]
    pub(crate) fn take_learned_path_mtu(&mut self) -> Option<((IpAddr, IpAddr), u32)> {
        self.subflows.iter_mut().find_map(|s| Some((s.tcp.address_pair(), s.tcp.take_learned_path_mtu()?)))
    }

    /// A router's message about a segment of this subflow.
    pub(crate) fn handle_packet_too_big(
        &mut self,
        now: Instant,
        id: SubflowId,
        sequence: u32,
        mtu: u32,
    ) -> PacketTooBigVerdict {
        match self.subflows.get_mut(id).filter(|s| !s.tcp.is_closed()) {
            Some(subflow) => subflow.tcp.handle_packet_too_big(now, sequence, mtu),
            None => PacketTooBigVerdict::UnknownSubflow,
        }
    }
}
