//! Models of hosts: the processors' TLBs and what events cost, read from TOML. Every number in the shipped files has its source beside it.
//!
//! A number is declared once, with its text and unit, in the struct that has it. A file with `base` has only what differs from another model
//! (`host_model/base.rs`), and `--set host.prices.exit=900` changes a number of any.

mod base;
pub mod caches;
mod contents;
mod load;
mod numbers;
mod printed;
mod refill;
mod tlb;

pub use contents::Contents;
pub use refill::RefillModel;
pub use tlb::{ArrayModel, GroupsName, TlbModel, WalkCacheModel};

use crate::clock::Clock;
use crate::config::FootprintName;
use caches::CachesModel;
use hypervisor::Prices;
use hypervisor::footprint::FootprintModel;
use keys::suggestion::unknown;
use keys::{key, model};
use timing::CoreModel;
use types::Cycles;

/// The shipped models: name and text.
const SHIPPED: [(&str, &str); 7] = [
    ("sandybridge-2012", include_str!("../../../hosts/sandybridge-2012.toml")),
    ("xeon-2017", include_str!("../../../hosts/xeon-2017.toml")),
    ("sapphirerapids-2023", include_str!("../../../hosts/sapphirerapids-2023.toml")),
    ("p550-2024", include_str!("../../../hosts/p550-2024.toml")),
    ("sunway-1621", include_str!("../../../hosts/sunway-1621.toml")),
    ("alpha-1997", include_str!("../../../hosts/alpha-1997.toml")),
    ("hitachi-1985", include_str!("../../../hosts/hitachi-1985.toml")),
];

/// The model that is used where none is named.
pub const DEFAULT_HOST: &str = "sandybridge-2012";

model! {
    /// A host.
    pub struct HostModel {
        pub name: String => key("its name in reports"),
        pub clock_hz: u64 => key("cycles of its clock in a second").number(1, 1_000_000_000_000).unit("cycles"),
        pub millicycles_per_instruction: u64 => key("thousandths of a cycle for an instruction whose translation costs nothing")
            .number(1, 1_000_000).unit("millicycles"),
        /// Translation hardware.
        pub tlb: TlbModel,
        /// Caches; without them there is no fidelity `cycles`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub caches: Option<CachesModel>,
        /// An out-of-order core; without it there is no fidelity `core`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub core: Option<CoreModel>,
        /// What the hypervisor touches; without it there is no `footprint`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub footprint: Option<FootprintModel>,
        /// How the TLBs are refilled.
        pub refill: RefillModel,
        /// What events cost, in cycles.
        pub prices: Prices,
        /// What scheduling costs, in cycles.
        pub scheduling: SchedulingModel,
    }
}

model! {
    /// What scheduling vCPUs on shared real ones costs.
    #[derive(Copy, Eq, Default)]
    pub struct SchedulingModel {
        pub decision: Cycles => key("a scheduling decision").unit("cycles"),
        pub partner: Cycles => key("a partner's control block looked at, for spin control").unit("cycles"),
        pub switch: Cycles => key("another vCPU on a pCPU: the states of both").unit("cycles"),
    }
}

/// Why a host model cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HostModelError {
    /// Neither a shipped model nor a file.
    #[error("{}", unknown("host model or file", name, SHIPPED.map(|(name, _)| name)))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The file cannot be read.
    #[error("host model {path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The file is no host model.
    #[error("host model {path}: {problem}")]
    Content {
        /// The file, or the shipped model.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A configuration changes a number in a way that gives no host.
    #[error("{key}: {problem}")]
    Setting {
        /// The key.
        key: String,
        /// What is wrong.
        problem: String,
    },
}

