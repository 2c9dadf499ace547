//! What the command carries of `guests/`: the programs, which `cargo xtask test` rebuilds, and the header.

/// A kernel of `vos` and its program, with the symbols that `guests/Makefile` writes beside both.
#[derive(Clone, Copy, Debug)]
pub struct VosKernel {
    /// The ELF file.
    pub image: &'static [u8],
    /// Symbols of the kernel.
    pub symbols: &'static str,
    /// Symbols of its program.
    pub program_symbols: &'static str,
}

/// The kernel and the program of these paths below `guests/`.
macro_rules! vos_kernel {
    ($kernel:literal, $program:literal) => {
        VosKernel {
            image: include_bytes!(concat!("../../../../guests/", $kernel)),
            symbols: include_str!(concat!("../../../../guests/", $kernel, ".symbols")),
            program_symbols: include_str!(concat!("../../../../guests/", $program, ".symbols")),
        }
    };
}

/// `vos`, our own small kernel, with [`WORKLOADS`].
pub const VOS: VosKernel = vos_kernel!("vos/vos.elf", "workloads/pagewalk-workloads");

/// `vos` with the programs of `validate`.
pub const VALIDATION_VOS: VosKernel = vos_kernel!("validation/vos-validation.elf", "validation/pagewalk-validation");

/// `vos` with the shell of `boot`.
pub const SHELL_VOS: VosKernel = vos_kernel!("shell/vos-shell.elf", "shell/pagewalk-shell");

/// `vos` with the programs of time sharing, which sleep.
pub const TIMESHARING_VOS: VosKernel =
    vos_kernel!("timesharing/vos-timesharing.elf", "timesharing/pagewalk-timesharing");

/// `vos` with the load of servers, and one lock for changes of memory maps.
pub const SERVERS_VOS: VosKernel = vos_kernel!("servers/vos-servers.elf", "servers/pagewalk-servers");

/// The workloads as a static multi-call program for Linux, which also gives the markers.
pub const WORKLOADS: &[u8] = include_bytes!("../../../../guests/workloads/pagewalk-workloads");

/// The programs of `bench` that compute, for Linux.
pub const COMPUTE: &[u8] = include_bytes!("../../../../guests/compute/pagewalk-compute");

/// What static programs of the user's are started by, for the same purpose.
pub(super) const STATIC_LOADER: &[u8] = include_bytes!("../../../../guests/static/pagewalk-static-loader");

/// The library that serves large allocations of Linux programs from the primary region, where there is one (docs/segments.md).
pub(super) const REGION_LIBRARY: &[u8] = include_bytes!("../../../../guests/region/libpagewalk-region.so");

/// The macros that mark a region of interest in a C or C++ program.
pub const HEADER: &str = include_str!("../../../../guests/include/pagewalk.h");
