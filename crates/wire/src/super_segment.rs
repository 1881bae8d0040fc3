//! Super-segments: consecutive data segments of one flow under one header (segmentation offload; GSO and GRO in Linux).
//! Some devices split and join them. The functions here do it for devices that cannot.

use crate::mptcp::{DataNumber, Dss, Mapping};
use crate::{Flags, Segment};

/// The longest IP packet, bytes.
const MAX_PACKET_BYTES: u32 = 65_535;

/// Whether the mapping covers exactly a segment's `data_len` bytes, and has no checksum.
fn is_exact(mapping: &Mapping, data_len: u32) -> bool {
    u32::from(mapping.len) == data_len && mapping.checksum.is_none()
}

/// The data sequence number of the byte `offset` bytes later.
fn moved(number: DataNumber, offset: u32) -> DataNumber {
    match number {
        DataNumber::Short(n) => DataNumber::Short(n.wrapping_add(offset)),
        DataNumber::Long(n) => DataNumber::Long(n.wrapping_add(u64::from(offset))),
    }
}

/// The data sequence signal of `a` and `b` joined; `None` if their signals cannot be joined. They can if they are
/// equal, or if each maps exactly its own segment's data and the second mapping continues the first.
fn joined_signal(a: &Segment, b: &Segment) -> Option<Option<Dss>> {
    if a.options.dss == b.options.dss {
        return Some(a.options.dss).filter(|dss| dss.is_none_or(|d| !d.data_fin));
    }
    let (first, second) = (a.options.dss?, b.options.dss?);
    let (x, y) = (first.mapping?, second.mapping?);
    let follows = moved(x.dsn, a.payload.len()) == y.dsn && x.ssn.wrapping_add(a.payload.len()) == y.ssn;
    let exact = is_exact(&x, a.payload.len()) && is_exact(&y, b.payload.len());
    let same = first.data_ack == second.data_ack && !first.data_fin && !second.data_fin;
    let mapping = Mapping { len: x.len.checked_add(y.len)?, ..x };
    (follows && exact && same).then_some(Some(Dss { mapping: Some(mapping), ..first }))
}

impl Segment {
    /// The number of segments that `self` stands for: 1 unless it is a super-segment.
    pub fn part_count(&self) -> u32 {
        self.segment_size.map_or(1, |size| self.payload.len().div_ceil(u32::from(size.max(1))).max(1))
    }

