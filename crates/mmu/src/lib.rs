//! TLBs, page-walk caches, the nested TLB and the walkers (RISC-V Privileged 1.13, chapters 12 and 19).
//!
//! [`Mmu::access`] is the miss path: L1 by set, L2, walk, fill. The hit path is [`L1Entry`], probed by the hart
//! through a view pointer. Every rule that decides a count (what is looked up, in which order, what is filled,
//! what a fence removes) is written where it is implemented and held by the models in `reference`:
//!
//! * an entry answers only an access that it permits; any other access walks again, and the fresh translation takes
//!   the entry's place or the tables as they are raise the fault ([`Mmu::access`]);
//! * a page is kept at the largest size that an array of the level takes and that is not larger than the page
//!   ([`TlbArray`]);
//! * a fence removes exactly what [`Fence`] says;
//! * a stage of translation is a [`SecondStage`] variant over one walker (`walk/`), which a hypervisor that keeps shadow
//!   tables uses too ([`software_walk`]).
//!
//! Modules use those of the layers below theirs, and no cycle is among them:
//!
//! ```text
//! record, resident, software          what looks at an MMU from outside, or walks without one
//! mmu                                 TLB levels in front of a walk: the fast path, the general path, fences
//! walkers                             what a processor has for walks
//! translate                           both stages for one access
//! stage                               second stages; a stage reads its tables through the one below
//! walk                                the walker: trees, the seam between stages, policies
//! outer                               TLB levels behind the last one
//! events                              events, and the observers that receive them
//! tlb, walk_cache, segment            caches of translations, and what is looked up before them
//! set_associative, tag array          arrays
//! pte, config                         table entries and configurations
//! replacement, way, raw               who makes room in an array, its slots, the words that are searched
//! context, rights, geometry, space, refill, fault, statistics, memory
//! ```
#![deny(unsafe_code)]

mod config;
mod context;
mod events;
mod fault;
mod fence;
mod flags;
mod geometry;
mod memory;
mod mmu;
mod outer;
mod pte;
mod raw;
mod refill;
mod replacement;
mod rights;
mod segment;
mod space;
mod stage;
mod statistics;
mod tlb;
mod translate;
mod walk;
mod walk_cache;
mod walkers;

pub use config::{AdPolicy, ConfigError, Groups, Level, MmuConfig, TlbArray, WalkCacheSizes, WalkCaches};
pub use events::{
    EventCounts, Eviction, Fill, LevelCounts, Miss, MissClass, NoObserver, Observer, Source, TlbLevel, Walk,
};
pub use fault::{AccessCause, Cause, Fault, NestedFault, Purpose};
pub use fence::Fence;
pub use memory::{HostPage, TableMemory};
pub use mmu::fast::UnfinishedAccess;
pub use mmu::hints::Hints;
pub use mmu::record::{Answer, Memo, Reference, WalkRecord, WalkStep};
pub use mmu::resident::{ResidentPage, ResidentSpace};
pub use mmu::{Hit, Mmu};
pub use outer::{L3, OuterEntry, OuterTlb, References};
pub use raw::L1Entry;
pub use refill::{Refill, RefillRoutine, RefillSteps};
pub use replacement::{POLICIES, PolicyError, PolicyFacts, Replacement, ReplacementPolicy, Shape};
pub use segment::escape_filter::{EscapeFilter, EscapeFilterError};
pub use segment::{DirectSegment, Segment, Segments};
pub use stage::{
    CloneFormat, Entries, FoundEntry, LookupError, Registers, SWITCHING, SecondStage, ShadowRoot, TableFormat,
};
pub use statistics::MmuStatistics;
pub use walk::software::{SoftwareLeaf, SoftwareRules, SoftwareTables, software_walk};
