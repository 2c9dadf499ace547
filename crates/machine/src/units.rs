//! Values of configuration keys that are written as texts: sizes in bytes and page sizes.

use core::{fmt, str::FromStr};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use types::PageSize;

/// A number of bytes, written `268435456`, `256M`, `2G`; units are powers of 1024.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ByteSize(pub u64);

const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit = UNITS.iter().find(|(name, _)| text.ends_with([*name, name.to_ascii_lowercase()]));
        let (digits, shift) = unit.map_or((text, 0), |&(_, shift)| (&text[..text.len() - 1], shift));
        digits
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(1 << shift))
            .filter(|&bytes| bytes != 0)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a size such as 4096, 64K, 256M or 2G"))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, shift)| self.0 != 0 && self.0.trailing_zeros() >= *shift) {
            Some((name, shift)) => write!(f, "{}{name}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
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
        #[serde(untagged)]
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
