//! What the tests of this crate share.
#![allow(dead_code, unreachable_pub, reason = "shared with the fuzz target, which does not use all of it")]

pub mod agile;
pub mod builder;
pub mod config;
pub mod fixture;
pub mod format;
pub mod harness;
pub mod memory;
pub mod ops;
