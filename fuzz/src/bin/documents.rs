//! Fuzzes run files, experiments and JSON reports (`fuzz::documents`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::documents::run(input));
