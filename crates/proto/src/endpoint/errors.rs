//! Why commands fail.

use crate::parameter::ParameterError;

/// Why no connection could be opened.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectError {
    /// There is a connection between these addresses.
    AddressInUse,
    /// No host has such an address alone: multicast, broadcast, none; or the port is 0.
    InvalidRemote,
    /// Every dynamic port has a connection to this peer already.
    NoFreePort,
    /// There are as many connections as [`EndpointLimits::connections`](crate::EndpointLimits::connections) allows.
    TooManyConnections,
    /// The scheduler or controller rejects its parameters.
    Parameter(ParameterError),
}

impl core::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ConnectError::AddressInUse => f.write_str("there is a connection between these addresses"),
            ConnectError::InvalidRemote => f.write_str("nobody can be connected to at this address"),
            ConnectError::NoFreePort => f.write_str("no port is free"),
            ConnectError::TooManyConnections => f.write_str("there are too many connections"),
            ConnectError::Parameter(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ConnectError {}

impl From<ParameterError> for ConnectError {
    fn from(error: ParameterError) -> Self {
        ConnectError::Parameter(error)
    }
}
