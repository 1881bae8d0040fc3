//! Whether a connection uses Multipath TCP.

use crate::keys::Keys;
use pathweave_wire::mptcp::Key;

/// Progress of the negotiation of Multipath TCP.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    /// A client's SYN with MP_CAPABLE, or a server's SYN/ACK, is not answered yet.
    Negotiating { local: Key },
    /// Both sides have sent their keys. The peer has not shown yet, by a data sequence signal or by a proof that it
    /// knows both keys, that it takes the connection for Multipath TCP.
    Agreed(Keys),
    /// The peer has shown that it takes the connection for Multipath TCP.
    Confirmed(Keys),
    /// The connection is plain TCP.
    Plain,
}

impl Mode {
    /// The keys of Multipath TCP.
    #[inline]
    pub(super) fn keys(self) -> Option<Keys> {
        match self {
            Mode::Agreed(keys) | Mode::Confirmed(keys) => Some(keys),
            Mode::Negotiating { .. } | Mode::Plain => None,
        }
    }
}
