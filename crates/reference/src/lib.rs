//! Slow, obvious models of translation, replacement and time that the shipped ones are tested against.
//!
//! Nothing here shares code with what it checks. Each rule is written down once more, from the specification or from
//! the documentation of the mechanism, in the plainest way: recursion, lists, linear search, no packed bits.
#![forbid(unsafe_code)]

mod agile;
mod cache;
mod caches;
mod config;
mod core;
mod flat;
mod footprint;
mod mmu;
mod predictor;
mod pte;
mod replacement;
mod second_stage;
mod segment;
mod stream;
mod tlb;
mod walk;
mod walk_cache;
mod wrong_path;

pub use crate::core::{Around, Before, Core, CoreShape, Does, Instruction, Lost, Times, Translates, Uses};
pub use caches::{CacheShape, Caches, Hierarchy, Holds, Looks, Missed};
pub use config::{Config, Counts, Routine, Stage2};
pub use footprint::Footprint;
pub use mmu::{Answer, Mmu, Prediction};
pub use predictor::Predicts;
pub use pte::Cause;
pub use replacement::Policy;
pub use segment::Segment;
pub use stream::StreamShape;
pub use tlb::{Array, Position};

use types::{Access, Gpa, Hpa, PageSize};

/// What is at a page of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ground {
    /// Memory throughout.
    Memory,
    /// Memory nowhere.
    Device,
    /// Some of each.
    Mixed,
}

/// The host's memory.
pub trait Memory {
    /// The double word at an address; `None` outside memory.
    fn read(&mut self, at: Hpa) -> Option<u64>;
    /// Stores a double word, if the old one is there; what was there.
    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64>;
    /// What is at a page.
    fn ground(&self, page: Hpa, size: PageSize) -> Ground;
}

/// Why an access fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The guest's tables refuse.
    Page(Cause),
    /// A shadow table refuses.
    Shadow(Cause),
    /// A table of the guest is not in memory.
    FirstStageTable,
    /// A table of the second stage is not in memory.
    SecondStageTable,
    /// An untranslated address has more than 56 bits.
    PhysicalTooWide,
    /// The second stage refuses.
    Nested {
        /// What was translated.
        gpa: Gpa,
        /// For which access.
        access: Access,
        /// Whether to a table of the guest.
        table: bool,
        /// Why.
        cause: Cause,
    },
}
