//! What the tests of this crate share.
#![allow(dead_code, reason = "no test uses all of it")]

pub mod builder;
pub mod config;
pub mod harness;
pub mod memory;
pub mod ops;
pub mod rng;
