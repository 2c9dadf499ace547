#!/bin/sh
# The compiler with the coverage that libFuzzer steers by. Cargo calls it for the packages of this workspace alone (RUSTC_WORKSPACE_WRAPPER), so
# that the fuzzer is not led into its libraries. The flags are those of `cargo fuzz`, and stable.
exec "$@" \
    -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing
