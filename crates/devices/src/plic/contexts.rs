//! Which contexts the PLIC has, and which of them is a hart's in S-mode.

/// The contexts of each hart.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum PlicContexts {
    /// One for S-mode: context h is hart h.
    #[default]
    Supervisor,
    /// One for M-mode and one for S-mode, as QEMU's `virt` has them: contexts 2h and 2h + 1 are hart h. Kernels that do not read the
    /// device tree expect them. No hart has an M-mode here, so that the first one's interrupt goes nowhere.
    MachineAndSupervisor,
}

/// Interrupt number of the supervisor external interrupt at a hart.
const SUPERVISOR_EXTERNAL: u32 = 9;

/// In place of an interrupt number, a context without an interrupt. Firmware that keeps M-mode for itself writes this into the
/// device tree for its M-mode contexts, OpenSBI among them.
const NO_INTERRUPT: u32 = 0xffff_ffff;

impl PlicContexts {
    /// Contexts of `harts` harts.
    pub(crate) const fn count(self, harts: usize) -> usize {
        harts * self.interrupts().len()
    }

    /// The context of hart `hart` in S-mode.
    pub(crate) const fn supervisor(self, hart: usize) -> usize {
        match self {
            Self::Supervisor => hart,
            Self::MachineAndSupervisor => 2 * hart + 1,
        }
    }

    /// What each context of a hart interrupts it with, as the device tree's `interrupts-extended` has it.
    pub(crate) const fn interrupts(self) -> &'static [u32] {
        match self {
            Self::Supervisor => &[SUPERVISOR_EXTERNAL],
            Self::MachineAndSupervisor => &[NO_INTERRUPT, SUPERVISOR_EXTERNAL],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_supervisors_context_is_the_one_with_its_interrupt() {
        for contexts in [PlicContexts::Supervisor, PlicContexts::MachineAndSupervisor] {
            let per_hart = contexts.interrupts().len();
            for hart in 0..5 {
                let context = contexts.supervisor(hart);
                assert_eq!(context / per_hart, hart);
                assert_eq!(contexts.interrupts()[context % per_hart], SUPERVISOR_EXTERNAL);
            }
            assert_eq!(contexts.count(5), 5 * per_hart);
        }
    }
}
