//! Fuzzes programs of `torture` on every engine (`fuzz::programs`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::programs::run(input));
