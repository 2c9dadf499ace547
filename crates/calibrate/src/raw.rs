//! What measuring needs beyond safe Rust: memory whose pages the caller chooses, pointer chases through it, and instructions of known cost.
//!
//! JUSTIFICATION for unsafe: the latency of a load is seen only where its address is the data of the load before it. An index into a slice adds an addition
//! and a bounds check to each step: two cycles of the five that a first-level cache takes. Pages of a chosen size come from `mmap` and `madvise`. The cost of an
//! addition is that of exactly one instruction, which only assembly promises. Callers see safe types: a [`Chain`] can be made only of memory that it borrows,
//! and each of its slots leads to another one.
#![allow(unsafe_code)]

mod branches;
mod chain;
mod mapping;
mod pipeline;

pub(crate) use branches::Branches;
pub(crate) use chain::{Chain, HEADS};
pub(crate) use mapping::{Advice, Mapping, PAGE};
pub(crate) use pipeline::{ADDITIONS, Additions, additions, timestamp};
