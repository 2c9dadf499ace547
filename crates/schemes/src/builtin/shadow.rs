//! `shadow`: walks of tables that the hypervisor composes of the guest's tables and its own (Umeno, Ozawa et al. 1985).

use super::nested;
use crate::facts::{Facts, Family, Walked};
use crate::key_problem::KeyProblem;
use crate::scheme::{GuestMemory, Scheme, ShadowTables};
use crate::worst_case::WorstCase;
use hypervisor::{Backing, Radix};

/// The scheme.
#[derive(Debug)]
pub(super) struct Shadow;

const FACTS: Facts = Facts {
    name: "shadow",
    aliases: &[],
    summary: "a walk of a table that the hypervisor composes of both",
    page: Some("shadow.md"),
    dimensions: 1,
    walked: Walked::ShadowTables,
    family: Family::Shadow,
    hypervisor_changes: "required: shadow tables",
    ..nested::FACTS
};

impl Scheme for Shadow {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, guest: u32, _: u32) -> WorstCase {
        WorstCase::sequential(guest)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        if memory.shadow.ves { Backing::Reserved } else { nested::nested(memory) }
    }

    /// Under Virtual Equal Shadow the guest's own tables serve.
    fn shadow(&self, memory: &GuestMemory) -> Option<ShadowTables> {
        (!memory.shadow.ves).then(|| ShadowTables { config: memory.shadow_config(), format: &Radix })
    }

    fn problem(&self, memory: &GuestMemory) -> Option<KeyProblem> {
        memory.shadow_problem()
    }
}
