//! Segments that are cut and joined on their way.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pathweave_fuzz_bodies::super_segments(data));
