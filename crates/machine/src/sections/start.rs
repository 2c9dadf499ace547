//! A machine starts: reservations are honoured before anything else takes memory, sections are made, and guests map them.

use super::figures::{Ledger, ReservedFigures};
use super::host::HostSections;
use super::plan::{GuestSections, SectionPlan, SectionStore, taken};
use super::table_bytes::private_table_bytes;
use crate::assembly::build_error::BuildError;
use crate::assembly::host_plan::HostPlan;
use crate::assembly::memory_needs::{LEAST_MEMORY, guest_host_bytes};
use crate::sections::serve;
use crate::state::MachineState;
use config::{AttributeName, Config, ConfigError};
use devices::TreeSection;
use devices::map::RAM_BASE;
use hypervisor::section::{MapRequest, SectionAccess, SectionManager, VmProfile};
use hypervisor::{TableDesign, VmError};
use memory::registry::{Granularities, Preallocation, Registry, ReservedMemory, Tuning, table_pages};
use memory::section::BackingFile;
use memory::{FrameRange, HOST_BASE, Host};
use schemes::{ShadowTables, Walked};
use std::collections::BTreeMap;
use types::{Gpa, PageSize};

const PAGE: u64 = PageSize::Size4K.bytes();

/// The least quota: the pages that one instruction may need at once, with those of its tables, and some more.
const LEAST_QUOTA: u64 = 16;

/// Host memory, in bytes, that is enough for all guests, reservations and sections of `plan`, whatever happens.
pub(crate) fn host_bytes(plan: &HostPlan, configs: &[Config], sizes: Granularities) -> u64 {
    let guests = configs.iter().map(guest_host_bytes).fold(0, u64::saturating_add);
    if plan.registry.is_empty() && plan.sections.is_empty() {
        return guests;
    }
    let others = guests.saturating_add(unreserved_bytes(plan, configs, true));
    let least = Tuning::new(&plan.registry, others.div_ceil(PAGE), sizes).least_host_bytes;
    // What alignment leaves between preallocated pages is of no use for a guest in one piece.
    let gaps: u64 = plan
        .registry
        .descending()
        .iter()
        .filter(|entry| entry.preallocation != Preallocation::Fluid)
        .map(|entry| sizes.within(entry.bytes()).next().map_or(0, PageSize::bytes))
        .sum();
    least.saturating_add(gaps)
}

/// Bytes of sections and their tables for which nothing is reserved, or not enough; those of files among them only if nothing of them is to leave.
fn unreserved_bytes(plan: &HostPlan, configs: &[Config], files: bool) -> u64 {
    let reserved = |section: &SectionPlan| {
        plan.registry.get(&section.name).is_some_and(|entry| !entry.freed && entry.bytes() >= section.bytes)
    };
    let sections = plan.sections.iter().filter(|section| match section.store {
        SectionStore::Resident => !reserved(section),
        SectionStore::File { .. } | SectionStore::Unnamed => files,
    });
    let data: u64 = sections.map(|section| section.bytes + table_pages(section.bytes) * PAGE).sum();
    data.saturating_add(table_bytes(plan, configs))
}

