//! A memory-resident section, preallocated, and VMs that map all of it, one after the other.

use super::VlmError;
use hypervisor::section::{MapRequest, SectionHost, SectionManager, SectionWork, VmProfile};
use hypervisor::{FlushTlbs, HostTable, NestedTable, TableWork};
use machine::sections::private_table_bytes;
use memory::registry::{Change, Granularities, Registry, Reservation, ReservedMemory, Scope, SectionName, table_pages};
use memory::section::Lifetime;
use memory::{FrameRange, Host, HostPages};
use mmu::Fence;
use std::collections::BTreeMap;
use types::{Cycles, Gpa, PageSize, SecondStageMode, Vmid};

/// Three levels, as the Alpha's page tables have.
pub(super) const MODE: SecondStageMode = SecondStageMode::Sv39x4;

/// Where every VM has the section: on a boundary that every level shares.
pub(super) const AT: Gpa = Gpa(16 << 30);

/// Pages of a root.
const ROOT_PAGES: u64 = 4;

/// Whether mappers share the section's page tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// Each has its own.
    Private,
    /// The tables are there once.
    Shared,
}

/// Bytes of the tables of a section of `bytes` bytes, however many share them.
#[must_use]
pub const fn shared_table_bytes(bytes: u64) -> u64 {
    table_pages(bytes) * PageSize::Size4K.bytes()
}

/// No VM has run yet, so that no processor has anything to flush.
#[derive(Debug)]
pub(super) struct NoProcessors;

impl FlushTlbs for NoProcessors {
    fn fence(&mut self, _: &Fence) {}

    fn forget_code(&mut self, _: FrameRange) {}
}

/// A host on which VMs map one memory-resident section, to count the tables that each mapping takes.
#[derive(Debug)]
pub struct Mappers {
    host: Host,
    tables: BTreeMap<Vmid, NestedTable>,
    manager: SectionManager,
    name: SectionName,
    bytes: u64,
    sharing: Sharing,
    monitor_step: Cycles,
    creation: SectionWork,
    /// Owned bytes before there was a section or a VM: what is reserved.
    reserved: u64,
}

impl Mappers {
    /// A section of `bytes` bytes on a host that has room for it and `most` mappers, mapped by pages of `sizes`. A step of the
    /// hypervisor takes `monitor_step`.
    ///
    /// # Errors
    /// [`VlmError`].
    pub fn new(
        bytes: u64,
        sharing: Sharing,
        sizes: Granularities,
        most: u16,
        monitor_step: Cycles,
    ) -> Result<Self, VlmError> {
        let unreservable = |_| VlmError::Section(bytes);
        let name = SectionName::new("cache", Scope::System).map_err(|_| VlmError::Section(bytes))?;
        let mut registry = Registry::default();
        registry
            .add(Reservation::new(name.clone(), bytes).map_err(unreservable)?)
            .map_err(|_| VlmError::Section(bytes))?;
        let change = Change {
            alloc: Some(true),
            zeroed: Some(true),
            page_tables: Some(sharing == Sharing::Shared),
            ..Change::default()
        };
        registry.modify(&name, change).map_err(|_| VlmError::Section(bytes))?;
        let own = match sharing {
            Sharing::Private => private_table_bytes(bytes),
            Sharing::Shared => 0,
        };
        // A root is aligned to 64K; the section, at the worst, to a gigabyte.
        let per_mapper = own + PageSize::Size64K.bytes();
        let host_bytes = bytes + shared_table_bytes(bytes) + PageSize::Size1G.bytes() + u64::from(most) * per_mapper;
        let host_bytes = host_bytes.next_multiple_of(PageSize::Size4K.bytes());
        let mut host = Host::new(host_bytes, HostPages::Base)?;
        let reserved = ReservedMemory::honour(&registry, &mut host, 0, sizes)?;
        let reserved_bytes = host.frames.owned_bytes();
        let mut manager = SectionManager::new(reserved, sizes);
        let mut tables = BTreeMap::new();
        let mut on = SectionHost { host: &mut host, tables: &mut tables, processors: &mut NoProcessors };
        manager.create_resident(&mut on, &name, bytes, Lifetime::Permanent)?;
        let creation = manager.take_work();
        Ok(Self { host, tables, manager, name, bytes, sharing, monitor_step, creation, reserved: reserved_bytes })
    }

