//! What is learned of the size of packets that a path takes.

use super::Connection;
use crate::seq::SubflowId;
use crate::tcp::PacketTooBigVerdict;
use core::net::IpAddr;
use pathweave_units::Instant;

impl Connection {
    /// A path takes IP packets of at most `mtu` bytes: those of its subflows that are larger are cut.
    pub(crate) fn set_path_mtu(&mut self, now: Instant, local: IpAddr, remote: IpAddr, mtu: u32) {
        let on_path = |tcp: &crate::tcp::Tcp| (tcp.local.ip(), tcp.remote.ip()) == (local, remote);
        for subflow in self.subflows.iter_mut().filter(|s| on_path(&s.tcp) && !s.tcp.is_closed()) {
            subflow.tcp.configure_path_mtu(now, mtu);
        }
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
