//! Fuzzes configuration files and settings (`fuzz::settings`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::settings::run(input));
