//! `segment.*`: direct segments, for the schemes that have some.

use super::{BalloonKeys, FilterBits};
use crate::scheme::Mechanism;
use crate::units::ByteSize;
use mmu::EscapeFilter;
use monitor::FilterSize;
use serde::{Deserialize, Serialize};

/// Where the region begins: a guest maps what lies below in pages of 2M, too.
const ALIGNMENT: u64 = 2 << 20;

/// Every key, with its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SegmentKeys {
    /// How much of the guest's memory is set apart for primary regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<ByteSize>,
    /// Escape filters.
    pub filter: FilterKeys,
    /// Whether misses are counted by the segments that would hold them.
    pub classify: bool,
    /// Whether as much memory as the guest's balloon gives up is added to the region.
    pub hot_add: bool,
}

/// `segment.filter.*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilterKeys {
    /// Bits for each page size.
    pub bits: FilterBits,
    /// Hash functions.
    pub hashes: u32,
}

impl Default for FilterKeys {
    fn default() -> Self {
        Self { bits: FilterBits::Auto, hashes: FilterSize::default().hashes }
    }
}

impl FilterKeys {
    /// As the monitor takes it.
    #[must_use]
    pub const fn size(self) -> FilterSize {
        FilterSize { bits: self.bits.given(), hashes: self.hashes }
    }
}

impl SegmentKeys {
    /// Bytes of primary regions under `mechanism` in a guest with so much memory: half of it where a guest's segment is there to serve.
    #[must_use]
    pub fn region_bytes(&self, mechanism: Mechanism, memory: ByteSize) -> u64 {
        let rest = (memory.0 / 2).next_multiple_of(ALIGNMENT);
        let default = if mechanism.has_guest_segment() { memory.0.saturating_sub(rest) } else { 0 };
        self.region.map_or(default, |region| region.0)
    }

    /// Checks the keys for a guest with so much memory; what is wrong with which key, if anything.
    pub(super) fn problem(&self, memory: ByteSize, balloon: &BalloonKeys) -> Option<(&'static str, String)> {
        if let Some(region) = self.region
            && (region >= memory || region.0 % 4096 != 0 || !(memory.0 - region.0).is_multiple_of(ALIGNMENT))
        {
            let problem = format!("has to leave a multiple of 2M of the guest's memory of {memory}");
            return Some(("segment.region", problem));
        }
        if self.hot_add && (balloon.target.is_none() || balloon.until != 0) {
            let problem = "adds what balloon.target takes away, and that for good (balloon.until = 0)".to_owned();
            return Some(("segment.hot_add", problem));
        }
        EscapeFilter::check(self.filter.bits.given().unwrap_or(FilterSize::bits_for(0)), self.filter.hashes)
            .err()
            .map(|error| ("segment.filter", error.to_string()))
    }
}
