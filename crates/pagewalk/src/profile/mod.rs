//! `--profile`: what translation costs, by address space, symbol, instruction, page and data object (docs/profile.md).

mod format;
mod request;
mod table;

pub(crate) use request::{NameSources, ProfileOutput, for_page};
pub(crate) use table::print;
