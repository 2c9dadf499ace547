//! Segment registers, executed: what a guest sets in them, and when they are loaded.

use crate::parts::primary_region::{GuestRegion, SegmentHardware};
use crate::results::events::EventKind;
use crate::state::{Current, MachineState};
use devices::{RegionRequest, RegionStatus};
use hypervisor::sbi::SbiError;
use hypervisor::{Refusal, SegmentRequest};
use mmu::{DirectSegment, Fence, Segment, Segments, SoftwareRules, SoftwareTables, software_walk};
use types::{Access, Cycles, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, TranslationContext};

/// Loads the registers of a pCPU for hart `hart` of a guest.
pub(crate) fn load(state: &mut MachineState, processor: usize, guest: usize, hart: usize) {
    let SegmentHardware { guest: guests, hypervisor: hypervisors, classify } = state.segments;
    if !guests && !hypervisors && !classify {
        return;
    }
    state.processors[processor].tenant = Some((guest, hart));
    if classify {
        let segment = asked_for(state, guest, hart);
        let ram = state.vms[guest].ram();
        let hypervisor = Segment::of_hypervisor(ram.clone(), Hpa(ram.start.0)).unwrap_or_default();
        let direct = |segment| DirectSegment { segment, ..DirectSegment::default() };
        let would = Segments { guest: direct(segment), hypervisor: direct(hypervisor) };
        state.processors[processor].mmu.classify_by(Some(&would));
    }
    let registers = registers(state, guest, hart);
    state.processors[processor].mmu.set_segments(&registers);
}

/// What the registers of a pCPU hold while hart `hart` of a guest has it.
pub(crate) fn registers(state: &MachineState, guest: usize, hart: usize) -> Segments {
    let SegmentHardware { guest: guests, hypervisor: hypervisors, .. } = state.segments;
    let segment = if guests { asked_for(state, guest, hart) } else { Segment::default() };
    let hypervisor = state.vms[guest].hypervisor_segment().filter(|_| hypervisors).cloned().unwrap_or_default();
    Segments { guest: DirectSegment { segment, ..DirectSegment::default() }, hypervisor }
}

/// The segment that a guest has asked for in a hart, whether there are registers for it or not.
fn asked_for(state: &MachineState, guest: usize, hart: usize) -> Segment {
    let region = state.guests.get(guest).and_then(|guest| guest.region.as_ref());
    region.map_or(Segment::default(), |region| region.region.registers(hart))
}

/// The same for the hart whose turn it is.
fn load_own(state: &mut MachineState) {
    let Current { processor, guest, hart } = state.current;
    load(state, processor, guest, hart);
}

/// Loads those of every processor again.
pub(crate) fn reload(state: &mut MachineState) {
    for processor in 0..state.processors.len() {
        if let Some((guest, hart)) = state.processors[processor].tenant {
            load(state, processor, guest, hart);
        }
    }
}

/// The current hart's kernel sets its registers.
pub(crate) fn set(state: &mut MachineState, request: &SegmentRequest) -> Result<u64, SbiError> {
    let Current { guest, hart, .. } = state.current;
    let Some(region) = &mut state.guests[guest].region else { return Err(Refusal::NoRegion.into()) };
    // A kernel sets them before or after it loads the space that they are for: the largest mode that it has used bounds them.
    let mode = region.spaces[hart].0;
    match region.region.set(hart, mode, request) {
        Ok(()) => {
            load_own(state);
            Ok(0)
        }
        Err(refusal) => {
            region.note(&written(request), refusal);
            Err(refusal.into())
        }
    }
}

/// Carries out what the current hart asks of the register page, which it reached at `address`.
pub(crate) fn serve(state: &mut MachineState, address: Gva) {
    let Current { guest, hart, .. } = state.current;
    let Some(registers) = state.guests[guest].platform.primary_region() else { return };
    let Some(asked) = registers.take_request() else { return };
    let request = match asked {
        RegionRequest::Set { base, limit, target } => {
            SegmentRequest { range: Gva(base)..Gva(limit), target: Gpa(target) }
        }
        RegionRequest::Clear => SegmentRequest { range: Gva(0)..Gva(0), target: Gpa(0) },
    };
    let Some(mut region) = state.guests[guest].region.take() else { return };
    let (mode, root) = region.spaces[hart];
    let context = process(mode, root);
    let claimed = region.region.claim(hart, &context, address, &request, |space, page| maps(state, space, page));
    let status = match claimed {
        Ok(()) if asked == RegionRequest::Clear => RegionStatus::Off,
        Ok(()) => RegionStatus::Set,
        Err(refusal) => {
            region.note(&written(&request), refusal);
            RegionStatus::Refused(refusal.code())
        }
    };
    renew(state, guest, region, Some(status));
}

/// The current hart translates in `context`: loads the registers of its address space.
#[inline]
pub(crate) fn switch(state: &mut MachineState, context: &TranslationContext) {
    let Current { guest, hart, .. } = state.current;
    let loaded = (context.mode, context.root);
    let Some(region) = &mut state.guests[guest].region else { return };
    if std::mem::replace(&mut region.spaces[hart], loaded) != loaded && region.region.is_owned() {
        switch_owned(state, loaded);
    }
}

