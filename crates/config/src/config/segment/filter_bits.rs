//! `segment.filter.bits`: `auto`, or a number.

use core::fmt;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// Bits of an escape filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FilterBits {
    /// As many as the pages that escape need.
    #[default]
    Auto,
    /// So many, whatever escapes.
    Fixed(u32),
}

impl FilterBits {
    /// The number, where one is given.
    #[must_use]
    pub const fn given(self) -> Option<u32> {
        match self {
            Self::Auto => None,
            Self::Fixed(bits) => Some(bits),
        }
    }
}

impl Serialize for FilterBits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Fixed(bits) => bits.serialize(serializer),
        }
    }
}

/// By hand, as for [`Switch`](crate::config::Switch).
impl<'de> Deserialize<'de> for FilterBits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BitsVisitor)
    }
}

struct BitsVisitor;

impl Visitor<'_> for BitsVisitor {
    type Value = FilterBits;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`auto` or a number of bits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        match text {
            "auto" => Ok(FilterBits::Auto),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        let bits = u32::try_from(number).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))?;
        Ok(FilterBits::Fixed(bits))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        let bits = u64::try_from(number).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))?;
        self.visit_u64(bits)
    }
}
