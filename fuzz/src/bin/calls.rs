//! Fuzzes SBI calls of several harts (`fuzz::calls`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::calls::run(input));
