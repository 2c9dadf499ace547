//! Values of configuration keys that are written as texts: sizes in bytes and page sizes.

use core::{fmt, str::FromStr};
use memory::Placement;
use mmu::ReplacementPolicy;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use types::{PageSize, SizeText, parse_size};

/// A number of bytes, written `268435456`, `256M`, `2G`; units are powers of 1024.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_size(text).map(Self).ok_or_else(|| format!("`{text}` is not a size such as 4096, 64K, 256M or 2G"))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SizeText(self.0).fmt(f)
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "not a size such as 4096, \"64K\", \"256M\" or \"2G\"")]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(0) => Err(de::Error::custom("a size must not be 0")),
            Written::Number(bytes) => Ok(Self(bytes)),
            Written::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

/// A page size by its name: `4K`, `64K`, `2M`, `1G`, `512G`, `256T`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageSizeName(pub PageSize);

impl Serialize for PageSizeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PageSizeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}

/// A replacement policy by its name, and after a colon its seed: `lru`, `random:7`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReplacementName(pub ReplacementPolicy);

impl ReplacementName {
    /// Whether it is what an array has that names none.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Serialize for ReplacementName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ReplacementName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}

/// Where the frames of a guest's RAM lie: `lowest`, `random:7`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlacementName(pub Placement);

impl Serialize for PlacementName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PlacementName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_and_print() {
        for (text, bytes) in [("4096", 4096), ("64k", 64 << 10), ("256M", 256 << 20), ("2G", 2 << 30)] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)));
        }
        assert_eq!(ByteSize(256 << 20).to_string(), "256M");
        for bad in ["", "M", "-1", "1.5G", "0", "99999999999T", "é"] {
            assert!(bad.parse::<ByteSize>().is_err(), "{bad}");
        }
    }
}
