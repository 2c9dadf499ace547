//! A trace of the instructions that a machine retires, written while it runs (docs/traces.md).
//!
//! A [`Tracer`] receives what harts retire, and writes records in a format of the crate `traces`. [`Pages`] has the map from virtual to physical
//! pages of the same run. Both see every instruction, so they are not in the crate of the command, which is built without optimisation.
#![forbid(unsafe_code)]

mod pages;
mod tracer;

pub use pages::Pages;
pub use tracer::{Traced, Tracer};
