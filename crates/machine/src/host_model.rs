//! Models of hosts: the processors' TLBs and what events cost, read from TOML. Every number in the shipped files has its source beside it.

pub mod caches;

use crate::{
    clock::Clock,
    dispatch::SchedulingPrices,
    refill::RefillModel,
    suggestion::unknown,
    toml_problem,
    units::{PageSizeName, ReplacementName},
};
use caches::CachesModel;
use memory::registry::Granularities;
use mmu::{Groups, TlbArray, WalkCacheSizes, WalkCaches};
use serde::{Deserialize, Serialize};
use std::path::Path;
use types::{Cycles, PageSize};

/// The shipped models: name and text.
const SHIPPED: [(&str, &str); 5] = [
    ("sandybridge-2012", include_str!("../../../hosts/sandybridge-2012.toml")),
    ("xeon-2017", include_str!("../../../hosts/xeon-2017.toml")),
    ("sunway-1621", include_str!("../../../hosts/sunway-1621.toml")),
    ("alpha-1997", include_str!("../../../hosts/alpha-1997.toml")),
    ("hitachi-1985", include_str!("../../../hosts/hitachi-1985.toml")),
];

/// The model that is used where none is named.
pub const DEFAULT_HOST: &str = "sandybridge-2012";

/// A host.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostModel {
    /// Its name.
    pub name: String,
    /// Cycles in a second.
    pub clock_hz: u64,
    /// Thousandths of a cycle for an instruction whose translation costs nothing.
    pub millicycles_per_instruction: u64,
    /// Translation hardware.
    pub tlb: TlbModel,
    /// Caches; without them there is no fidelity `cycles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<CachesModel>,
    /// How the TLBs are refilled.
    pub refill: RefillModel,
    /// What events cost, in cycles.
    pub prices: Prices,
    /// What scheduling costs, in cycles.
    pub scheduling: SchedulingModel,
}

/// What scheduling logical processors on shared real ones costs, in cycles.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchedulingModel {
    /// A decision whom to despatch.
    pub decision: u64,
    /// A partner's control block looked at, for spin control.
    pub partner: u64,
    /// Another logical processor on a real one.
    pub switch: u64,
}

impl SchedulingModel {
    /// As the machine takes them.
    pub(crate) const fn prices(&self) -> SchedulingPrices {
        SchedulingPrices { decision: Cycles(self.decision), partner: Cycles(self.partner), switch: Cycles(self.switch) }
    }
}

/// Translation hardware of a real processor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbModel {
    /// First level, data.
    pub l1d: Vec<ArrayModel>,
    /// First level, instructions.
    pub l1i: Vec<ArrayModel>,
    /// Second level, shared.
    pub l2: Vec<ArrayModel>,
    /// Page-walk caches.
    pub walk_caches: WalkCacheModel,
    /// Entries of the nested TLB, fully associative; 0 for none.
    pub nested_tlb: u32,
    /// Groups of base pages that one entry holds, in the second stage.
    #[serde(default)]
    pub groups: GroupsName,
}

/// `tlb.groups`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupsName {
    /// 16 pages (Svnapot).
    #[default]
    Svnapot,
    /// 8, 64 or 512 pages, as an Alpha's granularity hints.
    GranularityHints,
    /// None.
    None,
}

impl GroupsName {
    /// As the MMU takes them.
    #[must_use]
    pub const fn groups(self) -> Groups {
        match self {
            Self::Svnapot => Groups::Svnapot,
            Self::GranularityHints => Groups::GranularityHints,
            Self::None => Groups::None,
        }
    }

    /// The sizes that contiguous memory is mapped by.
    #[must_use]
    pub const fn granularities(self) -> Granularities {
        match self {
            Self::Svnapot => Granularities::RISCV,
            Self::GranularityHints => Granularities::HINTS,
            Self::None => Granularities::SUPERPAGES,
        }
    }
}

/// One array of a TLB level.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayModel {
    /// Sizes of the pages that it holds.
    pub sizes: Vec<PageSizeName>,
    /// Sets, a power of two; 1 for full associativity.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Which page of a full set makes room; `lru`, if not given.
    #[serde(default, skip_serializing_if = "ReplacementName::is_default")]
    pub replacement: ReplacementName,
}

impl ArrayModel {
    /// As the MMU takes it.
    #[must_use]
    pub fn array(&self) -> TlbArray {
        let sizes: Vec<PageSize> = self.sizes.iter().map(|size| size.0).collect();
        TlbArray::new(&sizes, self.sets, self.ways).with_replacement(self.replacement.0)
    }
}

/// Entries of the page-walk caches, from the level above the leaf tables upwards.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkCacheModel {
    /// Of the guest's tables.
    pub guest: [u32; 4],
    /// Of the second stage's tables.
    pub host: [u32; 4],
}

