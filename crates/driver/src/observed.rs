//! A device whose packets somebody looks at.

use crate::{PacketIo, Received};
use pathweave_proto::PacketTooBig;
use pathweave_units::Instant;
use pathweave_wire::{Ecn, Segment};

/// A packet as its host sees it.
#[derive(Clone, Copy, Debug)]
pub struct HostPacket<'a> {
    /// When.
    pub at: Instant,
    /// The host, as in [`Received::host`].
    pub host: usize,
    /// The host sends it; otherwise it receives it.
    pub sent: bool,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its segment.
    pub segment: &'a Segment,
}

/// Looks at packets.
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

/// A device that shows every packet to an observer, as a capture on the hosts would: before any queue where a host sends it,
/// and not at all where it is lost on its way to the host.
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
