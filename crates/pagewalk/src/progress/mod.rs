//! What a command tells of its progress, on standard error.
//!
//! On a terminal that is a few lines at the bottom, drawn again several times a second and wiped at the end. Elsewhere (a pipe, a file) it is one
//! line for each run that has ended. `--quiet` has neither.

mod estimate;
mod message;
mod runs;
mod screen;
mod ticker;

pub use message::Progress;
pub(crate) use runs::{Running, Runs};
pub(crate) use screen::{aside, note, remark, set_quiet};
