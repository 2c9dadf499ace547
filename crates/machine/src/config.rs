//! The configuration of a run: one declaration of every key, for TOML files, for `--set key=value` and for the echo in reports.

mod balloon;
mod disk;
mod faulty;
mod filter_bits;
mod guest;
mod keys;
mod misfit;
mod native;
mod plic;
mod reference;
mod replacement;
mod sbi;
mod segment;
mod shadow;
mod switch;

pub use balloon::BalloonKeys;
pub use disk::DiskKeys;
pub use faulty::FaultyKeys;
pub use filter_bits::FilterBits;
pub use guest::{GuestKeys, HugePages};
pub use plic::{PlicContextsName, PlicKeys};
pub use reference::{REFERENCE, Reference};
pub use replacement::ReplacementKeys;
pub use sbi::SbiKeys;
pub use segment::{FilterKeys, SegmentKeys};
pub use shadow::{AssistName, CoherenceName, InvalidationName, OnOff, ShadowKeys, TablesName};
pub use switch::Switch;

use crate::{
    host_model::{ArrayModel, DEFAULT_HOST, HostModel, WalkCacheModel},
    refill::RefillName,
    scheme::{Scheme, SecondStageTable},
    toml_problem,
    tradeoffs::ServiceName,
    units::ByteSize,
    warmup::Warmup,
};
use mmu::{AdPolicy, MmuConfig, Refill, TlbArray};
use monitor::MemoryAttribute;
use monitor::shadow::ShadowConfig;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use toml::{Table, Value};
use types::{PageSize, PagingMode, SecondStageMode};

/// Every key, with its default.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Host model: a shipped one's name, or a TOML file's path.
    pub host: String,
    /// How time is kept.
    pub fidelity: FidelityName,
    /// Translation scheme.
    pub scheme: Scheme,
    /// Harts of the guest, 1 to 64.
    pub harts: u32,
    /// Memory of the guest.
    pub memory: ByteSize,
    /// How the guest's memory lies in the host's; a native guest's is the host's own.
    pub memory_attribute: AttributeName,
    /// Memory of the host; where it is not given, as much as the guests can need. Where it is, V=V guests are paged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_memory: Option<ByteSize>,
    /// End of the run, in seconds of guest time; 0 for none.
    pub timeout: u64,
    /// What has happened before a region of interest is measured.
    pub warmup: Warmup,
    /// What everything random in the guest's machine starts from.
    pub seed: u64,
    /// How far the clocks of running processors may drift apart, in cycles.
    pub quantum: u64,
    /// How instructions are executed.
    pub engine: EngineName,
    /// Translation hardware.
    pub mmu: MmuKeys,
    /// Shadow tables.
    pub shadow: ShadowKeys,
    /// Direct segments.
    pub segment: SegmentKeys,
    /// Boot parameters of the guest.
    pub guest: GuestKeys,
    /// Paging modes.
    pub paging: PagingKeys,
    /// The file that the monitor pages guests out to.
    pub swap: SwapKeys,
    /// What guests with a memory balloon are asked for.
    pub balloon: BalloonKeys,
    /// Hard faults of the host's memory.
    pub faulty: FaultyKeys,
    /// Disks of guests.
    pub disk: DiskKeys,
    /// The interrupt controller.
    pub plic: PlicKeys,
    /// Extensions of the harts.
    pub isa: IsaKeys,
    /// Extensions of the supervisor binary interface.
    pub sbi: SbiKeys,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host: DEFAULT_HOST.to_owned(),
            fidelity: FidelityName::default(),
            scheme: Scheme::default(),
            harts: 1,
            memory: ByteSize(1 << 30),
            memory_attribute: AttributeName::default(),
            host_memory: None,
            timeout: 0,
            warmup: Warmup::None,
            seed: 1,
            quantum: 10_000,
            engine: EngineName::Compiled,
            mmu: MmuKeys::default(),
            shadow: ShadowKeys::default(),
            segment: SegmentKeys::default(),
            guest: GuestKeys::default(),
            paging: PagingKeys::default(),
            swap: SwapKeys::default(),
            balloon: BalloonKeys::default(),
            faulty: FaultyKeys::default(),
            disk: DiskKeys::default(),
            plic: PlicKeys::default(),
            isa: IsaKeys::default(),
            sbi: SbiKeys::default(),
        }
    }
}

