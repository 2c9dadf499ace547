//! `plic.*`: the interrupt controller.

use devices::PlicContexts;
use serde::{Deserialize, Serialize};

/// Every key, with its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlicKeys {
    /// The contexts of each hart.
    pub contexts: PlicContextsName,
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