impl HostModel {
    /// The names of the shipped models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|&(name, _)| name)
    }

    /// The model as a report has it: without what the hypervisor touches where that is not used.
    #[must_use]
    pub fn as_used(&self, footprint: FootprintName) -> Self {
        let mut model = self.clone();
        model.footprint = model.footprint.filter(|_| footprint == FootprintName::On);
        model
    }

    /// The processors' clock.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        Clock { hz: self.clock_hz, millicycles_per_instruction: self.millicycles_per_instruction }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_models_load_under_their_own_names_and_can_be_built() {
        for (name, _) in SHIPPED {
            let model = HostModel::load(name).unwrap();
            assert_eq!(model.name, name);
            assert_eq!(crate::config::Config::default().mmu(&model).unwrap().check(), Ok(()), "{name}");
        }
    }

    /// A comment stands for the keys below it, down to the next blank line or section.
    #[test]
    fn every_number_of_a_shipped_model_has_its_source() {
        const SOURCES: [&str; 6] = ["ssumed", "able 1", "ection", "anual", "chapter \"", "not used"];
        for (name, text) in SHIPPED {
            let mut source = String::new();
            let mut after_key = false;
            for line in text.lines().filter(|line| !line.is_empty()) {
                if let Some(comment) = line.strip_prefix('#') {
                    source = if after_key { comment.to_owned() } else { source + comment };
                    after_key = false;
                } else if line.contains('=') && !line.starts_with([' ', ']']) && !line.starts_with("name") {
                    let sourced = SOURCES.iter().any(|word| source.to_lowercase().contains(&word.to_lowercase()));
                    assert!(sourced, "{name}: `{line}` under `{source}`");
                    after_key = true;
                } else if line.starts_with('[') {
                    source.clear();
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_model_is_named() {
        let unknown = HostModel::load("no-such-host").unwrap_err().to_string();
        assert!(unknown.contains("no-such-host") && unknown.contains(DEFAULT_HOST), "{unknown}");
        let text = SHIPPED[0].1.replace("mmio =", "mmoi =");
        assert!(HostModel::parse("file", &text).unwrap_err().to_string().contains("mmoi"));
        let stopped = SHIPPED[0].1.replace("clock_hz = 2_400_000_000", "clock_hz = 0");
        assert!(HostModel::parse("file", &stopped).unwrap_err().to_string().contains("clock_hz"));
    }

    /// `u64` holds the number, a value of TOML does not. The program ended by a panic.
    #[test]
    fn a_number_that_toml_cannot_hold_is_named_with_its_line() {
        let too_large = "the number is larger than 9223372036854775807";
        for number in ["9_223_372_036_854_775_808", "18_446_744_073_709_551_615", "18_446_744_073_709_551_616"] {
            let text = SHIPPED[0].1.replace("clock_hz = 2_400_000_000", &format!("clock_hz = {number}"));
            let line = text.lines().position(|line| line.starts_with("clock_hz")).unwrap() + 1;
            let refused = HostModel::parse("file", &text).unwrap_err().to_string();
            assert!(refused.contains(&format!("line {line}: clock_hz: ")), "{number}: {refused}");
            let based = format!("base = 'xeon-2017'\nprices.exit = {number}\n");
            let refused = HostModel::parse("file", &based).unwrap_err().to_string();
            assert!(refused.contains("line 2: prices.exit: ") && !refused.contains("u64"), "{number}: {refused}");
        }
        let largest = SHIPPED[0].1.replace("clock_hz = 2_400_000_000", "clock_hz = 9_223_372_036_854_775_808");
        assert!(HostModel::parse("file", &largest).unwrap_err().to_string().contains(too_large));
    }

    /// A file beside the models that are its bases.
    fn files(texts: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in texts {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        directory
    }

    #[test]
    fn a_model_has_what_its_base_has_but_for_what_it_says() {
        let directory = files(&[
            ("mine.toml", "base = 'xeon-2017'\nname = 'mine'\n[tlb.l2]\nways = 8\n[prices]\nexit = 900\n"),
            ("other.toml", "base = 'mine.toml'\nprices.entry = 1\n"),
        ]);
        let load = |name: &str| HostModel::load(directory.path().join(name).to_str().unwrap()).unwrap();
        let mut expected = HostModel::load("xeon-2017").unwrap();
        expected.name = "mine".to_owned();
        expected.tlb.l2[0].ways = 8;
        expected.prices.exit = Cycles(900);
        assert_eq!(load("mine.toml"), expected);
        expected.prices.entry = Cycles(1);
        assert_eq!(load("other.toml"), expected);
        let path = |name: &str| directory.path().join(name);
        let read: Vec<_> = HostModel::files(path("other.toml").to_str().unwrap()).collect();
        assert_eq!(read, [path("other.toml"), path("mine.toml")]);
        assert_eq!(HostModel::files("xeon-2017").count(), 0, "it is part of the program");
    }

    #[test]
    fn what_is_wrong_with_a_model_over_a_base_is_named_with_its_line() {
        for (text, said) in [
            ("base = 'xeon'\n", "unknown host model or file"),
            (
                "base = 'xeon-2017'\n[prices]\nexti = 1\n",
                "line 3: unknown key `prices.exti`; did you mean `prices.exit`?",
            ),
            ("base = 'xeon-2017'\nprices.exit = 'x'\n", "line 2: prices.exit: `x` is not a whole number"),
            ("base = 'xeon-2017'\nclock_hz = 0\n", "clock_hz: `0` is not a number of cycles"),
            ("base = 'bad.toml'\n", "leads in a circle"),
        ] {
            let directory = files(&[("bad.toml", text)]);
            let error = HostModel::load(directory.path().join("bad.toml").to_str().unwrap()).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
