//! Fuzzes rings and requests of virtio devices (`fuzz::virtqueues`).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::virtqueues::run(input));
