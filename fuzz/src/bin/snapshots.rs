//! Fuzzes the file of a snapshot (`fuzz::snapshots`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::snapshots::run(input));
