//! `mmu.replacement.*`: the replacement policies of the TLBs.

use crate::host_model::ArrayModel;
use crate::units::ReplacementName;
use mmu::TlbArray;
use serde::{Deserialize, Serialize};

/// What is given holds for all arrays of a level, in place of what they have themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReplacementKeys {
    /// Of the L1 data TLB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l1d: Option<ReplacementName>,
    /// Of the L1 instruction TLB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l1i: Option<ReplacementName>,
    /// Of the L2 TLB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2: Option<ReplacementName>,
    /// Of the nested TLB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nested_tlb: Option<ReplacementName>,
}

impl ReplacementKeys {
    /// Whether none is given.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The nested TLB with its policy.
    pub(super) fn of_nested_tlb(&self, array: TlbArray) -> TlbArray {
        array.with_replacement(self.nested_tlb.unwrap_or_default().0)
    }
}

/// The arrays of a level with the policy that is given for it.
pub(super) fn with(arrays: &[ArrayModel], given: Option<ReplacementName>) -> Vec<ArrayModel> {
    let own = |array: &ArrayModel| given.unwrap_or(array.replacement);
    arrays.iter().map(|array| ArrayModel { replacement: own(array), ..array.clone() }).collect()
}
