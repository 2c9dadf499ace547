//! Translation schemes and their names.

use core::{fmt, str::FromStr};
use types::PageSize;

/// How a guest's virtual addresses become host physical ones, with the page size of each dimension.
///
/// Written `native:2M` or `nested:4K+2M`, guest first. Sizes left out are 4K; a nested scheme with one size, `nested:2M`, has it in both
/// dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scheme {
    /// No virtual machine: one walk of the guest's table.
    Native {
        /// Size of the guest's pages.
        guest: PageSize,
    },
    /// Two-dimensional walks of the guest's and the monitor's table.
    Nested {
        /// Size of the guest's pages.
        guest: PageSize,
        /// Size of the pages that the monitor maps.
        host: PageSize,
    },
}

/// A text that names no scheme.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemeError {
    /// The part before the colon.
    #[error("unknown scheme `{0}` (native, nested)")]
    Name(String),
    /// The part after it.
    #[error("scheme `{scheme}`: unknown page size `{size}` (4K, 2M, 1G)")]
    Size {
        /// All of the text.
        scheme: String,
        /// The part that is no size.
        size: String,
    },
    /// More sizes than the scheme has dimensions.
    #[error("scheme `{0}` has one page size")]
    Dimensions(String),
}

impl Scheme {
    /// The name without sizes.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Native { .. } => "native",
            Self::Nested { .. } => "nested",
        }
    }

    /// Size of the guest's pages.
    #[must_use]
    pub const fn guest_page(&self) -> PageSize {
        match self {
            Self::Native { guest } | Self::Nested { guest, .. } => *guest,
        }
    }

    /// Size of the pages that the monitor maps, if it maps any.
    #[must_use]
    pub const fn host_page(&self) -> Option<PageSize> {
        match self {
            Self::Native { .. } => None,
            Self::Nested { host, .. } => Some(*host),
        }
    }
}

impl Default for Scheme {
    fn default() -> Self {
        Self::Native { guest: PageSize::Size4K }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native { guest } => write!(f, "native:{guest}"),
            Self::Nested { guest, host } => write!(f, "nested:{guest}+{host}"),
        }
    }
}

impl FromStr for Scheme {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let (name, sizes) = text.split_once(':').map_or((text, None), |(name, sizes)| (name, Some(sizes)));
        let sizes = sizes.map(|sizes| sizes.split('+').map(|size| page(text, size)).collect::<Result<Vec<_>, _>>());
        let sizes = sizes.transpose()?.unwrap_or_default();
        let first = sizes.first().copied().unwrap_or(PageSize::Size4K);
        let second = sizes.get(1).copied().unwrap_or(first);
        match name {
            "native" if sizes.len() > 1 => Err(SchemeError::Dimensions(text.to_owned())),
            "native" => Ok(Self::Native { guest: first }),
            "nested" if sizes.len() > 2 => Err(SchemeError::Name(text.to_owned())),
            "nested" => Ok(Self::Nested { guest: first, host: second }),
            _ => Err(SchemeError::Name(name.to_owned())),
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
        ] {
            let scheme: Scheme = text.parse().unwrap();
            assert_eq!(scheme.to_string(), full);
            assert_eq!(full.parse(), Ok(scheme));
        }
        for bad in ["", "nest", "native:4K+4K", "nested:3K", "nested:4K+4K+4K", "nested:"] {
            assert!(bad.parse::<Scheme>().is_err(), "{bad}");
        }
    }
}
