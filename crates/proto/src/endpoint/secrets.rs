//! What an endpoint draws for its connections: keys, sequence numbers, nonces, ports.

use super::Endpoint;
use crate::paths::joins::Numbers;
use core::net::{IpAddr, SocketAddr};
use pathweave_wire::crypto;
use pathweave_wire::mptcp::{Key, Token};

/// Draws of a token that is not in use before plain TCP is taken instead.
const TOKEN_TRIES: u32 = 16;
/// The first port for connections that name none (RFC 6335 §6: the dynamic ports).
pub(super) const FIRST_DYNAMIC_PORT: u16 = 49_152;

impl Endpoint {
    pub(super) fn numbers(&mut self) -> Numbers {
        Numbers { isn: self.random.next_u32(), nonce: self.random.next_u32() }
    }

    pub(super) fn fresh_key(&mut self) -> Option<Key> {
        unused_key(|| Key(self.random.next_u64()), |token| self.by_token.contains_key(&token))
    }

    /// A port that no connection to `remote` has.
    pub(super) fn free_port(&mut self, local: IpAddr, remote: SocketAddr) -> Option<u16> {
        for _ in 0..=u16::MAX - FIRST_DYNAMIC_PORT {
            let port = self.next_port;
            self.next_port = if port == u16::MAX { FIRST_DYNAMIC_PORT } else { port + 1 };
            if self.by_addresses.get(&SocketAddr::new(local, port), &remote).is_none() {
                return Some(port);
            }
        }
        None
    }
}

/// A key whose token nobody uses, after a bounded number of draws (RFC 8684 §3.1).
//= RFC 8684 §3.1: "an implementation SHOULD check its list of connection tokens to ensure that there is no collision
//= before sending its key, and if there is, then it should generate a new key"
//= tests: secrets::a_token_in_use_costs_another_draw_and_no_key_after_sixteen
fn unused_key(mut draw: impl FnMut() -> Key, taken: impl Fn(Token) -> bool) -> Option<Key> {
    (0..TOKEN_TRIES).map(|_| draw()).find(|key| !taken(crypto::token(*key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bad-input row 10.
    #[test]
    fn a_token_in_use_costs_another_draw_and_no_key_after_sixteen() {
        let free_after = |n: u64| {
            let mut drawn = 0;
            let draw = || {
                drawn += 1;
                Key(drawn)
            };
            let first_free = crypto::token(Key(n + 1));
            (unused_key(draw, |token| token != first_free), drawn)
        };
        assert_eq!(free_after(0), (Some(Key(1)), 1));
        assert_eq!(free_after(15), (Some(Key(16)), 16));
        assert_eq!(free_after(16), (None, 16));
    }
}
