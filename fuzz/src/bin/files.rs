//! Fuzzes FUSE messages of a guest to the server of a shared directory (`fuzz::services::files`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::services::files::run(input));
