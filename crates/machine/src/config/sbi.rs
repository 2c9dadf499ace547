//! Keys of the supervisor binary interface: which optional extensions a guest finds.

use monitor::sbi::{Extension, ExtensionSet};
use serde::{Deserialize, Serialize};

/// `sbi.*`. What is off is answered with SBI_ERR_NOT_SUPPORTED, and a probe says that it is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct SbiKeys {
    /// The legacy calls of SBI 0.1.
    pub legacy: bool,
    /// PMU.
    pub pmu: bool,
    /// SUSP.
    pub susp: bool,
    /// FWFT.
    pub fwft: bool,
    /// STA.
    pub sta: bool,
}

impl Default for SbiKeys {
    /// Those are off that Linux 6.12 notices: its boot and its counters would be others than those of the documented figures.
    fn default() -> Self {
        Self { legacy: true, pmu: false, susp: false, fwft: true, sta: true }
    }
}

impl SbiKeys {
    /// What a guest finds.
    #[must_use]
    pub fn extensions(&self) -> ExtensionSet {
        let switches = [
            (Extension::Legacy, self.legacy),
            (Extension::Pmu, self.pmu),
            (Extension::Suspend, self.susp),
            (Extension::Features, self.fwft),
            (Extension::StealTime, self.sta),
        ];
        switches.into_iter().fold(ExtensionSet::ALL, |set, (extension, present)| set.with(extension, present))
    }

    /// The keys with their values.
    pub(crate) fn settings(&self) -> [(&'static str, bool); 5] {
        let Self { legacy, pmu, susp, fwft, sta } = *self;
        [("sbi.legacy", legacy), ("sbi.pmu", pmu), ("sbi.susp", susp), ("sbi.fwft", fwft), ("sbi.sta", sta)]
    }
}
