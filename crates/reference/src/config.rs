//! What is modelled, and what is counted.

use crate::tlb::Array;
use core::ops::Range;
use types::{Gpa, Hpa, SecondStageMode};

/// What is modelled.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the shipped configuration")]
pub struct Config {
    pub l1i: Vec<Array>,
    pub l1d: Vec<Array>,
    pub l2: Vec<Array>,
    pub guest_cache: [u32; 4],
    pub host_cache: [u32; 4],
    pub nested_tlb: Option<Array>,
    pub refill: Option<Routine>,
    pub first_stage_svadu: bool,
    pub second_stage_svadu: bool,
    pub svnapot: bool,
    /// Pages of the groups that leaves of the second stage may be of.
    pub second_stage_groups: &'static [u64],
}

/// Instructions of the routine that refills the TLBs, for each of its steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are those of the shipped configuration")]
pub struct Routine {
    pub begin: u64,
    pub guest_level: u64,
    pub nested_lookup: u64,
    pub nested_level: u64,
    pub flat_lookup: u64,
    pub reserved_lookup: u64,
    pub update: u64,
    pub fill: u64,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names are those of the shipped counts")]
pub struct Counts {
    pub l1d_misses: u64,
    pub l1i_misses: u64,
    pub l2_hits: u64,
    pub l2_misses: u64,
    pub segment_hits: u64,
    pub guest_segment_hits: u64,
    pub hypervisor_segment_hits: u64,
    pub hypervisor_segment_pages: u64,
    pub escape_hits: u64,
    pub walks: u64,
    pub refills: u64,
    pub refill_instructions: u64,
    pub agile_walks: [u64; 7],
    pub guest_refs: u64,
    pub host_refs: u64,
    pub max_refs: u64,
    pub steps: u64,
    pub max_steps: u64,
    pub guest_cache_hits: [u64; 4],
    pub host_cache_hits: [u64; 4],
    pub nested_tlb_hits: u64,
    pub nested_tlb_misses: u64,
    pub guest_updates: u64,
    pub host_updates: u64,
}

/// A second stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stage2 {
    /// gPA + offset inside `ram`, devices outside.
    Constant {
        /// The memory.
        ram: Range<Gpa>,
        /// What is added.
        offset: u64,
    },
    /// Tables.
    Nested {
        /// Their shape.
        mode: SecondStageMode,
        /// The root.
        root: Hpa,
    },
    /// Tables, behind a shadow table that may switch a walk to them.
    Agile {
        /// Their shape.
        mode: SecondStageMode,
        /// The root.
        root: Hpa,
        /// The register `sptr`.
        shadow: u64,
    },
    /// An array of entries.
    Flat {
        /// The first entry.
        table: Hpa,
        /// The page that it is for.
        first: Gpa,
        /// How many there are.
        entries: u64,
    },
    /// gPA + offset inside `ram`, nothing outside.
    Reserved {
        /// The memory.
        ram: Range<Gpa>,
        /// What is added.
        offset: u64,
    },
}
