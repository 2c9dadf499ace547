//! Fuzzes machine code in U-mode on every engine (`fuzz::instructions`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::instructions::run(input));
