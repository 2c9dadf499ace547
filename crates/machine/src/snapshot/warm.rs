//! A guest that goes on is as warm as it was where the snapshot was taken, under every scheme. From facts about the guest alone the machine
//! makes what a machine of its own scheme would have had after the same past:
//!
//! 1. *Frames*: every page that holds anything but zeroes has one, and every page that user mode has mapped and used. All others get theirs at
//!    the first touch, as they would have. (A flat table and a nested table are then filled.)
//! 2. *Shadow tables*: the entries of each address space that is alive, from the guest's own table (`hypervisor::shadow::derive`).
//! 3. *TLBs, page-walk caches, nested TLB*: the pages that the recording machine's TLBs held are translated again, each hart's from the least
//!    to the most recently used one, through the MMU of the scheme. What these walks fill is what there is.
//!
//! All of this is free: nothing of it is counted, and no time passes. It changes nothing that the guest could tell: a page is translated again
//! only where the guest's tables, as they are, permit it without setting A or D. Modelled caches are not touched.

use super::translations::Translations;
use crate::machine::Machine;
use crate::parts::address_spaces::AddressSpace;
use crate::state::primary_region;
use crate::state::shadow;
use crate::state::{Current, MachineState};
use hart::Bus;
use hypervisor::{ExitCounts, GuestLeaf, HartState, PageUnavailable, Pager, PagingCounts};
use mmu::{ResidentPage, ResidentSpace};
use types::{Access, Cycles, Gpa, PageSize, Privilege, TranslationContext};

/// Under a guest's leaf larger than this, only what is touched gets a frame: as under 4K pages, it says little about what was used.
const LARGEST_USED: PageSize = PageSize::Size2M;

/// The most user pages that the restore checks for a frame, for each page of the guest's RAM.
const LOOKS_PER_PAGE: u64 = 4;

impl Machine {
    /// Makes a guest, whose harts stand where they go on, as warm as `translations` says. Its memory has its contents and, where pages get
    /// frames on demand, those of step 1 that hold anything.
    ///
    /// # Errors
    /// [`PageUnavailable`]: the host is out of memory.
    pub(super) fn warm(&mut self, guest: usize, translations: &Translations) -> Result<(), PageUnavailable> {
        let contexts: Vec<TranslationContext> =
            self.harts_of(guest).map(|index| self.vcpus[index].hart.context()).collect();
        let before = self.state.current;
        // Step 3 is not to bring table entries into caches whose lines of data are cold.
        let caches = self.state.caches.take();
        let footprint = self.state.footprint.take();
        let started: Vec<usize> = (0..contexts.len())
            .filter(|hart| self.vcpus[self.records[guest].vcpus.start + hart].state != HartState::Stopped)
            .collect();
        let state = &mut self.state;
        let mut warming = Warming { state, guest, contexts: &contexts, started: &started };
        let warmed = warming.all(translations);
        warming.forget_counts();
        self.state.caches = caches;
        self.state.footprint = footprint;
        self.state.current = before;
        warmed
    }
}

/// A machine while its guest is made warm.
struct Warming<'w> {
    state: &'w mut MachineState,
    guest: usize,
    /// By hart: what it translates in when it goes on.
    contexts: &'w [TranslationContext],
    /// The harts that are not stopped.
    started: &'w [usize],
}

