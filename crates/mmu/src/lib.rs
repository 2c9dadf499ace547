//! TLBs, page-walk caches, the nested TLB and the walkers (RISC-V Privileged 1.13, chapters 12 and 19).
//!
//! [`Mmu::access`] is the miss path: L1 by set, L2, walk, fill. The hit path is [`L1Entry`], probed by the hart
//! through a window pointer. Every rule that decides a count (what is looked up, in which order, what is filled,
//! what a fence removes) is written where it is implemented and held by the models in `reference`:
//!
//! * an entry answers only an access that it permits; any other access walks again, and the fresh translation takes
//!   the entry's place or the tables as they are raise the fault ([`Mmu::access`]);
//! * a page is kept at the largest size that an array of the level takes and that is not larger than the page
//!   ([`TlbArray`]);
//! * a fence removes exactly what [`Fence`] says;
//! * a stage of translation is a [`SecondStage`] variant over one walker (`walk.rs`), which a monitor that keeps shadow
//!   tables uses too ([`software_walk`]).
#![deny(unsafe_code)]

mod config;
mod context;
mod directory;
mod escape_filter;
mod events;
mod fault;
mod fence;
mod guest_tables;
mod hints;
mod memory;
mod mmu;
mod outer;
mod pte;
mod raw;
mod record;
mod refill;
mod replacement;
mod resident;
mod rights;
mod segment;
mod set_associative;
mod software;
mod space;
mod stage;
mod statistics;
mod tlb;
mod translate;
mod walk;
mod walk_cache;
mod way;

pub use config::{AdPolicy, ConfigError, Groups, Level, MmuConfig, TlbArray, WalkCacheSizes, WalkCaches};
pub use escape_filter::{EscapeFilter, EscapeFilterError};
pub use events::{EventCounts, Eviction, Fill, LevelCounts, Miss, MissClass, Nobody, Observer, Source, TlbLevel, Walk};
pub use fault::{AccessCause, Cause, Fault, NestedFault, Purpose};
pub use fence::Fence;
pub use hints::Hints;
pub use memory::{HostPage, TableMemory};
pub use mmu::{Hit, Mmu};
pub use outer::{OuterEntry, OuterTlb, References};
pub use raw::L1Entry;
pub use record::{Answer, Memo, Reference, WalkRecord, WalkStep};
pub use refill::{Refill, RefillRoutine};
pub use replacement::{POLICIES, PolicyError, PolicyFacts, Replacement, ReplacementPolicy, Shape};
pub use resident::{ResidentPage, ResidentSpace};
pub use segment::{DirectSegment, Segment, Segments};
pub use software::{SoftwareLeaf, SoftwareRules, SoftwareTables, software_walk};
pub use stage::SecondStage;
pub use statistics::MmuStatistics;
pub use tlb::L3;
