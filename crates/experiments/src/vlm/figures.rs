//! The paper's Figures 4, 8 and 9, and a table of ours: by how much granularity makes the TLB miss less.

use super::VlmError;
use super::gups::{GupsMisses, gups};
use super::mappers::{Mappers, Sharing};
use config::Config;
use config::host_model::HostModel;
use machine::sections::private_table_bytes;
use memory::registry::Granularities;
use types::{Cycles, PageSize};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Base pages alone: larger ones need fewer tables, and hints of an Alpha do not make them smaller.
const BASE: Granularities = Granularities::RISCV.at_most(PageSize::Size4K);

/// How large the experiments are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// By what the paper's sections and numbers of processes are divided.
    pub divisor: u64,
    /// Bytes that tables may take of this process's memory; what would take more is left out.
    pub budget: u64,
}

impl Scale {
    /// The paper's `bytes`, at this scale, in whole pages.
    #[must_use]
    pub const fn bytes(self, bytes: u64) -> u64 {
        let page = PageSize::Size4K.bytes();
        bytes / self.divisor / page * page
    }

    /// The paper's number of processes, at this scale.
    #[must_use]
    pub const fn vms(self, processes: u16) -> u16 {
        let vms = processes as u64 / self.divisor;
        if vms == 0 { 1 } else { vms as u16 }
    }

    const fn affords(self, tables: u64) -> bool {
        tables <= self.budget
    }
}

/// A point of Figure 4: memory of tables, by mappers and section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableMemory {
    /// Bytes of the section.
    pub section: u64,
    /// VMs that map it.
    pub mappers: u64,
    /// Bytes of tables where each has its own; `None` where the budget was too small.
    pub private: Option<u64>,
    /// Bytes of tables where they share them.
    pub shared: u64,
}

impl TableMemory {
    /// What the paper's formula gives: 8 bytes for each page of 8 KiB, private and shared.
    #[must_use]
    pub const fn paper(&self) -> (u64, u64) {
        let once = self.section / 1024;
        (once * self.mappers, once)
    }
}

/// Figure 4.
///
/// # Errors
/// [`VlmError`].
pub fn table_memory(scale: Scale) -> Result<Vec<TableMemory>, VlmError> {
    let mut points = Vec::new();
    for gigabytes in [2, 4, 6, 8] {
        let bytes = scale.bytes(gigabytes * GIB);
        let counts = [scale.divisor as u16, 100, 200, 400, 600, 800, 1000].map(|count| scale.vms(count));
        let each = private_table_bytes(bytes);
        let affordable = |count: &u16| scale.affords(u64::from(*count) * each);
        let at = points.len();
        for (count, shared) in counts.into_iter().zip(tables_at(bytes, Sharing::Shared, &counts)?) {
            points.push(TableMemory { section: bytes, mappers: u64::from(count), private: None, shared });
        }
        let few: Vec<u16> = counts.into_iter().filter(affordable).collect();
        for (point, private) in points[at..].iter_mut().zip(tables_at(bytes, Sharing::Private, &few)?) {
            point.private = Some(private);
        }
    }
    Ok(points)
}

/// Bytes of tables when this many VMs have mapped the section, for each of `counts`, ascending.
fn tables_at(bytes: u64, sharing: Sharing, counts: &[u16]) -> Result<Vec<u64>, VlmError> {
    let Some(&most) = counts.last() else { return Ok(Vec::new()) };
    let mut mappers = Mappers::new(bytes, sharing, BASE, most, Cycles(0))?;
    let mut tables = Vec::new();
    for &count in counts {
        while mappers.count() < u64::from(count) {
            mappers.start()?;
        }
        tables.push(mappers.table_bytes());
    }
    Ok(tables)
}

/// A point of Figures 8 and 9: the time until all VMs have mapped a section, by their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartUp {
    /// Bytes of the section.
    pub section: u64,
    /// VMs.
    pub vms: u64,
    /// With tables of their own; `None` where the budget was too small.
    pub private: Option<Cycles>,
    /// With shared ones.
    pub shared: Cycles,
}

/// Figure 8: a section of 7.5 GB, by the number of VMs. A step of the hypervisor takes `step`.
///
/// # Errors
/// [`VlmError`].
pub fn start_up_by_vms(scale: Scale, step: Cycles) -> Result<Vec<StartUp>, VlmError> {
    let counts = [scale.divisor as u16, 50, 100, 150, 200, 250, 300].map(|count| scale.vms(count));
    start_up(scale, scale.bytes(7680 * MIB), &counts, step)
}

/// Figure 9: 300 VMs, by the size of the section.
///
/// # Errors
/// [`VlmError`].
pub fn start_up_by_section(scale: Scale, step: Cycles) -> Result<Vec<StartUp>, VlmError> {
    let mut points = Vec::new();
    for gigabytes in 1..=7 {
        points.extend(start_up(scale, scale.bytes(gigabytes * GIB), &[scale.vms(300)], step)?);
    }
    Ok(points)
}