impl Warming<'_> {
    fn all(&mut self, translations: &Translations) -> Result<(), PageUnavailable> {
        let mut spaces = translations.spaces();
        // A file may lack them.
        let current = self.contexts.iter().filter_map(AddressSpace::of);
        for space in current {
            spaces.retain(|known| *known != space);
            spaces.push(space);
        }
        self.give_frames(&spaces)?;
        if self.state.vms[self.guest].is_shadowed() {
            self.derive(&spaces);
        }
        for &hart in self.started {
            self.seat(hart);
            primary_region::load(self.state, hart, self.guest, hart);
            for page in translations.pages(hart) {
                self.translate(hart, &spaces, &page);
            }
            self.state.set_context(&self.contexts[hart]);
        }
        Ok(())
    }

    /// Hart `hart` is the one that translates. Each has a pCPU of its own, of the same number.
    fn seat(&mut self, hart: usize) {
        self.state.current = Current { processor: hart, guest: self.guest, hart };
    }

    /// Pages that user mode uses have frames, whatever they hold.
    fn give_frames(&mut self, spaces: &[AddressSpace]) -> Result<(), PageUnavailable> {
        let (vm, memory) = (&self.state.vms[self.guest], &self.state.host.memory);
        if !vm.is_pageable() {
            return Ok(());
        }
        // A guest's tables may map the same page any number of times.
        let ram = vm.ram();
        let mut looks = (ram.end.0 - ram.start.0) / PageSize::Size4K.bytes() * LOOKS_PER_PAGE;
        let mut pages: Vec<Gpa> = Vec::new();
        for space in spaces {
            let leaves = vm.guest_leaves(memory, space.mode, space.root);
            let used = |leaf: &&GuestLeaf| leaf.is_user() && leaf.is_accessed() && leaf.size <= LARGEST_USED;
            for GuestLeaf { gpa, size, .. } in leaves.iter().filter(used) {
                let step = PageSize::Size4K.bytes() as usize;
                let all = (0..size.bytes()).step_by(step).take(looks as usize).map(|offset| gpa.wrapping_add(offset));
                looks = looks.saturating_sub(size.bytes() / PageSize::Size4K.bytes());
                pages.extend(all.filter(|&gpa| vm.is_ram(gpa, 1) && !vm.has_frame(memory, gpa)));
            }
        }
        pages.sort_unstable();
        self.state.apart().1.populate_pages(self.guest, pages)
    }

    /// The shadow tables of `spaces`, of which those that harts are in come last.
    fn derive(&mut self, spaces: &[AddressSpace]) {
        let is_current = |space: &AddressSpace| self.contexts.iter().any(|at| AddressSpace::of(at) == Some(*space));
        let others: Vec<AddressSpace> = spaces.iter().filter(|space| !is_current(space)).copied().collect();
        let kept_tables = self.state.vms[self.guest].shadow_spaces();
        let kept = others.len().min(kept_tables);
        let Some(&first) = self.started.first() else { return };
        self.seat(first);
        for space in &others[others.len() - kept..] {
            self.state.set_context(&space.context(Privilege::Supervisor));
            self.derive_shadow();
        }
        let mut derived: Vec<Option<AddressSpace>> = Vec::new();
        for &hart in self.started {
            self.seat(hart);
            self.state.set_context(&self.contexts[hart]);
            let space = AddressSpace::of(&self.contexts[hart]);
            // Harts in the same address space share its table where there are several tables.
            let shared = kept_tables > 0 || space.is_none();
            if !(shared && derived.contains(&space)) {
                self.derive_shadow();
                derived.push(space);
            }
        }
    }

    /// Translates a page again, where a hart that goes on could.
    fn translate(&mut self, hart: usize, spaces: &[AddressSpace], page: &ResidentPage) {
        let own = &self.contexts[hart];
        let Some(context) = self.context_of(own, spaces, page) else { return };
        let own_space = AddressSpace::of(&context) == AddressSpace::of(own);
        let vm = &self.state.vms[self.guest];
        if !own_space && !self.translates_elsewhere(own, &context) {
            return;
        }
        let memory = &self.state.host.memory;
        let gpa = match AddressSpace::of(&context) {
            None => Gpa(page.gva.0),
            Some(_) => match vm.peek_guest(memory, &context, page.gva, page.access) {
                Ok(leaf) => Gpa(leaf.page.0 | page.gva.offset(leaf.size)),
                Err(_) => return,
            },
        };
        // Where the hypervisor pages, no page of another owner leaves for this one, or for a shadow table that leads to it.
        let takes_frames = vm.is_shadowed() || (vm.is_ram(gpa, 1) && !vm.has_frame(memory, gpa));
        if self.state.pager.is_some() && takes_frames {
            return;
        }
        self.translate_again_in(&context, page);
    }

    /// What a hart that uses the page translates in; `None` where its address space is not known.
    fn context_of(
        &self,
        own: &TranslationContext,
        spaces: &[AddressSpace],
        page: &ResidentPage,
    ) -> Option<TranslationContext> {
        let own = AddressSpace::of(own);
        let space = match page.space {
            ResidentSpace::Bare => {
                return Some(TranslationContext { privilege: page.privilege, ..TranslationContext::default() });
            }
            ResidentSpace::Global => own.or_else(|| spaces.last().copied()),
            ResidentSpace::Asid(asid) => {
                let known = || spaces.iter().rev().find(|space| space.asid == asid).copied();
                own.filter(|own| own.asid == asid).or_else(known)
            }
        }?;
        Some(space.context(page.privilege))
    }

    /// Derives the shadow entries of the address space that the current hart is in.
    fn derive_shadow(&mut self) {
        let Current { guest, hart, .. } = self.state.current;
        let (vms, host, mut tlbs) = shadow::parts(self.state);
        vms[guest].derive_shadow(host, &mut tlbs, hart);
    }

    /// Whether a hart in `own` can translate in another context without that being seen in tables or registers.
    fn translates_elsewhere(&self, own: &TranslationContext, other: &TranslationContext) -> bool {
        if self.state.vms[self.guest].is_shadowed() {
            // A change between bare and not fences everything, and so does one to a table that is not kept.
            let both = AddressSpace::of(own).is_some() && AddressSpace::of(other).is_some();
            return both && self.state.vms[self.guest].shadow_spaces() > 0;
        }
        // The registers are of the address space that the hart is in.
        !(self.state.segments.has_guest_segment() && self.state.guests[self.guest].region.is_some())
    }

    /// Translates a page in `context`, as the hart that is current would, with the faults of the hypervisor's tables handled.
    fn translate_again_in(&mut self, context: &TranslationContext, page: &ResidentPage) {
        let guest = self.state.current.guest;
        if self.state.vms[guest].is_shadowed() {
            self.state.set_context(context);
        } else {
            let vmid = self.state.vms[guest].vmid();
            self.state.processor().mmu.set_context(context, vmid);
        }
        let stamp = match page.access {
            Access::Execute => 0,
            Access::Read | Access::Write => {
                let stamp = self.state.processor().rebased_stamp() + 1;
                self.state.processor().stamp = stamp;
                stamp
            }
        };
        self.state.translate_without_access(page.gva, page.access, stamp);
    }

    /// Forgets what was counted on every processor, and for the guest: the clocks stand where they did.
    fn forget_counts(&mut self) {
        for processor in &mut self.state.processors {
            processor.mmu.reset_statistics();
            processor.hypervisor = Cycles(0);
            processor.scheduling = Cycles(0);
            processor.exits = ExitCounts::default();
            processor.paging = PagingCounts::default();
        }
        self.state.pager.as_mut().map(Pager::take_counts);
        self.state.vms[self.guest].forget_shadow_counts();
        // Nothing has run, so nothing was translated from memory that has moved, and no guest is to end for a page that it did not ask for.
        self.state.foreign_writes.clear();
        self.state.exhausted = None;
        self.state.leave = false;
    }
}
