//! Who gets the instructions that harts retire.

use crate::results::gauge::Phase;
use hart::Retired;
use hypervisor::Vm;
use memory::HostMemory;
use types::{Gpa, Gva, PageSize, PagingMode, TranslationContext};

/// Who gets the instructions of a guest, turn by turn.
pub trait InstructionSink: Send {
    /// The hart has retired these in a turn, all in one phase of the run. The guest's tables are those at the end of the turn.
    fn retired(&mut self, retired: &[Retired], phase: Phase, tables: &GuestTables<'_>);
}

/// A page of a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestPage {
    /// Where it begins in guest virtual memory.
    pub gva: Gva,
    /// Where it begins in guest physical memory.
    pub gpa: Gpa,
    /// Its size.
    pub size: PageSize,
}

/// The tables of a guest.
pub struct GuestTables<'a> {
    pub(crate) vm: &'a Vm,
    pub(crate) memory: &'a HostMemory,
}

impl GuestTables<'_> {
    /// The page that has an address in a context. `None`: the guest's tables lead nowhere.
    #[must_use]
    pub fn page_of(&self, context: &TranslationContext, gva: Gva) -> Option<GuestPage> {
        if context.mode == PagingMode::Bare {
            let size = PageSize::Size4K;
            let base = gva.0 - gva.offset(size);
            return Some(GuestPage { gva: Gva(base), gpa: Gpa(base), size });
        }
        let context = context.that_may_load_all();
        let leaf = self.vm.look_up(self.memory, &context, gva).ok()?;
        Some(GuestPage { gva: Gva(gva.0 - gva.offset(leaf.size)), gpa: leaf.page, size: leaf.size })
    }
}
