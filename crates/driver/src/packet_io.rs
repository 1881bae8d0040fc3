//! What a device is.

use pathweave_proto::PacketTooBig;
use pathweave_units::Instant;
use pathweave_wire::{Ecn, Segment};

/// A packet that has arrived.
#[derive(Debug)]
pub struct Received<'a> {
    /// The host that it is for: an index into [`crate::Driver::endpoints`].
    pub host: usize,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its segment, or several that were joined ([`Segment::segment_size`]). It stays the device's, which reads the next one into it. The endpoint shares the memory of its data
    /// for as long as that waits for the reader.
    pub segment: &'a Segment,
}

/// A device that carries packets of one host or of several: a simulated network, a wire in memory, a TUN device.
///
/// Segments are made and read in places that belong to the device, so that none is copied on its way: a simulator passes
/// structs with virtual payload, and a device of bytes encodes a segment's header next to data that it shares. A device that
/// reads or writes many packets with one call of the operating system keeps them in memory of its own: [`PacketIo::receive`]
/// hands them out one by one, [`PacketIo::send`] collects them, and the program writes them out when the driver is done.
/// A device that composes wraps another one and passes all calls on, as [`crate::Observed`] does.
pub trait PacketIo {
    /// What can go wrong with the device itself. A packet that is lost or damaged on its way is no error.
    type Error;

    /// The device, or the operating system behind it, holds packets until the time at which they are to leave
    /// ([`PacketIo::hold`]), as Linux's `fq` and `ETF` do. Then connections can have a pacing horizon
    /// ([`Pacing::On`](pathweave_proto::config::Pacing)); with any other device what is given out early would leave early.
    const HOLDS_PACKETS: bool = false;

    /// The next packet that has arrived by `now`, in the order of arrival. `None`: the applications' turn has come, because
    /// there is none, or because the device has handed out as many as it wants to at a time.
    ///
    /// # Errors
    /// Where the device fails.
    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, Self::Error>;

    /// The next message that a packet of a host was too large for its path (ICMP), and the host: an index into
    /// [`crate::Driver::endpoints`]. A device without such messages has none.
    fn receive_packet_too_big(&mut self, _now: Instant) -> Option<(usize, PacketTooBig)> {
        None
    }

    /// Has the next packet of `host` made and takes it: `fill` puts a segment into the place that it is given, whatever that
    /// held before, and answers with the packet's ECN codepoint, or with `None` where the host has nothing to send. The answer
    /// is whether there was a packet.
    ///
    /// A device whose queue is full drops the packet, as any queue on the way would.
    ///
    /// # Errors
    /// Where the device fails. The packet is lost.
    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, Self::Error>;

    /// The packet of `host` that was sent last is to leave at this time, later than now. Called only where
    /// [`PacketIo::HOLDS_PACKETS`].
    fn hold(&mut self, _host: usize, _until: Instant) {}

    /// How many segments of one subflow the device takes as one, which it cuts or has cut ([`Segment::segment_size`],
    /// [`Segment::parts`]): at most 64 KiB. 1: none but one by one. Asked whenever a host has something to send.
    fn max_segments(&self) -> usize {
        1
    }

    /// When [`PacketIo::receive`] wants to be called, where the device knows that by itself. A real one does not: the program
    /// waits for it beside the driver's timers.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
