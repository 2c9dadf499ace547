//! Figure 4 for shadow tables: what those of many guests take that use all of a section, each its own or the section's. The guests run no instructions: each page is
//! touched once by its shadow fault, as a hart would.

use super::VlmError;
use super::mappers::{AT, MODE, NoProcessors};
use devices::map::RAM_BASE;
use hypervisor::section::{MapRequest, SectionHost, SectionManager, VmProfile};
use hypervisor::shadow::{
    Assist, Clear, Coherence, Invalidation, ShadowConfig, ShadowFault, ShadowFaultOutcome, Tables, Tlbs,
};
use hypervisor::{Backing, Dma, FrameReclaim, LeafStatus, Vm};
use machine::sections::private_table_bytes;
use memory::registry::{Change, Granularities, Registry, Reservation, ReservedMemory, Scope, SectionName};
use memory::section::Lifetime;
use memory::{Host, HostPages};
use mmu::{AdPolicy, Fence, SoftwareRules};
use types::{Access, Asid, Gpa, Gva, PageSize, PagingMode, Privilege, TranslationContext, Vmid};

const GIB: u64 = PageSize::Size1G.bytes();
const LARGE: u64 = PageSize::Size2M.bytes();
const PAGE: u64 = PageSize::Size4K.bytes();

/// RAM of each guest: its tables, and some more.
const RAM: u64 = 64 << 10;
/// Where users see the section.
const SEEN: Gva = Gva(GIB);
/// V; V, R, W, U, A and D.
const TABLE: u64 = 1;
const DATA: u64 = 0b1101_0111;

/// A point: memory of shadow tables, by guests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShadowMemory {
    /// Bytes of the section, at most a gigabyte.
    pub section: u64,
    /// Guests that have used all of it.
    pub mappers: u64,
    /// Bytes of shadow tables for it where each guest has its own.
    pub private: u64,
    /// Bytes where they share leaf tables.
    pub shared: u64,
    /// Shadow faults, of all guests together.
    pub faults: (u64, u64),
}

/// Bytes of shadow tables, and faults, when each of this many guests has used all of a section of `bytes` bytes; for each of `counts`, ascending.
///
/// # Errors
/// [`VlmError`].
pub fn shadow_memory(bytes: u64, counts: &[u16]) -> Result<Vec<ShadowMemory>, VlmError> {
    let bytes = bytes.clamp(PAGE, GIB) / PAGE * PAGE;
    let (private, shared) = (tables_at(bytes, false, counts)?, tables_at(bytes, true, counts)?);
    let points = counts.iter().zip(private).zip(shared).map(|((&count, private), shared)| ShadowMemory {
        section: bytes,
        mappers: u64::from(count),
        private: private.0,
        shared: shared.0,
        faults: (private.1, shared.1),
    });
    Ok(points.collect())
}

/// No processor has anything of these guests.
impl Tlbs for NoProcessors {
    fn fence_here(&mut self, _: &Fence) {}

    fn fence_everywhere(&mut self, _: &Fence) {}
}

fn tables_at(bytes: u64, share: bool, counts: &[u16]) -> Result<Vec<(u64, u64)>, VlmError> {
    let most = counts.last().copied().unwrap_or(0);
    let mut guests = Guests::new(bytes, share, most)?;
    let (mut points, mut faults) = (Vec::new(), 0);
    for &count in counts {
        while guests.vms.len() < usize::from(count) {
            guests.add()?;
            faults += guests.use_all()?;
        }
        points.push((guests.table_bytes(), faults));
    }
    Ok(points)
}

/// Guests with shadow tables that map one section.
struct Guests {
    host: Host,
    vms: Vec<Vm>,
    manager: SectionManager,
    name: SectionName,
    bytes: u64,
    /// Bytes of shadow tables that a guest has before it uses the section.
    before: u64,
}

impl Guests {
    fn new(bytes: u64, share: bool, most: u16) -> Result<Self, VlmError> {
        let wrong = |_| VlmError::Section(bytes);
        let name = SectionName::new("cache", Scope::System).map_err(|_| VlmError::Section(bytes))?;
        let mut registry = Registry::default();
        registry.add(Reservation::new(name.clone(), bytes).map_err(wrong)?).map_err(|_| VlmError::Section(bytes))?;
        let change = Change { alloc: Some(true), zeroed: Some(true), page_tables: Some(share), ..Change::default() };
        registry.modify(&name, change).map_err(|_| VlmError::Section(bytes))?;
        let sizes = Granularities::RISCV.at_most(PageSize::Size4K);
        // Beside the section, for each guest twice as many tables as map all of it, in either table.
        let each = 2 * private_table_bytes(bytes) + (4 << 20);
        let host_bytes =
            (bytes + 16 * bytes.div_ceil(LARGE) * PAGE + GIB + u64::from(most) * each).next_multiple_of(PAGE);
        let mut host = Host::new(host_bytes, HostPages::Base)?;
        let reserved = ReservedMemory::honour(&registry, &mut host, 0, sizes)?;
        let mut manager = SectionManager::new(reserved, sizes);
        let mut vms = Vec::new();
        let mut on = SectionHost { host: &mut host, tables: &mut vms, processors: &mut NoProcessors };
        manager.create_resident(&mut on, &name, bytes, Lifetime::Permanent)?;
        Ok(Self { host, vms, manager, name, bytes, before: 0 })
    }

