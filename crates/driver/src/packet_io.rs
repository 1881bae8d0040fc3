//! What a device is, and a device that shows its packets to an observer.

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
    /// Its segment, or several that were joined ([`Segment::segment_size`]). It still belongs to the device, which
    /// reads the next one into the same place. The endpoint shares the memory of its data for as long as the data waits
    /// for the reader.
    pub segment: &'a Segment,
}

/// A device that carries the packets of one host or several: a simulated network, a wire in memory, a TUN device.
///
/// Segments are made and read in places that belong to the device, so that none is copied on its way: a simulator
/// passes structs with virtual payload, and a device of bytes encodes a segment's header next to data that it shares. A
/// device that reads or writes many packets with one call of the operating system keeps them in memory of its own:
/// [`PacketIo::receive`] hands them out one by one, [`PacketIo::send`] collects them, and the program writes them out
/// when the driver is done. A device can wrap another one and pass all calls on, as [`crate::Observed`] does.
pub trait PacketIo {
    /// What can go wrong with the device itself. A packet that is lost or damaged on its way is no error.
    type Error;

    /// Whether the device, or the operating system behind it, holds packets until the time at which they are to leave
    /// ([`PacketIo::hold`]), as Linux's `fq` and `ETF` do. Then connections can have a pacing horizon
    /// ([`Pacing::On`](pathweave_proto::config::Pacing)). With any other device, packets that are given out early would
    /// leave early.
    const HOLDS_PACKETS: bool = false;

    /// The next packet that has arrived by `now`, in the order of arrival. `None` means that it is the applications'
    /// turn: there is no packet, or the device has handed out as many as it wants to at a time.
    ///
    /// # Errors
    /// Where the device fails.
    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, Self::Error>;

    /// The next message that a packet of a host was too large for its path (ICMP), and the host: an index into
    /// [`crate::Driver::endpoints`]. A device without such messages has none.
    fn receive_packet_too_big(&mut self, _now: Instant) -> Option<(usize, PacketTooBig)> {
        None
    }

    /// Has the next packet of `host` made, and takes it. `fill` writes a segment into the place that it is given,
    /// whatever that held before. It returns the packet's ECN codepoint, or `None` if the host has nothing to send.
    /// Returns whether there was a packet.
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

    /// The packet of `host` that was sent last is to leave at this time, which is later than now. Called only if
    /// [`PacketIo::HOLDS_PACKETS`] is true.
    fn hold(&mut self, _host: usize, _until: Instant) {}

    /// How many segments of one subflow the device takes as one, at most 64 KiB together. It cuts them itself or has
    /// them cut ([`Segment::segment_size`], [`Segment::parts`]). 1 means that it takes them one by one. Asked whenever
    /// a host has something to send.
    fn max_segments(&self) -> usize {
        1
    }

    /// When [`PacketIo::receive`] should be called next, if the device knows. A real device does not know: the program
    /// waits for it, along with the driver's timers.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// A packet as its host sees it.
#[derive(Clone, Copy, Debug)]
pub struct HostPacket<'a> {
    /// When.
    pub at: Instant,
    /// The host, as in [`Received::host`].
    pub host: usize,
    /// Whether the host sends it. Otherwise it receives it.
    pub sent: bool,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its segment.
    pub segment: &'a Segment,
}

/// Something that looks at packets.
pub trait Observer {
    /// A host sends a packet, or has received one that its endpoint takes next.
    fn observe(&mut self, packet: &HostPacket<'_>);
}

/// An observer, if there is one.
impl<O: Observer> Observer for Option<O> {
    #[inline]
    fn observe(&mut self, packet: &HostPacket<'_>) {
        if let Some(observer) = self {
            observer.observe(packet);
        }
    }
}

/// A device that shows every packet to an observer, as a capture on the hosts would. A packet that a host sends is
/// shown before it enters any queue. A packet that is lost on its way to a host is not shown there.
#[derive(Debug)]
pub struct Observed<D, O> {
    /// The device.
    pub device: D,
    /// Who looks.
    pub observer: O,
}

impl<D: PacketIo, O: Observer> PacketIo for Observed<D, O> {
    type Error = D::Error;
    const HOLDS_PACKETS: bool = D::HOLDS_PACKETS;

    #[inline]
    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, D::Error> {
        let received = self.device.receive(now)?;
        if let Some(Received { host, ecn, segment }) = &received {
            self.observer.observe(&HostPacket { at: now, host: *host, sent: false, ecn: *ecn, segment });
        }
        Ok(received)
    }

    #[inline]
    fn receive_packet_too_big(&mut self, now: Instant) -> Option<(usize, PacketTooBig)> {
        self.device.receive_packet_too_big(now)
    }

    #[inline]
    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, D::Error> {
        let observer = &mut self.observer;
        self.device.send(now, host, |segment| {
            let ecn = fill(segment)?;
            observer.observe(&HostPacket { at: now, host, sent: true, ecn, segment });
            Some(ecn)
        })
    }

    #[inline]
    fn hold(&mut self, host: usize, until: Instant) {
        self.device.hold(host, until);
    }

    #[inline]
    fn max_segments(&self) -> usize {
        self.device.max_segments()
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.device.poll_timeout()
    }
}
