//! Agile paging (Gandhi, Hill, Swift, ISCA 2016): a shadow table for as much of a guest's table as changes rarely, and nested walks of the rest.
//!
//! The upper part of an address space is shadowed, with the guest's tables write-protected ([`Coherence::WriteProtect`](super::Coherence::WriteProtect)). A page of the guest's
//! tables that is stored to too often in an interval is *nested* from then on: a switching entry of the shadow table leads to it, so hardware
//! walks it, and whatever is below it, through the nested table, and stores to it take no exit. At the end of an interval pages become shadowed
//! again, as [`Back`] says.
//!
//! | file | mechanism |
//! |---|---|
//! | `config`, `statistics` | what is chosen, and what is counted |
//! | `state`, `nested_page` | what is known of a guest, and of each page that is nested |
//! | `roots`, `root_cache` | where the walks of each address space begin; the root cache |
//! | `modes` | pages that are nested: when they become so, and the entries that lead to them |
//! | `interval` | the end of an interval |
//! | `protect` | stores to the shadowed tables that come through the nested table |
//! | `check` | whether every switching entry and every protection is right |
//!
//! # Protection
//! A store to a shadowed table may be translated by the shadow table or by the nested one. So its page has no W in either, wherever it is mapped.
//! Hardware that sets A or D in a table which it walks nested, and which is shadowed in another place, is refused too: the page becomes nested.
//!
//! # TLBs
//! Walk caches lead to tables of the guest at host physical addresses. Code that removes a switching entry, or moves such a page, fences the first
//! stage of the VM.

mod check;
mod config;
mod interval;
mod modes;
mod nested_page;
mod protect;
mod root_cache;
mod roots;
mod state;
mod statistics;

pub use config::{AgileConfig, Back, Start, StatusUpdates};
pub use statistics::AgileStatistics;

pub(super) use state::Agile;
