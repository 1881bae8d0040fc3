//! Changes that middleboxes make to segments: they remove options, change windows and numbers, cut or join data.

use crate::apps::CHANGED;
use crate::draw::{Draw, LIMIT};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{CapableContent, DataNumber, Dss, MpCapable, MptcpOption};
use pathweave_wire::{Flags, Payload, Segment};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Removes all options of Multipath TCP.
    TakeMptcp,
    TakeDss,
    TakeCapable,
    /// Replaces a client's MP_CAPABLE after its SYN by a data sequence signal, as a client does that sends the data of
    /// its SYN again.
    TakeKeys,
    TakeJoin,
    TakeAddressesAndOthers,
    TakeSack,
    TakeTimestamps,
    /// Removes the window scale of a SYN.
    TakeWindowScale,
    TakeSackPermitted,
    /// Limits the window field to this.
    CutWindow(u16),
    /// Limits the segment size in a SYN to this.
    CutSegmentSize(u16),
    /// Cuts data segments at this size. All pieces have the options, or only the first has.
    Split(u32, bool),
    /// Joins data to a segment still on its way if it follows that directly. The joined segment has the options of the
    /// last, or of the first.
    Join(bool),
    /// Delays segments by this time.
    Delay(Duration),
}

/// A change, and the segments that it applies to.
#[derive(Clone, Debug)]
pub(crate) struct Tampering {
    pub(crate) change: Change,
    pub(crate) chance: f64,
    pub(crate) from: Instant,
    pub(crate) until: Instant,
}

impl Tampering {
    pub(crate) fn draw(d: &mut Draw) -> Tampering {
        let change = match d.between(0, 20) {
            0..=3 => Change::TakeMptcp,
            4..=6 => Change::TakeDss,
            7 => Change::TakeCapable,
            8 => Change::TakeJoin,
            9 => Change::TakeAddressesAndOthers,
            10 => Change::TakeSack,
            11 => Change::TakeTimestamps,
            12 => d.one(&[Change::TakeWindowScale, Change::TakeSackPermitted]),
            13..=14 => Change::CutWindow(d.spread(1, 60_000) as u16 - 1),
            15..=16 => Change::Split(d.between(100, 1400) as u32, d.chance(0.5)),
            17..=18 => Change::Join(d.chance(0.5)),
            19 => Change::Delay(d.millis(1, 5000)),
            _ => Change::CutSegmentSize(d.between(536, 1400) as u16),
        };
        let from = if d.chance(0.5) { Instant::ZERO } else { d.at_millis(1, 20_000) };
        let length = if d.chance(0.2) { LIMIT } else { d.millis(10, 30_000) };
        // Single segments, or all of them.
        let chance = if d.chance(0.15) { 1.0 } else { d.one(&[0.003, 0.02, 0.1, 0.5]) };
        Tampering { change, chance, from, until: from + length }
    }

    /// A change of the first segments after a SYN, or of all.
    pub(crate) fn of_keys(d: &mut Draw) -> Tampering {
        let until = if d.chance(0.5) { LIMIT } else { d.millis(10, 5000) };
        let chance = d.one(&[1.0, 1.0, 0.5]);
        Tampering { change: Change::TakeKeys, chance, from: Instant::ZERO, until: Instant::ZERO + until }
    }

    /// Applies the change to `segments`, into which one segment has been split so far. Returns whether it applied.
    pub(crate) fn apply(&self, now: Instant, random: &mut Random, segments: &mut Vec<Segment>) -> bool {
        if now < self.from || now >= self.until || !random.chance(self.chance) {
            return false;
        }
        if let Change::Split(size, copies) = self.change {
            *segments = segments.drain(..).flat_map(|s| split(s, size, copies)).collect();
        } else {
            segments.iter_mut().for_each(|s| change(s, self.change));
        }
        true
    }
}