    /// Starts one VM more, which maps all of the section for writing. Returns what the hypervisor took for it.
    ///
    /// # Errors
    /// [`VlmError`].
    pub fn start(&mut self) -> Result<Cycles, VlmError> {
        let vmid = Vmid(self.tables.len() as u16 + 1);
        let table = NestedTable::new(&self.host.memory, &mut self.host.frames, MODE, vmid)?;
        self.tables.insert(vmid, table);
        let creation = SectionWork {
            requests: 1,
            tables: TableWork { tables: ROOT_PAGES, ..TableWork::default() },
            ..SectionWork::default()
        };
        self.manager.add_vm(VmProfile {
            vmid,
            group: None,
            mode: MODE,
            links: true,
            limit: Gpa(1 << MODE.address_bits()),
            taken: Vec::new(),
            quota: 1,
        });
        let request = MapRequest::whole(vmid, self.name.clone(), AT);
        let mut on = SectionHost { host: &mut self.host, tables: &mut self.tables, processors: &mut NoProcessors };
        self.manager.map(&mut on, &request)?;
        let mut work = self.manager.take_work();
        work += creation;
        Ok(self.price(work))
    }

    /// Ends all VMs. Returns what the hypervisor took for it.
    ///
    /// # Errors
    /// [`VlmError`].
    pub fn stop_all(&mut self) -> Result<Cycles, VlmError> {
        let vmids: Vec<Vmid> = self.tables.keys().copied().collect();
        for vmid in vmids {
            let mut on = SectionHost { host: &mut self.host, tables: &mut self.tables, processors: &mut NoProcessors };
            self.manager.remove_vm(&mut on, vmid)?;
            if let Some(table) = self.tables.remove(&vmid) {
                Box::new(table).free(&self.host.memory, &mut self.host.frames);
            }
        }
        let work = self.manager.take_work();
        Ok(self.price(work))
    }

    /// Writes to every page of the section, each by another VM than its neighbours, and reads it as the next VM sees it. Returns how many pages read as
    /// they were written.
    #[must_use]
    pub fn touch_all(&self) -> u64 {
        let tables: Vec<&NestedTable> = self.tables.values().collect();
        let memory = &self.host.memory;
        let place = |vm: usize, offset: u64| {
            let gpa = AT.wrapping_add(offset);
            let leaf = tables.get(vm % tables.len().max(1))?.lookup(memory, gpa)?;
            Some(leaf.page.wrapping_add(gpa.offset(leaf.size)))
        };
        let pages = (0_usize..).zip((0..self.bytes).step_by(PageSize::Size4K.bytes() as usize));
        let agree = pages.filter(|&(page, offset)| {
            let written = place(page, offset).and_then(|at| memory.write(at, offset + 1).ok());
            let read = place(page + 1, offset).and_then(|at| memory.read::<u64>(at).ok());
            written.is_some() && read == Some(offset + 1)
        });
        agree.count() as u64
    }

    /// What the hypervisor took to make the section, its tables with it.
    #[must_use]
    pub fn creation(&self) -> Cycles {
        self.price(self.creation)
    }

    /// VMs that map the section.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.tables.len() as u64
    }

    /// Bytes of the section.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of tables that map the section, in all VMs together: what is owned on the host beyond the section's pages and the VMs' roots. The section's own
    /// tables are there before the first mapper.
    #[must_use]
    pub fn table_bytes(&self) -> u64 {
        let roots = self.count() * ROOT_PAGES * PageSize::Size4K.bytes();
        let own = match self.sharing {
            Sharing::Private => 0,
            Sharing::Shared => shared_table_bytes(self.bytes),
        };
        // Reserved are the section's pages, and its tables if it has any.
        self.host.frames.owned_bytes() - self.reserved - roots + own
    }

    /// The host, to look at.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The nested table of the first VM.
    pub(super) fn first(&self) -> Option<&NestedTable> {
        self.tables.values().next()
    }

    fn price(&self, work: SectionWork) -> Cycles {
        self.monitor_step * work.steps()
    }
}
