//! [`PacketIo`], which a device implements, and [`Observed`], a device that shows its packets to an observer.

use pathweave_proto::PacketTooBig;
use pathweave_units::Instant;
use pathweave_wire::{Ecn, Segment};

/// A packet that has arrived.
#[derive(Debug)]
pub struct Received<'a> {
    /// The host that gets the packet: an index into [`crate::Driver::endpoints`].
    pub host: usize,
    /// The packet's ECN codepoint.
    pub ecn: Ecn,
    /// The packet's segment, or several joined segments ([`Segment::segment_size`]). The segment belongs to the device,
    /// which reads the next one into the same place. The endpoint shares the memory of the data until the application
    /// has read it.
    pub segment: &'a Segment,
}

/// A device that carries the packets of one host or of several: a simulated network, a wire in memory, a TUN device.
///
/// The device provides the [`Segment`] that is read or written, so that no segment is copied on its way. A simulator
/// passes segments with virtual payload as they are; a device of bytes encodes the header and shares the data.
///
/// A device that reads or writes many packets with one system call keeps them in its own memory:
/// [`PacketIo::receive`] hands them out one by one, [`PacketIo::send`] collects them, and the program writes them out
/// when the driver is done. A device can wrap another one and pass all calls on, as [`crate::Observed`] does.
pub trait PacketIo {
    /// A failure of the device itself. A packet that is lost or damaged on its way is not an error.
    type Error;

    /// Whether the device, or the operating system behind it, can hold a packet until its time of departure
    /// ([`PacketIo::hold`]), as Linux's `fq` and `ETF` do. Only then may connections have a pacing horizon
    /// ([`Pacing::On`](pathweave_proto::config::Pacing)), which gives packets to the device early; any other device
    /// would send them early.
    const HOLDS_PACKETS: bool = false;

    /// The next packet that has arrived by `now`, in the order of arrival. `None` lets the applications act: there is
    /// no packet left, or the device has handed out a whole batch.
    ///
    /// # Errors
    /// If the device fails.
    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, Self::Error>;

    /// The next ICMP message that a packet was too large for its path, and the host that had sent the packet: an index
    /// into [`crate::Driver::endpoints`]. By default there are no such messages.
    fn receive_packet_too_big(&mut self, _now: Instant) -> Option<(usize, PacketTooBig)> {
        None
    }

    /// Sends the next packet of `host`, if there is one. Returns whether there was one.
    ///
    /// The device passes a segment to `fill`, which overwrites it and returns the packet's ECN codepoint, or `None` if
    /// the host has nothing to send. A device whose queue is full drops the packet, as any queue on the way would.
    ///
    /// # Errors
    /// If the device fails. Then the packet is lost.
    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, Self::Error>;

    /// Holds the packet that [`PacketIo::send`] took last for `host` until `until`, which is later than now. Called
    /// only if [`PacketIo::HOLDS_PACKETS`] is true.
    fn hold(&mut self, _host: usize, _until: Instant) {}

    /// The number of segments of one subflow that the device takes as one super-segment, which has at most 64 KiB. The
    /// device splits it or has it split ([`Segment::segment_size`], [`Segment::parts`]). 1 means no super-segments. The
    /// driver asks each time that it sends the segments of a host.
    fn max_segments(&self) -> usize {
        1
    }

    /// When to call [`PacketIo::receive`] next, if the device knows. A real device does not know: the program waits for
    /// the device and for the driver's timers together.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// A packet as seen by the host that sends or receives it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HostPacket<'a> {
    /// The time at which the host sends or receives the packet.
    pub at: Instant,
    /// The host: an index into [`crate::Driver::endpoints`].
    pub host: usize,
    /// Whether the host sends the packet; if false, it receives the packet.
    pub sent: bool,
    /// The packet's ECN codepoint.
    pub ecn: Ecn,
    /// The packet's segment.
    pub segment: &'a Segment,
}

/// An observer of packets, for example a capture.
pub trait Observer {
    /// Called for each packet that a host sends, and for each received packet before the endpoint handles it.
    fn observe(&mut self, packet: &HostPacket<'_>);
}

/// An optional observer: `None` ignores all packets.
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
    /// The observer that sees every packet.
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
