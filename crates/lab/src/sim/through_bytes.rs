//! The debug switch of ARCHITECTURE.md, contract 8: every segment becomes bytes and is read back before it leaves its host.

use pathweave_wire::{Ecn, Payload, Segment, codec};

/// The codec between host and network.
#[derive(Default)]
pub(super) struct ThroughBytes {
    buffer: Vec<u8>,
}

impl ThroughBytes {
    /// What arrives of a segment that goes through bytes. Only a virtual payload stays as it is: bytes cannot say which
    /// part of a stream they are.
    ///
    /// # Panics
    /// If the bytes are not the segment: the engine has built something that no wire can carry.
    pub(super) fn pass(&mut self, segment: &mut Segment, ecn: Ecn) {
        if let Err(error) = codec::encode(segment, ecn, &mut self.buffer) {
            panic!("a segment has a form in bytes: {error}: {segment:?}");
        }
        assert_eq!(self.buffer.len(), segment.ip_len() as usize, "a segment is as long as it says: {segment:?}");
        let packet = match codec::decode(&self.buffer) {
            Ok(packet) => packet,
            Err(error) => panic!("a segment's bytes can be read: {error}: {segment:?}"),
        };
        assert_eq!(packet.payload.len(), segment.payload.len() as usize, "all data comes through: {segment:?}");
        let payload = match &segment.payload {
            Payload::Virtual { .. } => segment.payload.clone(),
            _ => Payload::Bytes(packet.payload.to_vec().into()),
        };
        let read = Segment { payload, ..packet.segment };
        assert_eq!((&read, packet.ecn), (&*segment, ecn), "a segment is read as it was written");
        *segment = read;
    }
}
