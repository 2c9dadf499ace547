//! A scheme with the page size of each dimension, as users write it.

use crate::builtin;
use crate::facts::Facts;
use crate::registry;
use crate::scheme::SchemeRef;
use core::{fmt, hash, str::FromStr};
use keys::suggestion::unknown;
use types::PageSize;

/// A scheme with the page size of each dimension.
///
/// Written `native:2M` or `nested:4K+2M`, guest first. Sizes left out are 4K; a scheme of two dimensions with one size, `nested:2M`, has it in
/// both.
#[derive(Clone, Copy, Debug)]
pub struct PagedScheme {
    scheme: SchemeRef,
    guest: PageSize,
    /// As [`Facts::has_host_pages`] says.
    host: Option<PageSize>,
}

/// A text that names no scheme.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemeError {
    /// The part before the colon.
    #[error("{}", unknown("scheme", name, registry::names()))]
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

impl PagedScheme {
    /// `native` with guest pages of this size.
    #[must_use]
    pub const fn native(guest: PageSize) -> Self {
        Self { scheme: builtin::NATIVE, guest, host: None }
    }

    /// The scheme.
    #[must_use]
    pub const fn scheme(&self) -> SchemeRef {
        self.scheme
    }

    /// What the scheme says of itself.
    #[must_use]
    pub fn facts(&self) -> &'static Facts {
        self.scheme.facts()
    }

    /// The name without sizes.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.facts().name
    }

    /// Whether it is `native`, which others are compared with.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        self.name() == builtin::NATIVE.facts().name
    }

    /// Size of the guest's pages.
    #[must_use]
    pub const fn guest_page(&self) -> PageSize {
        self.guest
    }

    /// Size of the pages that the hypervisor maps, if it maps any.
    #[must_use]
    pub const fn host_page(&self) -> Option<PageSize> {
        self.host
    }
}

/// Names are unique.
impl PartialEq for PagedScheme {
    fn eq(&self, other: &Self) -> bool {
        (self.name(), self.guest, self.host) == (other.name(), other.guest, other.host)
    }
}

impl Eq for PagedScheme {}

impl hash::Hash for PagedScheme {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        (self.name(), self.guest, self.host).hash(state);
    }
}

impl Default for PagedScheme {
    fn default() -> Self {
        Self::native(PageSize::Size4K)
    }
}

impl fmt::Display for PagedScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name(), self.guest)?;
        match self.host {
            Some(host) => write!(f, "+{host}"),
            None => Ok(()),
        }
    }
}

impl FromStr for PagedScheme {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let (name, sizes) = text.split_once(':').map_or((text, None), |(name, sizes)| (name, Some(sizes)));
        let scheme = registry::find(name).ok_or_else(|| SchemeError::Name { name: name.to_owned() })?;
        let sizes = sizes.map(|sizes| sizes.split('+').map(|size| page(text, size)).collect::<Result<Vec<_>, _>>());
        let sizes = sizes.transpose()?.unwrap_or_default();
        let guest = sizes.first().copied().unwrap_or(PageSize::Size4K);
        let host = sizes.get(1).copied().unwrap_or(guest);
        match (scheme.facts().has_host_pages, sizes.len()) {
            (false, 2..) => Err(SchemeError::Dimensions { scheme: text.to_owned(), sizes: "one page size" }),
            (true, 3..) => Err(SchemeError::Dimensions { scheme: text.to_owned(), sizes: "two page sizes" }),
            (has_host_pages, _) => Ok(Self { scheme, guest, host: has_host_pages.then_some(host) }),
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

impl serde::Serialize for PagedScheme {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for PagedScheme {
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
            ("2d:2M", "nested:2M+2M"),
            ("nested:4K+1G", "nested:4K+1G"),
            ("flat", "flat:4K+4K"),
            ("flat-hw:4K+2M", "flat-hw:4K+2M"),
            ("shadow:2M+4K", "shadow:2M+4K"),
            ("native-segment", "native-segment:4K"),
            ("vmm-direct:2M", "vmm-direct:2M"),
            ("guest-direct", "guest-direct:4K+4K"),
            ("dual-direct", "dual-direct:4K"),
        ] {
            let scheme: PagedScheme = text.parse().unwrap();
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
            "vmm-direct:4K+4K",
            "dual-direct:4K+4K",
        ] {
            assert!(bad.parse::<PagedScheme>().is_err(), "{bad}");
        }
    }
}
