//! Seeded randomness that is the same on every machine: ChaCha8, seeded by a run's seed and a substream's name, or
//! by 32 secret bytes.
//!
//! Each consumer (a link's loss, a workload, a key) draws from a substream of its own, so that adding a consumer
//! does not shift the numbers of the others.

use chacha20::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use xxhash_rust::xxh3::xxh3_64;

/// A reproducible stream of random numbers.
#[derive(Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// The substream called `name` of the run with seed `seed`.
    pub fn substream(seed: u64, name: &str) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&xxh3_64(name.as_bytes()).to_le_bytes());
        Random(ChaCha8Rng::from_seed(key))
    }
    /// The stream that these 32 bytes seed. Its numbers are unpredictable if the bytes come from the operating system's
    /// randomness.
    pub fn from_seed_bytes(seed: [u8; 32]) -> Self {
        Random(ChaCha8Rng::from_seed(seed))
    }
    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }
    /// A number from 0 (included) to 1 (excluded), with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// Whether an event of probability `p` happens. One number is drawn for every `p`, also for 0 and 1.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
    /// A whole number from 0 (included) to `bound` (excluded); 0 if `bound` is 0. The bias is below `bound`/2⁶⁴.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substreams_repeat_and_differ() {
        let draw = |seed, name: &str| Random::substream(seed, name).next_u64();
        assert_eq!(draw(1, "loss"), draw(1, "loss"));
        assert_ne!(draw(1, "loss"), draw(1, "jitter"));
        assert_ne!(draw(1, "loss"), draw(2, "loss"));
    }

    #[test]
    fn every_byte_of_a_seed_counts() {
        let draw = |seed| Random::from_seed_bytes(seed).next_u64();
        assert_eq!(draw([7; 32]), draw([7; 32]));
        for i in 0..32 {
            let mut other = [7; 32];
            other[i] = 8;
            assert_ne!(draw([7; 32]), draw(other), "byte {i}");
        }
    }

    #[test]
    fn unit_and_below_stay_in_range() {
        let mut r = Random::substream(7, "range");
        for _ in 0..1000 {
            assert!((0.0..1.0).contains(&r.unit()));
            assert!(r.below(10) < 10);
        }
        assert_eq!(r.below(0), 0);
    }
}
