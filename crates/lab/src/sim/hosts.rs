//! A host: the engine, and the routes that its packets take.

use core::net::IpAddr;
use pathweave_netsim::RouteId;
use pathweave_proto::Endpoint;
use pathweave_units::Instant;
use std::collections::BTreeMap;

pub(super) struct Host {
    pub(super) endpoint: Endpoint,
    /// By source and destination address.
    pub(super) routes: BTreeMap<(IpAddr, IpAddr), RouteId>,
}

impl Host {
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }
}
