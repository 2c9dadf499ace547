//! A shadow fault: the guest's table and the host's mapping make an entry, or the fault is the guest's own.

use super::guest_page::{GuestPage, WRITABLE_AND_DIRTY};
use super::reader::GuestReader;
use super::reverse::Place;
use super::share::Shared;
use super::statistics::{Activity, Way, Work};
use super::steps::{self, Entered};
use super::tables::BARE;
use super::{Assist, Coherence, Event, Exited, Shadow, Tlbs};
use crate::exits::ExitReason;
use crate::section::Presence;
use crate::table::{Displaced, Leaf, LeafBits, composed_bits};
use crate::vm::{ReclaimRequest, Resolved};
use devices::Platform;
use memory::{Host, HostMemory, OutOfFrames};
use mmu::{Fault, Fence, SoftwareLeaf, software_walk};
use types::{Access, Gpa, Gva, Hpa, PageSize};

/// An access that the shadow table refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShadowFault {
    /// The hart that makes it.
    pub hart: usize,
    /// Where.
    pub gva: Gva,
    /// What it does there.
    pub access: Access,
}

/// What becomes of an access that the shadow table refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShadowFaultOutcome {
    /// The entry is there now: the access is to be made again.
    Mapped,
    /// The guest's page fault.
    PageFault,
    /// The guest's access fault: nothing is there, or a table of the guest is not in memory.
    AccessFault,
    /// A device's register.
    Device(Gpa),
    /// A store to a guest's table, which is write-protected: it may be made once, there, and through no TLB.
    StoreOnce(Hpa),
}

/// Whether the host's page behind an entry may be taken away while the guest runs: then the entry has to be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Returns {
    Never,
    Sometimes,
}

/// When the host's page counts as stored to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stores {
    /// As soon as an entry permits it.
    Assumed,
    /// With the first store, for which an entry permits it.
    Watched,
}

/// The host's page behind a guest's page, with the bits that the entry needs. `None` where nothing is that answers the access.
fn resolve(
    exited: &mut Exited<'_, impl Tlbs>,
    page: &GuestPage,
    access: Access,
    stores: Stores,
) -> Result<Option<(Resolved, Returns)>, ReclaimRequest> {
    let Exited { vm, host, sections, .. } = exited;
    if vm.is_ram(page.gpa, 1) {
        // A page that may be stored to from now on is dirty for the host: it is not asked again.
        let writes = page.leaf.pte & WRITABLE_AND_DIRTY == WRITABLE_AND_DIRTY && stores == Stores::Assumed;
        let kind = if writes { Access::Write } else { access };
        let mut resolved = vm.resolve(&host.memory, &mut host.frames, page.gpa, kind)?;
        if let Some(Resolved { leaf, .. }) = &mut resolved
            && stores == Stores::Watched
            && !(access == Access::Write || leaf.bits.contains(LeafBits::DIRTY))
        {
            leaf.bits = leaf.bits.without(LeafBits::WRITE);
        }
        return Ok(resolved.map(|resolved| (resolved, Returns::Sometimes)));
    }
    let presence = sections.as_ref().map(|sections| sections.presence(vm.vmid(), page.gpa, access));
    let Some(Presence::Page { leaves }) = presence else { return Ok(None) };
    let leaf = vm.resolve_section(&host.memory, page.gpa, access);
    let mut leaf = leaf.ok_or(ReclaimRequest::Section { gpa: page.gpa, access })?;
    if !leaf.bits.contains(LeafBits::DIRTY) {
        // Its first store is still to be seen: it is how the page gets modified.
        leaf.bits = leaf.bits.without(LeafBits::WRITE);
    }
    let returns = if leaves { Returns::Sometimes } else { Returns::Never };
    Ok(Some((Resolved { leaf, fresh: false }, returns)))
}

