//! A page of the guest's tables that hardware walks nested.

use crate::shadow::guest_tables::Derived;
use crate::vm::VmMemory;
use memory::HostMemory;
use types::{Gpa, Hpa};

/// Entries of a table.
const ENTRIES: u64 = 512;
/// A and D, which hardware sets.
const STATUS: u64 = 1 << 6 | 1 << 7;

/// A page of the guest's tables that is nested.
#[derive(Debug, Default)]
pub(super) struct NestedPage {
    /// Where entries of shadow tables lead to it, and perhaps some that are gone.
    pub(super) places: Vec<Derived>,
    /// What it had when it became nested, or when an interval ended, with status bits left out.
    pub(super) before: Option<Vec<u64>>,
}

impl NestedPage {
    /// How many entries have changed since this was asked last.
    pub(super) fn changes(&mut self, vm: &VmMemory, memory: &HostMemory, number: u64) -> u64 {
        let page = vm.mapped(memory, Gpa(number << 12));
        let at = page.map(|leaf| Hpa(leaf.page.0 | Gpa(number << 12).offset(leaf.size)));
        let entry = |index: u64| at.and_then(|at| memory.read(at.wrapping_add(index * 8)).ok()).unwrap_or(0) & !STATUS;
        let now: Vec<u64> = (0..ENTRIES).map(entry).collect();
        let changed = |before: Vec<u64>| before.iter().zip(&now).filter(|(before, now)| before != now).count() as u64;
        let changes = self.before.take().map_or(0, changed);
        self.before = Some(now);
        changes
    }
}
