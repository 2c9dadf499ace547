//! Fuzzes the file of a host model (`fuzz::host_models`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::host_models::run(input));