/// `fidelity`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FidelityName {
    /// A table reference has a fixed price, and other accesses have none.
    #[default]
    Counts,
    /// Data, instructions and table entries come through modelled caches.
    Cycles,
}

/// `memory_attribute`, by the names of paper 000.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum AttributeName {
    /// hPA = gPA.
    #[serde(rename = "V=R")]
    Real,
    /// hPA = gPA + α.
    #[serde(rename = "V=Resident")]
    Resident,
    /// Pageable.
    #[default]
    #[serde(rename = "V=V")]
    Virtual,
}

impl AttributeName {
    /// The attribute.
    #[must_use]
    pub const fn attribute(self) -> MemoryAttribute {
        match self {
            Self::Real => MemoryAttribute::Real,
            Self::Resident => MemoryAttribute::Resident,
            Self::Virtual => MemoryAttribute::Virtual,
        }
    }
}

/// `engine`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Threaded dispatch.
    Threaded,
    /// A `match` loop, the others' oracle.
    Match,
    /// Threaded dispatch, and hot code compiled to code of the host.
    Compiled,
    /// The same, with all code compiled as soon as it is found: for tests of the compiler.
    #[serde(rename = "compiled-all")]
    CompiledAll,
}

/// `mmu.*`: what is given replaces the host model's.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MmuKeys {
    /// Arrays of the L1 data TLB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l1d: Option<Vec<ArrayModel>>,
    /// Arrays of the L1 instruction TLB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l1i: Option<Vec<ArrayModel>>,
    /// Arrays of the L2 TLB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2: Option<Vec<ArrayModel>>,
    /// Replacement policies of the levels.
    #[serde(skip_serializing_if = "ReplacementKeys::is_default")]
    pub replacement: ReplacementKeys,
    /// `on` (as the host model has them), `off`, or entries per level.
    pub walk_caches: Switch<WalkCacheModel>,
    /// `on` (as the host model has it), `off`, or entries.
    pub nested_tlb: Switch<u32>,
    /// Who refills the TLBs, where it is neither the scheme's nor the host model's way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill: Option<RefillName>,
    /// Who sets A and D bits of the guest's tables: `fault` (the guest does), `hardware`, or `switchable`.
    pub ad: AdName,
}

/// `mmu.ad`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdName {
    /// Svadu.
    Hardware,
    /// Svadu and Svade: a clear bit faults until the guest asks for the other way by the SBI's FWFT.
    Switchable,
    /// Svade: a clear bit faults.
    #[default]
    Fault,
}

/// `swap.*`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SwapKeys {
    /// The directory that the file is in, without a name; that of the system for temporary files, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Its greatest size; none, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteSize>,
}

/// `paging.*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PagingKeys {
    /// The largest mode that the guest's `satp` takes; vos uses it, Linux uses the largest it finds.
    pub guest: GuestPaging,
    /// The mode of the monitor's nested table.
    pub host: HostPaging,
}

/// `paging.guest`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as the modes")]
pub enum GuestPaging {
    #[default]
    Sv39,
    Sv48,
    Sv57,
}

impl GuestPaging {
    /// The mode.
    #[must_use]
    pub const fn mode(self) -> PagingMode {
        match self {
            Self::Sv39 => PagingMode::Sv39,
            Self::Sv48 => PagingMode::Sv48,
            Self::Sv57 => PagingMode::Sv57,
        }
    }

    /// The name that it is written with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sv39 => "sv39",
            Self::Sv48 => "sv48",
            Self::Sv57 => "sv57",
        }
    }
}

/// `paging.host`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as the modes")]
pub enum HostPaging {
    #[default]
    Sv39x4,
    Sv48x4,
    Sv57x4,
}

