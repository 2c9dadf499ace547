//! A second stage whose tables have a format from outside this crate: a scheme in a crate of its own gives each MMU a [`TableFormat`], and the hypervisor
//! loads the [`Registers`] that say where the tables are ([`SecondStage::Other`](super::SecondStage::Other)).
//!
//! The format only finds the entry of an address. Everything around it is the stage that nested tables have, too: the nested TLB in front, rights,
//! A and D bits, references and steps, the faults.

use super::entry_cache::EntryCache;
use super::tabled::Format;
use crate::config::{AdPolicy, Groups, WalkCacheSizes};
use crate::fault::Cause;
use crate::fence::Fence;
use crate::pte::Pte;
use crate::refill::{RefillRoutine, RefillSteps};
use crate::walk::{Address, Journal, Leaf, Policy, Tables, Target};
use crate::walk_cache::WalkCache;
use core::fmt::Debug;
use types::{Gpa, Hpa, PageSize, Vmid};

/// What a hypervisor loads into a processor so that it finds a VM's tables: addresses and sizes, as the format defines them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Registers(pub [u64; 3]);

/// How a processor finds the entry that translates a guest physical address. Each MMU has its own, with what that remembers between walks.
pub trait TableFormat: Debug + Send + CloneFormat {
    /// Entries that one lookup mostly reads, one after the other: the depth that recorded walks show.
    fn levels(&self, registers: &Registers) -> u32;

    /// Whether the tables can have an entry for the address.
    ///
    /// # Errors
    /// The [`Cause`] of the guest-page fault, mostly [`Cause::OutOfBounds`].
    fn check(&self, registers: &Registers, gpa: Gpa) -> Result<(), Cause>;

    /// Finds the entry of an address that passed the check. An entry that maps nothing may be returned as it is.
    ///
    /// # Errors
    /// [`LookupError::Refused`] where there is none; [`LookupError::Unreadable`], as `tables` has said it.
    fn find(&mut self, registers: &Registers, tables: &mut dyn Entries, gpa: Gpa) -> Result<FoundEntry, LookupError>;

    /// What a refill routine takes, where one walks: mostly as much as for nested tables, each of whose entries it indexes and checks.
    fn refill_steps(&self, routine: &RefillRoutine) -> RefillSteps {
        RefillSteps { lookup: routine.nested_lookup, level: routine.nested_level }
    }

    /// Drops what it remembers of the tables that the fence names; of all tables where there is none. (The nested TLB does so by itself.)
    fn forget(&mut self, fence: Option<&Fence>) {
        let _ = fence;
    }
}

/// What every format that is [`Clone`] has: a copy, with what it remembers. Walks that are recorded are made on one, and change nothing.
pub trait CloneFormat {
    /// The copy.
    fn clone_format(&self) -> Box<dyn TableFormat>;
}

impl<F: TableFormat + Clone + 'static> CloneFormat for F {
    fn clone_format(&self) -> Box<dyn TableFormat> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn TableFormat> {
    fn clone(&self) -> Self {
        (**self).clone_format()
    }
}

/// Host memory as a format reads it. Each read is a reference, and each call a step of the walk.
pub trait Entries {
    /// The entry at `at` of an upper level, from 1 on: one that leads to a table, and stays while no fence names all of the VM. The page-walk cache may
    /// have it, which then takes no reference; one that is zero is not kept.
    ///
    /// # Errors
    /// [`LookupError::Unreadable`] outside memory.
    fn read_upper(&mut self, level: u32, at: Hpa) -> Result<u64, LookupError>;

    /// The double word at `at`, a multiple of 8.
    ///
    /// # Errors
    /// [`LookupError::Unreadable`] outside memory.
    fn read(&mut self, at: Hpa) -> Result<u64, LookupError>;

    /// The double words at several addresses, which are read at once, in the order of `at`.
    ///
    /// # Errors
    /// [`LookupError::Unreadable`] if one of them is outside memory.
    fn read_together(&mut self, at: &[Hpa]) -> Result<Vec<u64>, LookupError>;
}

/// An entry of the last level: a leaf PTE (RISC-V Privileged 1.13, section 12.4.1), whose page number leads to a page of `size`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundEntry {
    /// Where it is: the walker sets A and D there.
    pub at: Hpa,
    /// What was read there. Bit 63, and the bits of the page number below the page's size, are the format's own.
    pub entry: u64,
    /// The page that it maps.
    pub size: PageSize,
}

/// Why a lookup has found no entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LookupError {
    /// The tables refuse the address: a guest-page fault.
    Refused(Cause),
    /// An entry cannot be read.
    Unreadable,
}

impl From<Cause> for LookupError {
    fn from(cause: Cause) -> Self {
        Self::Refused(cause)
    }
}