impl Shadow {
    /// Handles a fault at `gva`.
    ///
    /// # Errors
    /// [`ReclaimRequest`]: what has to be provided before the fault can be handled.
    pub(super) fn fault(
        &mut self,
        exited: &mut Exited<'_, impl Tlbs>,
        gva: Gva,
        access: Access,
    ) -> Result<(ShadowFaultOutcome, Option<Event>), ReclaimRequest> {
        let mut reader = GuestReader::new(exited.vm, exited.host, self.config.rules);
        let walked = self.guest_page(&mut reader, exited.hart, gva, access);
        let GuestReader { path, references, filled, wanted, .. } = reader;
        if let Some(wanted) = wanted {
            return Err(wanted);
        }
        if let Some(Event { reason, work }) = self.switch_walk(exited, gva, &path)? {
            return Ok((ShadowFaultOutcome::Mapped, Some(Event { reason, work: Work { filled, ..work } })));
        }
        let exit = steps::exit(Entered::Fault);
        let steps = exit + steps::fault(references);
        let work = Work { filled, ..Work::new(Activity::Other, Way::Exit, steps, references) };
        let page = match walked {
            Ok(page) => page,
            Err(fault) => {
                self.statistics.reflected += 1;
                let outcome = match fault {
                    Fault::Page(_) | Fault::Shadow(_) => ShadowFaultOutcome::PageFault,
                    Fault::Access(_) | Fault::Nested(_) => ShadowFaultOutcome::AccessFault,
                };
                return Ok((outcome, Some(self.event(ExitReason::ShadowFault, work))));
            }
        };
        if Platform::contains(page.gpa) {
            // The exit is counted where the device is reached.
            let work = Work { way: Way::Within, steps: work.steps - exit, ..work };
            return Ok((ShadowFaultOutcome::Device(page.gpa), Some(self.event(ExitReason::ShadowFault, work))));
        }
        let stores = match &self.agile {
            Some(agile) if agile.watches(page.gpa) => Stores::Watched,
            Some(_) | None => Stores::Assumed,
        };
        let Some((resolved, returns)) = resolve(exited, &page, access, stores)? else {
            self.statistics.reflected += 1;
            return Ok((ShadowFaultOutcome::AccessFault, Some(self.event(ExitReason::ShadowFault, work))));
        };
        let Exited { vm, host, .. } = exited;
        let host_references = u64::from(vm.host_levels());
        if access == Access::Write && self.is_guest_table(page.gpa) {
            let hpa = Hpa(resolved.leaf.page.0 | page.gpa.offset(resolved.leaf.size));
            let looked_at = self.store_to_table(host, exited.tlbs, page.gpa);
            let references = references + host_references + looked_at;
            let steps = exit + steps::fault(references);
            let work = Work { activity: Activity::Validation, steps, references, ..work };
            self.settle_modes(vm, &host.memory);
            let event = self.event(ExitReason::TableWrite, work);
            // If that made it an ordinary page, the store faults again and finds one.
            return Ok((ShadowFaultOutcome::StoreOnce(hpa), Some(event)));
        }
        if self.config.coherence == Coherence::WriteProtect {
            self.protect_path(exited, gva, &path)?;
        }
        let table = self.harts[exited.hart].table;
        let promotions = self.statistics.promotions;
        let linked = self.share(exited, gva, &page, &resolved.leaf, &path)?;
        if linked.is_none() {
            let entry = self.validate(exited, gva, &page, &resolved, returns)?;
            if let Some(audit) = &mut self.audit {
                audit.record(table, gva.page(entry.size), &path);
            }
        }
        let Shared { steps: linking, references: looked_at } = linked.unwrap_or_default();
        let table_references = u64::from(self.tables.list[table].shape.levels());
        let assisted = self.config.assist != Assist::None && filled == 0 && !resolved.fresh;
        self.statistics.assisted_validations += u64::from(assisted);
        let promoted = self.statistics.promotions > promotions && filled == 0;
        let by_hardware = promoted && self.agile.as_ref().is_some_and(|agile| agile.sets_status());
        self.statistics.agile.status_updates += u64::from(by_hardware);
        let way = match (by_hardware, assisted) {
            (true, _) => Way::Within,
            (false, true) => Way::Assist,
            (false, false) => Way::Exit,
        };
        let references = references + looked_at + host_references + table_references;
        let steps = match way {
            Way::Exit => exit + steps::validation(references) + linking,
            Way::Assist => steps::validation(references) + linking,
            // Hardware sets the bits.
            Way::Within => 0,
        };
        let work =
            Work { activity: Activity::Validation, way, steps, references, filled: filled + u64::from(resolved.fresh) };
        Ok((ShadowFaultOutcome::Mapped, Some(self.event(ExitReason::ShadowFault, work))))
    }

    /// What the guest's tables say of `gva`; without translation, that it is its own gPA.
    fn guest_page(
        &self,
        reader: &mut GuestReader<'_>,
        hart: usize,
        gva: Gva,
        access: Access,
    ) -> Result<GuestPage, Fault> {
        if self.harts[hart].table == BARE {
            let (gpa, size) = (Gpa(gva.0), PageSize::Size1G);
            let leaf = SoftwareLeaf { page: gpa.page(size), size, pte: EVERYTHING, global: false };
            return Ok(GuestPage { gpa, leaf });
        }
        let rules = reader.rules;
        let leaf = software_walk(reader, rules, &self.harts[hart].context, gva, access)?;
        Ok(GuestPage { gpa: Gpa(leaf.page.0 | gva.offset(leaf.size)), leaf })
    }

