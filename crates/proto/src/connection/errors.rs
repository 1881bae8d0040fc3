//! Errors: why a connection ended, and why a command was not carried out.

use core::fmt::{Display, Formatter, Result};

/// Why a connection ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The peer answered our SYN with a reset: no program listens at that address.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// No path showed a sign of life for `close_timeout`.
    AllPathsDead,
    /// The handshake was not completed in time.
    ConnectTimeout,
    /// This side aborted.
    Aborted,
}

impl Display for ConnectionError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            ConnectionError::Refused => "refused by the peer",
            ConnectionError::Reset => "reset by the peer",
            ConnectionError::AllPathsDead => "all paths are dead",
            ConnectionError::ConnectTimeout => "the handshake was never answered",
            ConnectionError::Aborted => "aborted",
        })
    }
}

impl core::error::Error for ConnectionError {}

/// Why a write accepted nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError {
    /// The send buffer is full. [`ConnectionEvent::Writable`](super::ConnectionEvent::Writable) reports room again.
    Blocked,
    /// This side has closed its direction.
    Closed,
    /// The connection has failed.
    Failed(ConnectionError),
    /// The endpoint does not have this connection, or no longer has it.
    UnknownConnection,
}

impl Display for WriteError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            WriteError::Blocked => f.write_str("the send buffer is full"),
            WriteError::Closed => f.write_str("this side has closed the connection"),
            WriteError::Failed(error) => error.fmt(f),
            WriteError::UnknownConnection => UnknownConnection.fmt(f),
        }
    }
}

impl core::error::Error for WriteError {}

/// Why a read returned nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no unread data. [`ConnectionEvent::Readable`](super::ConnectionEvent::Readable) reports new data.
    Blocked,
    /// The peer has closed its direction, and all data before that was read.
    Finished,
    /// The connection has failed, and all data that arrived in order before that was read.
    Failed(ConnectionError),
    /// The next data is virtual and has no bytes. Read it as a whole payload.
    Virtual,
    /// The endpoint does not have this connection, or no longer has it.
    UnknownConnection,
}

impl Display for ReadError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            ReadError::Blocked => f.write_str("there is nothing to read yet"),
            ReadError::Finished => f.write_str("the stream has ended"),
            ReadError::Failed(error) => error.fmt(f),
            ReadError::Virtual => f.write_str("the next data is virtual and has no bytes"),
            ReadError::UnknownConnection => UnknownConnection.fmt(f),
        }
    }
}

impl core::error::Error for ReadError {}

/// The endpoint does not have this connection, or no longer has it. A connection is forgotten when it is over, all its
/// data was read and its events were polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownConnection;

impl Display for UnknownConnection {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("no such connection")
    }
}

impl core::error::Error for UnknownConnection {}

impl From<UnknownConnection> for WriteError {
    fn from(_: UnknownConnection) -> Self {
        WriteError::UnknownConnection
    }
}

impl From<UnknownConnection> for ReadError {
    fn from(_: UnknownConnection) -> Self {
        ReadError::UnknownConnection
    }
}
