//! `segment.*`: direct segments, for the schemes that have some.

mod filter_bits;

pub use filter_bits::FilterBits;

use super::BalloonKeys;
use crate::units::ByteSize;
use hypervisor::FilterSize;
use keys::{key, settings};
use mmu::EscapeFilter;
use schemes::Segments;

/// Where the region begins: a guest maps what lies below in pages of 2M, too.
const ALIGNMENT: u64 = 2 << 20;

settings! {
    /// `segment.*`.
    #[derive(Copy, Eq)]
    pub struct SegmentKeys {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub region: Option<ByteSize> = None => key(
            "how much of `memory` is kept apart for primary regions, at its end: a size that leaves a multiple of 2M"
        ).without("half of `memory` where the guest has a segment, else none"),
        /// Escape filters.
        pub filter: FilterKeys,
        pub classify: bool = false => key(
            "misses are counted by the segments that would hold them, for the linear model; `compare --model` sets it"
        ).virtual_only(),
        pub hot_add: bool = false => key(
            "self-ballooning: as much contiguous memory as the guest's balloon gives up is added to the region; needs \
             `balloon.target`"
        ),
    }
}

settings! {
    /// `segment.filter.*`.
    #[derive(Copy, Eq)]
    pub struct FilterKeys {
        pub bits: FilterBits = FilterBits::Auto => key(
            "escape filters: bits for each page size, a power of two from 64 to 1048576, or `auto`, as many as the pages \
             that escape need, and 256 at least; and hash functions, 1, 2, 4 or 8 ([segments.md](segments.md))"
        ).virtual_only(),
        pub hashes: u32 = FilterSize::default().hashes => key("hash functions of the escape filters, 1, 2, 4 or 8")
            .taking("1, 2, 4 or 8").with("bits").virtual_only(),
    }
}

impl FilterKeys {
    /// As the hypervisor takes it.
    #[must_use]
    pub const fn size(self) -> FilterSize {
        FilterSize { bits: self.bits.given(), hashes: self.hashes }
    }
}

impl SegmentKeys {
    /// Bytes of primary regions under a scheme with these segments, in a guest with so much memory: half of it where a guest's segment is there to serve.
    #[must_use]
    pub fn region_bytes(&self, segments: Segments, memory: ByteSize) -> u64 {
        let rest = (memory.0 / 2).next_multiple_of(ALIGNMENT);
        let default = if segments.has_guest() { memory.0.saturating_sub(rest) } else { 0 };
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
