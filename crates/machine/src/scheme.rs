//! Translation schemes and their names.

use crate::refill::RefillName;
use core::{fmt, str::FromStr};
use keys::suggestion::unknown;
use types::PageSize;

/// A mechanism between guest virtual and host physical addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mechanism {
    /// No virtual machine: one walk of the guest's table.
    Native,
    /// Two-dimensional walks of the guest's and the monitor's table.
    Nested,
    /// One walk of a table that the monitor composes from the guest's and its own.
    Shadow,
    /// A walk that begins in such a table, and goes on in two dimensions where the guest's table changes often.
    Agile,
    /// Walks of the guest's table with one reference to a flat table for each address, by a routine in the hardware mode.
    Flat,
    /// The same by a hardware walker.
    FlatHw,
    /// Walks of the guest's table, with a constant added to each address: reserved memory.
    Reserved,
    /// No virtual machine: the guest's segment, else a walk.
    NativeSegment,
    /// Walks of the guest's table, with each address translated by the monitor's segment.
    VmmDirect,
    /// The guest's segment, then the monitor's table; else two-dimensional walks.
    GuestDirect,
    /// Both segments; else a walk whose steps each may hit the monitor's.
    DualDirect,
}

impl Mechanism {
    /// Every mechanism, in the order of lists.
    pub const ALL: [Self; 11] = [
        Self::Native,
        Self::Nested,
        Self::Shadow,
        Self::Agile,
        Self::Flat,
        Self::FlatHw,
        Self::Reserved,
        Self::NativeSegment,
        Self::VmmDirect,
        Self::GuestDirect,
        Self::DualDirect,
    ];

    /// The name in schemes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Nested => "nested",
            Self::Shadow => "shadow",
            Self::Agile => "agile",
            Self::Flat => "flat",
            Self::FlatHw => "flat-hw",
            Self::Reserved => "reserved",
            Self::NativeSegment => "native-segment",
            Self::VmmDirect => "vmm-direct",
            Self::GuestDirect => "guest-direct",
            Self::DualDirect => "dual-direct",
        }
    }

    /// Whether the monitor maps pages, so that they have a size.
    #[must_use]
    pub const fn has_host_pages(self) -> bool {
        match self {
            Self::Native | Self::Reserved | Self::NativeSegment | Self::VmmDirect | Self::DualDirect => false,
            Self::Nested | Self::Shadow | Self::Agile | Self::Flat | Self::FlatHw | Self::GuestDirect => true,
        }
    }

    /// Why a guest maps no sections; `None` where it can.
    #[must_use]
    pub const fn section_obstacle(self) -> Option<&'static str> {
        match self {
            Self::Native | Self::NativeSegment => Some("there is no monitor below the guest that could map one"),
            Self::Agile => Some("its shadow tables lead to tables of the guest, and to none of sections"),
            Self::Reserved => Some("its memory lies at one constant, and no table maps anything else"),
            Self::Nested
            | Self::Shadow
            | Self::Flat
            | Self::FlatHw
            | Self::VmmDirect
            | Self::GuestDirect
            | Self::DualDirect => None,
        }
    }

    /// Whether there is no virtual machine: the guest's physical addresses are the host's, and its memory can be nowhere else.
    #[must_use]
    pub const fn is_native(self) -> bool {
        match self {
            Self::Native | Self::NativeSegment => true,
            Self::Nested
            | Self::Shadow
            | Self::Agile
            | Self::Flat
            | Self::FlatHw
            | Self::Reserved
            | Self::VmmDirect
            | Self::GuestDirect
            | Self::DualDirect => false,
        }
    }

    /// Whether the hardware has segment registers for the guest.
    #[must_use]
    pub const fn has_guest_segment(self) -> bool {
        match self {
            Self::NativeSegment | Self::GuestDirect | Self::DualDirect => true,
            Self::Native
            | Self::Nested
            | Self::Shadow
            | Self::Agile
            | Self::Flat
            | Self::FlatHw
            | Self::Reserved
            | Self::VmmDirect => false,
        }
    }

    /// Whether the hardware has segment registers for the monitor.
    #[must_use]
    pub const fn has_monitor_segment(self) -> bool {
        match self {
            Self::VmmDirect | Self::DualDirect => true,
            Self::Native
            | Self::Nested
            | Self::Shadow
            | Self::Agile
            | Self::Flat
            | Self::FlatHw
            | Self::Reserved
            | Self::NativeSegment
            | Self::GuestDirect => false,
        }
    }

    /// Which table translates guest physical addresses, whoever reads it.
    #[must_use]
    pub const fn second_stage_table(self) -> SecondStageTable {
        match self {
            Self::Native | Self::NativeSegment | Self::Reserved => SecondStageTable::None,
            Self::Nested | Self::VmmDirect | Self::GuestDirect | Self::DualDirect => SecondStageTable::Nested,
            Self::Shadow | Self::Agile => SecondStageTable::BehindShadow,
            Self::Flat | Self::FlatHw => SecondStageTable::Flat,
        }
    }

    /// Who refills the TLBs, where the mechanism says so; else it is the host's way.
    #[must_use]
    pub const fn refill(self) -> Option<RefillName> {
        match self {
            Self::Native
            | Self::Nested
            | Self::Shadow
            | Self::Agile
            | Self::Reserved
            | Self::NativeSegment
            | Self::VmmDirect
            | Self::GuestDirect
            | Self::DualDirect => None,
            Self::Flat => Some(RefillName::Software),
            Self::FlatHw => Some(RefillName::Hardware),
        }
    }
}

