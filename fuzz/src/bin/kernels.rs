//! Fuzzes the file of a kernel (`fuzz::kernels`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::kernels::run(input));
