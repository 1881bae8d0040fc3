//! Attackers: their knowledge, their forged packets, and the times of these.

use crate::draw::Draw;
use pathweave_units::{Duration, Instant};

/// The knowledge of an attacker, in addition to the addresses and ports of each subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sees {
    /// It knows nothing more: it is off the path, and guesses numbers, keys and tokens.
    Ports,
    /// It sees packets, but can only send unchanged copies of them.
    Copies,
    /// It sees every packet that arrives at its victim, with the keys in the handshake.
    Packets,
}

/// The kinds of forged packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forgery {
    Reset,
    Syn,
    SynAck,
    Acknowledgement,
    Data,
    Fin,
    DataFin,
    DataAck,
    AddAddress,
    RemoveAddress,
    Fail,
    FastClose,
    Priority,
    /// A reset with a reason (MP_TCPRST).
    ResetWithReason,
    /// A SYN of a further subflow, from any port.
    Join,
    /// A SYN of a new connection, from an address that no host has or that cannot be a sender's.
    Stranger,
    /// A router's message that a packet was too large.
    TooBig,
    /// A packet that has arrived before.
    Copy,
}

impl Forgery {
    const ALL: [Forgery; 17] = [
        Forgery::Reset,
        Forgery::Syn,
        Forgery::SynAck,
        Forgery::Acknowledgement,
        Forgery::Data,
        Forgery::Fin,
        Forgery::DataFin,
        Forgery::DataAck,
        Forgery::AddAddress,
        Forgery::RemoveAddress,
        Forgery::Fail,
        Forgery::FastClose,
        Forgery::Priority,
        Forgery::ResetWithReason,
        Forgery::Join,
        Forgery::Stranger,
        Forgery::TooBig,
    ];
}

#[derive(Clone, Debug)]
pub(crate) struct Attacker {
    /// 0 the client, 1 the server.
    pub(crate) victim: usize,
    pub(crate) sees: Sees,
    /// The kinds from which each packet is drawn.
    pub(crate) forgeries: Vec<Forgery>,
    pub(crate) first: Instant,
    /// The time between packets. Zero means that all come at once.
    pub(crate) pause: Duration,
    pub(crate) packets: u64,
}

impl Attacker {
    pub(crate) fn draw(d: &mut Draw) -> Attacker {
        let sees = d.one(&[Sees::Ports, Sees::Copies, Sees::Packets, Sees::Packets]);
        Attacker::that(d, sees)
    }

    /// An attacker that knows only addresses and ports.
    pub(crate) fn off_path(d: &mut Draw) -> Attacker {
        Attacker::that(d, Sees::Ports)
    }

    fn that(d: &mut Draw, sees: Sees) -> Attacker {
        let forgeries = match sees {
            Sees::Copies => vec![Forgery::Copy],
            _ if d.chance(0.6) => vec![d.one(&Forgery::ALL)],
            _ => Forgery::ALL.to_vec(),
        };
        Attacker {
            victim: d.between(0, 1) as usize,
            sees,
            forgeries,
            // The earliest times are before the end of the handshake.
            first: if d.chance(0.3) { d.at_millis(0, 50) } else { d.at_millis(1, 20_000) },
            pause: if d.chance(0.2) { Duration::ZERO } else { d.millis(1, 1000) },
            packets: d.spread(1, 200),
        }
    }

    /// The time by which the last packet has come.
    pub(crate) fn end(&self) -> Instant {
        self.first + Duration::from_nanos(self.pause.as_nanos() * self.packets)
    }
}
