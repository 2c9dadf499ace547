//! Fuzzes traces of other simulators (`fuzz::recordings::traces`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::recordings::traces::run(input));
