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
//! A page is reached under nested paging: a walk reads 24 entries of two four-level trees without caches of walks, fewer with them, and the next access
//! hits the L1 TLB:
//!
//! ```
//! use mmu::{Mmu, MmuConfig, SecondStage, TableMemory, HostPage, WalkCaches};
//! use types::{Access, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};
//!
//! /// Host memory: 2 MiB from hPA 0.
//! struct Memory(Vec<u64>);
//!
//! impl TableMemory for Memory {
//!     fn read(&mut self, at: Hpa) -> Option<u64> {
//!         self.0.get(at.0 as usize / 8).copied()
//!     }
//!     fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
//!         let entry = self.0.get_mut(at.0 as usize / 8)?;
//!         let found = *entry;
//!         if found == old {
//!             *entry = new;
//!         }
//!         Some(found)
//!     }
//!     fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
//!         let first = self.0.as_ptr().cast_mut().cast::<u8>();
//!         HostPage::Ram(first.wrapping_add(page.0 as usize))
//!     }
//! }
//!
//! /// Entry 0 of each table leads to the next table of 4K, and that of the last one to `page`.
//! fn map(memory: &mut Memory, tables: [u64; 4], page: u64, flags: u64) {
//!     let entry = |address: u64, flags: u64| address >> 12 << 10 | flags;
//!     for pair in tables.windows(2) {
//!         memory.0[pair[0] as usize / 8] = entry(pair[1], 1);
//!     }
//!     memory.0[tables[3] as usize / 8] = entry(page, flags);
//! }
//!
//! const USER_PAGE: u64 = 0xdf; // D A U X W R V
//! let mut memory = Memory(vec![0; (2 << 20) / 8]);
//! // The guest's tables are at gPA 0x10000; gVA 0 leads to gPA 0x20000. The hypervisor maps gPA 0 to 2 MiB with 4K pages to the same hPA.
//! map(&mut memory, [0x10000, 0x11000, 0x12000, 0x13000], 0x20000, USER_PAGE);
//! map(&mut memory, [0x40000, 0x44000, 0x45000, 0x46000], 0, USER_PAGE);
//! for page in 0..512 {
//!     memory.0[(0x46000 + 8 * page) as usize / 8] = page << 10 | USER_PAGE;
//! }
//! let nested = SecondStage::Nested { mode: SecondStageMode::Sv48x4, root: Hpa(0x40000) };
//! let context = TranslationContext {
//!     mode: PagingMode::Sv48,
//!     root: Gpa(0x10000),
//!     privilege: Privilege::User,
//!     ..TranslationContext::default()
//! };
//!
//! let config = MmuConfig { walk_caches: WalkCaches::OFF, nested_tlb: None, ..MmuConfig::default() };
//! let mut mmu = Mmu::new(&config)?;
//! mmu.set_context(&context, Vmid(1));
//! let hit = mmu.access(&mut memory, &nested, Gva(0x123), Access::Read, 1).expect("the page is mapped");
//! assert_eq!(mmu.statistics().refs(), 24);
//!
//! mmu.access(&mut memory, &nested, Gva(0x456), Access::Read, 2).expect("the page is mapped");
//! assert_eq!(mmu.statistics().walks, 1);
//! # Ok::<(), mmu::ConfigError>(())
//! ```
//!
//! Modules use those of the layers below theirs, and no cycle is among them:
//!
//! ```text
//! record, resident, software          what looks at an MMU from outside, or walks without one
//! host_pages                          the hypervisor's own pages in the TLBs
//! mmu                                 TLB levels in front of a walk: the fast path, the general path, fences
//! walkers                             what a processor has for walks
//! translate                           both stages for one access
//! stage                               second stages; a stage reads its tables through the one below
//! walk                                the walker: trees, the seam between stages, policies
//! outer                               TLB levels behind the last one
//! events                              events, and the observers that receive them
//! tlb, walk_cache, segment            caches of translations, and what is looked up before them
//! set_associative, tag array          arrays
//! storage                             how many bits a configuration has
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
mod storage;
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
pub use mmu::host_pages::HostPages;
pub use mmu::record::{Answer, Memo, Reference, WalkRecord, WalkRequest, WalkStep};
pub use mmu::resident::{Permits, ResidentPage, ResidentSpace, TlbContents, TlbEntry};
pub use mmu::{Hit, Mmu};
pub use outer::{L3, OuterEntry, OuterTlb, References};
pub use pte::{Kind as PteKind, Pte};
pub use raw::L1Entry;
pub use refill::{Refill, RefillRoutine, RefillSteps};
pub use replacement::{POLICIES, PolicyError, PolicyFacts, Replacement, ReplacementPolicy, Shape};
pub use segment::escape_filter::{EscapeFilter, EscapeFilterError};
pub use segment::{DirectSegment, Segment, Segments};
pub use stage::{
    CloneFormat, Entries, FoundEntry, LookupError, Registers, SWITCHING, SecondStage, ShadowRoot, TableFormat,
};
pub use statistics::MmuStatistics;
pub use storage::{Stages, Storage, Translated};
pub use walk::software::{SoftwareLeaf, SoftwareRules, SoftwareTables, software_walk};