    /// Adds a guest, whose user sees the section in pages of 2M.
    fn add(&mut self) -> Result<(), VlmError> {
        let index = self.vms.len();
        let vmid = Vmid(index as u16 + 1);
        let backing = Backing::nested(MODE, PageSize::Size4K, LeafStatus::Preset);
        let guest = |error: hypervisor::VmError| VlmError::Guest(error.to_string());
        let mut vm = Vm::new(&mut self.host, vmid, RAM, backing).map_err(guest)?;
        let config = ShadowConfig {
            tables: Tables::Multiple(1),
            coherence: Coherence::Fence,
            invalidation: Invalidation::Selective,
            assist: Assist::None,
            clear: Clear::Stores,
            selection_flag: true,
            harts: 1,
            rules: SoftwareRules { ad: AdPolicy::Fault, svnapot: false },
            sections_end: AT.wrapping_add(self.bytes),
            section_bytes: self.bytes,
            check: false,
            agile: None,
        };
        vm.shadow_with(&mut self.host, config)?;
        self.vms.push(vm);
        let limit = Gpa(1 << MODE.address_bits());
        self.manager.add_vm(VmProfile {
            vmid,
            group: None,
            mode: MODE,
            links: true,
            limit,
            taken: Vec::new(),
            quota: 1,
        });
        let mut on = SectionHost { host: &mut self.host, tables: &mut self.vms, processors: &mut NoProcessors };
        self.manager.map(&mut on, &MapRequest::whole(vmid, self.name.clone(), AT))?;
        self.write_tables(index)?;
        let context = TranslationContext {
            mode: PagingMode::Sv39,
            root: RAM_BASE,
            asid: Asid(1),
            privilege: Privilege::User,
            sum: false,
            mxr: false,
        };
        self.vms[index].shadow_switch(&mut self.host, &mut NoProcessors, 0, &context)?;
        self.before = self.vms[index].shadow_table_bytes();
        Ok(())
    }

    /// The guest's root, and a table of 2M pages.
    fn write_tables(&mut self, index: usize) -> Result<(), VlmError> {
        let entry = |page: u64, bits: u64| (page >> 12 << 10 | bits).to_le_bytes();
        let supply = FrameReclaim {
            memory: &self.host.memory,
            frames: &mut self.host.frames,
            vms: &mut self.vms,
            pager: None,
            processors: NoProcessors,
        };
        let dma = Dma::new(supply, index);
        let directory = RAM_BASE.wrapping_add(PAGE);
        let guest = |error: hypervisor::GuestMemoryError| VlmError::Guest(error.to_string());
        dma.write(RAM_BASE.wrapping_add(SEEN.0 / GIB * 8), &entry(directory.0, TABLE)).map_err(guest)?;
        for number in 0..self.bytes.div_ceil(LARGE) {
            let at = directory.wrapping_add(number * 8);
            dma.write(at, &entry(AT.0 + number * LARGE, DATA)).map_err(guest)?;
        }
        dma.finish();
        Ok(())
    }

    /// The latest guest stores to every page of the section for which it has no entry yet; returns how many faults that took.
    fn use_all(&mut self) -> Result<u64, VlmError> {
        let Some(vm) = self.vms.last_mut() else { return Ok(0) };
        let (mut faults, mut offset) = (0, 0);
        while offset < self.bytes {
            let gva = SEEN.wrapping_add(offset);
            let links = vm.shadow_statistics().map_or(0, |statistics| statistics.links);
            let sections = Some(&mut self.manager);
            let refused = ShadowFault { hart: 0, gva, access: Access::Write };
            match vm.shadow_fault(&mut self.host, &mut NoProcessors, refused, sections) {
                Ok((ShadowFaultOutcome::Mapped, _)) => faults += 1,
                other => return Err(VlmError::Guest(format!("{gva}: {other:?}"))),
            }
            // A link makes all of the 2M valid.
            let linked = vm.shadow_statistics().is_some_and(|statistics| statistics.links > links);
            offset += if linked { LARGE } else { PAGE };
        }
        Ok(faults)
    }

    /// Bytes of tables because of the section: the guests' own, and those of the section that they are linked to.
    fn table_bytes(&self) -> u64 {
        let own: u64 = self.vms.iter().map(|vm| vm.shadow_table_bytes() - self.before).sum();
        let id = self.manager.sections().find(&self.name);
        let tables = id.and_then(|id| self.manager.shared_tables(id));
        own + tables.map_or(0, |tables| tables.shadow_count() * PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shadow_leaf_tables_of_a_section_are_there_once_for_all_guests() {
        let bytes = 6 * LARGE + 3 * PAGE;
        for point in shadow_memory(bytes, &[1, 2, 5]).unwrap() {
            // Seven leaf tables, and the one above them that each guest has.
            assert_eq!(point.private, point.mappers * (7 + 1) * PAGE);
            assert_eq!(point.shared, (7 + point.mappers) * PAGE);
            assert_eq!(point.faults, (point.mappers * bytes / PAGE, point.mappers * 7));
        }
    }
}
