//! The checksum of a mapping (RFC 8684 §3.3.1): the TCP checksum's algorithm over the data and a pseudo-header.

use crate::Payload;

/// The sum over a mapping's data so far.
///
/// A mapping may cover several segments; its data is added in order, in pieces of any length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataChecksum {
    /// The ones' complement sum of the 16-bit words so far.
    sum: u16,
    /// The number of bytes so far is odd: the next one is the lower half of its word.
    odd: bool,
}

impl DataChecksum {
    /// Adds the bytes that follow.
    pub fn add(&mut self, bytes: &[u8]) {
        let mut sum = sum_of(bytes);
        if self.odd {
            // Every byte is in the other half of its word: the sum's halves change places (RFC 1071 §2 B).
            sum = sum.swap_bytes();
        }
        self.sum = fold(u64::from(self.sum) + u64::from(sum));
        self.odd ^= bytes.len() % 2 == 1;
    }

    /// Adds the payload that follows; a virtual one counts as zeros.
    pub fn add_payload(&mut self, payload: &Payload) {
        match payload {
            Payload::Virtual { len, .. } => self.odd ^= len % 2 == 1,
            Payload::Bytes(bytes) => self.add(bytes),
            Payload::Chunks(chunks) => chunks.slices().for_each(|slice| self.add(slice)),
        }
    }

    /// The checksum that goes with the mapping: `dsn` with all its 64 bits, whatever length is sent; `ssn` relative to the
    /// subflow's SYN; `len` as in the mapping, a DATA_FIN included.
    ///
    /// "The data sequence number used in the pseudo-header is always the 64-bit value, irrespective of what length is used in
    /// the DSS option itself" (RFC 8684 §3.3.1).
    pub fn finish(self, dsn: u64, ssn: u32, len: u16) -> u16 {
        let mut pseudo = DataChecksum::default();
        pseudo.add(&dsn.to_be_bytes());
        pseudo.add(&ssn.to_be_bytes());
        pseudo.add(&len.to_be_bytes());
        !fold(u64::from(pseudo.sum) + u64::from(self.sum))
    }

    /// Whether a mapping's checksum is right. In ones' complement, 0 and 0xffff are one number.
    pub fn matches(self, dsn: u64, ssn: u32, len: u16, checksum: u16) -> bool {
        let expected = self.finish(dsn, ssn, len);
        expected == checksum || (expected.wrapping_add(checksum) == 0xffff && (expected == 0 || checksum == 0))
    }
}

/// The ones' complement sum of 16-bit words; the last one is filled up with a zero.
fn sum_of(bytes: &[u8]) -> u16 {
    fold(swapped_sum(bytes)).swap_bytes()
}

/// A sum of 16-bit words with their bytes swapped, to be folded: the last one is filled up with a zero.
///
/// Read as little-endian words of 32 bits, several sums at a time: halves of words and their order make no difference but
/// that the result's bytes change places (RFC 1071 §2). Sums of different bytes may be added before they are folded.
// Alone the loop becomes one of vectors; with what surrounds a call, it may not.
#[inline(never)]
pub(crate) fn swapped_sum(bytes: &[u8]) -> u64 {
    const LANES: usize = 8;
    /// How many upper halves can be added up in 32 bits.
    const BLOCK: usize = 1 << 16;
    let (chunks, rest) = bytes.as_chunks::<{ 4 * LANES }>();
    let (words, last) = rest.as_chunks::<4>();
    let mut filled = [0; 4];
    filled[..last.len()].copy_from_slice(last);
    let mut sum = swapped_sum_of_words(words) + u64::from(u32::from_le_bytes(filled));
    for block in chunks.chunks(BLOCK) {
        // The sums of whole words lose their carries, but what they hold beside the upper halves is the sum of the lower ones.
        let (mut whole, mut upper) = ([0u32; LANES], [0u32; LANES]);
        for chunk in block {
            for (i, word) in chunk.as_chunks::<4>().0.iter().enumerate() {
                let word = u32::from_le_bytes(*word);
                whole[i] = whole[i].wrapping_add(word);
                upper[i] += word >> 16;
            }
        }
        for (whole, upper) in whole.into_iter().zip(upper) {
            sum += u64::from(upper) + u64::from(whole.wrapping_sub(upper << 16));
        }
    }
    sum
}

