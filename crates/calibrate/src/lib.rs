//! Measures the machine it runs on: sizes and latencies of its caches, reach of its TLBs, cost of its table walks, and how much of all that overlaps.
//!
//! Everything follows from the time of loads. A load whose address is the data of the load before it waits for that one, so that a chain of them shows the
//! latency of one; several chains at once show how many misses are outstanding. By the memory that a chain goes through, latency is a staircase,
//! whose levels are caches ([`staircase`]). Over many pages, it is that of the TLBs. docs/calibrate.md says what is measured, and how far it can be trusted.
//!
//! [`ScatteredFrames`] is for others that measure: programs get frames that lie far apart.
//!
//! The crate knows nothing of simulated machines.
#![deny(unsafe_code)]

mod caches;
mod findings;
mod frames;
mod host;
mod measure;
mod next_line;
mod noise;
mod overlap;
mod pages;
mod pinned;
mod pipeline;
mod random;
mod raw;
mod spread;
pub mod staircase;
mod streams;
mod timing;
mod tlb;
mod visits;

pub use caches::last_level::{LastLevel, LastLevelProbe};
pub use caches::reuse::Reuse;
pub use findings::{
    Cache, Caches, Curve, CurveKind, Finding, Findings, HugeEntries, Overlap, Pipeline, Prefetch, Streams, TOGETHER,
    Tlb, TlbLevel, Translated, Walks,
};
pub use frames::ScatteredFrames;
pub use host::{Host, SystemCache, SystemTlb};
pub use measure::measure;
pub use next_line::{NextLine, NextLineLevel};
pub use overlap::branches::{Begins, BehindBranches};
pub use pages::Pages;
pub use spread::Spread;
pub use timing::Effort;
