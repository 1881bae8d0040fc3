//! Segments that leave as one, for a device that cuts them itself (segmentation offload).
//!
//! They are the segments that would have left one by one: each is asked of TCP and accounted for by itself, with all that
//! comes of it for windows, timers and the application. What leaves as one is a run of new data of one subflow, in
//! which nothing but place, PSH and FIN tells the segments apart. So their mappings are one mapping.

use super::{Connection, Happening, Kinds};
use crate::seq::{DataSeq, SubflowId};
use crate::tcp::Outgoing;
use pathweave_units::Instant;
use pathweave_wire::{Flags, Segment};

/// The longest packet of several segments, bytes.
const MAX_PACKET_BYTES: u32 = 65_535;

impl Connection {
    /// Lets segments that follow `out`, for which `segment` was made, leave with it: at most so many in all.
    pub(super) fn join_following(
        &mut self,
        now: Instant,
        id: SubflowId,
        out: &Outgoing,
        max_segments: usize,
        segment: &mut Segment,
    ) {
        let Some(start) = self.first_of_several(id, out, segment) else { return };
        let size = segment.payload.len();
        let most = MAX_PACKET_BYTES.saturating_sub(segment.ip_len()) / size * size + size;
        let (mut len, mut count) = (size, 1);
        while count < max_segments && len.is_multiple_of(size) && len + size <= most {
            if self.announcement_is_due(id) || segment.flags.intersects(Flags::PSH | Flags::FIN) {
                break;
            }
            let Some(subflow) = self.subflows.get_mut(id) else { break };
            // All that is done for a segment that leaves alone: see `next_of_subflow` and `build`.
            let grew = subflow.tcp.grow_send_buffer(self.sender.writer_waits, false);
            let next = subflow.tcp.next_part(now, start + u64::from(len), size);
            if let Some(part) = &next {
                subflow.tcp.add_part(part, segment);
                let at = start + u64::from(len);
                let range = at..at + u64::from(part.data_len());
                self.news.record(now, Kinds::SEGMENTS, || Happening::Sent { subflow: id, range, again: false });
                len += part.data_len();
                count += 1;
            }
            if grew {
                self.report_writable();
            }
            if next.is_none() {
                break;
            }
        }
        if count > 1 {
            segment.payload = self.sender.buffer.get(start..start + u64::from(len));
            segment.segment_size = Some(size as u16);
            if let Some(mapping) = segment.options.dss.as_mut().and_then(|dss| dss.mapping.as_mut()) {
                mapping.len = len as u16;
            }
        }
    }

    /// The place in the stream of new data behind which more may leave as one segment with it.
    fn first_of_several(&self, id: SubflowId, out: &Outgoing, segment: &Segment) -> Option<DataSeq> {
        let Outgoing::Data { data, again: false, .. } = out else { return None };
        let subflow = self.subflows.get(id)?;
        let alone = segment.payload.is_empty()
            // A probe of the path's MTU, which may get lost.
            || segment.payload.len() > subflow.tcp.mss().min(u16::MAX.into())
            // Each has a time of its own.
            || subflow.tcp.is_paced()
            || segment.flags.contains(Flags::CWR)
            || !segment.options.mptcp.is_empty()
            // The next one may have other blocks, or more room for them.
            || subflow.tcp.has_blocks()
            || self.fallback.signals.waits_for_room(segment)
            // What another subflow has brought is no longer in the send buffer.
            || data.start < self.sender.map.first_unacked();
        let mapping = segment.options.dss.and_then(|dss| dss.mapping);
        // An infinite mapping is one segment's; a checksum would have to be made anew for each.
        let one_mapping = match self.is_mptcp() {
            true => mapping.is_some_and(|m| m.checksum.is_none()),
            false => segment.options.dss.is_none(),
        };
        (!alone && one_mapping).then_some(data.start)
    }
}