/// Honours the registry on `host`, of which nothing is taken yet; `None` where no guest uses sections.
///
/// # Errors
/// [`BuildError::SectionScheme`], [`BuildError::Frames`].
pub(crate) fn start(
    config: &Config,
    plan: &HostPlan,
    configs: &[Config],
    sizes: Granularities,
    host: &mut Host,
) -> Result<Option<HostSections>, BuildError> {
    if plan.registry.is_empty() && plan.sections.is_empty() {
        return Ok(None);
    }
    if let Some(why) = config.section_obstacle()
        && plan.guests.iter().any(|guest| !guest.sections.windows.is_empty())
    {
        return Err(BuildError::SectionScheme { scheme: config.scheme.name(), why });
    }
    if config.segment.hot_add && plan.guests.iter().any(|guest| !guest.sections.windows.is_empty()) {
        let problem = "what is added to a primary region lies behind RAM, where this guest has sections".to_owned();
        return Err(ConfigError::Range { key: "segment.hot_add".into(), problem }.into());
    }
    let held = real_memory(config, configs).filter(|&range| host.frames.reserve(&host.memory, range).is_ok());
    let reserved = honour(&plan.registry, host, minimum_fluid(plan, config, configs) / PAGE, sizes, held);
    if let Some(range) = held {
        host.frames.free(range)?;
    }
    let reserved = reserved?;
    let fluid = reserved.fluid();
    let figures = ReservedFigures {
        fluid_pages: fluid.count(),
        minimum_fluid_pages: fluid.minimum(),
        refused: reserved.refused().iter().map(ToString::to_string).collect(),
        freed: Vec::new(),
    };
    let largest = plan.granularity.or(config.scheme.host_page()).unwrap_or_default();
    let manager = SectionManager::new(reserved, sizes.at_most(largest));
    let ledger = Ledger { reserved: figures, ..Ledger::default() };
    Ok(Some(HostSections { manager, ledger, plans: plan.sections.clone(), offers: BTreeMap::new() }))
}

fn honour(
    registry: &Registry,
    host: &mut Host,
    minimum: u64,
    sizes: Granularities,
    held: Option<FrameRange>,
) -> Result<ReservedMemory, memory::FrameError> {
    // What is held is neither free nor to be left free.
    let minimum = minimum.saturating_sub(held.map_or(0, |range| range.bytes() / PAGE));
    ReservedMemory::honour(registry, host, minimum, sizes)
}

/// The memory of a guest that can be nowhere else, if there is one.
fn real_memory(config: &Config, configs: &[Config]) -> Option<FrameRange> {
    let native = config.scheme.facts().is_native;
    let real = configs.iter().find(|guest| native || guest.memory_attribute == AttributeName::Real)?;
    FrameRange::new(HOST_BASE, real.memory.0)
}

/// Bytes without which the guests cannot be.
fn minimum_fluid(plan: &HostPlan, config: &Config, configs: &[Config]) -> u64 {
    let paged = |guest: &Config| config.host_memory.is_some() && guest.memory_attribute == AttributeName::Virtual;
    let least = |guest: &Config| {
        let all = guest_host_bytes(guest);
        if paged(guest) { all.min(LEAST_MEMORY) } else { all }
    };
    // Sections without a reservation are promised fluid pages when they are made, and may then go below the minimum no more than a reservation may.
    let sections = if config.host_memory.is_some() { 0 } else { table_bytes(plan, configs) };
    configs.iter().map(least).fold(sections, u64::saturating_add)
}

/// Bytes of tables that guests may need for sections.
fn table_bytes(plan: &HostPlan, configs: &[Config]) -> u64 {
    let guests = plan.guests.iter().zip(configs).map(|(guest, config)| guest_table_bytes(&guest.sections, config));
    // Beside those of their own, leaf tables that shadow tables share: one for each of eight sets of rights.
    let shadowed = configs.iter().any(|config| config.shadow().is_some());
    let leaves = |section: &SectionPlan| section.bytes.div_ceil(PageSize::Size2M.bytes()) * PAGE * 8;
    let shared = if shadowed { plan.sections.iter().map(leaves).sum() } else { 0 };
    guests.fold(shared, u64::saturating_add)
}

/// Where addresses end that a guest's tables translate: those that are made for its configuration reach no further than that.
fn section_limit(config: &Config, plan: &GuestSections) -> Gpa {
    let all = Gpa(1 << config.section_bits());
    let ram_end = RAM_BASE.wrapping_add(config.memory.0);
    let end = plan.end().max(ram_end);
    let long_as_mapped = |(design, _): (&dyn TableDesign, _)| design.bytes_of_range(&(RAM_BASE..end)).is_some();
    if config.backing().design().is_some_and(long_as_mapped) {
        return end;
    }
    match config.scheme.facts().walked {
        // The table of a guest that does not translate: three levels where those are enough.
        Walked::ShadowTables if end.0 <= 1 << 38 => all.min(Gpa(1 << 38)),
        Walked::ShadowTables | Walked::GuestTables => all,
    }
}

