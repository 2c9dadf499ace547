//! Fuzzes accesses to registers of devices (`fuzz::registers`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::registers::run(input));
