//! Fuzzes the MMU against the model of `reference` (`fuzz::page_tables`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::page_tables::run(input));
