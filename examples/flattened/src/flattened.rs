//! Flattened nested tables: two levels of 2^18 entries each in place of four of 2^9, so that a guest physical address takes two references
//! (Park, Vougioukas, Sandberg and Black-Schaffer, "Every Walk's a Hit", ASPLOS 2022). Nodes of 2 MiB lie in one piece; pages are of 4K.

use pagewalk::schemes::prelude::*;

/// The scheme.
#[derive(Debug)]
pub struct Flattened;

const FACTS: Facts = Facts {
    name: "flattened",
    aliases: &[],
    summary: "a two-dimensional walk, of the guest's table and of nested tables of two levels",
    host_table: "flattened table",
    family: Family::Other,
    hypervisor_changes: "required: nodes of 2 MiB in one piece",
    section_obstacle: Some("sections are linked into nested tables"),
    ..builtin::PAGED
};

const NODE: PageSize = PageSize::Size2M;
/// Bits of guest physical address: a page, and two levels.
const ADDRESS_BITS: u32 = 12 + 2 * 18;

/// Where the entry of an address is in its node of `level`.
const fn slot(node: Hpa, gpa: Gpa, level: u32) -> Hpa {
    node.wrapping_add((gpa.0 >> (12 + 18 * level) & ((1 << 18) - 1)) * 8)
}

impl Scheme for Flattened {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, guest: u32, _: u32) -> WorstCase {
        WorstCase::two_dimensional(guest, 2)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        Backing::Table { design: &Self, mode: memory.mode, page: memory.page, status: memory.status }
    }

    fn equip(&self, mmu: &mut Mmu, _: &GroupValues) {
        mmu.set_table_format(Box::new(Walker));
    }
}

/// What the hardware does: it reads one entry of each node. The register is the root.
#[derive(Clone, Debug)]
struct Walker;

impl TableFormat for Walker {
    fn levels(&self, _: &Registers) -> u32 {
        2
    }

    fn check(&self, _: &Registers, gpa: Gpa) -> Result<(), Cause> {
        if gpa.0 >> ADDRESS_BITS == 0 { Ok(()) } else { Err(Cause::TooWide) }
    }

    fn find(&mut self, root: &Registers, tables: &mut dyn Entries, gpa: Gpa) -> Result<FoundEntry, LookupError> {
        let node = tables.read_upper(1, slot(Hpa(root.0[0]), gpa, 1))?;
        if node == 0 {
            return Err(Cause::Invalid.into());
        }
        let at = slot(Hpa(node), gpa, 0);
        Ok(FoundEntry { at, entry: tables.read(at)?, size: PageSize::Size4K })
    }
}

impl TableDesign for Flattened {
    fn check(&self, request: &TableRequest) -> Result<(), VmError> {
        let is_base = request.page == PageSize::Size4K;
        if is_base { Ok(()) } else { Err(VmError::Refused("flattened tables map pages of 4K")) }
    }

    fn bytes(&self, ram_bytes: u64) -> u64 {
        (ram_bytes / PageSize::Size1G.bytes() + 4) * NODE.bytes()
    }

    fn make(&self, host: &mut Host, _: &TableRequest) -> Result<Box<dyn HostTable>, VmError> {
        Ok(Box::new(Table(host.frames.allocate(&host.memory, NODE)?)))
    }
}

/// What the hypervisor keeps: the root, whose entries are the addresses of nodes, or zero.
#[derive(Debug)]
struct Table(FrameRange);

impl Table {
    /// Where the entry of an address is, if its node is there.
    fn entry(&self, memory: &HostMemory, gpa: Gpa) -> Option<Hpa> {
        let inside = gpa.0 >> ADDRESS_BITS == 0;
        let node = memory.read(slot(self.0.start(), gpa, 1)).ok().filter(|&node| inside && node != 0);
        node.map(|node| slot(Hpa(node), gpa, 0))
    }
}

/// Writes an entry. A failure ends the guest, with what is said here.
fn write(memory: &HostMemory, at: Hpa, entry: u64) {
    memory.note_failure(memory.write(at, entry), "an entry of a flattened table");
}

impl HostTable for Table {
    fn second_stage(&self) -> SecondStage {
        SecondStage::Other(Registers([self.0.start().0, 0, 0]))
    }

    fn levels(&self) -> u32 {
        2
    }

    fn address_bits(&self) -> Option<u32> {
        Some(ADDRESS_BITS)
    }

    fn map(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, gpa: Gpa, leaf: Leaf) -> Result<(), MapError> {
        if self.entry(memory, gpa).is_none() {
            write(memory, slot(self.0.start(), gpa, 1), frames.allocate(memory, NODE)?.start().0);
        }
        let at = self.entry(memory, gpa).ok_or(MapError::Beyond { address: gpa.0, bits: ADDRESS_BITS })?;
        write(memory, at, leaf.entry());
        Ok(())
    }

    fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        Leaf::of_entry(memory.read(self.entry(memory, gpa)?).ok()?, PageSize::Size4K)
    }

    fn set_bits(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        if let (Some(leaf), Some(at)) = (self.lookup(memory, gpa), self.entry(memory, gpa)) {
            write(memory, at, Leaf { bits, ..leaf }.entry());
        }
    }

    fn take(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        let leaf = self.lookup(memory, gpa)?;
        write(memory, self.entry(memory, gpa)?, 0);
        Some(leaf)
    }

    fn free(self: Box<Self>, memory: &HostMemory, frames: &mut FrameAllocator) {
        let entries = (0..1 << 18).filter_map(|index| memory.read(self.0.start().wrapping_add(index * 8)).ok());
        for node in entries.filter(|&node| node != 0).filter_map(|node| FrameRange::new(Hpa(node), NODE.bytes())) {
            frames.give_back(node, "a node of a flattened table");
        }
        frames.give_back(self.0, "the root of a flattened table");
    }
}
