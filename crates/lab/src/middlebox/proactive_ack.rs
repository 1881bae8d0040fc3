//! Acknowledges the client's data before the server does (RFC 3135 §3.1.2), without Multipath TCP's options, and passes
//! the data on. It respects the window that the server offers. It keeps no copy, so data that is lost behind it is lost
//! to the flow.

use super::{Direction, Element, Flows, Passing, Settings, after};
use crate::value_parser::compound::Compound;
use crate::value_parser::compound::{Kind, needs, takes};
use crate::value_parser::{PositiveTime, Time, ValueParser, Wrong};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, Segment, Timestamps};
use std::collections::VecDeque;

pub(super) const EXAMPLE: &str = "proactive-ack:delay=5ms";
pub(super) const KIND: Kind = Kind {
    name: "proactive-ack",
    about: "Acknowledges data before the receiver has it",
    parts: &[
        needs("delay", "how long after it has seen the data", PositiveTime::schema),
        takes("after", "from this time on (0s)", Time::schema),
    ],
};

/// The settings in a scenario file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProactiveAckSettings {
    /// Time that its acknowledgement takes back to the sender.
    delay: Duration,
    after: Duration,
}

pub(super) fn read(c: &mut Compound) -> Result<ProactiveAckSettings, Wrong> {
    Ok(ProactiveAckSettings { delay: c.required::<PositiveTime>("delay")?, after: after(c)? })
}

impl Settings for ProactiveAckSettings {
    fn text(&self) -> String {
        format!("proactive-ack:delay={}:after={}", self.delay, self.after)
    }
    fn element(&self, _random: Random) -> Box<dyn Element> {
        let (delay, from) = (self.delay, Instant::ZERO + self.after);
        Box::new(ProactiveAck { delay, from, flows: Flows::default(), due: VecDeque::new() })
    }
}

struct ProactiveAck {
    delay: Duration,
    from: Instant,
    flows: Flows<Flow>,
    /// Acknowledgements on their way to the sender, with the times at which they leave.
    due: VecDeque<(Instant, Passing)>,
}

/// A flow's two sides.
#[derive(Debug, Default)]
struct Flow {
    client: Side,
    server: Side,
}

/// The state of one side of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// The sequence number after the data in order.
    next: u32,
    /// The end of the window that it offers.
    edge: u32,
    shift: u8,
    timestamp: Option<u32>,
}

impl Side {
    /// Notes a segment of this side. Returns whether it has data that follows the data so far.
    fn note(&mut self, segment: &Segment) -> bool {
        let syn = segment.flags.contains(Flags::SYN);
        if syn {
            self.next = segment.seq;
            self.shift = segment.options.window_scale.unwrap_or(0);
        }
        if segment.flags.contains(Flags::ACK) {
            let shift = if syn { 0 } else { self.shift };
            self.edge = segment.ack.wrapping_add(u32::from(segment.window) << shift);
        }
        self.timestamp = segment.options.timestamps.map(|t| t.value).or(self.timestamp);
        let follows = segment.seq == self.next;
        if follows {
            self.next = self.next.wrapping_add(segment.sequence_len());
        }
        follows && !segment.payload.is_empty() && !segment.flags.intersects(Flags::FIN | Flags::RST)
    }
}

impl Element for ProactiveAck {
    fn pass(&mut self, now: Instant, passing: Passing, out: &mut Vec<Passing>) {
        let Flow { client, server } = self.flows.of(&passing);
        let data = &passing.segment;
        let (side, up) = match passing.direction {
            Direction::Up => (&mut *client, true),
            Direction::Down => (&mut *server, false),
        };
        if side.note(data) && up && now >= self.from {
            let mut ack = Segment::new(data.dst, data.src);
            (ack.seq, ack.ack, ack.flags) = (data.ack, client.next, Flags::ACK);
            // The middlebox never acknowledges beyond the server's window, and the end of the offered window stays.
            let window = server.edge.wrapping_sub(ack.ack);
            let window = if window as i32 > 0 { window } else { 0 };
            ack.window = u16::try_from(window >> server.shift).unwrap_or(u16::MAX);
            if let (Some(theirs), Some(value)) = (data.options.timestamps, server.timestamp) {
                ack.options.timestamps = Some(Timestamps { value, echo: theirs.value });
            }
            let answer = Passing { direction: Direction::Down, segment: ack, ecn: Ecn::NotEct };
            self.due.push_back((now + self.delay, answer));
        }
        out.push(passing);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due.front().map(|(at, _)| *at)
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Passing>) {
        while let Some((_, answer)) = self.due.pop_front_if(|(at, _)| *at <= now) {
            out.push(answer);
        }
    }
}
