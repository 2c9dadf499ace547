//! Fuzzes the file of a recording (`fuzz::recordings`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::recordings::run(input));
