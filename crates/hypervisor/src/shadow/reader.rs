//! A guest's tables as the hypervisor reads them: at guest physical addresses, through the host's mapping, which is filled where it is missing.

use crate::vm::{ReclaimRequest, VmMemory};
use memory::Host;
use mmu::{SoftwareRules, SoftwareTables};
use types::{Access, Gpa, Hpa, PageSize};

/// An entry of a guest's table that a walk read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) at: Gpa,
    pub(super) entry: u64,
}

/// The entries that a walk read, from the root's on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    steps: [Option<Step>; Self::LONGEST],
    length: usize,
}

impl Path {
    const LONGEST: usize = 5;

    fn read(&mut self, step: Step) {
        if let Some(slot) = self.steps.get_mut(self.length) {
            *slot = Some(step);
            self.length += 1;
        }
    }

    /// The entry read last is another now.
    fn update(&mut self, entry: u64) {
        if let Some(Some(last)) = self.length.checked_sub(1).and_then(|last| self.steps.get_mut(last)) {
            last.entry = entry;
        }
    }

    /// The first entries.
    pub(super) fn first(&self, length: usize) -> Self {
        Self { length: length.min(self.length), ..*self }
    }

    /// This path with `step` as its last entry, if one is given.
    pub(super) fn ending(&self, step: Option<Step>) -> Self {
        let mut path = *self;
        if let (Some(step), Some(Some(last))) =
            (step, path.length.checked_sub(1).and_then(|last| path.steps.get_mut(last)))
        {
            *last = step;
        }
        path
    }

    /// The page that the walk's last entry maps, in a tree of this many levels.
    pub(super) fn page(&self, levels: u32) -> Option<(Gpa, PageSize)> {
        const NAPOT: u64 = 1 << 63;
        let last = self.steps().last()?;
        let level = levels.checked_sub(self.length as u32)?;
        let size = if last.entry & NAPOT != 0 { PageSize::Size64K } else { PageSize::of_level(level) };
        Some((Gpa((last.entry >> 10 & ((1 << 44) - 1)) << 12).page(size), size))
    }

    pub(super) fn steps(&self) -> impl DoubleEndedIterator<Item = Step> {
        self.steps[..self.length].iter().flatten().copied()
    }
}

/// Reads the guest's tables through the host's mapping.
pub(super) struct GuestReader<'m> {
    vm: &'m mut VmMemory,
    host: &'m mut Host,
    pub(super) rules: SoftwareRules,
    pub(super) path: Path,
    /// Entries read, in both dimensions.
    pub(super) references: u64,
    /// Pages of the host filled on the way.
    pub(super) filled: u64,
    /// A page that has to be provided first.
    pub(super) wanted: Option<ReclaimRequest>,
}

impl<'m> GuestReader<'m> {
    pub(super) fn new(vm: &'m mut VmMemory, host: &'m mut Host, rules: SoftwareRules) -> Self {
        Self { vm, host, rules, path: Path::default(), references: 0, filled: 0, wanted: None }
    }

    fn locate(&mut self, at: Gpa, access: Access) -> Option<Hpa> {
        self.references += 1 + u64::from(self.vm.host_levels());
        match self.vm.resolve(&self.host.memory, &mut self.host.frames, at, access) {
            Ok(Some(resolved)) => {
                self.filled += u64::from(resolved.fresh);
                Some(Hpa(resolved.leaf.page.0 | at.offset(resolved.leaf.size)))
            }
            Ok(None) => None,
            Err(wanted) => {
                self.wanted = Some(wanted);
                None
            }
        }
    }
}

impl SoftwareTables for GuestReader<'_> {
    fn read(&mut self, at: Gpa) -> Option<u64> {
        debug_assert!(at.is_aligned(8) && at.offset(PageSize::Size4K) <= 4088);
        let hpa = self.locate(at, Access::Read)?;
        let entry = self.host.memory.read(hpa).ok()?;
        self.path.read(Step { at, entry });
        Some(entry)
    }

    fn compare_exchange(&mut self, at: Gpa, old: u64, new: u64) -> Option<u64> {
        let hpa = self.locate(at, Access::Write)?;
        let found = self.host.memory.read(hpa).ok()?;
        if found == old {
            self.host.memory.write(hpa, new).ok()?;
            self.path.update(new);
        }
        Some(found)
    }
}
