//! The network as the driver's device.

use crate::case::Case;
use crate::network::{Arrival, Fates, Network};
use crate::show::{self, Show};
use core::net::IpAddr;
use pathweave_driver::{PacketIo, Received};
use pathweave_units::Instant;
use pathweave_wire::{Ecn, MAX_OPTION_BYTES, Segment};

/// The address of a path's end.
pub(crate) fn address(path: usize, server: bool) -> IpAddr {
    IpAddr::from([10, 0, path as u8 + 1, if server { 2 } else { 1 }])
}

/// More segments than this at one instant are a spin.
const SPIN: u32 = 20_000;

pub(crate) struct Wires<'c> {
    case: &'c Case,
    pub(crate) network: Network,
    /// Packets sent.
    pub(crate) packets: u64,
    /// When the last one was sent, and how many were at that time.
    sent: (Instant, u32),
    place: Segment,
    show: Show,
}

impl<'c> Wires<'c> {
    pub(crate) fn new(case: &'c Case, show: Show) -> Self {
        let sent = (Instant::ZERO, 0);
        Wires { case, network: Network::new(case), packets: 0, sent, place: Segment::default(), show }
    }

    /// Counts a segment and says which path it takes.
    fn path(&mut self, now: Instant, from: usize) -> Result<usize, String> {
        let segment = &self.place;
        self.packets += 1;
        self.sent = if self.sent.0 == now { (now, self.sent.1 + 1) } else { (now, 1) };
        if self.sent.1 > SPIN {
            return Err(format!("the {} sends without end", show::END[from]));
        }
        let (client, server) = if from == 0 { (&segment.src, &segment.dst) } else { (&segment.dst, &segment.src) };
        let ends = (client.ip(), server.ip());
        let path = (0..self.case.paths.len()).find(|p| (address(*p, false), address(*p, true)) == ends);
        let path = path.ok_or_else(|| format!("no route for {}", show::segment(segment)))?;
        if segment.options.wire_len() > MAX_OPTION_BYTES {
            return Err(format!("options too long: {}", show::segment(segment)));
        }
        Ok(path)
    }
}

impl PacketIo for Wires<'_> {
    /// What a host must not do.
    type Error = String;

    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, String> {
        let Some(Arrival { to_server, ecn, segment }) = self.network.arrive(now) else { return Ok(None) };
        self.place = segment;
        self.show.tell(now, || format!("    arrives: {}", show::segment(&self.place)));
        Ok(Some(Received { host: usize::from(to_server), ecn, segment: &self.place }))
    }

    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, String> {
        let Some(ecn) = fill(&mut self.place) else { return Ok(false) };
        let path = self.path(now, host)?;
        let shown = self.show.0.then(|| show::segment(&self.place));
        let mut fates = Fates::new();
        let told = self.show.0.then_some(&mut fates);
        self.network.send(self.case, now, path, host == 0, (ecn, self.place.clone()), told);
        self.show.tell(now, || {
            let shown = shown.unwrap_or_default();
            format!("{} path {path}: {shown}{}", show::END[host], show::fates(&fates))
        });
        Ok(true)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.network.next()
    }
}
