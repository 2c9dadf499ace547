//! A host with several guests: its file, what comes out of a run, and its timeline.

mod allocation;
mod change;
pub(crate) mod file;
pub(crate) mod machines;
pub(crate) mod methods;
pub(crate) mod ran;
pub(crate) mod report;
pub(crate) mod sections;
pub(crate) mod trace;
