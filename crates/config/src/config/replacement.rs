//! `mmu.replacement.*`: the replacement policies of the TLBs.

use crate::host_model::ArrayModel;
use crate::units::ReplacementName;
use keys::{key, settings};
use mmu::TlbArray;

settings! {
    /// `mmu.replacement.*`: what is given holds for all arrays of a level, in place of what they have themselves.
    #[derive(Copy, Eq)]
    pub struct ReplacementKeys {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub l1d: Option<ReplacementName> = None => key(
            "which page of a full set makes room, in all arrays of a level. `lru`: the page that was used least recently, \
             exactly. `tree-plru`: at each node of a binary tree over the ways, the half that was not used last. `fifo`: \
             the page that was inserted first, whatever its uses. `random`: any page, by a generator that starts from a \
             seed: `random:SEED`, where 0 is assumed. `srrip`: a page whose next use is predicted to be distant: SRRIP-HP \
             with 2-bit re-reference prediction values. `drrip`: as srrip, or with most new pages predicted as distant, by \
             which of the two misses less in leader sets: DRRIP with a 10-bit counter. Neither of the last two is for an \
             L1, because it needs every hit, and repeated hits of the page used last do not leave the L1's hit path"
        ).without("the arrays' own, or else `lru`"),
        #[serde(skip_serializing_if = "Option::is_none")]
        pub l1i: Option<ReplacementName> = None => key("the replacement policy of the L1 instruction TLB").with("l1d"),
        #[serde(skip_serializing_if = "Option::is_none")]
        pub l2: Option<ReplacementName> = None => key("the replacement policy of the L2 TLB").with("l1d"),
        #[serde(skip_serializing_if = "Option::is_none")]
        pub nested_tlb: Option<ReplacementName> = None => key("the same of the nested TLB, for which all of them are")
            .without("`lru`").virtual_only(),
    }
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