fn start_up(scale: Scale, bytes: u64, counts: &[u16], step: Cycles) -> Result<Vec<StartUp>, VlmError> {
    let each = private_table_bytes(bytes);
    let few: Vec<u16> = counts.iter().copied().filter(|&count| scale.affords(u64::from(count) * each)).collect();
    let shared = times_at(bytes, Sharing::Shared, counts, step)?;
    let private = times_at(bytes, Sharing::Private, &few, step)?;
    let points = counts.iter().zip(shared).enumerate().map(|(index, (&count, shared))| StartUp {
        section: bytes,
        vms: u64::from(count),
        private: private.get(index).copied(),
        shared,
    });
    Ok(points.collect())
}

fn times_at(bytes: u64, sharing: Sharing, counts: &[u16], step: Cycles) -> Result<Vec<Cycles>, VlmError> {
    let Some(&most) = counts.last() else { return Ok(Vec::new()) };
    let mut mappers = Mappers::new(bytes, sharing, BASE, most, step)?;
    let (mut total, mut times) = (Cycles(0), Vec::new());
    for &count in counts {
        while mappers.count() < u64::from(count) {
            total += mappers.start()?;
        }
        times.push(total);
    }
    Ok(times)
}

/// A line of the table of granularities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granularity {
    /// The largest page.
    pub page: PageSize,
    /// What gups met.
    pub misses: GupsMisses,
}

/// Random updates inside a section of 1 GiB, by each size of page that the host's TLB has.
///
/// # Errors
/// [`VlmError`].
pub fn granularity(host: &HostModel, config: &Config, updates: u64) -> Result<Vec<Granularity>, VlmError> {
    let processor = config.mmu(host).map_err(|error| VlmError::Host(error.to_string()))?;
    let sizes = host.tlb.groups.granularities();
    let line = |page| Ok(Granularity { page, misses: gups(GIB, updates, sizes.at_most(page), &processor)? });
    sizes.descending().map(line).collect()
}

/// VMs that share a section, all of it touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residence {
    /// Bytes of the section.
    pub section: u64,
    /// VMs.
    pub vms: u64,
    /// Bytes of tables.
    pub tables: u64,
    /// Pages that one VM wrote and the next one read.
    pub agreed: u64,
}

/// 300 VMs on a section of 7.5 GB with shared tables, every page of which is written by one and read by the next. `look` is called when the memory is used, and
/// the VMs are still there.
///
/// # Errors
/// [`VlmError`].
pub fn residence(scale: Scale, look: impl FnOnce()) -> Result<Residence, VlmError> {
    let (bytes, vms) = (scale.bytes(7680 * MIB), scale.vms(300));
    let mut mappers = Mappers::new(bytes, Sharing::Shared, BASE, vms, Cycles(0))?;
    for _ in 0..vms {
        mappers.start()?;
    }
    let agreed = mappers.touch_all();
    look();
    Ok(Residence { section: bytes, vms: u64::from(vms), tables: mappers.table_bytes(), agreed })
}

#[cfg(test)]
mod tests {
    use super::super::shared_table_bytes;
    use super::*;

    const SMALL: Scale = Scale { divisor: 100, budget: 1 << 20 };

    #[test]
    fn figure_4_grows_with_mappers_for_private_tables_only() {
        let points = table_memory(SMALL).unwrap();
        assert_eq!(points.len(), 28);
        for point in &points {
            assert!(point.private.is_none_or(|private| private == point.mappers * private_table_bytes(point.section)));
            assert_eq!(point.shared, shared_table_bytes(point.section) + point.mappers * 4096);
        }
        let left_out = points.iter().filter(|point| point.private.is_none());
        assert!(left_out.clone().all(|point| point.mappers * private_table_bytes(point.section) > SMALL.budget));
        assert!(left_out.count() > 0);
        assert_eq!(
            TableMemory { section: 8 * GIB, mappers: 100, private: None, shared: 0 }.paper(),
            (800 * MIB, 8 * MIB)
        );
    }

    #[test]
    fn figures_8_and_9_are_linear_and_flat() {
        let eight = start_up_by_vms(SMALL, Cycles(1)).unwrap();
        let first = eight[0];
        assert!(eight.iter().all(|point| point.shared.0 == point.vms * first.shared.0));
        let nine = start_up_by_section(SMALL, Cycles(1)).unwrap();
        assert!(nine.windows(2).all(|pair| pair[0].private.unwrap() < pair[1].private.unwrap()));
    }

    #[test]
    fn a_section_is_there_once() {
        let mut looked = false;
        let residence = residence(SMALL, || looked = true).unwrap();
        assert!(looked);
        assert_eq!(residence.agreed, residence.section / 4096);
    }
}
