//! Random numbers that an endpoint draws for its connections: keys, sequence numbers, nonces, ports.

use super::Endpoint;
use crate::paths::joins::NewSubflow;
use crate::tcp::Origin;
use core::net::{IpAddr, SocketAddr};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::crypto;
use pathweave_wire::mptcp::{Key, Token};

/// Draws of a key with an unused token before the connection becomes plain TCP.
const TOKEN_TRIES: u32 = 16;
/// The first of the dynamic ports (RFC 6335 §6), used if the application names no port.
const FIRST_DYNAMIC_PORT: u16 = 49_152;
/// RFC 6528 §3: "M is the 4 microsecond timer".
const ISN_TICK: Duration = Duration::from_micros(4);
const PORTS: u16 = u16::MAX - FIRST_DYNAMIC_PORT + 1;

/// Secret state from which an endpoint's keys, sequence numbers, nonces, ports and timestamps come.
pub struct Secrets {
    random: Random,
    /// Key of the initial sequence numbers and the timestamps' offsets; `None` if every run is to be the same.
    numbers: Option<[u8; 32]>,
    next_port: u16,
}

/// Shows none of the content, because it could end up in a log.
impl core::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Secrets of a real host, from 32 bytes of the operating system's randomness. Use other bytes at each start of a
    /// program, so that its timestamps and ports begin elsewhere and peers do not confuse its connections with earlier
    /// ones.
    pub fn new(seed: [u8; 32]) -> Self {
        let mut random = Random::from_seed_bytes(seed);
        let mut numbers = [0; 32];
        for bytes in numbers.chunks_exact_mut(8) {
            bytes.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        Secrets { random, numbers: Some(numbers), next_port: FIRST_DYNAMIC_PORT }
    }

    /// Predictable secrets for simulations and tests: numbers drawn from `random`, timestamps that follow the driver's
    /// clock, and ports in sequence.
    pub fn reproducible(random: Random) -> Self {
        Secrets { random, numbers: None, next_port: FIRST_DYNAMIC_PORT }
    }

    /// Start of the sequence numbers and timestamps of a connection between these addresses and ports. Both only grow
    /// from one connection to the next, so a new connection's numbers are never older than its predecessor's.
    //= RFC 6528 §3: "ISN = M + F(localip, localport, remoteip, remoteport, secretkey)"
    //= tests: secrets::numbers_between_the_same_ports_only_grow, secrets::numbers_between_other_ports_tell_nothing
    //= RFC 7323 §5.4: "A random offset may be added to the timestamp clock on a per-connection basis"
    //= tests: secrets::numbers_between_other_ports_tell_nothing
    //= RFC 9293 §3.4.1 (MUST-8): "A TCP implementation MUST use the above type of "clock" for clock-driven selection of initial
    //= sequence numbers"
    //= tests: secrets::numbers_between_the_same_ports_only_grow
    //= RFC 9293 §3.4.1 (MUST-9, SHLD-1): "F() MUST NOT be computable from the outside"
    //= tests: secrets::numbers_between_other_ports_tell_nothing
    //= RFC 8684 §3: "initial subflow sequence numbers SHOULD be generated according to the recommendations in [RFC6528]"
    //= tests: secrets::numbers_between_the_same_ports_only_grow, secrets::numbers_between_other_ports_tell_nothing
    fn origin(&mut self, now: Instant, local: SocketAddr, remote: SocketAddr) -> Origin {
        let drawn = self.random.next_u32();
        let Some(secret) = self.numbers else { return Origin { sequence: drawn, timestamp: 0 } };
        let [sequence, timestamp, ..] = crypto::keyed_numbers(&secret, local, remote, &[]);
        Origin { sequence: sequence.wrapping_add((now.as_nanos() / ISN_TICK.as_nanos()) as u32), timestamp }
    }

    /// Key of the SYN cookies. In a simulation it is zero and not secret.
    pub(super) fn cookie_key(&self) -> [u8; 32] {
        self.numbers.unwrap_or_default()
    }

    /// Where the search for a free port starts: at a random port (RFC 6056 §3.3.1), or in a simulation after the
    /// previous one.
    fn first_port(&mut self) -> u16 {
        match self.numbers {
            Some(_) => FIRST_DYNAMIC_PORT + self.random.below(u64::from(PORTS)) as u16,
            None => self.next_port,
        }
    }
}

impl Endpoint {
    pub(super) fn new_subflow(&mut self, now: Instant, local: SocketAddr, remote: SocketAddr) -> NewSubflow {
        let mtu = self.path_mtus.configured(&(local.ip(), remote.ip()));
        let origin = self.secrets.origin(now, local, remote);
        NewSubflow { origin, nonce: self.secrets.random.next_u32(), mtu }
    }

    pub(super) fn fresh_key(&mut self) -> Option<Key> {
        unused_key(|| Key(self.secrets.random.next_u64()), |token| self.by_token.contains_key(&token))
    }

    /// A port that no connection to `remote` uses.
    pub(super) fn free_port(&mut self, local: IpAddr, remote: SocketAddr) -> Option<u16> {
        let mut port = self.secrets.first_port();
        for _ in 0..PORTS {
            let candidate = port;
            port = if port == u16::MAX { FIRST_DYNAMIC_PORT } else { port + 1 };
            let addresses = (SocketAddr::new(local, candidate), remote);
            if self.by_addresses.get(&addresses.0, &remote).is_none() && !self.time_waits.holds(&addresses) {
                self.secrets.next_port = port;
                return Some(candidate);
            }
        }
        None
    }
}

/// A key with an unused token, after a bounded number of draws (RFC 8684 §3.1).
//= RFC 8684 §3.1: "an implementation SHOULD check its list of connection tokens to ensure that there is no collision
//= before sending its key, and if there is, then it should generate a new key"
//= tests: secrets::a_token_in_use_costs_another_draw_and_no_key_after_sixteen
//= RFC 8684 §3.1: "The key MUST be hard to guess, and it MUST be unique for the sending host across all its current MPTCP
//= connections"
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
