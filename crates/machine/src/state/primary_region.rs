//! Segment registers, executed: what a guest sets in them, and when they are loaded.

use crate::parts::primary_region::{GuestRegion, SegmentHardware};
use crate::state::{Current, MachineState};
use devices::{RegionRequest, RegionStatus};
use hypervisor::sbi::SbiError;
use hypervisor::{Refusal, SegmentRequest};
use mmu::{DirectSegment, Fence, Segment, Segments, SoftwareRules, SoftwareTables, software_walk};
use types::{Access, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, TranslationContext};

impl MachineState {
    /// Loads the registers of a pCPU for hart `hart` of a guest.
    pub(crate) fn load_segments(&mut self, processor: usize, guest: usize, hart: usize) {
        let SegmentHardware { guest: guests, hypervisor: hypervisors, classify } = self.segments;
        if !guests && !hypervisors && !classify {
            return;
        }
        self.processors[processor].tenant = Some((guest, hart));
        let region = self.guests.get(guest).and_then(|guest| guest.region.as_ref());
        let segment = region.map_or(Segment::default(), |region| region.region.registers(hart));
        if classify {
            let ram = self.vms[guest].ram();
            let hypervisor = Segment::of_hypervisor(ram.clone(), Hpa(ram.start.0)).unwrap_or_default();
            let direct = |segment| DirectSegment { segment, ..DirectSegment::default() };
            let would = Segments { guest: direct(segment), hypervisor: direct(hypervisor) };
            self.processors[processor].mmu.classify_by(Some(&would));
        }
        let segment = if guests { segment } else { Segment::default() };
        let hypervisor = self.vms[guest].hypervisor_segment().filter(|_| hypervisors).cloned().unwrap_or_default();
        let guest = DirectSegment { segment, ..DirectSegment::default() };
        self.processors[processor].mmu.set_segments(&Segments { guest, hypervisor });
    }

    /// The same for the hart whose turn it is.
    fn load_own_segments(&mut self) {
        let Current { processor, guest, hart } = self.current;
        self.load_segments(processor, guest, hart);
    }

    /// Loads those of every processor anew.
    pub(crate) fn reload_segments(&mut self) {
        for processor in 0..self.processors.len() {
            if let Some((guest, hart)) = self.processors[processor].tenant {
                self.load_segments(processor, guest, hart);
            }
        }
    }

    /// The current hart's kernel sets its registers.
    pub(crate) fn set_segment(&mut self, request: &SegmentRequest) -> Result<u64, SbiError> {
        let Current { guest, hart, .. } = self.current;
        let Some(region) = &mut self.guests[guest].region else { return Err(Refusal::NoRegion.into()) };
        // A kernel sets them before or after it loads the space that they are for: the largest mode that it has used bounds them.
        let mode = region.spaces[hart].0;
        match region.region.set(hart, mode, request) {
            Ok(()) => {
                self.load_own_segments();
                Ok(0)
            }
            Err(refusal) => {
                region.note(&written(request), refusal);
                Err(refusal.into())
            }
        }
    }

    /// Carries out what the current hart asks of the register page, which it reached at `address`.
    pub(crate) fn serve_region(&mut self, address: Gva) {
        let Current { guest, hart, .. } = self.current;
        let Some(registers) = self.guests[guest].platform.primary_region() else { return };
        let Some(asked) = registers.take_request() else { return };
        let request = match asked {
            RegionRequest::Set { base, limit, target } => {
                SegmentRequest { range: Gva(base)..Gva(limit), target: Gpa(target) }
            }
            RegionRequest::Clear => SegmentRequest { range: Gva(0)..Gva(0), target: Gpa(0) },
        };
        let Some(mut region) = self.guests[guest].region.take() else { return };
        let (mode, root) = region.spaces[hart];
        let context = process(mode, root);
        let claimed = region.region.claim(hart, &context, address, &request, |space, page| self.maps(space, page));
        let status = match claimed {
            Ok(()) if asked == RegionRequest::Clear => RegionStatus::Off,
            Ok(()) => RegionStatus::Set,
            Err(refusal) => {
                region.note(&written(&request), refusal);
                RegionStatus::Refused(refusal.code())
            }
        };
        self.renew(guest, region, Some(status));
    }

