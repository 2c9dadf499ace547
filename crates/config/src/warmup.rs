//! Warmup: what has happened before a region of interest is measured.

use core::{fmt, str::FromStr};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// `warmup`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Warmup {
    /// Nothing: what the guest did before its region is all.
    #[default]
    None,
    /// The hypervisor has mapped all of the guest's memory before its first instruction, and charges nothing for it. A native machine has no hypervisor that
    /// would map anything.
    Touch,
    /// Of a guest that goes on with a snapshot: it is as warm as it was there (`snapshot::warm`), and nothing is charged for it.
    Snapshot,
    /// The guest has retired so many instructions in its region, of all its harts together, from 1 to 2⁶³ − 1. What is exact is to within a translated
    /// block, 64 instructions.
    Instructions(u64),
}

impl Warmup {
    /// Instructions of a region that are not measured.
    #[must_use]
    pub const fn instructions(self) -> u64 {
        match self {
            Self::None | Self::Touch | Self::Snapshot => 0,
            Self::Instructions(count) => count,
        }
    }
}

impl FromStr for Warmup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "touch" => Ok(Self::Touch),
            "snapshot" => Ok(Self::Snapshot),
            // TOML's integers have 63 bits, and a configuration is printed as TOML.
            _ => match text.parse() {
                Ok(count) if (1..=i64::MAX.unsigned_abs()).contains(&count) => Ok(Self::Instructions(count)),
                _ => Err(format!("`{text}` is not `none`, `touch`, `snapshot` or a number of instructions")),
            },
        }
    }
}

impl fmt::Display for Warmup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Touch => f.write_str("touch"),
            Self::Snapshot => f.write_str("snapshot"),
            Self::Instructions(count) => write!(f, "{count}"),
        }
    }
}

impl Serialize for Warmup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Instructions(count) => count.serialize(serializer),
            name => serializer.collect_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "`none`, `touch`, `snapshot` or a number of instructions")]
        enum Written {
            Count(u64),
            Name(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Count(count) => count.to_string(),
            Written::Name(name) => name,
        };
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warmups_read_and_print() {
        for (text, warmup) in [
            ("none", Warmup::None),
            ("touch", Warmup::Touch),
            ("snapshot", Warmup::Snapshot),
            ("5000", Warmup::Instructions(5000)),
        ] {
            assert_eq!(text.parse(), Ok(warmup));
            assert_eq!(warmup.to_string(), text);
        }
        for bad in ["", "0", "-1", "1.5", "some", "9223372036854775808", "99999999999999999999"] {
            let error = bad.parse::<Warmup>().unwrap_err();
            assert!(error.contains(&format!("`{bad}`")), "{error}");
        }
    }

    /// A text of digits that TOML does not read as a number, such as one with leading zeros, was taken although no TOML could print it.
    #[test]
    fn a_warmup_that_toml_cannot_print_is_refused() {
        use crate::config::ConfigBuilder;

        let build = |text: &str| ConfigBuilder::default().set("warmup", text).and_then(ConfigBuilder::build);
        let most = build("09223372036854775807").unwrap();
        assert!(toml::to_string(&most).unwrap().contains("warmup = 9223372036854775807"));
        let error = build("010340072696411673940").unwrap_err().to_string();
        assert!(error.starts_with("warmup: `010340072696411673940` is not `none`"), "{error}");
    }
}
