//! Fuzzes kernels in S-mode under every engine and scheme (`fuzz::guests`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::guests::run(input));
