//! What is recorded of a VM that is checked, and what may be found.

use super::reader::Path;
use core::fmt;
use mmu::Fault;
use std::collections::BTreeMap;
use types::{Access, Gva, Hpa, PageSize};

/// An entry that should not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Number of the table; 0 is that of guests which do not translate.
    pub table: usize,
    /// The page.
    pub gva: Gva,
    /// What is wrong with it.
    pub problem: Problem,
    /// Whether it was found after a fence that was for it.
    pub fenced: bool,
}

/// What is wrong with an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// It permits an access that the guest's table refuses.
    Refused(Access, Fault),
    /// It maps another page than the guest's table and the host's mapping lead to.
    Elsewhere {
        /// Where it leads.
        entry: Hpa,
        /// Where it should; `None` if nowhere.
        right: Option<Hpa>,
    },
    /// It is larger than the guest's page or the host's.
    TooLarge(PageSize),
    /// It is global, and the guest's mapping is not.
    Global,
    /// It may be stored through, and a table of the guest lies there that should be write-protected.
    Unprotected,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, gva, problem, fenced } = self;
        write!(f, "shadow table {table}, {gva}: ")?;
        match problem {
            Problem::Refused(access, fault) => write!(f, "permits {access:?}, which the guest refuses ({fault:?})"),
            Problem::Elsewhere { entry, right: Some(right) } => write!(f, "maps {entry} in place of {right}"),
            Problem::Elsewhere { entry, right: None } => write!(f, "maps {entry} where nothing is"),
            Problem::TooLarge(size) => write!(f, "is {size}, larger than what it maps"),
            Problem::Global => f.write_str("is global"),
            Problem::Unprotected => f.write_str("permits stores to a table of the guest"),
        }?;
        f.write_str(if *fenced { ", after a fence for it" } else { "" })
    }
}

/// What is recorded of a VM that is checked.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// By table and page: what the walk for the entry read.
    pub(super) paths: BTreeMap<(usize, u64), Path>,
    /// What was found after fences.
    pub(super) found: Vec<Violation>,
}

impl Audit {
    /// Notes what the entry of `gva` in `table` was made from.
    pub(super) fn record(&mut self, table: usize, gva: Gva, path: &Path) {
        self.paths.insert((table, gva.0), *path);
    }
}

impl Audit {
    /// The pages of `table` that were entered from a guest page which holds `gva`, and the one at `gva`.
    pub(super) fn of_page(&self, table: usize, levels: u32, gva: Gva) -> Vec<Gva> {
        let mut pages = vec![gva];
        let region = gva.page(PageSize::Size1G).0;
        let recorded = self.paths.range((table, region)..=(table, region | (PageSize::Size1G.bytes() - 1)));
        pages.extend(recorded.filter_map(|(&(_, other), path)| {
            let (_, size) = path.page(levels)?;
            (size > PageSize::Size4K && Gva(other).page(size) == gva.page(size)).then_some(Gva(other))
        }));
        pages
    }
}
