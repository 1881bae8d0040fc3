//! Bytes as packets and as options.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pathweave_fuzz_bodies::codec(data));
