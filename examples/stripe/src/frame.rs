//! The bytes on a leg. The sender sends pieces of the stream, each after a head with its place and its length. The
//! receiver sends acknowledgements. All numbers are big-endian.
//!
//! A piece of length 0 is the end of the stream. It takes one place after the last byte, as TCP's FIN does, so that an
//! acknowledgement can cover it.

/// Bytes before a piece: its place in the stream (8) and its length (4).
pub(crate) const HEAD: usize = 12;
/// The longest piece. A segment is shorter, even on the loopback device.
pub(crate) const LONGEST: usize = 1 << 16;
/// Bytes of an acknowledgement: the place up to which all has arrived (8), and the window from there on (8).
pub(crate) const ACKNOWLEDGEMENT: usize = 16;

/// The head of a piece of `length` bytes at `place`.
pub(crate) fn head(place: u64, length: usize) -> [u8; HEAD] {
    let mut bytes = [0; HEAD];
    bytes[..8].copy_from_slice(&place.to_be_bytes());
    bytes[8..].copy_from_slice(&(length as u32).to_be_bytes());
    bytes
}

/// An acknowledgement: the stream's bytes before `place` have arrived, and the receiver keeps `window` bytes from there
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    pub(crate) place: u64,
    pub(crate) window: u64,
}

impl Acknowledgement {
    pub(crate) fn bytes(self) -> [u8; ACKNOWLEDGEMENT] {
        let mut bytes = [0; ACKNOWLEDGEMENT];
        bytes[..8].copy_from_slice(&self.place.to_be_bytes());
        bytes[8..].copy_from_slice(&self.window.to_be_bytes());
        bytes
    }
}

/// Takes all whole acknowledgements out of `input` and returns the newest.
pub(crate) fn newest(input: &mut Vec<u8>) -> Option<Acknowledgement> {
    let whole = input.len() / ACKNOWLEDGEMENT * ACKNOWLEDGEMENT;
    let of = |bytes: &[u8]| Some(Acknowledgement { place: number(bytes.get(..8)?), window: number(bytes.get(8..)?) });
    let last = of(input[..whole].rchunks_exact(ACKNOWLEDGEMENT).next()?);
    input.drain(..whole);
    last
}

/// Takes the first piece out of `input`, if all of it is there. Returns its place and its bytes.
///
/// # Errors
/// If the piece is longer than [`LONGEST`].
pub(crate) fn piece<'a>(input: &mut &'a [u8]) -> Result<Option<(u64, &'a [u8])>, String> {
    let Some((head, rest)) = input.split_at_checked(HEAD) else { return Ok(None) };
    let (place, length) = (number(&head[..8]), number(&head[8..]) as usize);
    if length > LONGEST {
        return Err(format!("a piece of {length} bytes: at most {LONGEST} are allowed"));
    }
    let Some((piece, rest)) = rest.split_at_checked(length) else { return Ok(None) };
    *input = rest;
    Ok(Some((place, piece)))
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_when_they_are_whole() {
        let mut sent = head(1 << 40, 3).to_vec();
        sent.extend(b"abc");
        sent.extend(head(7, 0));
        for whole in 0..sent.len() {
            let mut input = &sent[..whole];
            let first = piece(&mut input).map(|p| p.map(|(place, bytes)| (place, bytes.to_vec())));
            assert_eq!(first, Ok((whole >= HEAD + 3).then(|| (1 << 40, b"abc".to_vec()))), "of {whole} bytes");
        }
        let mut input = &sent[..];
        assert_eq!(piece(&mut input), Ok(Some((1 << 40, &b"abc"[..]))));
        assert_eq!(piece(&mut input), Ok(Some((7, &b""[..]))));
        assert_eq!((piece(&mut input), input), (Ok(None), &b""[..]));
    }

    #[test]
    fn a_length_that_no_sender_uses_is_an_error() {
        let sent = head(0, LONGEST + 1);
        assert_eq!(piece(&mut &sent[..]), Err("a piece of 65537 bytes: at most 65536 are allowed".into()));
    }

    #[test]
    fn the_newest_whole_acknowledgement_counts() {
        let (old, new) = (Acknowledgement { place: 5, window: 9 }, Acknowledgement { place: 1 << 33, window: 4 });
        let mut input = [old.bytes(), new.bytes(), old.bytes()].concat();
        input.truncate(2 * ACKNOWLEDGEMENT + 3);
        assert_eq!((newest(&mut input), input.len()), (Some(new), 3));
        assert_eq!((newest(&mut input), input.len()), (None, 3));
    }
}
