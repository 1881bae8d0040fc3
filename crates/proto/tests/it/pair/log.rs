//! The log of packets, and the state in words for a failing test.

use super::{Client, Packet, Pair, Server, Side};
use pathweave_wire::crypto;
use pathweave_wire::mptcp::{CapableContent, MptcpOption};

impl Pair {
    /// Packets of one end, since the start.
    pub(crate) fn sent(&self, from: Side) -> impl DoubleEndedIterator<Item = &Packet> + Clone {
        self.driver.io.log.iter().filter(move |p| p.from == from)
    }

    /// Data segments of one end.
    pub(crate) fn data(&self, from: Side) -> impl DoubleEndedIterator<Item = &Packet> + Clone {
        self.sent(from).filter(|p| p.is_data())
    }

    /// Forgets all packets so far.
    pub(crate) fn clear_log(&mut self) {
        self.driver.io.log.clear();
    }

    /// Sequence number of a segment relative to its subflow's newest SYN.
    pub(crate) fn relative(&self, packet: &Packet) -> u32 {
        packet.segment.seq.wrapping_sub(self.driver.io.isns[packet.path][packet.from as usize])
    }

    /// Acknowledgement number of a segment relative to the newest SYN of the other side.
    pub(crate) fn relative_ack(&self, packet: &Packet) -> u32 {
        packet.segment.ack.wrapping_sub(self.driver.io.isns[packet.path][packet.from.other() as usize])
    }

    /// The newest initial sequence number of one end on a path.
    pub(crate) fn isn(&self, side: Side, path: usize) -> u32 {
        self.driver.io.isns[path][side as usize]
    }

    /// The initial data sequence number of one end, from the key in its handshake.
    #[track_caller]
    pub(crate) fn idsn(&self, side: Side) -> u64 {
        let keys = self.sent(side).flat_map(|p| &p.segment.options.mptcp).find_map(|o| match o {
            MptcpOption::Capable(c) => match c.content {
                CapableContent::SynAck { sender } | CapableContent::Ack { sender, .. } => Some(sender),
                CapableContent::Syn => None,
            },
            _ => None,
        });
        crypto::initial_data_sequence(keys.expect("the key was sent"))
    }

    /// The data sequence number of byte `at` of one end's stream.
    #[track_caller]
    pub(crate) fn wire_dsn(&self, side: Side, at: u64) -> u64 {
        self.idsn(side).wrapping_add(1).wrapping_add(at)
    }

    pub(crate) fn describe(&self) -> String {
        use core::fmt::Write;
        let mut out = format!("at {}; last packets:\n", self.now);
        for p in self.driver.io.log.iter().rev().take(400).rev() {
            let s = &p.segment;
            let _ = writeln!(
                out,
                "  {} {:?} path {} {:?} seq {} ack {} len {} win {} {:?} {:?} sack {:?}",
                p.at,
                p.from,
                p.path,
                s.flags,
                s.seq,
                s.ack,
                p.len(),
                s.window,
                s.options.dss,
                s.options.mptcp,
                s.options.sack
            );
        }
        for side in [Client, Server] {
            if let Some(c) = self.connection(side) {
                let _ = writeln!(
                    out,
                    "{side:?}: mptcp {} error {:?} written {} acked {} received {} {:?}",
                    c.is_mptcp(),
                    c.error(),
                    c.snapshot().sending.written_bytes,
                    c.snapshot().sending.acked_bytes,
                    c.snapshot().receiving.in_order_bytes,
                    c.snapshot().counters
                );
                for s in c.subflows() {
                    let _ = writeln!(out, "    {s:?}");
                }
            } else {
                let _ =
                    writeln!(out, "{side:?}: gone; events {:?}", self.driver.applications.apps[side as usize].events);
            }
        }
        out
    }
}
