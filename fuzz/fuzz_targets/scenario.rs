//! Text as scenario files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pathweave_fuzz_bodies::scenario(data));
