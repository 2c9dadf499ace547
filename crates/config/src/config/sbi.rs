//! Keys of the supervisor binary interface: which optional extensions a guest finds.

use hypervisor::sbi::{Extension, ExtensionSet};
use keys::{key, settings};

settings! {
    /// `sbi.*`. What is off is answered with SBI_ERR_NOT_SUPPORTED, and a probe says that it is absent.
    ///
    /// Those are off that Linux 6.12 notices: its boot and its counters would be others than those of the documented figures.
    #[derive(Copy, Eq)]
    #[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
    pub struct SbiKeys {
        pub legacy: bool = true => key(
            "extensions of the SBI that a guest finds ([sbi.md](sbi.md)); one that is off is answered with \
             SBI_ERR_NOT_SUPPORTED"
        ),
        pub pmu: bool = false => key(
            "the same, of which Linux takes notice; `sbi.pmu` also has hpmcounter CSRs (Zihpm), and lets the guest stop \
             `cycle` and `instret`"
        ),
        pub susp: bool = false => key("the extension SUSP").with("pmu"),
        pub fwft: bool = true => key("the extension FWFT").with("legacy"),
        pub sta: bool = true => key("the extension STA").with("legacy"),
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
    #[must_use]
    pub fn settings(&self) -> [(&'static str, bool); 5] {
        let Self { legacy, pmu, susp, fwft, sta } = *self;
        [("sbi.legacy", legacy), ("sbi.pmu", pmu), ("sbi.susp", susp), ("sbi.fwft", fwft), ("sbi.sta", sta)]
    }
}
