//! See `fuzz::registers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::registers::run(input));
