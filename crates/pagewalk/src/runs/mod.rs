//! Runs: what boots, where it starts, and what is heard of it.

pub(crate) mod copy_out;
pub(crate) mod debian;
pub(crate) mod image;
pub(crate) mod kernel_panic;
pub(crate) mod network;
pub(crate) mod quiet;
pub(crate) mod share;
pub(crate) mod start;
pub(crate) mod states;
pub(crate) mod workload_size;