impl HostPaging {
    /// The mode.
    #[must_use]
    pub const fn mode(self) -> SecondStageMode {
        match self {
            Self::Sv39x4 => SecondStageMode::Sv39x4,
            Self::Sv48x4 => SecondStageMode::Sv48x4,
            Self::Sv57x4 => SecondStageMode::Sv57x4,
        }
    }
}

/// `isa.*`: extensions over RV64IMA with Zicsr and Zifencei. What is on is advertised to the guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "named as the extensions")]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct IsaKeys {
    pub c: bool,
    pub f: bool,
    pub d: bool,
    pub zicntr: bool,
    pub zihintpause: bool,
    pub zawrs: bool,
    pub sstc: bool,
    pub svnapot: bool,
}

impl Default for IsaKeys {
    fn default() -> Self {
        let isa = hart::Isa::default();
        Self {
            c: isa.c,
            f: isa.f,
            d: isa.d,
            zicntr: isa.zicntr,
            zihintpause: isa.zihintpause,
            zawrs: isa.zawrs,
            sstc: isa.sstc,
            svnapot: isa.svnapot,
        }
    }
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// What is wrong in a file.
    #[error("{source_name}: {problem}")]
    Content {
        /// The file.
        source_name: String,
        /// What is wrong, with the line and the key.
        problem: String,
    },
    /// A key does not exist, or does not take its value.
    #[error("{0}")]
    Setting(String),
    /// A key's value is out of its range.
    #[error("{key}: {problem}")]
    Range {
        /// The key.
        key: &'static str,
        /// What is wrong.
        problem: String,
    },
}

/// A configuration being put together: a file's table, then settings, each checked as it comes.
#[derive(Clone, Debug, Default)]
pub struct ConfigBuilder {
    table: Table,
}

impl ConfigBuilder {
    /// Takes the keys of a TOML text; `name` is the file's.
    ///
    /// # Errors
    /// [`ConfigError::Content`].
    pub fn file(mut self, name: &str, text: &str) -> Result<Self, ConfigError> {
        let wrong = |problem: String| ConfigError::Content { source_name: name.to_owned(), problem };
        let table = text.parse::<Table>().map_err(|error| wrong(toml_problem::of_text(text, &error)))?;
        self.table.extend(table);
        self.read().map_err(|problem| {
            let error = toml::from_str::<Config>(text).err();
            let line = error.and_then(|error| toml_problem::line(text, &error));
            wrong(line.map_or_else(|| problem.clone(), |line| format!("line {line}: {problem}")))
        })?;
        Ok(self)
    }

    /// Takes the keys of a table of the file `name`.
    ///
    /// # Errors
    /// [`ConfigError::Content`].
    pub fn table(mut self, name: &str, table: Table) -> Result<Self, ConfigError> {
        self.table.extend(table);
        self.read().map_err(|problem| ConfigError::Content { source_name: name.to_owned(), problem })?;
        Ok(self)
    }

    /// Sets the dotted `key`. The value is read as TOML, or else as a text.
    ///
    /// # Errors
    /// [`ConfigError::Setting`].
    pub fn set(self, key: &str, value: &str) -> Result<Self, ConfigError> {
        if value.is_empty() {
            return Err(ConfigError::Setting(format!("{key}=: the value is missing")));
        }
        self.set_value(key, read_value(value))
    }

    /// Sets the dotted `key` to a value.
    ///
    /// # Errors
    /// [`ConfigError::Setting`].
    pub fn set_value(mut self, key: &str, value: Value) -> Result<Self, ConfigError> {
        let mut table = &mut self.table;
        let (path, last) = key.rsplit_once('.').map_or((None, key), |(path, last)| (Some(path), last));
        for part in path.into_iter().flat_map(|path| path.split('.')) {
            let entry = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
            let not_one = || ConfigError::Setting(format!("{key}: `{part}` has a value, and no keys of its own"));
            table = entry.as_table_mut().ok_or_else(not_one)?;
        }
        table.insert(last.to_owned(), value);
        self.read().map_err(ConfigError::Setting)?;
        Ok(self)
    }