fn guest_table_bytes(sections: &GuestSections, config: &Config) -> u64 {
    if sections.windows.is_empty() {
        return 0;
    }
    if let Some((design, _)) = config.backing().design()
        && let Some(bytes) = design.bytes_of_range(&(RAM_BASE..sections.end()))
    {
        return bytes;
    }
    let ram = config.memory.0;
    let shadow = config
        .shadow()
        .map_or(0, |ShadowTables { config, .. }| config.host_bytes(ram + sections.bytes()) - config.host_bytes(ram));
    // A window may begin and end within what a table of each level maps.
    sections.windows.iter().fold(shadow, |sum, window| sum + private_table_bytes(window.bytes) + 4 * PAGE)
}

impl GuestSections {
    /// What its device tree says of them.
    pub(crate) fn tree(&self) -> Vec<TreeSection<'_>> {
        let section = |window: &'_ super::GuestSection| window.at..window.at.wrapping_add(window.bytes);
        let windows = self.windows.iter();
        windows
            .map(|window| TreeSection {
                name: window.name.text(),
                memory: section(window),
                writable: window.access == SectionAccess::ReadWrite,
            })
            .collect()
    }
}

/// Makes the sections of a plan.
///
/// # Errors
/// [`BuildError`].
pub(crate) fn create(state: &mut MachineState, plans: &[SectionPlan]) -> Result<(), BuildError> {
    serve::with_sections(state, |HostSections { manager, ledger, .. }, on| {
        for plan in plans {
            let SectionPlan { name, bytes, store, .. } = plan;
            let lifetime = plan.lifetime();
            let file = match store {
                SectionStore::Resident => {
                    manager.create_resident(on, name, *bytes, lifetime)?;
                    continue;
                }
                SectionStore::File { path, writable } => BackingFile::open(path, *writable),
                SectionStore::Unnamed => BackingFile::unnamed(*bytes),
            };
            let file = file.map_err(|error| BuildError::SectionFile { name: name.clone(), error })?;
            manager.create_pageable(name, *bytes, file, lifetime)?;
        }
        let _ = manager.take_work();
        ledger.note_sections(manager);
        Ok(())
    })
    .unwrap_or(Ok(()))
}

/// Maps what a guest has of sections into it. What that takes is noted, and in no guest's time.
///
/// # Errors
/// [`BuildError`].
pub(crate) fn map(
    state: &mut MachineState,
    config: &Config,
    guest: usize,
    plan: &GuestSections,
) -> Result<(), BuildError> {
    let vm = &mut state.vms[guest];
    let (vmid, links) = (vm.vmid(), vm.links_sections());
    vm.reach(&mut state.host, plan.end()).map_err(VmError::from)?;
    let costs = state.costs.clone();
    serve::with_sections(state, |HostSections { manager, ledger, offers, .. }, on| {
        offers.insert(vmid, plan.clone());
        manager.add_vm(VmProfile {
            vmid,
            group: plan.group,
            mode: config.paging.host.mode(),
            links,
            limit: section_limit(config, plan),
            taken: taken(config.memory.0).map(|(_, range)| range).into(),
            quota: plan.quota.map_or(u64::MAX, |quota| (quota.0 / PAGE).max(LEAST_QUOTA)),
        });
        for window in &plan.windows {
            let request = MapRequest::whole(vmid, window.name.clone(), window.at);
            let request = MapRequest { access: window.access, ..request };
            manager.map(on, &request)?;
            ledger.map_times.insert((vmid, window.at), costs.of_section(&manager.take_work()));
        }
        ledger.note_guest(manager, on.tables, vmid);
        Ok(())
    })
    .unwrap_or(Ok(()))
}
