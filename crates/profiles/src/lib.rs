//! Profiles with names: which process, function and data object each event of translation is charged to, and the formats of a profile
//! (docs/profile.md).
//!
//! A profile may have a million parts. What goes through all of them is here, and not in the crate of the command, which is compiled without
//! optimisation. So no function here is generic that another crate calls: the compiler would make it there.
#![forbid(unsafe_code)]

mod archive;
mod attribution;
mod controls;
mod firefox;
mod folded;
mod gzip;
mod json;
mod lines;
mod names;
mod programs;
mod spaces;
mod stacks;
mod sums;
mod symbols;

pub use attribution::{About, Attribution, Entry, Numbered};
pub use controls::escape_controls;
pub use firefox::firefox;
pub use folded::folded;
pub use gzip::gzip;
pub use json::{text, value};
pub use names::{Names, OwnGuests, Program};
pub use spaces::NamedSpace;
pub use sums::{PartialSum, Sum};