#[cold]
fn switch_owned(state: &mut MachineState, (mode, root): (PagingMode, Gpa)) {
    let Current { guest, hart, .. } = state.current;
    let Some(mut region) = state.guests[guest].region.take() else { return };
    let mut references = 0;
    let maps = |space: &TranslationContext, page| {
        references += u64::from(mode.levels());
        maps(state, space, page)
    };
    let changed = region.region.switch(hart, &process(mode, root), maps);
    let price = state.costs.table_reference * references;
    if price > Cycles(0) {
        state.note_spending(state.current.processor, price, EventKind::Segments);
    }
    state.processor().hypervisor += price;
    if region.region.is_owned() {
        state.guests[guest].region = Some(region);
        if changed {
            load_own(state);
        }
    } else {
        renew(state, guest, region, Some(RegionStatus::Off));
    }
}

/// A hart of a guest starts again.
pub(crate) fn reset(state: &mut MachineState, guest: usize, hart: usize) {
    if let Some(region) = &mut state.guests[guest].region {
        region.region.reset(hart);
        region.spaces[hart] = (PagingMode::Bare, Gpa(0));
        load_own(state);
    }
}

/// A guest's region has changed hands, or its segment has: registers and TLBs of all processors follow.
pub(crate) fn renew(state: &mut MachineState, guest: usize, region: GuestRegion, status: Option<RegionStatus>) {
    let (memory, owners) = (region.region.memory(), region.region.owners());
    state.guests[guest].region = Some(region);
    if let Some(registers) = state.guests[guest].platform.primary_region() {
        registers.update(memory, owners);
        if let Some(status) = status {
            registers.answer(status);
        }
    }
    // Harts of the guest on other processors load theirs with their next address space; nothing of another space is left in their TLBs.
    load_own(state);
    let vmid = state.vms[guest].vmid();
    for processor in &mut state.processors {
        processor.mmu.fence(&Fence::Vvma { vmid, gva: None, asid: None });
    }
    state.leave = true;
}

/// Self-ballooning (paper 002, slide 24): the balloon of a guest has given scattered pages up, and as much contiguous guest physical memory
/// is added to its region, so that its memory is as large as before. A page counts once, whatever the guest says.
pub(crate) fn hot_add(state: &mut MachineState, guest: usize, given_up: &[Gpa]) {
    let vm = &mut state.vms[guest];
    let Some(region) = &mut state.guests[guest].region else { return };
    let start = region.region.memory().start;
    let Some(swapped) = &mut region.swapped else { return };
    let before = swapped.len();
    // Of the guest's own RAM: what is in the region is no kernel's to give up.
    swapped
        .extend(given_up.iter().map(|gpa| gpa.page(PageSize::Size4K)).filter(|&gpa| gpa < start && vm.is_ram(gpa, 1)));
    let bytes = (swapped.len() - before) as u64 * PageSize::Size4K.bytes();
    if bytes > 0 && vm.grow(bytes).is_ok() {
        region.region.grow(bytes);
        let (memory, owners) = (region.region.memory(), region.region.owners());
        if let Some(registers) = state.guests[guest].platform.primary_region() {
            registers.update(memory, owners);
        }
    }
}

/// Whether an address space of the current guest maps the register page at `page`.
fn maps(state: &mut MachineState, space: &TranslationContext, page: Gva) -> bool {
    let rules = SoftwareRules { ad: mmu::AdPolicy::Update, svnapot: true };
    let leaf = software_walk(&mut Tables { state }, rules, space, page, Access::Write);
    leaf.is_ok_and(|leaf| {
        let gpa = Gpa(leaf.page.0 | page.offset(leaf.size));
        gpa.page(PageSize::Size4K) == devices::map::PRIMARY_REGION.base
    })
}

/// Whether memory is added for what a guest's balloon gives up.
pub(crate) fn hot_adds(state: &MachineState, guest: usize) -> bool {
    state.guests[guest].region.as_ref().is_some_and(|region| region.swapped.is_some())
}

/// What of a guest's segments was refused: how many, and the first in words.
pub(crate) fn refused(state: &MachineState, guest: usize) -> (u64, &[String]) {
    state.guests[guest].region.as_ref().map_or((0, &[]), |region| (region.refused.0, &region.refused.1))
}

/// A process's view of an address space.
const fn process(mode: PagingMode, root: Gpa) -> TranslationContext {
    let asid = types::Asid(0);
    TranslationContext { mode, root, asid, privilege: Privilege::User, sum: false, mxr: false }
}

/// A request in words.
fn written(request: &SegmentRequest) -> String {
    let SegmentRequest { range, target } = request;
    format!("segment {:#x}..{:#x} to {:#x}", range.start.0, range.end.0, target.0)
}

/// The current guest's tables, which are looked at and not changed.
struct Tables<'w> {
    state: &'w mut MachineState,
}

impl SoftwareTables for Tables<'_> {
    fn read(&mut self, at: Gpa) -> Option<u64> {
        let mut entry = [0; 8];
        self.state.read_guest(self.state.current.guest, at, &mut entry).ok()?;
        Some(u64::from_le_bytes(entry))
    }

    fn compare_exchange(&mut self, _: Gpa, old: u64, _: u64) -> Option<u64> {
        Some(old)
    }
}
