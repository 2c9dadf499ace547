//! The extensions of the SBI: their IDs, and which of them a guest finds.

use crate::exits::ExitReason;

/// An extension that Pagewalk implements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Extension {
    /// BASE.
    Base,
    /// The legacy calls of SBI 0.1, EIDs 0 to 8, each an extension of its own.
    Legacy,
    /// TIME.
    Time,
    /// sPI: interprocessor interrupts.
    Ipi,
    /// RFENCE.
    Rfence,
    /// HSM: hart state management.
    Hsm,
    /// SRST: system reset.
    Reset,
    /// DBCN: debug console.
    Console,
    /// PMU: performance monitoring unit.
    Pmu,
    /// SUSP: system suspend.
    Suspend,
    /// FWFT: firmware features.
    Features,
    /// STA: steal-time accounting.
    StealTime,
    /// Pagewalk's own (docs/paravirtual.md).
    Paravirtual,
}

/// The last EID of the legacy extensions.
const LAST_LEGACY: u64 = 8;

impl Extension {
    /// Every extension.
    pub const ALL: [Self; 13] = [
        Self::Base,
        Self::Legacy,
        Self::Time,
        Self::Ipi,
        Self::Rfence,
        Self::Hsm,
        Self::Reset,
        Self::Console,
        Self::Pmu,
        Self::Suspend,
        Self::Features,
        Self::StealTime,
        Self::Paravirtual,
    ];

    /// The extension ID; of the legacy extensions the first.
    #[must_use]
    pub const fn eid(self) -> u64 {
        match self {
            Self::Base => 0x10,
            Self::Legacy => 0,
            Self::Time => 0x5449_4d45,
            Self::Ipi => 0x0073_5049,
            Self::Rfence => 0x5246_4e43,
            Self::Hsm => 0x0048_534d,
            Self::Reset => 0x5352_5354,
            Self::Console => 0x4442_434e,
            Self::Pmu => 0x0050_4d55,
            Self::Suspend => 0x5355_5350,
            Self::Features => 0x4657_4654,
            Self::StealTime => 0x0053_5441,
            Self::Paravirtual => 0x0850_4157,
        }
    }

    /// The extension of that ID, whether a guest finds it or not.
    #[must_use]
    pub fn of(eid: u64) -> Option<Self> {
        if eid <= LAST_LEGACY {
            return Some(Self::Legacy);
        }
        Self::ALL.into_iter().find(|extension| extension.eid() == eid)
    }
}

/// The extensions that a guest finds. BASE is always one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtensionSet(u16);

impl ExtensionSet {
    /// All.
    pub const ALL: Self = Self((1 << Extension::ALL.len()) - 1);

    /// This set, with `extension` in it if it is `present`, and without it if not.
    #[must_use]
    pub const fn with(self, extension: Extension, present: bool) -> Self {
        let bit = 1 << extension as u8;
        Self(if present { self.0 | bit } else { self.0 & !bit })
    }

    /// Whether `extension` is in it.
    #[must_use]
    pub const fn has(self, extension: Extension) -> bool {
        self.0 >> extension as u8 & 1 != 0
    }

    /// The extension of ID `eid`, if it is in the set.
    #[must_use]
    pub fn of(self, eid: u64) -> Option<Extension> {
        Extension::of(eid).filter(|&extension| self.has(extension))
    }

    /// What a call of extension `eid` is counted as. A legacy call counts as the call that replaced it.
    #[must_use]
    pub fn exit_reason(self, eid: u64) -> ExitReason {
        match self.of(eid) {
            Some(Extension::Base) => ExitReason::SbiBase,
            Some(Extension::Legacy) => match eid {
                0 => ExitReason::SbiTime,
                1 | 2 => ExitReason::SbiConsole,
                3 | 4 => ExitReason::SbiIpi,
                5..=7 => ExitReason::SbiRfence,
                _ => ExitReason::SbiReset,
            },
            Some(Extension::Time) => ExitReason::SbiTime,
            Some(Extension::Ipi) => ExitReason::SbiIpi,
            Some(Extension::Rfence) => ExitReason::SbiRfence,
            Some(Extension::Hsm) => ExitReason::SbiHsm,
            Some(Extension::Reset) => ExitReason::SbiReset,
            Some(Extension::Console) => ExitReason::SbiConsole,
            Some(Extension::Pmu) => ExitReason::SbiPmu,
            Some(Extension::Suspend) => ExitReason::SbiSuspend,
            Some(Extension::Features) => ExitReason::SbiFeatures,
            Some(Extension::StealTime) => ExitReason::SbiStealTime,
            Some(Extension::Paravirtual) => ExitReason::SbiParavirtual,
            None => ExitReason::SbiAbsent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_that_a_guest_does_not_find_is_absent() {
        let set = ExtensionSet::ALL.with(Extension::Pmu, false);
        assert_eq!(set.of(Extension::Pmu.eid()), None);
        assert_eq!(set.exit_reason(Extension::Pmu.eid()), ExitReason::SbiAbsent);
        assert_eq!(set.with(Extension::Pmu, true), ExtensionSet::ALL);
        for extension in Extension::ALL {
            assert_eq!(ExtensionSet::ALL.of(extension.eid()), Some(extension));
        }
    }

    #[test]
    fn the_legacy_ids_end_at_shutdown() {
        assert!((0..=8).all(|eid| Extension::of(eid) == Some(Extension::Legacy)));
        assert!((9..=0xf).all(|eid| Extension::of(eid).is_none()));
    }
}
