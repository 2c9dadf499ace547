//! See `fuzz::instructions`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::instructions::run(input));