impl WalkCacheModel {
    /// None in either dimension.
    pub const OFF: Self = Self { guest: [0; 4], host: [0; 4] };

    /// As the MMU takes it.
    #[must_use]
    pub const fn sizes(&self) -> WalkCaches {
        WalkCaches { guest: WalkCacheSizes(self.guest), host: WalkCacheSizes(self.host) }
    }
}

/// What events cost, in cycles.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// An L1 TLB miss that the L2 TLB answers.
    pub l2_tlb_hit: u64,
    /// A table entry read by a walk.
    pub table_reference: u64,
    /// From the guest to the refill routine.
    pub refill_entry: u64,
    /// From the refill routine to the guest.
    pub refill_exit: u64,
    /// From guest to monitor.
    pub exit: u64,
    /// From monitor to guest.
    pub entry: u64,
    /// The monitor's work to map a page on demand.
    pub nested_fault: u64,
    /// The monitor's work to emulate an access to a device.
    pub mmio: u64,
    /// The monitor's work for an SBI call.
    pub sbi_call: u64,
    /// The monitor's work to put a waiting processor to sleep.
    pub wfi: u64,
    /// The monitor's work to inject an interrupt.
    pub external_interrupt: u64,
    /// An SBI call of a native machine.
    pub firmware_call: u64,
    /// A trap within the guest that follows another before a handler can have done anything.
    #[serde(default = "default_nested_trap")]
    pub nested_trap: u64,
    /// The monitor's work to take a base page away for want of frames.
    pub page_out: u64,
    /// The monitor's work to bring one back from the swap file, and the wait for it.
    pub page_in: u64,
    /// A step of the monitor's upkeep of shadow tables (`monitor::shadow::steps`).
    pub monitor_step: u64,
    /// From guest to the hardware mode, for an assist.
    pub assist_entry: u64,
    /// From there back to the guest.
    pub assist_exit: u64,
    /// A step of an assist.
    pub assist_step: u64,
}

/// For a model that was written before the key existed.
const fn default_nested_trap() -> u64 {
    100
}

impl Prices {
    /// As the monitor takes them.
    #[must_use]
    pub const fn prices(&self) -> monitor::Prices {
        monitor::Prices {
            l2_tlb_hit: Cycles(self.l2_tlb_hit),
            table_reference: Cycles(self.table_reference),
            refill_entry: Cycles(self.refill_entry),
            refill_exit: Cycles(self.refill_exit),
            exit: Cycles(self.exit),
            entry: Cycles(self.entry),
            nested_fault: Cycles(self.nested_fault),
            mmio: Cycles(self.mmio),
            sbi_call: Cycles(self.sbi_call),
            wfi: Cycles(self.wfi),
            external_interrupt: Cycles(self.external_interrupt),
            firmware_call: Cycles(self.firmware_call),
            nested_trap: Cycles(self.nested_trap),
            page_out: Cycles(self.page_out),
            page_in: Cycles(self.page_in),
            monitor_step: Cycles(self.monitor_step),
            assist_entry: Cycles(self.assist_entry),
            assist_exit: Cycles(self.assist_exit),
            assist_step: Cycles(self.assist_step),
        }
    }
}

/// Why a host model cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HostModelError {
    /// Neither a shipped model nor a file.
    #[error("{}", unknown("host model or file", name, SHIPPED.map(|(name, _)| name)))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The file cannot be read.
    #[error("host model {path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The file is no host model.
    #[error("host model {path}: {problem}")]
    Content {
        /// The file, or the shipped model.
        path: String,
        /// What is wrong.
        problem: String,
    },
}

