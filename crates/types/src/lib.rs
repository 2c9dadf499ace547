//! The words every other crate shares: addresses, page sizes, access kinds, tags and cycles.
#![forbid(unsafe_code)]

mod address;
mod context;
mod cycles;
mod page;
mod page_groups;
mod random;
mod size_text;

pub use address::{Gpa, Gva, Hpa};
pub use context::{Access, Asid, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid, Width};
pub use cycles::Cycles;
pub use page::{PageSize, UnknownPageSize};
pub use page_groups::PageGroups;
pub use random::SplitMix64;
pub use size_text::{SizeText, parse_size};
