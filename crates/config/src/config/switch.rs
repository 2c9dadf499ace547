//! `on`, `off`, or a size: the value of a key that takes a part of the host away, or replaces it.

use core::{fmt, marker::PhantomData};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};

/// What becomes of a part of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Switch<T> {
    /// It is as the host model has it.
    #[default]
    On,
    /// It is taken away.
    Off,
    /// It has this size.
    Sized(T),
}

impl<T: Copy> Switch<T> {
    /// The size, where the host model's is `model` and none is `off`.
    pub(super) fn resolve(&self, model: T, off: T) -> T {
        match *self {
            Self::On => model,
            Self::Off => off,
            Self::Sized(size) => size,
        }
    }
}

impl<T: Serialize> Serialize for Switch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::On => serializer.serialize_str("on"),
            Self::Off => serializer.serialize_str("off"),
            Self::Sized(size) => size.serialize(serializer),
        }
    }
}

/// By hand, because an error of serde's untagged enums names neither what was found nor what is wrong with it.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Switch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SwitchVisitor(PhantomData))
    }
}

struct SwitchVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SwitchVisitor<T> {
    type Value = Switch<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`on`, `off` or a size")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        match text {
            "on" => Ok(Switch::On),
            "off" => Ok(Switch::Off),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(Switch::Sized)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(Switch::Sized)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Switch::Sized)
    }
}