fn change(segment: &mut Segment, change: Change) {
    let syn = segment.flags.contains(Flags::SYN);
    let options = &mut segment.options;
    match change {
        Change::TakeMptcp => {
            options.mptcp.clear();
            options.dss = None;
        }
        Change::TakeDss => options.dss = None,
        Change::TakeCapable => options.mptcp.retain(|o| !matches!(o, MptcpOption::Capable(_))),
        Change::TakeKeys => {
            let keys = |o: &MptcpOption| {
                matches!(o, MptcpOption::Capable(MpCapable { content: CapableContent::Ack { .. }, .. }))
            };
            if options.mptcp.iter().any(keys) {
                options.mptcp.retain(|o| !keys(o));
                options.dss = Some(Dss { data_ack: Some(DataNumber::Short(1)), mapping: None, data_fin: false });
            }
        }
        Change::TakeJoin => options.mptcp.retain(|o| !matches!(o, MptcpOption::Join(_))),
        Change::TakeAddressesAndOthers => {
            options.mptcp.retain(|o| matches!(o, MptcpOption::Capable(_) | MptcpOption::Join(_)));
        }
        Change::TakeSack => options.sack.clear(),
        Change::TakeTimestamps => options.timestamps = None,
        // From an answer it would leave a window in units that one end does not know: a byte at a time, for hours.
        Change::TakeWindowScale if segment.flags.contains(Flags::ACK) => {}
        Change::TakeWindowScale => options.window_scale = None,
        Change::TakeSackPermitted => options.sack_permitted = false,
        Change::CutWindow(most) if !syn => segment.window = segment.window.min(most),
        Change::CutSegmentSize(most) => options.mss = options.mss.map(|mss| mss.min(most)),
        Change::CutWindow(_) | Change::Split(..) | Change::Join(_) | Change::Delay(_) => {}
    }
}

fn split(whole: Segment, size: u32, copies: bool) -> Vec<Segment> {
    let len = whole.payload.len();
    if whole.flags.contains(Flags::SYN) || len <= size {
        return vec![whole];
    }
    let piece = |at: u32| {
        let mut piece = whole.clone();
        piece.payload = whole.payload.slice(at, size.min(len - at));
        piece.seq = whole.seq.wrapping_add(at);
        if at + size < len {
            piece.flags = whole.flags.without(Flags::FIN | Flags::PSH);
        }
        if at > 0 && !copies {
            change(&mut piece, Change::TakeMptcp);
        }
        piece
    };
    (0..len).step_by(size as usize).map(piece).collect()
}

/// The most data that a middlebox joins, bytes.
const JOINED: u32 = 9000;

/// Puts the data of `next` into `first`, if it follows it at once. Returns whether it did.
pub(crate) fn join(first: &mut Segment, next: &Segment, keeps_last_options: bool) -> bool {
    let other = Flags::SYN | Flags::RST | Flags::FIN;
    let follows = (first.src, first.dst) == (next.src, next.dst)
        && next.seq == first.seq.wrapping_add(first.payload.len())
        && !first.flags.intersects(other)
        && !next.flags.intersects(other);
    let len = first.payload.len() + next.payload.len();
    if !follows || first.payload.is_empty() || next.payload.is_empty() || len > JOINED {
        return false;
    }
    let mut bytes = first.payload.to_vec();
    bytes.extend(next.payload.to_vec());
    first.payload = Payload::Bytes(bytes.into());
    (first.ack, first.window) = (next.ack, next.window);
    if keeps_last_options {
        first.options = next.options.clone();
    }
    true
}

/// Changes the sequence numbers of a segment by a constant of its subflow and direction, as a firewall does that does
/// not trust the hosts' numbers.
pub(crate) fn renumber(segment: &mut Segment, to_server: bool) {
    let port = if to_server { segment.src.port() } else { segment.dst.port() };
    let constant = u32::from(port).wrapping_mul(0x9e37_79b1);
    let (own, others) = if to_server { (constant, !constant) } else { (!constant, constant) };
    segment.seq = segment.seq.wrapping_add(own);
    if segment.flags.contains(Flags::ACK) {
        segment.ack = segment.ack.wrapping_sub(others);
    }
    for block in &mut segment.options.sack {
        block.left = block.left.wrapping_sub(others);
        block.right = block.right.wrapping_sub(others);
    }
}

/// Changes a byte of data that a checksum covers. Returns whether there was one.
pub(crate) fn corrupt(segment: &mut Segment, random: &mut Random) -> bool {
    let checked = segment.options.dss.and_then(|d| d.mapping).is_some_and(|m| m.checksum.is_some());
    let mut changed = segment.payload.to_vec();
    if !checked || changed.is_empty() {
        return false;
    }
    let at = random.below(changed.len() as u64) as usize;
    changed[at] |= CHANGED;
    segment.payload = Payload::Bytes(changed.into());
    true
}

/// Longest delay of a late copy.
pub(crate) const GHOST: Duration = Duration::from_secs(10);
