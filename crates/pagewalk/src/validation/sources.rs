//! The programs' sources, which the command carries: the guest's, and what they need on this machine.

/// A file's path below `guests/`, and its text.
type Source = (&'static str, &'static str);

/// One file of `guests/`.
macro_rules! source {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../../guests/", $path)))
    };
}

/// All that is compiled, with what it includes.
pub(super) const SOURCES: [Source; 30] = [
    source!("common/bytes.c"),
    source!("common/bytes.h"),
    source!("common/format.c"),
    source!("common/format.h"),
    source!("common/marker.h"),
    source!("common/number.c"),
    source!("common/number.h"),
    source!("include/pagewalk.h"),
    source!("native/native.c"),
    source!("region/registers.h"),
    source!("validation/btree.c"),
    source!("validation/chase.c"),
    source!("validation/hashjoin.c"),
    source!("validation/programs.h"),
    source!("validation/spmv.c"),
    source!("workloads/bfs.c"),
    source!("workloads/gups.c"),
    source!("workloads/kv.c"),
    source!("workloads/linux.h"),
    source!("workloads/main.c"),
    source!("workloads/qsort.c"),
    source!("workloads/real.c"),
    source!("workloads/real.h"),
    source!("workloads/region.c"),
    source!("workloads/region.h"),
    source!("workloads/section.h"),
    source!("workloads/sieve.c"),
    source!("workloads/stream.c"),
    source!("workloads/support.c"),
    source!("workloads/triad.c"),
];

/// `workloads/workload.h`, which all of them include.
pub(super) const SHARED: Source = source!("workloads/workload.h");

/// What the guest's are compiled with (`guests/Makefile`), and no vectors, which the guest has none of.
pub(super) const FLAGS: [&str; 12] = [
    "-std=gnu17",
    "-O2",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-stack-protector",
    "-fno-common",
    "-fno-math-errno",
    "-fno-tree-loop-distribute-patterns",
    "-fno-tree-vectorize",
    "-fno-tree-slp-vectorize",
    "-w",
    "-include",
];