    /// The segments that `self` stands for; `self` alone unless it is a super-segment.
    ///
    /// Only the last part has PSH and FIN, only the first has CWR (RFC 3168 §6.1.2). Every part carries the options
    /// unchanged, as with a network card. So every part names the mapping of all the data, which also says where the
    /// part's data belongs (RFC 8684 §3.3.1); the sender repeats it if it sends a part again.
    pub fn parts(&self) -> impl Iterator<Item = Segment> + '_ {
        let (len, count) = (self.payload.len(), self.part_count());
        let size = self.segment_size.map_or(len, |size| u32::from(size.max(1)));
        (0..count).map(move |i| {
            let offset = i * size;
            let mut part = Segment { segment_size: None, ..self.clone() };
            if count == 1 {
                return part;
            }
            part.seq = self.seq.wrapping_add(offset);
            part.payload = self.payload.slice(offset, size.min(len - offset));
            if i + 1 < count {
                part.flags = part.flags.without(Flags::PSH | Flags::FIN);
            }
            if i > 0 {
                part.flags = part.flags.without(Flags::CWR);
            }
            part
        })
    }

    /// Appends `next` to `self`, which becomes a super-segment. Returns whether it did.
    ///
    /// The data of `next` must follow the data of `self`, and their headers may differ only in sequence number, PSH and
    /// FIN. A kernel's receive offload has the same rule; here each segment may also have a mapping of its own. The
    /// data is shared, not copied. The caller joins only segments whose packets had the same ECN codepoint.
    pub fn try_join(&mut self, next: &Segment) -> bool {
        let ends = Flags::PSH | Flags::FIN;
        let alone = ends | Flags::SYN | Flags::RST | Flags::CWR;
        let (len, more) = (self.payload.len(), next.payload.len());
        let Ok(size) = self.segment_size.map_or(u16::try_from(len), Ok) else { return false };
        let fits = len > 0
            && more > 0
            && len.is_multiple_of(u32::from(size.max(1)))
            && next.segment_size.map_or(more <= u32::from(size), |s| s == size)
            && self.ip_len() + more <= MAX_PACKET_BYTES;
        let same = (self.src, self.dst, self.ack, self.window) == (next.src, next.dst, next.ack, next.window)
            && self.flags == next.flags.without(ends)
            && !self.flags.intersects(alone)
            && self.options.timestamps == next.options.timestamps
            && self.options.sack == next.options.sack
            && self.options.mptcp.is_empty()
            && next.options.mptcp.is_empty();
        if !fits || !same || self.seq.wrapping_add(len) != next.seq {
            return false;
        }
        let Some(dss) = joined_signal(self, next) else { return false };
        if !self.payload.try_append(&next.payload) {
            return false;
        }
        self.options.dss = dss;
        self.flags |= next.flags;
        self.segment_size = Some(size);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Payload, Timestamps};

    fn segment(mapping: Option<Mapping>) -> Segment {
        let address = |s: &str| s.parse().expect("a socket address");
        let mut segment = Segment::new(address("10.0.1.1:49152"), address("10.0.1.2:5001"));
        (segment.seq, segment.ack, segment.window) = (u32::MAX - 1000, 7, 8);
        segment.flags = Flags::ACK | Flags::PSH | Flags::FIN;
        segment.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
        segment.options.dss =
            mapping.map(|m| Dss { data_ack: Some(DataNumber::Short(9)), mapping: Some(m), data_fin: false });
        segment.payload = Payload::Bytes((0..3500u32).map(|i| i as u8).collect());
        segment.segment_size = Some(1000);
        segment
    }

    fn join(parts: &[Segment]) -> Segment {
        let mut whole = parts[0].clone();
        parts[1..].iter().for_each(|part| assert!(whole.try_join(part), "{part:?}"));
        whole
    }

    #[test]
    fn parts_join_to_what_they_were() {
        let own = Mapping { dsn: DataNumber::Long(u64::MAX - 1500), ssn: 5, len: 3500, checksum: None };
        let longer = Mapping { len: 9000, ..own };
        let checked = Mapping { checksum: Some(1), ..own };
        for mapping in [None, Some(own), Some(longer), Some(checked)] {
            let whole = segment(mapping);
            let parts: Vec<Segment> = whole.parts().collect();
            assert_eq!(parts.iter().map(|p| p.payload.len()).collect::<Vec<_>>(), [1000, 1000, 1000, 500]);
            assert_eq!(
                parts.iter().map(|p| p.flags).collect::<Vec<_>>(),
                [Flags::ACK, Flags::ACK, Flags::ACK, whole.flags]
            );
            assert_eq!(parts[2].seq, 999);
            assert_eq!(join(&parts), whole);
            assert!(parts.iter().all(|p| p.options == whole.options));
        }
    }

    #[test]
    fn segments_with_mappings_of_their_own_join_to_one_with_all_of_it() {
        let own = Mapping { dsn: DataNumber::Long(u64::MAX - 1500), ssn: 5, len: 3500, checksum: None };
        let whole = segment(Some(own));
        let mut parts: Vec<Segment> = whole.parts().collect();
        for (part, i) in parts.iter_mut().zip(0..) {
            let len = part.payload.len() as u16;
            let mapping = Mapping { dsn: moved(own.dsn, i * 1000), ssn: 5 + i * 1000, len, checksum: None };
            part.options.dss.as_mut().expect("it has one").mapping = Some(mapping);
        }
        assert_eq!(join(&parts), whole);
    }

    #[test]
    fn a_segment_that_differs_is_not_taken_up() {
        let own = Mapping { dsn: DataNumber::Long(100), ssn: 5, len: 3500, checksum: None };
        let parts: Vec<Segment> = segment(Some(own)).parts().collect();
        let changes: [fn(&mut Segment); 9] = [
            |s| s.seq = s.seq.wrapping_add(1),
            |s| s.ack += 1,
            |s| s.window += 1,
            |s| s.flags |= Flags::ECE,
            |s| s.options.timestamps = None,
            |s| s.options.dss = None,
            |s| s.options.dss.as_mut().unwrap().mapping.as_mut().unwrap().ssn += 1,
            |s| s.src.set_port(1),
            |s| s.payload = Payload::EMPTY,
        ];
        for change in changes {
            let (mut first, mut next) = (parts[0].clone(), parts[1].clone());
            change(&mut next);
            assert!(!first.try_join(&next), "{next:?}");
            assert_eq!(first, parts[0]);
        }
        // A segment with PSH ends a super-segment, and so does one that is shorter than the others.
        let mut last = parts[3].clone();
        assert!(!last.try_join(&parts[0]));
        let mut first = parts[2].clone();
        assert!(first.try_join(&parts[3]) && !first.try_join(&parts[0]));
    }
}
