//! Errors of the endpoint's commands.

use pathweave_scheduler::parameter::ParameterError;

/// Why a connection could not be opened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is a connection between these addresses already.
    AddressInUse,
    /// The remote address is not the address of one host (multicast, broadcast, unspecified), or its port is 0.
    InvalidRemote,
    /// Every dynamic port has a connection to this peer already.
    NoFreePort,
    /// The endpoint already has [`EndpointLimits::connections`](crate::EndpointLimits::connections) connections.
    TooManyConnections,
    /// The scheduler or controller rejects its parameters.
    Parameter(ParameterError),
}

impl core::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ConnectError::AddressInUse => f.write_str("there is already a connection between these addresses"),
            ConnectError::InvalidRemote => {
                f.write_str("the remote address is not the address of one host, or its port is 0")
            }
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
