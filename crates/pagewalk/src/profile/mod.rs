//! `--profile`: what translation costs, by address space, symbol, instruction, page and data object (docs/profile.md).

mod attribution;
mod firefox;
mod folded;
mod format;
mod gzip;
mod json;
mod lines;
mod names;
mod programs;
mod request;
mod stacks;
mod symbols;
mod table;

pub(crate) use attribution::{About, Attribution};
pub(crate) use json::document;
pub(crate) use names::Names;
pub(crate) use request::{NameSources, ProfileOutput};
pub(crate) use table::print;
