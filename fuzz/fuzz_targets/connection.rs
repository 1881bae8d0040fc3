//! A connection under arbitrary segments.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pathweave_fuzz_bodies::connection(data));