/// [`swapped_sum`] of a few whole words.
pub(crate) fn swapped_sum_of_words(words: &[[u8; 4]]) -> u64 {
    words.iter().map(|word| u64::from(u32::from_le_bytes(*word))).sum()
}

/// Adds the carries until the sum has 16 bits.
pub(crate) fn fold(sum: u64) -> u16 {
    // At most 33 bits, then 18, then 17, then 16: only the sum of nothing but zeros is 0.
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::initial_data_sequence;
    use crate::mptcp::Key;
    use proptest::prelude::*;

    const DSN: u64 = 0xf5a1_01d3_d29d_6f73;

    fn of(pieces: &[&[u8]]) -> DataChecksum {
        let mut sum = DataChecksum::default();
        pieces.iter().for_each(|p| sum.add(p));
        sum
    }

    /// Key 0x0102030405060708, the first byte of the stream.
    #[test]
    fn a_known_mapping() {
        assert_eq!(initial_data_sequence(Key(0x0102_0304_0506_0708)).wrapping_add(1), DSN);
        assert_eq!(of(&[b"hello world"]).finish(DSN, 1, 11), 0x349f);
    }

    #[test]
    fn it_notices_a_changed_byte_and_a_changed_place() {
        let sum = of(&[b"hello world"]);
        assert!(sum.matches(DSN, 1, 11, 0x349f));
        assert!(!of(&[b"hello World"]).matches(DSN, 1, 11, 0x349f));
        assert!(!sum.matches(DSN + 1, 1, 11, 0x349f));
        assert!(!sum.matches(DSN, 2, 11, 0x349f));
        assert!(!sum.matches(DSN, 1, 12, 0x349f));
    }

    #[test]
    fn both_zeros_are_one_number() {
        // All words add up to 0xffff.
        let sum = of(&[&[0xff, 0xfe]]);
        assert_eq!(sum.finish(0, 1, 0), 0);
        assert!(sum.matches(0, 1, 0, 0) && sum.matches(0, 1, 0, 0xffff));
        assert!(!sum.matches(0, 1, 0, 1));
        let nothing = DataChecksum::default();
        assert_eq!(nothing.finish(0, 0, 0), 0xffff);
        assert!(nothing.matches(0, 0, 0, 0));
    }

    #[test]
    fn virtual_data_counts_as_zeros() {
        let mut sum = DataChecksum::default();
        sum.add_payload(&Payload::Virtual { start: 7, len: 3 });
        sum.add_payload(&Payload::Bytes(b"abc".as_slice().into()));
        assert_eq!(sum, of(&[&[0, 0, 0], b"abc"]));
    }

    proptest! {
        #[test]
        fn it_is_the_sum_of_big_endian_words(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut padded = bytes.clone();
            padded.push(0);
            let words = padded.chunks_exact(2).map(|w| u64::from(u16::from_be_bytes([w[0], w[1]])));
            prop_assert_eq!(sum_of(&bytes), fold(words.sum()));
        }

        #[test]
        fn long_sums_do_not_overflow(byte: u8, len in (2usize << 20)..(2 << 20) + 100_000) {
            let words = (len as u64).div_ceil(2) * u64::from(u16::from_be_bytes([byte, byte]));
            let filled = if len % 2 == 1 { u64::from(byte) } else { 0 };
            prop_assert_eq!(sum_of(&vec![byte; len]), fold(words - filled));
        }

        #[test]
        fn pieces_do_not_matter(bytes in proptest::collection::vec(any::<u8>(), 0..200), cuts in proptest::collection::vec(0usize..200, 0..4)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut sum = DataChecksum::default();
            cuts.windows(2).for_each(|w| sum.add(&bytes[w[0]..w[1]]));
            prop_assert_eq!(sum, of(&[&bytes]));
        }
    }
}
