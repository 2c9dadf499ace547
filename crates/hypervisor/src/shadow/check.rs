//! Whether every shadow entry is allowed: by the guest's table and the host's mapping as they are, or by a fence that the guest has yet to
//! make.
//!
//! A VM that is to be checked records for each entry what the walk for it read. After each fence, every entry that the fence is for must be
//! allowed by what is in the guest's table now. At any time, an entry that is not must have been made from entries which have changed since:
//! then the fence is pending. Where guest tables are write-protected nothing is pending, ever.

use super::audit::{Audit, Problem, Violation};
use super::tables::BARE;
use super::{Coherence, Shadow};
use crate::guest_view::Peek;
use crate::table::{Leaf, LeafBits};
use crate::vm::{Vm, VmMemory};
use memory::HostMemory;
use mmu::{AdPolicy, SoftwareLeaf, SoftwareRules, software_walk};
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, Privilege, TranslationContext};

impl Vm {
    /// Every shadow entry that is not allowed: those found after fences, and those found now. None of a guest that is not to be checked.
    #[must_use]
    pub fn check_shadow(&self, memory: &HostMemory) -> Vec<Violation> {
        let checked = self.shadow.as_ref().and_then(|shadow| shadow.audit.as_ref().map(|audit| (shadow, audit)));
        checked.map_or_else(Vec::new, |(shadow, audit)| shadow.check(audit, self, memory))
    }
}

impl Shadow {
    fn check(&self, audit: &Audit, vm: &VmMemory, memory: &HostMemory) -> Vec<Violation> {
        let mut violations = audit.found.clone();
        violations.extend(self.check_modes(vm, memory));
        for (number, table) in self.tables.list.iter().enumerate() {
            for (gva, leaf) in table.shape.leaves(memory) {
                let wrong = self.judge(vm, memory, number, gva, &leaf);
                violations.extend(
                    wrong
                        .filter(|problem| !self.is_pending(vm, memory, (number, gva), &leaf, problem))
                        .map(|problem| Violation { table: number, gva, problem, fenced: false }),
                );
            }
        }
        violations
    }

    /// After a fence for `tables`: everything in them that it is for must be as the guest's tables are now.
    pub(super) fn verify(
        &mut self,
        vm: &VmMemory,
        memory: &HostMemory,
        tables: &[usize],
        pages: Option<&[Gva]>,
        asid: Option<Asid>,
    ) {
        let Some(audit) = &self.audit else { return };
        let mut wrong = Vec::new();
        for &table in tables {
            let shape = &self.tables.list[table].shape;
            let concerned: Vec<(Gva, Leaf)> = match pages {
                None => shape.leaves(memory),
                Some(pages) => {
                    let with = pages
                        .iter()
                        .flat_map(|&page| audit.of_page(table, shape.mode().levels(), shape.canonical(page)));
                    with.filter_map(|gva| shape.lookup(memory, gva).map(|leaf| (gva.page(leaf.size), leaf))).collect()
                }
            };
            // A fence for an address space is not for what is global.
            for (gva, leaf) in
                concerned.into_iter().filter(|(_, leaf)| asid.is_none() || !leaf.bits.contains(LeafBits::GLOBAL))
            {
                let problem = self.judge(vm, memory, table, gva, &leaf);
                wrong.extend(problem.map(|problem| Violation { table, gva, problem, fenced: true }));
            }
        }
        if let Some(audit) = &mut self.audit {
            audit.found.extend(wrong);
        }
    }

    /// What is wrong with an entry, if it must be allowed now.
    fn judge(&self, vm: &VmMemory, memory: &HostMemory, table: usize, gva: Gva, leaf: &Leaf) -> Option<Problem> {
        let writable = leaf.bits.contains(LeafBits::WRITE);
        let page = if table == BARE {
            let everything = SoftwareLeaf { page: Gpa(gva.0), size: PageSize::Size1G, pte: 0, global: false };
            Ok(everything)
        } else {
            self.guest_allows(vm, memory, table, gva, leaf)
        };
        let page = match page {
            Ok(page) => page,
            Err(problem) => return problem,
        };
        let gpa = if table == BARE { page.page } else { Gpa(page.page.0 | gva.offset(page.size)) };
        if page.size < leaf.size {
            return Some(Problem::TooLarge(leaf.size));
        }
        if leaf.bits.contains(LeafBits::GLOBAL) && !page.global {
            return Some(Problem::Global);
        }
        if writable && self.holds_guest_table(gpa, leaf.size) {
            return Some(Problem::Unprotected);
        }
        let host = vm.anywhere(memory, gpa);
        let right = host.map(|host| Hpa(host.page.0 | gpa.offset(host.size)));
        if right != Some(leaf.page) {
            return Some(Problem::Elsewhere { entry: leaf.page, right });
        }
        host.filter(|host| host.size < leaf.size).map(|_| Problem::TooLarge(leaf.size))
    }

    /// The guest's mapping of `gva`, if it permits all that the entry does. What cannot be read now is taken to.
    fn guest_allows(
        &self,
        vm: &VmMemory,
        memory: &HostMemory,
        table: usize,
        gva: Gva,
        leaf: &Leaf,
    ) -> Result<SoftwareLeaf, Option<Problem>> {
        let Some(key) = self.tables.list[table].key else { return Err(None) };
        let user = leaf.bits.contains(LeafBits::USER);
        let privilege = if user { Privilege::User } else { Privilege::Supervisor };
        let context =
            TranslationContext { mode: key.mode, root: key.root, asid: key.asid, privilege, sum: false, mxr: false };
        let rules = SoftwareRules { ad: AdPolicy::Fault, ..self.config.rules };
        let rights =
            [(LeafBits::READ, Access::Read), (LeafBits::WRITE, Access::Write), (LeafBits::EXECUTE, Access::Execute)];
        let mut found = Err(None);
        for (_, access) in rights.into_iter().filter(|&(right, _)| leaf.bits.contains(right)) {
            let mut tables = Peek::new(vm, memory);
            found = match software_walk(&mut tables, rules, &context, gva, access) {
                Ok(page) => Ok(page),
                Err(_) if tables.absent => return Err(None),
                Err(fault) => return Err(Some(Problem::Refused(access, fault))),
            };
        }
        found
    }

    /// Whether what is wrong with an entry is that the guest has changed its table since, and has yet to fence.
    fn is_pending(
        &self,
        vm: &VmMemory,
        memory: &HostMemory,
        (table, gva): (usize, Gva),
        leaf: &Leaf,
        problem: &Problem,
    ) -> bool {
        if self.config.coherence == Coherence::WriteProtect || table == BARE || *problem == Problem::Unprotected {
            return false;
        }
        let Some(path) = self.audit.as_ref().and_then(|audit| audit.paths.get(&(table, gva.0))) else { return false };
        let changed = path.steps().any(|step| vm.peek(memory, step.at).is_some_and(|entry| entry != step.entry));
        // The page that the guest mapped then must still be the one that the entry leads to.
        let levels = self.tables.list[table].shape.mode().levels();
        let gpa = path.page(levels).map(|(page, size)| Gpa(page.0 | gva.offset(size)));
        let host = gpa.and_then(|gpa| vm.anywhere(memory, gpa).map(|host| Hpa(host.page.0 | gpa.offset(host.size))));
        changed && host == Some(leaf.page)
    }
}