    /// The configuration.
    ///
    /// # Errors
    /// [`ConfigError::Range`] for what is well-formed and cannot be.
    pub fn build(self) -> Result<Config, ConfigError> {
        let config = self.read().map_err(ConfigError::Setting)?;
        config.check()?;
        Ok(config)
    }

    /// The configuration, or the key at fault with what is wrong.
    fn read(&self) -> Result<Config, String> {
        Config::deserialize(self.table.clone()).map_err(|error| {
            let misfit = || misfit::find(&self.table).map(|(key, problem)| format!("{key}: {problem}"));
            keys::unknown_key(&self.table).or_else(misfit).unwrap_or_else(|| toml_problem::plain(error.message()))
        })
    }
}

/// The value that a text stands for: TOML, or else the text itself.
pub(crate) fn read_value(text: &str) -> Value {
    format!("value = {text}")
        .parse::<Table>()
        .ok()
        // A line break in the text would let further keys follow.
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

impl Config {
    /// Checks what a key's type alone cannot.
    ///
    /// # Errors
    /// [`ConfigError::Range`].
    pub fn check(&self) -> Result<(), ConfigError> {
        let range = |key, problem: String| Err(ConfigError::Range { key, problem });
        if !(1..=64).contains(&self.harts) {
            return range("harts", format!("a guest has 1 to 64, not {}", self.harts));
        }
        if self.memory.0 > 1 << 38 || !self.memory.0.is_multiple_of(4096) {
            return range("memory", format!("{} is not a multiple of 4K, or more than 256G", self.memory));
        }
        if self.host_memory.is_some_and(|bytes| !(8 << 20..=1 << 40).contains(&bytes.0) || bytes.0 % 4096 != 0) {
            return range("host_memory", "a multiple of 4K, from 8M to 1T".to_owned());
        }
        if !(100..=1_000_000_000).contains(&self.quantum) {
            return range("quantum", format!("100 to 1000000000 cycles, not {}", self.quantum));
        }
        if self.mmu.ad == AdName::Switchable
            && self.scheme.mechanism().second_stage_table() == SecondStageTable::BehindShadow
        {
            return range(
                "mmu.ad",
                "shadow tables are kept for one way of setting A and D bits: `fault` or `hardware`".to_owned(),
            );
        }
        if self.isa.d && !self.isa.f {
            return range("isa.d", "needs isa.f".to_owned());
        }
        if self.scheme.mechanism().second_stage_table() == SecondStageTable::BehindShadow
            && let Some((key, problem)) = self.shadow.problem(self.harts, self.memory_attribute)
        {
            return Err(ConfigError::Range { key, problem });
        }
        if let Some((key, problem)) = self.segment.problem(self.memory, &self.balloon) {
            return Err(ConfigError::Range { key, problem });
        }
        let tradeoffs = self.scheme.mechanism().tradeoffs();
        let swaps = self.swap.directory.is_some() || self.swap.size.is_some();
        for (key, asked, service) in [
            ("balloon.target", self.balloon.target.is_some() && !self.segment.hot_add, ServiceName::Ballooning),
            ("swap", swaps, ServiceName::MonitorSwapping),
        ] {
            if let Some(reason) = tradeoffs.refusal(service).filter(|_| asked) {
                return Err(ConfigError::Range {
                    key,
                    problem: format!("refused under {}: {reason}", self.scheme.name()),
                });
            }
        }
        if let Some((key, problem)) = self.faulty.problem().or_else(|| self.disk.problem()) {
            return Err(ConfigError::Range { key, problem });
        }
        if let Some((key, problem)) = self.balloon.problem(self.memory) {
            return Err(ConfigError::Range { key, problem });
        }
        Ok(())
    }

    /// The harts' extensions.
    #[must_use]
    pub const fn isa(&self) -> hart::Isa {
        let keys = &self.isa;
        hart::Isa {
            c: keys.c,
            f: keys.f,
            d: keys.d,
            zicntr: keys.zicntr,
            zihintpause: keys.zihintpause,
            zawrs: keys.zawrs,
            sstc: keys.sstc,
            svnapot: keys.svnapot,
            svadu: matches!(self.mmu.ad, AdName::Hardware | AdName::Switchable),
            svade: matches!(self.mmu.ad, AdName::Switchable),
            zihpm: self.sbi.pmu,
            spins_exit: false,
        }
    }

    const fn ad(&self) -> AdPolicy {
        match self.mmu.ad {
            AdName::Hardware => AdPolicy::Update,
            AdName::Fault | AdName::Switchable => AdPolicy::Fault,
        }
    }

    /// The guest's shadow tables, if the scheme has any of its own.
    #[must_use]
    pub const fn shadow(&self) -> Option<ShadowConfig> {
        match self.scheme.mechanism().second_stage_table() {
            SecondStageTable::BehindShadow if self.shadow.ves => None,
            SecondStageTable::BehindShadow => Some(self.shadow.config(self.harts, self.ad(), self.isa.svnapot)),
            SecondStageTable::None | SecondStageTable::Nested | SecondStageTable::Flat => None,
        }
    }

    /// The engine.
    #[must_use]
    pub const fn engine(&self) -> hart::Engine {
        match self.engine {
            EngineName::Threaded => hart::Engine::Threaded,
            EngineName::Match => hart::Engine::Matching,
            EngineName::Compiled => hart::Engine::Compiled(hart::Hotness::USUAL),
            EngineName::CompiledAll => hart::Engine::Compiled(hart::Hotness::ALL),
        }
    }

    /// The arrays of L1D, L1I and L2, as this configuration or `host` has them, with the policies that are given here.
    fn tlb_levels(&self, host: &HostModel) -> [Vec<ArrayModel>; 3] {
        let MmuKeys { l1d, l1i, l2, replacement, .. } = &self.mmu;
        [
            replacement::with(l1d.as_deref().unwrap_or(&host.tlb.l1d), replacement.l1d),
            replacement::with(l1i.as_deref().unwrap_or(&host.tlb.l1i), replacement.l1i),
            replacement::with(l2.as_deref().unwrap_or(&host.tlb.l2), replacement.l2),
        ]
    }

    /// The MMU of `host`'s processors, with what this configuration replaces. Page-walk caches and nested TLB are a walker's: where software
    /// refills the TLBs there is no nested TLB, and page-walk caches only if the host's own routine has them.
    ///
    /// # Errors
    /// [`ConfigError::Range`], if software refills the TLBs and parts of a walker are asked for.
    pub fn mmu(&self, host: &HostModel) -> Result<MmuConfig, ConfigError> {
        self.check_refill(host)?;
        let [l1d, l1i, l2] = self.tlb_levels(host).map(|arrays| arrays.iter().map(ArrayModel::array).collect());
        let name = self.refill(host);
        let walk_caches = self.mmu.walk_caches.resolve(host.walk_caches(name), WalkCacheModel::OFF);
        let (refill, nested_entries) = match name {
            RefillName::Hardware => (Refill::Hardware, self.mmu.nested_tlb.resolve(host.tlb.nested_tlb, 0)),
            RefillName::Software => (Refill::Software(host.refill.routine()), 0),
        };
        Ok(MmuConfig {
            l1i,
            l1d,
            l2,
            walk_caches: walk_caches.sizes(),
            nested_tlb: (nested_entries > 0)
                .then(|| self.mmu.replacement.of_nested_tlb(TlbArray::new(&PageSize::ALL, 1, nested_entries))),
            first_stage_ad: self.ad(),
            second_stage_ad: AdPolicy::Update,
            svnapot: self.isa.svnapot,
            second_stage_groups: host.tlb.groups.groups(),
            refill,
        })
    }
}

#[cfg(test)]
mod tests;
