//! Fuzzes the codec: it must handle any input, and each value must have one form.

use pathweave_wire::codec::{EncodeError, decode, decode_options, encode, encode_options};
use pathweave_wire::{Ecn, MAX_OPTION_BYTES, Options, Payload, Segment};

/// Reads the bytes as a packet, and as options with data after them.
pub fn codec(data: &[u8]) {
    if let Ok(packet) = decode(data) {
        let mut segment = packet.segment.clone();
        segment.payload = Payload::Bytes(packet.payload.to_vec().into());
        comes_back(&segment, packet.ecn);
    }
    let (head, rest) = data.split_at(data.len().min(MAX_OPTION_BYTES));
    let options = decode_options(head);
    one_form(&options);
    let address = |last| core::net::SocketAddr::from(([10, 0, 1, last], 5001));
    let mut segment = Segment::new(address(1), address(2));
    segment.options = options;
    segment.payload = Payload::Bytes(rest.to_vec().into());
    comes_back(&segment, Ecn::Ect0);
}

/// Checks that options are the same after writing and reading, and give the same bytes when written again.
fn one_form(options: &Options) {
    let mut form = [0; MAX_OPTION_BYTES];
    match encode_options(options, &mut form) {
        Ok(len) => {
            let again = decode_options(&form[..len]);
            assert_eq!(&again, options, "options are read as they were written");
            let mut second = [0; MAX_OPTION_BYTES];
            assert_eq!(encode_options(&again, &mut second), Ok(len));
            assert_eq!(form, second, "options have one form");
        }
        Err(error) => {
            assert!(options.wire_len() > MAX_OPTION_BYTES, "{error}");
            assert_eq!(error, EncodeError::Options { len: options.wire_len() });
        }
    }
}

fn comes_back(segment: &Segment, ecn: Ecn) {
    let mut bytes = Vec::new();
    match encode(segment, ecn, &mut bytes) {
        Ok(()) => {
            assert_eq!(bytes.len(), segment.ip_len() as usize, "a segment is as long as it says");
            let packet = decode(&bytes).expect("what was written can be read");
            let payload = Payload::Bytes(packet.payload.to_vec().into());
            assert_eq!(packet.ecn, ecn);
            assert_eq!(Segment { payload, ..packet.segment }, *segment, "a segment is read as it was written");
        }
        Err(EncodeError::Options { len }) => assert!(len > MAX_OPTION_BYTES),
        Err(EncodeError::Payload { len }) => assert!(len + 20 + segment.options.wire_len() as u32 > 65_515),
        Err(error) => unreachable!("packets have addresses of one version: {error}"),
    }
}