    /// Composes the entry of `gva` and writes it.
    fn validate(
        &mut self,
        exited: &mut Exited<'_, impl Tlbs>,
        gva: Gva,
        page: &GuestPage,
        resolved: &Resolved,
        returns: Returns,
    ) -> Result<Leaf, OutOfFrames> {
        let Exited { host, tlbs, hart, .. } = exited;
        self.make_room(host, *tlbs);
        let table = self.harts[*hart].table;
        let entry = self.compose(page, &resolved.leaf);
        let guest_size = if table == BARE { entry.size } else { page.leaf.size };
        let shape = &mut self.tables.list[table].shape;
        let displaced = shape.place(&host.memory, &mut host.frames, gva, entry, guest_size)?;
        self.statistics.validations += 1;
        match displaced {
            Displaced::Page(old) if old.page == entry.page && entry.bits.contains(old.bits) => {
                self.statistics.promotions += u64::from(!old.bits.contains(LeafBits::WRITE));
                return Ok(entry);
            }
            // The guest has changed its table. The TLBs lose the old page with its entry: a partial purge finds by the entry what the TLB of
            // a single processor may have.
            Displaced::Page(_) if entry.size == PageSize::Size4K => {
                tlbs.fence_everywhere(&Fence::Vvma { vmid: self.vmid, gva: Some(gva), asid: None });
            }
            displaced => self.settle(host, *tlbs, displaced),
        }
        if returns == Returns::Never {
            return Ok(entry);
        }
        let place = Place { table: table as u32, gva: gva.page(entry.size) };
        let (tables, memory) = (&self.tables, &host.memory);
        let hpa = entry.page;
        self.reverse.add(page.gpa, entry.size, place, |place| holds(tables, memory, place, hpa));
        Ok(entry)
    }

    /// Whatever stood where an entry was made is gone from TLBs and walk caches, and then its tables are free.
    pub(super) fn settle(&self, host: &mut Host, tlbs: &mut impl Tlbs, displaced: Displaced) {
        match displaced {
            Displaced::Nothing => {}
            Displaced::Page(_) | Displaced::Larger => tlbs.fence_everywhere(&self.everything()),
            Displaced::Smaller(frames) => {
                tlbs.fence_everywhere(&self.everything());
                super::free(host, &frames);
            }
        }
    }

    /// The entry for a page: rights that guest and host both give, at the largest size that both have. It is writable only where the guest's
    /// page is dirty already, so that the first store faults and sets D; and where no table of the guest lies.
    pub(super) fn compose(&self, page: &GuestPage, host: &Leaf) -> Leaf {
        let mut size = [PageSize::Size1G, PageSize::Size2M, PageSize::Size4K]
            .into_iter()
            .find(|&size| size <= page.leaf.size && size <= host.size && size <= self.tables.format.largest_page())
            .unwrap_or(PageSize::Size4K);
        while size > PageSize::Size4K && self.holds_guest_table(page.gpa, size) {
            size = if size == PageSize::Size1G { PageSize::Size2M } else { PageSize::Size4K };
        }
        let hpa = Hpa(host.page.0 | page.gpa.offset(host.size));
        let bits = composed_bits(page.leaf.pte, page.leaf.global, host.bits);
        let writable = page.leaf.pte & WRITABLE_AND_DIRTY == WRITABLE_AND_DIRTY
            && host.bits.contains(LeafBits::WRITE)
            && !self.is_guest_table(page.gpa);
        let bits = if writable { bits | LeafBits::WRITE } else { bits };
        Leaf { page: hpa.page(size), size, bits }
    }

    /// Whether one more entry needs no table that another one has.
    pub(super) fn has_room(&self) -> bool {
        // A new entry takes at most a table on each level below the root.
        const ENTRY: u64 = 4;
        self.tables.frames() + ENTRY <= self.budget
    }

    /// Gives tables back if there are as many as the VM may have: first those that no hart uses.
    pub(super) fn make_room(&mut self, host: &mut Host, tlbs: &mut impl Tlbs) {
        if self.has_room() {
            return;
        }
        let mut frames = Vec::new();
        for in_use in [false, true] {
            for table in 0..self.tables.list.len() {
                if self.harts.iter().any(|hart| hart.table == table) == in_use {
                    frames.extend(self.tables.list[table].shape.release(&host.memory));
                    self.forget_guest_tables(table);
                }
            }
            if self.has_room() {
                break;
            }
        }
        tlbs.fence_everywhere(&self.everything());
        super::free(host, &frames);
    }
}

/// An entry that permits everything in S-mode, as which the hardware runs a guest that does not translate.
const EVERYTHING: u64 = 0b1100_1111;

/// Whether the entry that a hint of the reverse map names still maps the page at `hpa`.
pub(super) fn holds(tables: &super::tables::TableSet, memory: &HostMemory, place: Place, hpa: Hpa) -> bool {
    tables.mapping(memory, place.table, place.gva, hpa).is_some()
}
