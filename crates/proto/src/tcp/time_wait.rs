//! TIME-WAIT without the rest of a connection (RFC 9293 §3.6.1): the numbers with which old segments and new SYNs are
//! compared.

use super::timers::TIME_WAITS;
use super::timestamp::timestamp;
use super::{Tcp, TcpState};
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Flags, Segment, Timestamps};

/// Least interval between answers, so that two ends that take each other's acknowledgements for old ones do not answer
/// without pause.
const ANSWERS: Duration = Duration::from_millis(500);

/// The state of a subflow that only waits for old segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeWait {
    /// The next sequence numbers, ours and the peer's.
    own: u32,
    peer: u32,
    /// Offset of our timestamps from our clock, and the peer's newest timestamp.
    timestamps: Option<(u32, u32)>,
    length: Duration,
    end: Instant,
    limit: Instant,
    answered_at: Option<Instant>,
}

/// What to do with a segment for it.
#[derive(Clone, Debug)]
pub(crate) enum Waited {
    /// The segment is dropped, or answered.
    Answer(Option<Box<Segment>>),
    /// The peer has reset the subflow.
    Over,
    /// The peer opens a new connection.
    GivesWay,
}

/// Whether a SYN is newer than all earlier segments, by its timestamp or its sequence number (RFC 6191).
//= RFC 9293 §3.6.1 (MAY-2): "it MAY accept a new SYN from the remote TCP endpoint to reopen the connection directly from TIME-WAIT state"
//= tests: time_wait::a_new_syn_opens_a_connection_in_its_place_and_an_old_one_does_not, time_wait::records_do_what_connections_do
//= RFC 9293 §3.6.1 (SHLD-4): "This algorithm for reducing TIME-WAIT is a Best Current Practice that SHOULD be implemented"
//= tests: time_wait::a_new_syn_opens_a_connection_in_its_place_and_an_old_one_does_not, time_wait::records_do_what_connections_do
fn is_newer(syn: &Segment, next: u32, recent: Option<u32>) -> bool {
    let ahead = syn.seq.wrapping_sub(next) as i32 > 0;
    match syn.options.timestamps.zip(recent) {
        Some((t, recent)) => {
            let later = t.value.wrapping_sub(recent) as i32;
            later > 0 || (later == 0 && ahead)
        }
        None => ahead,
    }
}

fn opens(segment: &Segment) -> bool {
    segment.flags.contains(Flags::SYN) && !segment.flags.intersects(Flags::ACK | Flags::RST | Flags::FIN)
}

impl Tcp {
    /// Whether this SYN may open a new connection in place of this one, which only waits for old segments.
    pub(crate) fn gives_way(&self, syn: &Segment) -> bool {
        let next = self.opening.peer_isn.wrapping_add(self.receiver.next() as u32);
        let recent = self.agreed.timestamps.then_some(self.receiver.clock.recent);
        self.state == TcpState::TimeWait && opens(syn) && is_newer(syn, next, recent)
    }

    /// The state to remember if the subflow only waits for old segments.
    pub(crate) fn time_wait(&self) -> Option<TimeWait> {
        let end = self.timers.time_wait_end.filter(|_| self.state == TcpState::TimeWait)?;
        Some(TimeWait {
            own: self.opening.isn.wrapping_add(self.send.nxt as u32),
            peer: self.opening.peer_isn.wrapping_add(self.receiver.next() as u32),
            timestamps: self.agreed.timestamps.then_some((self.opening.timestamp_offset, self.receiver.clock.recent)),
            length: self.config.time_wait,
            end,
            limit: self.timers.time_wait_limit.unwrap_or(end + self.config.time_wait.saturating_mul(TIME_WAITS)),
            answered_at: None,
        })
    }
}

impl TimeWait {
    /// When the wait is over, unless a FIN prolongs it.
    pub(crate) fn end(&self) -> Instant {
        self.end
    }

    /// Whether a segment repeats the peer's FIN, possibly with data before it.
    pub(crate) fn repeats_fin(&self, segment: &Segment) -> bool {
        segment.flags.contains(Flags::FIN)
            && !segment.flags.intersects(Flags::SYN | Flags::RST)
            && segment.seq.wrapping_add(segment.sequence_len()) == self.peer
    }

    /// Handles a segment between its addresses (RFC 9293 §3.10.7.4). `may_open`: a SYN can open a connection here.
    pub(crate) fn take(&mut self, now: Instant, segment: &Segment, may_open: bool) -> Waited {
        let recent = self.timestamps.map(|(_, recent)| recent);
        if may_open && opens(segment) && is_newer(segment, self.peer, recent) {
            return Waited::GivesWay;
        }
        if segment.flags.contains(Flags::RST) {
            return if segment.seq == self.peer { Waited::Over } else { Waited::Answer(None) };
        }
        let repeats_fin = self.repeats_fin(segment);
        if repeats_fin {
            self.end = (now + self.length).min(self.limit);
            if let (Some((_, recent)), Some(t)) = (&mut self.timestamps, segment.options.timestamps) {
                *recent = t.value;
            }
        }
        if !repeats_fin {
            if self.answered_at.is_some_and(|at| now.since(at) < ANSWERS) {
                return Waited::Answer(None);
            }
            self.answered_at = Some(now);
        }
        let mut answer = Segment::new(segment.dst, segment.src);
        (answer.flags, answer.seq, answer.ack) = (Flags::ACK, self.own, self.peer);
        answer.options.timestamps =
            self.timestamps.map(|(offset, echo)| Timestamps { value: timestamp(now).wrapping_add(offset), echo });
        Waited::Answer(Some(Box::new(answer)))
    }
}