impl HostModel {
    /// The names of the shipped models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|&(name, _)| name)
    }

    /// The shipped model `name`, or the one in the file of that path.
    ///
    /// # Errors
    /// [`HostModelError`], naming the file and the key.
    pub fn load(name: &str) -> Result<Self, HostModelError> {
        Self::parse(name, &Self::text(name)?)
    }

    /// The file that [`Self::load`] reads for `name`; `None` of a shipped model, which is part of the program.
    #[must_use]
    pub fn file(name: &str) -> Option<&Path> {
        SHIPPED.iter().all(|(shipped, _)| *shipped != name).then(|| Path::new(name))
    }

    /// The text of a model, with the sources of its numbers: that of a shipped name, or of the file at that path.
    ///
    /// # Errors
    /// [`HostModelError`], if there is no such file.
    pub fn text(name: &str) -> Result<String, HostModelError> {
        let text = match SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            Some((_, text)) => (*text).to_owned(),
            None if Path::new(name).exists() => {
                std::fs::read_to_string(name).map_err(|error| HostModelError::Read { path: name.to_owned(), error })?
            }
            None => return Err(HostModelError::Unknown { name: name.to_owned() }),
        };
        Ok(text)
    }

    /// The model in `text`, the content of the file that errors call `path`.
    ///
    /// # Errors
    /// [`HostModelError::Content`], naming the file and the key.
    pub fn parse(path: &str, text: &str) -> Result<Self, HostModelError> {
        let wrong = |problem: String| HostModelError::Content { path: path.to_owned(), problem };
        let model: Self = toml::from_str(text).map_err(|error| wrong(toml_problem::of_text(text, &error)))?;
        if !(1..=1_000_000_000_000).contains(&model.clock_hz) {
            return Err(wrong("clock_hz must be between 1 and 10^12".to_owned()));
        }
        if !(1..=1_000_000).contains(&model.millicycles_per_instruction) {
            return Err(wrong("millicycles_per_instruction must be between 1 and 1000000".to_owned()));
        }
        // A trap that takes no time would stop the clock of a guest that does nothing but trap.
        if !(1..=1_000_000).contains(&model.prices.nested_trap) {
            return Err(wrong("prices.nested_trap must be between 1 and 1000000".to_owned()));
        }
        if let Some(problem) = model.caches.as_ref().and_then(CachesModel::problem) {
            return Err(wrong(problem));
        }
        Ok(model)
    }

    /// The processors' clock.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        Clock { hz: self.clock_hz, millicycles_per_instruction: self.millicycles_per_instruction }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_models_load_under_their_own_names_and_can_be_built() {
        for (name, _) in SHIPPED {
            let model = HostModel::load(name).unwrap();
            assert_eq!(model.name, name);
            assert_eq!(crate::config::Config::default().mmu(&model).unwrap().check(), Ok(()), "{name}");
        }
    }

    /// A comment stands for the keys below it, down to the next blank line or section.
    #[test]
    fn every_number_of_a_shipped_model_has_its_source() {
        const SOURCES: [&str; 5] = ["ssumed", "able 1", "ection", "anual", "not used"];
        for (name, text) in SHIPPED {
            let mut source = String::new();
            let mut after_key = false;
            for line in text.lines().filter(|line| !line.is_empty()) {
                if let Some(comment) = line.strip_prefix('#') {
                    source = if after_key { comment.to_owned() } else { source + comment };
                    after_key = false;
                } else if line.contains('=') && !line.starts_with([' ', ']']) && !line.starts_with("name") {
                    let sourced = SOURCES.iter().any(|word| source.to_lowercase().contains(&word.to_lowercase()));
                    assert!(sourced, "{name}: `{line}` under `{source}`");
                    after_key = true;
                } else if line.starts_with('[') {
                    source.clear();
                }
            }
        }
    }

    /// Section 5.1 of the paper has 3.4, 140 and 24.4. What the model's file says is what its numbers give.
    #[test]
    fn assists_of_1985_are_about_as_much_faster_as_the_paper_measured() {
        use monitor::shadow::{Activity, Way, Work, steps};
        let costs = monitor::CostTable::virtualized(&HostModel::load("hitachi-1985").unwrap().prices.prices());
        let cost = |activity, way, steps, references| {
            costs.of_shadow(&Work { activity, way, steps, references, filled: 0 }).0 as f64
        };
        // Six tables of three levels, and what PPTLB itself reads.
        let (tables, references) = (6, 6 * 3 + 2);
        let full = cost(Activity::Pptlb, Way::Exit, steps::full(tables * 4096), 0);
        let selective = cost(Activity::Pptlb, Way::Exit, steps::selective(1), references);
        let assist = cost(Activity::Pptlb, Way::Assist, steps::selective(1), references);
        assert!((3.4..4.1).contains(&(selective / assist)), "{}", selective / assist);
        assert!((135.0..155.0).contains(&(full / assist)), "{}", full / assist);
        let switch = cost(Activity::LoadControl, Way::Exit, steps::switch(3), 0);
        let assist = cost(Activity::LoadControl, Way::Assist, steps::search(3), 0);
        assert!((20.0..25.0).contains(&(switch / assist)), "{}", switch / assist);
    }

    #[test]
    fn what_is_wrong_with_a_model_is_named() {
        let unknown = HostModel::load("no-such-host").unwrap_err().to_string();
        assert!(unknown.contains("no-such-host") && unknown.contains(DEFAULT_HOST), "{unknown}");
        let text = SHIPPED[0].1.replace("mmio =", "mmoi =");
        assert!(HostModel::parse("file", &text).unwrap_err().to_string().contains("mmoi"));
        let stopped = SHIPPED[0].1.replace("clock_hz = 2_400_000_000", "clock_hz = 0");
        assert!(HostModel::parse("file", &stopped).unwrap_err().to_string().contains("clock_hz"));
    }
}
