//! The process on its host: what it may ask of the kernel while a guest runs, and how a fault ends it.
//!
//! * [`Sandbox`]: before a guest runs, the process gives up whatever it does not need any more: system calls (seccomp) and files (Landlock).
//! * [`fatal`]: signals that the kernel sends for what the process itself did end it with one line.
#![deny(unsafe_code)]

pub mod fatal;
pub mod sandbox;

pub use sandbox::{Access, Datagrams, Sandbox, SandboxError};
