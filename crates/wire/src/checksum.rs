//! The checksum of a mapping (RFC 8684 §3.3.1): the TCP checksum's algorithm over the data and a pseudo-header.

use crate::Payload;

/// The running checksum of a mapping's data.
///
/// A mapping may cover several segments. Its data is added in order, in pieces of any length; then
/// [`finish`](DataChecksum::finish) gives the checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataChecksum {
    /// The ones' complement sum of the 16-bit words so far.
    sum: u16,
    /// Whether the number of bytes so far is odd. Then the next byte is the lower half of its word.
    odd: bool,
}

impl DataChecksum {
    /// Adds the next bytes of the mapping.
    pub fn add(&mut self, bytes: &[u8]) {
        let mut sum = sum_of(bytes);
        if self.odd {
            // An odd number of bytes came before, so every byte falls into the other half of its word. That swaps the
            // halves of the sum (RFC 1071 §2 B).
            sum = sum.swap_bytes();
        }
        self.sum = fold(u64::from(self.sum) + u64::from(sum));
        self.odd ^= bytes.len() % 2 == 1;
    }

    /// Adds the next payload of the mapping; a virtual payload counts as zeros.
    pub fn add_payload(&mut self, payload: &Payload) {
        match payload {
            Payload::Virtual { len, .. } => self.odd ^= len % 2 == 1,
            Payload::Bytes(bytes) => self.add(bytes),
            Payload::Chunks(chunks) => chunks.slices().for_each(|slice| self.add(slice)),
        }
    }

    /// The checksum to send with the mapping.
    ///
    /// `dsn` is the 64-bit data sequence number, even if the option carries only 32 bits of it; `ssn` is relative to
    /// the subflow's SYN; `len` is the mapping's length, which includes a DATA_FIN.
    ///
    /// "The data sequence number used in the pseudo-header is always the 64-bit value, irrespective of what length is
    /// used in the DSS option itself" (RFC 8684 §3.3.1).
    pub fn finish(self, dsn: u64, ssn: u32, len: u16) -> u16 {
        let mut pseudo = DataChecksum::default();
        pseudo.add(&dsn.to_be_bytes());
        pseudo.add(&ssn.to_be_bytes());
        pseudo.add(&len.to_be_bytes());
        !fold(u64::from(pseudo.sum) + u64::from(self.sum))
    }

    /// Whether `checksum` is the right one for the mapping. In ones' complement 0 and 0xffff are the same number, so
    /// either is accepted for the other.
    pub fn matches(self, dsn: u64, ssn: u32, len: u16, checksum: u16) -> bool {
        let expected = self.finish(dsn, ssn, len);
        expected == checksum || (expected.wrapping_add(checksum) == 0xffff && (expected == 0 || checksum == 0))
    }
}

/// The ones' complement sum of the 16-bit words in `bytes`; an odd last byte is padded with a zero byte.
fn sum_of(bytes: &[u8]) -> u16 {
    fold(swapped_sum(bytes)).swap_bytes()
}

/// The sum of the 16-bit words in `bytes`, with the bytes of the result swapped and not yet folded to 16 bits. An odd
/// last byte is padded with a zero byte.
///
/// The bytes are read as little-endian 32-bit words, which only swaps the bytes of the folded result (RFC 1071 §2), and
/// summed in several lanes at a time. The sums of several slices may be added before they are folded.
// Not inlined: the compiler vectorises the loop reliably only if it stands alone.
#[inline(never)]
pub(crate) fn swapped_sum(bytes: &[u8]) -> u64 {
    const LANES: usize = 8;
    /// Chunks a block: the number of 16-bit upper halves whose sum fits 32 bits.
    const BLOCK: usize = 1 << 16;
    let (chunks, rest) = bytes.as_chunks::<{ 4 * LANES }>();
    let (words, last) = rest.as_chunks::<4>();
    let mut filled = [0; 4];
    filled[..last.len()].copy_from_slice(last);
    let mut sum = swapped_sum_of_words(words) + u64::from(u32::from_le_bytes(filled));
    for block in chunks.chunks(BLOCK) {
        // `whole` overflows, but modulo 2³² it is the sum of the lower halves plus the upper halves' sum shifted by 16.
        // With the exact `upper`, the lower sum follows.
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

/// [`swapped_sum`] of whole 32-bit words, for short lists.
pub(crate) fn swapped_sum_of_words(words: &[[u8; 4]]) -> u64 {
    words.iter().map(|word| u64::from(u32::from_le_bytes(*word))).sum()
}

/// Adds the carries back in until the sum has 16 bits. The result is 0 only if `sum` is 0.
pub(crate) fn fold(sum: u64) -> u16 {
    // The four lines leave at most 33, 18, 17 and 16 bits.
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

    /// The mapping of the stream's first bytes, with the key 0x0102030405060708.
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
