//! Arbitrary decisions through a connection's validation.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pathweave_fuzz_bodies::decisions(data));