/// A table from guest physical to host physical addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SecondStageTable {
    /// There is none: what is added to an address is always the same.
    None,
    /// A tree, which the hardware walks.
    Nested,
    /// A tree, which the hypervisor reads to compose shadow tables.
    BehindShadow,
    /// One piece, with an entry for each page.
    Flat,
}

/// How a guest's virtual addresses become host physical ones: a mechanism, with the page size of each dimension.
///
/// Written `native:2M` or `nested:4K+2M`, guest first. Sizes left out are 4K; a scheme of two dimensions with one size, `nested:2M`, has it in
/// both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scheme {
    mechanism: Mechanism,
    guest: PageSize,
    /// As [`Mechanism::has_host_pages`] says.
    host: Option<PageSize>,
}

/// A text that names no scheme.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemeError {
    /// The part before the colon.
    #[error("{}", unknown("scheme", name, Mechanism::ALL.map(Mechanism::name)))]
    Name {
        /// What it says.
        name: String,
    },
    /// The part after it.
    #[error("scheme `{scheme}`: unknown page size `{size}` (4K, 2M, 1G)")]
    Size {
        /// All of the text.
        scheme: String,
        /// The part that is no size.
        size: String,
    },
    /// More sizes than the scheme has dimensions.
    #[error("scheme `{scheme}` has {sizes}")]
    Dimensions {
        /// All of the text.
        scheme: String,
        /// What there may be.
        sizes: &'static str,
    },
}

impl Scheme {
    /// A scheme without a virtual machine.
    #[must_use]
    pub const fn native(guest: PageSize) -> Self {
        Self { mechanism: Mechanism::Native, guest, host: None }
    }

    /// The mechanism.
    #[must_use]
    pub const fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// The name without sizes.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.mechanism.name()
    }

    /// Size of the guest's pages.
    #[must_use]
    pub const fn guest_page(&self) -> PageSize {
        self.guest
    }

    /// Size of the pages that the monitor maps, if it maps any.
    #[must_use]
    pub const fn host_page(&self) -> Option<PageSize> {
        self.host
    }
}

impl Default for Scheme {
    fn default() -> Self {
        Self::native(PageSize::Size4K)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name(), self.guest)?;
        match self.host {
            Some(host) => write!(f, "+{host}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Scheme {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let (name, sizes) = text.split_once(':').map_or((text, None), |(name, sizes)| (name, Some(sizes)));
        let mechanism = Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == name);
        let mechanism = mechanism.ok_or_else(|| SchemeError::Name { name: name.to_owned() })?;
        let sizes = sizes.map(|sizes| sizes.split('+').map(|size| page(text, size)).collect::<Result<Vec<_>, _>>());
        let sizes = sizes.transpose()?.unwrap_or_default();
        let guest = sizes.first().copied().unwrap_or(PageSize::Size4K);
        let host = sizes.get(1).copied().unwrap_or(guest);
        match (mechanism.has_host_pages(), sizes.len()) {
            (false, 2..) => Err(SchemeError::Dimensions { scheme: text.to_owned(), sizes: "one page size" }),
            (true, 3..) => Err(SchemeError::Dimensions { scheme: text.to_owned(), sizes: "two page sizes" }),
            (has_host_pages, _) => Ok(Self { mechanism, guest, host: has_host_pages.then_some(host) }),
        }
    }
}

fn page(scheme: &str, size: &str) -> Result<PageSize, SchemeError> {
    use PageSize::{Size1G, Size2M, Size4K};
    size.parse()
        .ok()
        .filter(|size| matches!(size, Size4K | Size2M | Size1G))
        .ok_or_else(|| SchemeError::Size { scheme: scheme.to_owned(), size: size.to_owned() })
}

impl serde::Serialize for Scheme {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Scheme {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_defaults_fill_in() {
        for (text, full) in [
            ("native", "native:4K"),
            ("native:2M", "native:2M"),
            ("nested", "nested:4K+4K"),
            ("nested:2m", "nested:2M+2M"),
            ("nested:4K+1G", "nested:4K+1G"),
            ("flat", "flat:4K+4K"),
            ("flat-hw:4K+2M", "flat-hw:4K+2M"),
            ("reserved:2M", "reserved:2M"),
            ("shadow:2M+4K", "shadow:2M+4K"),
            ("agile", "agile:4K+4K"),
            ("native-segment", "native-segment:4K"),
            ("vmm-direct:2M", "vmm-direct:2M"),
            ("guest-direct", "guest-direct:4K+4K"),
            ("dual-direct", "dual-direct:4K"),
        ] {
            let scheme: Scheme = text.parse().unwrap();
            assert_eq!(scheme.to_string(), full);
            assert_eq!(full.parse(), Ok(scheme));
        }
        for bad in [
            "",
            "nest",
            "native:4K+4K",
            "nested:3K",
            "nested:4K+4K+4K",
            "nested:",
            "reserved:4K+4K",
            "dual-direct:4K+4K",
        ] {
            assert!(bad.parse::<Scheme>().is_err(), "{bad}");
        }
    }
}