    /// The current hart translates in `context`: loads the registers of its address space.
    #[inline]
    pub(crate) fn switch_segment(&mut self, context: &TranslationContext) {
        let Current { guest, hart, .. } = self.current;
        let loaded = (context.mode, context.root);
        let Some(region) = &mut self.guests[guest].region else { return };
        if std::mem::replace(&mut region.spaces[hart], loaded) != loaded && region.region.is_owned() {
            self.switch_owned(loaded);
        }
    }

    #[cold]
    fn switch_owned(&mut self, (mode, root): (PagingMode, Gpa)) {
        let Current { guest, hart, .. } = self.current;
        let Some(mut region) = self.guests[guest].region.take() else { return };
        let mut references = 0;
        let maps = |space: &TranslationContext, page| {
            references += u64::from(mode.levels());
            self.maps(space, page)
        };
        let changed = region.region.switch(hart, &process(mode, root), maps);
        let price = self.costs.table_reference * references;
        self.processor().hypervisor += price;
        if region.region.is_owned() {
            self.guests[guest].region = Some(region);
            if changed {
                self.load_own_segments();
            }
        } else {
            self.renew(guest, region, Some(RegionStatus::Off));
        }
    }

    /// A hart of a guest starts anew.
    pub(crate) fn reset_segment(&mut self, guest: usize, hart: usize) {
        if let Some(region) = &mut self.guests[guest].region {
            region.region.reset(hart);
            region.spaces[hart] = (PagingMode::Bare, Gpa(0));
            self.load_own_segments();
        }
    }

    /// A guest's region has changed hands, or its segment has: registers and TLBs of all processors follow.
    pub(crate) fn renew(&mut self, guest: usize, region: GuestRegion, status: Option<RegionStatus>) {
        let (memory, owners) = (region.region.memory(), region.region.owners());
        self.guests[guest].region = Some(region);
        if let Some(registers) = self.guests[guest].platform.primary_region() {
            registers.update(memory, owners);
            if let Some(status) = status {
                registers.answer(status);
            }
        }
        // Harts of the guest on other processors load theirs with their next address space; nothing of another space is left in their TLBs.
        self.load_own_segments();
        let vmid = self.vms[guest].vmid();
        for processor in &mut self.processors {
            processor.mmu.fence(&Fence::Vvma { vmid, gva: None, asid: None });
        }
        self.leave = true;
    }

    /// Self-ballooning (paper 002, slide 24): the balloon of a guest has given scattered pages up, and as much contiguous guest physical memory
    /// is added to its region, so that its memory is as large as before. A page counts once, whatever the guest says.
    pub(crate) fn hot_add(&mut self, guest: usize, given_up: &[Gpa]) {
        let vm = &mut self.vms[guest];
        let Some(region) = &mut self.guests[guest].region else { return };
        let start = region.region.memory().start;
        let Some(swapped) = &mut region.swapped else { return };
        let before = swapped.len();
        // Of the guest's own RAM: what is in the region is no kernel's to give up.
        swapped.extend(
            given_up.iter().map(|gpa| gpa.page(PageSize::Size4K)).filter(|&gpa| gpa < start && vm.is_ram(gpa, 1)),
        );
        let bytes = (swapped.len() - before) as u64 * PageSize::Size4K.bytes();
        if bytes > 0 && vm.grow(bytes).is_ok() {
            region.region.grow(bytes);
            let (memory, owners) = (region.region.memory(), region.region.owners());
            if let Some(registers) = self.guests[guest].platform.primary_region() {
                registers.update(memory, owners);
            }
        }
    }

    /// Whether an address space of the current guest maps the register page at `page`.
    fn maps(&mut self, space: &TranslationContext, page: Gva) -> bool {
        let rules = SoftwareRules { ad: mmu::AdPolicy::Update, svnapot: true };
        let leaf = software_walk(&mut Tables { state: self }, rules, space, page, Access::Write);
        leaf.is_ok_and(|leaf| {
            let gpa = Gpa(leaf.page.0 | page.offset(leaf.size));
            gpa.page(PageSize::Size4K) == devices::map::PRIMARY_REGION.base
        })
    }

    /// Whether memory is added for what a guest's balloon gives up.
    pub(crate) fn hot_adds(&self, guest: usize) -> bool {
        self.guests[guest].region.as_ref().is_some_and(|region| region.swapped.is_some())
    }

    /// What of a guest's segments was refused: how many, and the first in words.
    pub(crate) fn refused_segments(&self, guest: usize) -> (u64, &[String]) {
        self.guests[guest].region.as_ref().map_or((0, &[]), |region| (region.refused.0, &region.refused.1))
    }
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
