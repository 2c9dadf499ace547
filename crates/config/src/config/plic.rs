//! `plic.*`: the interrupt controller.

use devices::PlicContexts;
use keys::{key, settings};
use serde::{Deserialize, Serialize};

settings! {
    /// `plic.*`.
    #[derive(Copy, Eq)]
    pub struct PlicKeys {
        pub contexts: PlicContextsName = PlicContextsName::Supervisor => key(
            "contexts of the interrupt controller: `s`, one for each hart, in S-mode; `m+s`, two for each hart, as QEMU's \
             `virt` has them, for kernels with hard-coded contexts ([own-kernels.md](own-kernels.md#interrupts))"
        ),
    }
}

/// `plic.contexts`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum PlicContextsName {
    /// S-mode's alone.
    #[default]
    #[serde(rename = "s")]
    Supervisor,
    /// M-mode's and S-mode's, as QEMU's `virt` has them.
    #[serde(rename = "m+s")]
    MachineAndSupervisor,
}

impl PlicContextsName {
    /// The contexts.
    #[must_use]
    pub const fn contexts(self) -> PlicContexts {
        match self {
            Self::Supervisor => PlicContexts::Supervisor,
            Self::MachineAndSupervisor => PlicContexts::MachineAndSupervisor,
        }
    }

    /// The name that it is written with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Supervisor => "s",
            Self::MachineAndSupervisor => "m+s",
        }
    }
}
