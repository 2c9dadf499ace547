//! See `fuzz::calls`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::calls::run(input));
