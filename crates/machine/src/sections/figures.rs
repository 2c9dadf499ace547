//! What is measured of sections. A section may be gone when the run is over, and a guest always is, so that figures are noted before.

use hypervisor::Vm;
use hypervisor::section::{SectionAccess, SectionManager, Window, WindowTables};
use memory::registry::{Freed, SectionName};
use memory::section::{FaultCounts, FileCounts, SectionId, SectionKind};
use std::collections::BTreeMap;
use types::{Cycles, Gpa, PageSize, Vmid};

const PAGE: u64 = PageSize::Size4K.bytes();

/// A section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionFigures {
    /// Its name.
    pub name: SectionName,
    /// Its length in bytes.
    pub bytes: u64,
    /// `alloc`, `fluid` or `pageable`.
    pub kind: &'static str,
    /// Bytes of the tables that exist once for all who share them.
    pub shared_table_bytes: u64,
    /// Bytes of leaf tables that exist once for all shadow tables which lead to them.
    pub shadow_table_bytes: u64,
    /// Windows at the most.
    pub mappers: u32,
    /// Faults of all guests.
    pub faults: FaultCounts,
    /// Pages read from its file and written to it.
    pub files: FileCounts,
}

/// A guest, as far as sections are concerned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GuestFigures {
    /// Bytes of its own tables that it has because of sections.
    pub private_table_bytes: u64,
    /// Of a guest with shadow tables: bytes of those that are its own, at the end, and how often one was linked to a section's.
    pub shadow: Option<ShadowMemory>,
    /// Its faults on sections.
    pub faults: FaultCounts,
    /// What it maps, by address.
    pub windows: Vec<WindowFigures>,
}

/// What a guest's shadow tables have of sections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShadowMemory {
    /// Bytes of tables of the guest's own.
    pub own_table_bytes: u64,
    /// Leaf tables of sections that they were linked to.
    pub links: u64,
}

/// A section in a guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowFigures {
    /// The section's name.
    pub name: SectionName,
    /// Where it is.
    pub at: Gpa,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether the guest may write to it.
    pub writable: bool,
    /// The level of the section's tables that are linked; `None` where the guest has tables of its own.
    pub shared_level: Option<u32>,
    /// What it took the hypervisor to map it.
    pub map_time: Cycles,
}

/// Reserved memory: counts of when the machine had started, and what was freed since then.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReservedFigures {
    /// Fluid pages that may still be promised.
    pub fluid_pages: u64,
    /// How few there may be.
    pub minimum_fluid_pages: u64,
    /// Reservations that did not fit: a line each, which begins with the name.
    pub refused: Vec<String>,
    /// Those that were freed during the run, in their order.
    pub freed: Vec<FreedFigures>,
}

/// A reservation that was freed during the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FreedFigures {
    /// The reservation.
    pub name: SectionName,
    /// When.
    pub at: Cycles,
    /// What that gave back.
    pub freed: Freed,
}

/// Figures, noted as they come.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) reserved: ReservedFigures,
    pub(crate) sections: BTreeMap<SectionId, SectionFigures>,
    pub(crate) guests: BTreeMap<Vmid, GuestFigures>,
    /// By VM and address: what it took to map a window.
    pub(crate) map_times: BTreeMap<(Vmid, Gpa), Cycles>,
    /// What went wrong when sections were given back.
    pub(crate) problems: Vec<String>,
}

impl Ledger {
    pub(super) fn note_guest(&mut self, manager: &SectionManager, vms: &[Vm], vmid: Vmid) {
        let vm = vms.iter().find(|vm| vm.vmid() == vmid);
        let figures = GuestFigures {
            private_table_bytes: manager.private_table_bytes(vmid) + vm.map_or(0, |vm| vm.table_bytes_behind_ram()),
            shadow: vm.and_then(|vm| {
                let links = vm.shadow_statistics()?.links;
                Some(ShadowMemory { own_table_bytes: vm.shadow_table_bytes(), links })
            }),
            faults: manager.faults(vmid),
            windows: manager.windows(vmid).filter_map(|window| self.window(manager, vmid, window)).collect(),
        };
        if !figures.windows.is_empty() {
            self.guests.insert(vmid, figures);
        }
        self.note_sections(manager);
    }

    fn window(&self, manager: &SectionManager, vmid: Vmid, window: &Window) -> Option<WindowFigures> {
        let at = window.region.start;
        Some(WindowFigures {
            name: manager.sections().get(window.section)?.name().clone(),
            at,
            bytes: window.pages * PAGE,
            writable: window.access == SectionAccess::ReadWrite,
            shared_level: match window.tables {
                WindowTables::Private => None,
                WindowTables::Shared { level } => Some(level),
            },
            map_time: self.map_times.get(&(vmid, at)).copied().unwrap_or_default(),
        })
    }

    pub(super) fn note_sections(&mut self, manager: &SectionManager) {
        for (id, section) in manager.sections().iter() {
            let known = self.sections.get(&id);
            let figures = SectionFigures {
                name: section.name().clone(),
                bytes: section.pages() * PAGE,
                kind: match section.kind() {
                    SectionKind::Alloc(_) => "alloc",
                    SectionKind::Fluid => "fluid",
                    SectionKind::Pageable { .. } => "pageable",
                },
                shared_table_bytes: manager.shared_tables(id).map_or(0, |tables| tables.count() * PAGE),
                shadow_table_bytes: manager.shared_tables(id).map_or(0, |tables| tables.shadow_count() * PAGE),
                mappers: section.mappers().max(known.map_or(0, |known| known.mappers)),
                faults: section.faults,
                files: section.file_counts(),
            };
            self.sections.insert(id, figures);
        }
        for (&id, figures) in &mut self.sections {
            if let Some(files) = manager.sections().ended(id) {
                figures.files = files;
            }
        }
    }
}
