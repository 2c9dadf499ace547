//! Fuzz targets: each is a function of a fuzzer's input, which panics where it finds a defect.
//!
//! | target | input | what must hold |
//! |---|---|---|
//! | [`page_tables`] | a configuration, and what happens to an MMU | the MMU does what the model of `reference` does |
//! | [`programs`] | choices of the generator of `torture` | all engines leave the same registers and memory |
//! | [`instructions`] | machine code, and what the registers hold | all engines take the same traps, and leave the same state |
//! | [`guests`] | a kernel in S-mode, and a machine for it | the guest ends as it does under the other engines, with the same counts |
//! | [`calls`] | SBI calls of several harts | the same |
//! | [`virtqueues`] | rings and requests behind working drivers | no panic, no byte outside RAM, the disk's image stays as it was |
//! | [`registers`] | accesses to registers of devices | the same |
//! | [`packets`](services::packets) | frames to the user network, and what the host's sockets do | no panic, no more sockets and frames than allowed |
//! | [`files`](services::files) | FUSE messages to the server of a shared directory | no panic, nothing outside is read or changed, no more is kept than allowed |
//! | [`kernels`] | the file of a kernel | an error, or segments inside RAM |
//! | [`snapshots`] | the file of a snapshot | an error, or a machine that goes on |
//! | [`recordings`] | the file of a recording, or events | an error, or machines that do the events |
//! | [`traces`](recordings::traces) | a trace of another simulator | an error, or a recording |
//! | [`settings`] | configuration in TOML, and options on the command line | an error, or what can be read again from what it prints |
//! | [`host_models`] | a host model in TOML | an error, or an MMU that can be built |
//! | [`documents`] | a file for `run`, an experiment, or a report in JSON | an error, or a page of HTML |
//!
//! `cargo xtask fuzz` builds the targets with the coverage that libFuzzer steers by, and runs each for a while. Its corpus is in
//! `corpus/`, and inputs that have failed are in `regressions/`; a plain `cargo test` runs the targets on all of both.

pub mod calls;
mod code;
mod device_guest;
pub mod documents;
mod guest_memory;
pub mod guests;
pub mod host_models;
pub mod instructions;
pub mod kernels;
pub mod page_tables;
pub mod programs;
pub mod recordings;
pub mod registers;
mod same;
pub mod services;
pub mod settings;
mod snapshot_file;
pub mod snapshots;
pub mod virtqueues;

/// A target: its name, which is its binary's and its corpus's, and the function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("calls", calls::run),
    ("documents", documents::run),
    ("files", services::files::run),
    ("guests", guests::run),
    ("host_models", host_models::run),
    ("instructions", instructions::run),
    ("kernels", kernels::run),
    ("packets", services::packets::run),
    ("page_tables", page_tables::run),
    ("programs", programs::run),
    ("recordings", recordings::run),
    ("registers", registers::run),
    ("settings", settings::run),
    ("snapshots", snapshots::run),
    ("traces", recordings::traces::run),
    ("virtqueues", virtqueues::run),
];
