//! `shadow.*`: how shadow tables are kept, for the scheme `shadow`.

use super::AttributeName;
use mmu::AdPolicy;
use monitor::shadow::{self, ShadowConfig};
use serde::{Deserialize, Serialize};
use types::Gpa;

/// Every key, with its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShadowKeys {
    /// One table for each logical processor, or one for each address space.
    pub tables: TablesName,
    /// Most tables for address spaces.
    pub count: u32,
    /// What keeps tables coherent with the guest's.
    pub coherence: CoherenceName,
    /// What a fence with an operand, or a PPTLB, invalidates.
    pub invalidation: InvalidationName,
    /// What the host's hardware mode does.
    pub assist: AssistName,
    /// Whether tables that were not selected since are spared a full invalidation.
    pub selection_flag: OnOff,
    /// Virtual Equal Shadow: the guest's own table is used in place of a shadow table. For V=R alone.
    pub ves: bool,
    /// Whether every entry is checked: after each fence those that it was for, and all of them after the run.
    pub check: bool,
}

impl Default for ShadowKeys {
    fn default() -> Self {
        Self {
            tables: TablesName::Multiple,
            count: 16,
            coherence: CoherenceName::Fence,
            invalidation: InvalidationName::Selective,
            assist: AssistName::None,
            selection_flag: OnOff::On,
            ves: false,
            check: false,
        }
    }
}

/// `shadow.tables`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TablesName {
    /// One for each logical processor.
    Single,
    /// One for each address space, up to `shadow.count`.
    Multiple,
}

/// `shadow.coherence`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoherenceName {
    /// The guest's fences.
    Fence,
    /// Guest tables are write-protected.
    WriteProtect,
}

/// `shadow.invalidation`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvalidationName {
    /// Every table, in full.
    Full,
    /// Every table, in full, for PPTLB; what the fence names, for a fence.
    Conventional,
    /// What the fence names.
    Selective,
}

/// `shadow.assist`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssistName {
    /// Nothing: every event is an exit.
    None,
    /// Validations.
    VmAssist,
    /// The Multi-Shadow Assist: selective invalidations and switches besides.
    Msa,
}

/// A switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as what they say")]
pub enum OnOff {
    On,
    Off,
}

impl ShadowKeys {
    /// Checks the keys for a guest with so many harts; what is wrong with which key, if anything.
    pub(super) fn problem(&self, harts: u32, attribute: AttributeName) -> Option<(&'static str, String)> {
        if self.ves && attribute != AttributeName::Real {
            return Some(("shadow.ves", "the guest's own table can be used with memory_attribute V=R only".to_owned()));
        }
        if !(1..=1024).contains(&self.count) {
            return Some(("shadow.count", "1 to 1024 tables".to_owned()));
        }
        if self.tables == TablesName::Multiple && self.count < harts {
            return Some(("shadow.count", format!("a guest with {harts} harts uses as many tables at a time")));
        }
        None
    }

    /// As the monitor takes them.
    pub(super) const fn config(&self, harts: u32, ad: AdPolicy, svnapot: bool) -> ShadowConfig {
        ShadowConfig {
            tables: match self.tables {
                TablesName::Single => shadow::Tables::Single,
                TablesName::Multiple => shadow::Tables::Multiple(self.count as usize),
            },
            coherence: match self.coherence {
                CoherenceName::Fence => shadow::Coherence::Fence,
                CoherenceName::WriteProtect => shadow::Coherence::WriteProtect,
            },
            invalidation: match self.invalidation {
                InvalidationName::Full => shadow::Invalidation::Full,
                InvalidationName::Conventional => shadow::Invalidation::Conventional,
                InvalidationName::Selective => shadow::Invalidation::Selective,
            },
            assist: match self.assist {
                AssistName::None => shadow::Assist::None,
                AssistName::VmAssist => shadow::Assist::VmAssist,
                AssistName::Msa => shadow::Assist::MultiShadow,
            },
            selection_flag: matches!(self.selection_flag, OnOff::On),
            harts: harts as usize,
            rules: mmu::SoftwareRules { ad, svnapot },
            sections_end: Gpa(0),
            section_bytes: 0,
            check: self.check,
        }
    }
}
