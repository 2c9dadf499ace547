//! What a run does now: differences of its counters, as lines or as a view on the terminal.
//!
//! ```text
//! sample.rs: counters up to a moment, and what came between two
//!     ├──► text.rs: lines, and an object of JSON
//!     └──► view.rs: widgets ──► screen.rs: the terminal, and its keys
//! ```

mod sample;
mod screen;
mod text;
mod view;

pub(crate) use sample::Sample;
pub(crate) use screen::{Screen, Wish};
pub(crate) use text::{lines, object};
