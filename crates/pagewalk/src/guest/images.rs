//! What the command carries of `guests/`: the programs, which `cargo xtask test` rebuilds, and the header.

/// `vos`, our own small kernel, as an ELF file.
pub const VOS: &[u8] = include_bytes!("../../../../guests/vos/vos.elf");

/// `vos` with the programs of `validate`.
pub const VALIDATION_VOS: &[u8] = include_bytes!("../../../../guests/validation/vos-validation.elf");

/// `vos` with the shell of `boot`.
pub const SHELL_VOS: &[u8] = include_bytes!("../../../../guests/shell/vos-shell.elf");

/// `vos` with the programs of time sharing, which sleep.
pub const TIMESHARING_VOS: &[u8] = include_bytes!("../../../../guests/timesharing/vos-timesharing.elf");

/// The workloads as a static multi-call program for Linux, which also gives the markers.
pub const WORKLOADS: &[u8] = include_bytes!("../../../../guests/workloads/pagewalk-workloads");

/// The programs of `bench` that compute, for Linux.
pub const COMPUTE: &[u8] = include_bytes!("../../../../guests/compute/pagewalk-compute");

/// The symbols of [`VOS`]: what `guests/Makefile` writes beside it.
pub const VOS_SYMBOLS: &str = include_str!("../../../../guests/vos/vos.elf.symbols");

/// The symbols of [`VALIDATION_VOS`].
pub const VALIDATION_VOS_SYMBOLS: &str = include_str!("../../../../guests/validation/vos-validation.elf.symbols");

/// The symbols of [`SHELL_VOS`].
pub const SHELL_VOS_SYMBOLS: &str = include_str!("../../../../guests/shell/vos-shell.elf.symbols");

/// The symbols of [`TIMESHARING_VOS`].
pub const TIMESHARING_VOS_SYMBOLS: &str = include_str!("../../../../guests/timesharing/vos-timesharing.elf.symbols");

/// The symbols of [`WORKLOADS`], which is also the program of [`VOS`].
pub const PROGRAM_SYMBOLS: &str = include_str!("../../../../guests/workloads/pagewalk-workloads.symbols");

/// The symbols of the program of [`VALIDATION_VOS`].
pub const VALIDATION_PROGRAM_SYMBOLS: &str = include_str!("../../../../guests/validation/pagewalk-validation.symbols");

/// The symbols of the program of [`SHELL_VOS`].
pub const SHELL_PROGRAM_SYMBOLS: &str = include_str!("../../../../guests/shell/pagewalk-shell.symbols");

/// The symbols of the program of [`TIMESHARING_VOS`].
pub const TIMESHARING_PROGRAM_SYMBOLS: &str =
    include_str!("../../../../guests/timesharing/pagewalk-timesharing.symbols");

/// What static programs of the user's are started by, for the same purpose.
pub(super) const STATIC_LOADER: &[u8] = include_bytes!("../../../../guests/static/pagewalk-static-loader");

/// The library that serves large allocations of Linux programs from the primary region, where there is one (docs/segments.md).
pub(super) const REGION_LIBRARY: &[u8] = include_bytes!("../../../../guests/region/libpagewalk-region.so");

/// The macros that mark a region of interest in a C or C++ program.
pub const HEADER: &str = include_str!("../../../../guests/include/pagewalk.h");