/// What a processor has for such tables.
#[derive(Clone, Debug)]
pub(crate) struct FormatHardware {
    pub(crate) format: Box<dyn TableFormat>,
    pub(crate) cache: EntryCache,
}

impl FormatHardware {
    pub(crate) fn new(format: Box<dyn TableFormat>, sizes: WalkCacheSizes) -> Self {
        Self { format, cache: EntryCache::new(sizes) }
    }

    /// Drops what the fence names. One for a gPA leaves the entries of upper levels.
    pub(crate) fn fence(&mut self, fence: &Fence) {
        self.format.forget(Some(fence));
        if let Fence::Gvma { gpa: None, vmid } = *fence {
            self.cache.remove(vmid);
        }
    }

    /// Walks from now on without anything remembered.
    pub(crate) fn forget(&mut self) {
        self.format.forget(None);
        self.cache = EntryCache::new(WalkCacheSizes::OFF);
    }
}

/// A format with the registers of one VM, during one walk.
pub(crate) struct OtherTables<'a> {
    /// `None` on a processor that has no such format, which then refuses every address.
    pub(crate) hardware: Option<&'a mut FormatHardware>,
    pub(crate) registers: Registers,
    pub(crate) vmid: Vmid,
    pub(crate) ad: AdPolicy,
}

/// The tables of a walk as a format reads them, and why a read has stopped the walk.
struct Reads<'t, P: Policy, T> {
    tables: &'t mut T,
    journal: &'t mut P::Journal,
    cache: &'t mut EntryCache,
    vmid: Vmid,
    stop: Option<P::Stop>,
}

impl<P: Policy, T: Tables> Entries for Reads<'_, P, T> {
    fn read_upper(&mut self, level: u32, at: Hpa) -> Result<u64, LookupError> {
        if let Some(entry) = self.cache.look_up(self.vmid, level, at) {
            self.tables.count_skip(level);
            return Ok(entry);
        }
        let entry = self.read(at)?;
        self.cache.keep(self.vmid, level, at, entry);
        Ok(entry)
    }

    fn read(&mut self, at: Hpa) -> Result<u64, LookupError> {
        let read = self.tables.read::<P, _>(T::Address::of(at.0), |pte| Ok(pte.0));
        self.journal.reference(self.tables);
        read.map_err(|stop| {
            self.stop = Some(stop);
            LookupError::Unreadable
        })
    }

    fn read_together(&mut self, at: &[Hpa]) -> Result<Vec<u64>, LookupError> {
        let at: Vec<T::Address> = at.iter().map(|at| T::Address::of(at.0)).collect();
        let read = self.tables.read_together::<P>(&at);
        at.iter().for_each(|_| self.journal.reference(self.tables));
        self.tables.count_joint((at.len() as u64).saturating_sub(1));
        read.map(|entries| entries.into_iter().map(|pte| pte.0).collect()).map_err(|stop| {
            self.stop = Some(stop);
            LookupError::Unreadable
        })
    }
}

impl Format for OtherTables<'_> {
    fn ad(&self) -> AdPolicy {
        self.ad
    }

    fn check(&self, address: u64) -> Result<(), Cause> {
        let hardware = self.hardware.as_ref().ok_or(Cause::OutOfBounds)?;
        hardware.format.check(&self.registers, Gpa(address))
    }

    fn find<P: Policy, T: Tables>(
        &mut self,
        tables: &mut T,
        _: &mut WalkCache,
        journal: &mut P::Journal,
        target: Target<'_>,
    ) -> Result<Leaf<T::Address>, P::Stop> {
        let Target { address, required } = target;
        let Self { hardware, registers, vmid, ad } = self;
        let Some(FormatHardware { format, cache }) = hardware else {
            return Err(tables.refused(Cause::OutOfBounds).into());
        };
        P::uncommon(|| {
            loop {
                let mut reads = Reads::<P, T> { tables, journal, cache, vmid: *vmid, stop: None };
                let found = format.find(registers, &mut reads, Gpa(address));
                let stop = reads.stop;
                let FoundEntry { at, entry, size } = match (found, stop) {
                    (_, Some(stop)) => return Err(stop),
                    (Ok(found), None) => found,
                    (Err(LookupError::Refused(cause)), None) => return Err(tables.refused(cause).into()),
                    // It says so without having read anything: there is no entry.
                    (Err(LookupError::Unreadable), None) => return Err(tables.refused(Cause::Invalid).into()),
                };
                let pte = Pte(entry);
                Pte(entry & !Pte::N).decode(0, Groups::None).map_err(|cause| tables.refused(cause))?;
                let leaf = Leaf { at: T::Address::of(at.0), pte, size, global: false };
                if let Some(leaf) = ad.settle(tables, leaf, required)? {
                    return Ok(leaf);
                }
                // Another processor changed the entry.
            }
        })
    }
}
