//! Fuzzes frames of a guest to its user network (`fuzz::services::packets`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::services::packets::run(input));
