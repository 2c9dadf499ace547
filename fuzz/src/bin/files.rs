//! Fuzzes FUSE messages of a guest to the server of a shared directory (`fuzz::files`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::files::run(input));
