//! Packets as tests see them, and what a script does to them.

use super::{Pair, Side};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::MptcpOption;
use pathweave_wire::{Ecn, Flags, Segment};

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) at: Instant,
    pub(crate) from: Side,
    pub(crate) path: usize,
    pub(crate) segment: Segment,
    pub(crate) ecn: Ecn,
    /// Number of the packet among all packets of the run.
    pub(crate) number: usize,
}

impl Packet {
    /// Removes Multipath TCP's options, as a middlebox does.
    pub(crate) fn strip(&mut self) {
        self.segment.options.mptcp.clear();
        self.segment.options.dss = None;
    }
    pub(crate) fn is_syn(&self) -> bool {
        self.segment.flags.contains(Flags::SYN)
    }
    pub(crate) fn is_fin(&self) -> bool {
        self.segment.flags.contains(Flags::FIN)
    }
    pub(crate) fn is_rst(&self) -> bool {
        self.segment.flags.contains(Flags::RST)
    }
    pub(crate) fn len(&self) -> u32 {
        self.segment.payload.len()
    }
    pub(crate) fn is_data(&self) -> bool {
        self.len() > 0
    }
    /// Whether the packet has neither data nor SYN, FIN or RST.
    pub(crate) fn is_pure_ack(&self) -> bool {
        !self.is_data() && !self.segment.flags.intersects(Flags::SYN | Flags::FIN | Flags::RST)
    }
    pub(crate) fn has_option(&self, wanted: impl Fn(&MptcpOption) -> bool) -> bool {
        self.segment.options.mptcp.iter().any(wanted)
    }
    pub(crate) fn is_data_fin(&self) -> bool {
        self.segment.options.dss.is_some_and(|d| d.data_fin)
    }
}

/// What happens to a packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Drop,
    /// Arrives this much later.
    Late(Duration),
    /// Arrives, and a second time this much later.
    Twice(Duration),
}

impl Pair {
    /// Lets the script decide about each packet from now on; it may change the packet.
    pub(crate) fn script(&mut self, script: impl FnMut(&mut Packet) -> Fate + 'static) {
        self.driver.io.script = Box::new(script);
    }

    /// Lets every packet arrive from now on.
    pub(crate) fn no_script(&mut self) {
        self.script(|_| Fate::Pass);
    }

    /// Drops the first packet sent from now on for which `wanted` is true.
    pub(crate) fn drop_first(&mut self, wanted: impl Fn(&Packet) -> bool + 'static) {
        self.drop_some(1, wanted);
    }

    /// Drops the first `n` packets sent from now on for which `wanted` is true.
    pub(crate) fn drop_some(&mut self, n: usize, wanted: impl Fn(&Packet) -> bool + 'static) {
        let mut left = n;
        self.script(move |p| {
            if left > 0 && wanted(p) {
                left -= 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
    }

    /// Makes a path go dark; packets on it are lost.
    pub(crate) fn kill(&mut self, path: usize) {
        self.driver.io.paths[path].up = false;
        self.driver.io.flying.retain(|_, f| f.path != path);
    }

    pub(crate) fn revive(&mut self, path: usize) {
        self.driver.io.paths[path].up = true;
    }

    /// Delivers a segment to `to` now.
    pub(crate) fn inject(&mut self, to: Side, segment: Segment) {
        self.driver.endpoints[to as usize].handle_segment(self.now, Ecn::NotEct, &segment);
        self.settle();
    }

    /// An acknowledgement without options except timestamps, as `from` would send it next on a path.
    #[track_caller]
    pub(crate) fn forge(&self, from: Side, path: usize) -> Segment {
        let last = self.sent(from).rev().find(|p| p.path == path && !p.is_rst()).expect("it was used");
        let like = &last.segment;
        let mut forged = Segment::new(like.src, like.dst);
        forged.flags = Flags::ACK;
        forged.seq = like.seq.wrapping_add(like.sequence_len());
        (forged.ack, forged.window) = (like.ack, like.window);
        forged.options.timestamps = like.options.timestamps;
        forged
    }
}
