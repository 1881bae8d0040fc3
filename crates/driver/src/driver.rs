//! The loop around endpoints, device and applications, in its fixed order.

use crate::{PacketIo, Received};
use pathweave_proto::Endpoint;
use pathweave_units::Instant;

/// The programs that use the endpoints: they open and accept connections, write, read and close.
pub trait Applications {
    /// Acts on what an endpoint reports: polls [`Endpoint::poll_incoming`], [`Endpoint::poll_accept`] and
    /// [`Endpoint::poll_event`], as far as the applications need them, until they return `None`. Returns whether
    /// anything was done. If so, the driver sends the segments that are ready to leave, and calls this again.
    fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool;

    /// Called when a host has become quiet: its segments have left and its applications have nothing more to do. An
    /// implementation can look at the endpoint's state between two changes here.
    fn quiet(&mut self, _now: Instant, _host: usize, _endpoint: &mut Endpoint) {}

    /// The time at which an application next wants to act without an event of its endpoint.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Lets the next application whose time has come act, and returns its host. The driver calls this until it returns
    /// `None`. An application that is due again at once must wait for the next round, so that the calls end.
    fn handle_timeout(&mut self, _now: Instant, _endpoints: &mut [Endpoint]) -> Option<usize> {
        None
    }
}

/// Endpoints, the device that carries their packets, and the applications behind them.
///
/// One round ([`Driver::step`]) does these things, always in this order:
///
/// 1. Packets, in the order of their arrival. An endpoint's answers leave at once, except acknowledgements that wait
///    for the application to read. The applications of a host act after all packets of this time have arrived, as after
///    a kernel's interrupt. If several hosts got packets, the host whose first packet came last acts first.
/// 2. The timers of each endpoint, in the order of [`Driver::endpoints`].
/// 3. Applications whose own time has come, in the order of [`Applications::handle_timeout`].
///
/// After each change of an endpoint, that host is drained: its segments leave and its applications act, until neither
/// has anything left to do. Segments leave first, so that the engine's own answers are ahead of what the applications
/// write.
pub struct Driver<I, A> {
    /// The endpoints. A host's number is its index here. After giving an endpoint a command from outside of
    /// [`Applications`], call [`Driver::drain`] to send the segments that the command has caused.
    pub endpoints: Vec<Endpoint>,
    /// The device.
    pub io: I,
    /// The applications.
    pub applications: A,
    /// Hosts that got packets in this round, and whose applications have not acted yet.
    touched: Vec<usize>,
}

impl<I: PacketIo, A: Applications> Driver<I, A> {
    /// A driver of these parts, which does nothing before the first call of [`Driver::step`].
    pub fn new(endpoints: Vec<Endpoint>, io: I, applications: A) -> Self {
        Driver { endpoints, io, applications, touched: Vec::new() }
    }

    /// Makes rounds until nothing is left to do at `now`. Returns the time at which something happens next, like
    /// [`Driver::poll_timeout`].
    ///
    /// # Errors
    /// If the device fails. The next call continues with what was not done yet.
    #[inline]
    pub fn settle(&mut self, now: Instant) -> Result<Option<Instant>, I::Error> {
        loop {
            let next = self.step(now)?;
            if next.is_none_or(|next| next > now) {
                return Ok(next);
            }
        }
    }

    /// Makes one round of everything that happens at `now`. Returns the time at which something happens next, like
    /// [`Driver::poll_timeout`]. If that time is not after `now`, another round is due.
    ///
    /// # Errors
    /// As for [`Driver::settle`].
    #[inline]
    pub fn step(&mut self, now: Instant) -> Result<Option<Instant>, I::Error> {
        self.handle_packets(now)?;
        // In most rounds there are only packets and no timers.
        let next = self.poll_timeout();
        if next.is_none_or(|next| next > now) {
            return Ok(next);
        }
        self.handle_timeout(now)?;
        Ok(self.poll_timeout())
    }

    /// The first part of a round: handles all packets that have arrived, then messages about packets, then lets the
    /// applications of the hosts that got packets act.
    ///
    /// # Errors
    /// As for [`Driver::settle`].
    #[inline]
    pub fn handle_packets(&mut self, now: Instant) -> Result<(), I::Error> {
        while let Some(Received { host, ecn, segment }) = self.io.receive(now)? {
            self.endpoints[host].handle_segment(now, ecn, segment);
            if !self.touched.contains(&host) {
                self.touched.push(host);
            }
            self.send_all(now, host)?;
        }
        while let Some((host, message)) = self.io.receive_packet_too_big(now) {
            self.endpoints[host].handle_packet_too_big(now, &message);
            self.send_all(now, host)?;
        }
        while let Some(host) = self.touched.pop() {
            self.serve(now, host)?;
        }
        Ok(())
    }

    /// The rest of a round: handles the endpoints' timers, then the applications' timers.
    ///
    /// # Errors
    /// As for [`Driver::settle`].
    #[inline]
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), I::Error> {
        for host in 0..self.endpoints.len() {
            if self.endpoints[host].poll_timeout().is_some_and(|t| t <= now) {
                self.endpoints[host].handle_timeout(now);
                self.drain(now, host)?;
            }
        }
        while let Some(host) = self.applications.handle_timeout(now, &mut self.endpoints) {
            self.drain(now, host)?;
        }
        Ok(())
    }

    /// The time at which something happens next, as far as it is known: a timer of an endpoint or of an application, or
    /// the arrival of a packet if the device knows it.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let or_never = |time: Option<Instant>| time.unwrap_or(Instant::FAR_FUTURE);
        let mut next = or_never(self.io.poll_timeout()).min(or_never(self.applications.poll_timeout()));
        for endpoint in &self.endpoints {
            next = next.min(or_never(endpoint.poll_timeout()));
        }
        (next < Instant::FAR_FUTURE).then_some(next)
    }

    /// Sends a host's segments and lets its applications act, until the host is quiet.
    ///
    /// # Errors
    /// As for [`Driver::settle`].
    pub fn drain(&mut self, now: Instant, host: usize) -> Result<(), I::Error> {
        self.send_all(now, host)?;
        self.serve(now, host)
    }

    /// Lets the applications of a host act, and sends what they cause, until they have nothing more to do. The host's
    /// segments must have left before.
    #[inline]
    fn serve(&mut self, now: Instant, host: usize) -> Result<(), I::Error> {
        while self.applications.serve(now, host, &mut self.endpoints[host]) {
            self.send_all(now, host)?;
        }
        self.applications.quiet(now, host, &mut self.endpoints[host]);
        Ok(())
    }

    /// Sends all segments that a host has ready. Not inlined, so that the sending code is compiled only once.
    #[inline(never)]
    fn send_all(&mut self, now: Instant, host: usize) -> Result<(), I::Error> {
        let endpoint = &mut self.endpoints[host];
        let most = self.io.max_segments();
        if !I::HOLDS_PACKETS {
            while self.io.send(now, host, |segment| endpoint.poll_transmit_into(now, most, segment))? {}
            return Ok(());
        }
        loop {
            let mut departure = now;
            let sent = self.io.send(now, host, |segment| {
                let ecn = endpoint.poll_transmit_into(now, most, segment)?;
                departure = endpoint.departure(now, segment);
                Some(ecn)
            })?;
            match sent {
                true if departure > now => self.io.hold(host, departure),
                true => {}
                false => break,
            }
        }
        Ok(())
    }
}
