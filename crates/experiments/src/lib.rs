//! Experiments on a machine and on parts of one, for the papers that describe them.
#![forbid(unsafe_code)]

pub mod vlm;
