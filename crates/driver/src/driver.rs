//! The loop.

use crate::{PacketIo, Received};
use pathweave_proto::Endpoint;
use pathweave_units::Instant;

/// What runs behind the endpoints: it opens and accepts connections, writes, reads and closes.
pub trait Applications {
    /// Acts on what an endpoint reports: polls [`Endpoint::poll_incoming`], [`Endpoint::poll_accept`] and
    /// [`Endpoint::poll_event`], where the applications need them, until they return `None`. Returns whether anything
    /// was done. If so, the driver sends what that has made ready to leave, and calls this again.
    fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool;

    /// Called when a host has become quiet: its segments have left and its applications have nothing more to do. This
    /// is the place to look at the endpoint's state between two changes.
    fn quiet(&mut self, _now: Instant, _host: usize, _endpoint: &mut Endpoint) {}

    /// When an application wants to do something by itself.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Lets the next application whose time has come act, and returns the host that it acted on. The driver calls this
    /// until it returns `None`, which ends the applications' turn: one that is due again at once waits for the next
    /// round.
    fn handle_timeout(&mut self, _now: Instant, _endpoints: &mut [Endpoint]) -> Option<usize> {
        None
    }
}

/// Endpoints, the device that carries their packets, and the applications behind them.
///
/// One round ([`Driver::step`]) does these things, always in this order:
///
/// 1. Packets, in the order of their arrival. What an endpoint sends in answer leaves at once, but for
///    acknowledgements that wait for a reader. The applications of a host act when all packets of this time have arrived,
///    as behind a kernel's interrupt; the host that was the last to get its first packet comes first.
/// 2. The timers of each endpoint, in the order of [`Driver::endpoints`].
/// 3. Applications that want to do something by themselves, in their own order.
///
/// After each change of an endpoint, that host is drained: its segments leave and its applications act, until neither
/// has anything left to do. Segments go first, so that what the engine sends at once is ahead of what an application
/// causes.
pub struct Driver<I, A> {
    /// The endpoints. A host's number is its index here. After a command from outside the applications, call
    /// [`Driver::drain`] to send what it has caused.
    pub endpoints: Vec<Endpoint>,
    /// The device.
    pub io: I,
    /// The applications.
    pub applications: A,
    /// Hosts that took packets in this round; their applications have not run yet.
    touched: Vec<usize>,
}

impl<I: PacketIo, A: Applications> Driver<I, A> {
    /// Puts the parts together. Nothing has happened yet.
    pub fn new(endpoints: Vec<Endpoint>, io: I, applications: A) -> Self {
        Driver { endpoints, io, applications, touched: Vec::new() }
    }

    /// Makes rounds until nothing is left to do at `now`. Returns when something happens next, like
    /// [`Driver::poll_timeout`].
    ///
    /// # Errors
    /// If the device fails. The next call does what was not done yet.
    #[inline]
    pub fn settle(&mut self, now: Instant) -> Result<Option<Instant>, I::Error> {
        loop {
            let next = self.step(now)?;
            if next.is_none_or(|next| next > now) {
                return Ok(next);
            }
        }
    }

    /// Makes one round of all that happens at `now`. Returns when something happens next, like
    /// [`Driver::poll_timeout`]. If that is not after `now`, another round has something to do.
    ///
    /// # Errors
    /// As [`Driver::settle`].
    #[inline]
    pub fn step(&mut self, now: Instant) -> Result<Option<Instant>, I::Error> {
        self.handle_packets(now)?;
        // Most of the time, nothing but a packet has happened.
        let next = self.poll_timeout();
        if next.is_none_or(|next| next > now) {
            return Ok(next);
        }
        self.handle_timeout(now)?;
        Ok(self.poll_timeout())
    }

    /// The first part of a round: all packets that have arrived, then messages about packets, then the applications of
    /// the hosts that got packets.
    ///
    /// # Errors
    /// As [`Driver::settle`].
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

    /// The rest of a round: timers, then the applications that act by themselves.
    ///
    /// # Errors
    /// As [`Driver::settle`].
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

    /// When something happens next, as far as that is known: a timer of an endpoint or of an application, or a packet
    /// if the device knows when it comes.
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
    /// As [`Driver::settle`].
    pub fn drain(&mut self, now: Instant, host: usize) -> Result<(), I::Error> {
        self.send_all(now, host)?;
        self.serve(now, host)
    }

    /// Lets the applications of a host act after its segments have left.
    #[inline]
    fn serve(&mut self, now: Instant, host: usize) -> Result<(), I::Error> {
        while self.applications.serve(now, host, &mut self.endpoints[host]) {
            self.send_all(now, host)?;
        }
        self.applications.quiet(now, host, &mut self.endpoints[host]);
        Ok(())
    }

    /// A function of its own, so that the code that sends is compiled only once.
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
