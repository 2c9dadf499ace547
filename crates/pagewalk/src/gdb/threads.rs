//! vCPUs as threads: number n is thread n + 1, and has the number of a hart and the name of its VM.

use gdbstub::common::Tid;
use machine::debug::DebugSession;

/// The thread that a vCPU is.
pub(super) fn thread(vcpu: usize) -> Tid {
    Tid::MIN.saturating_add(vcpu)
}

/// The vCPU of a thread, if a guest that has not ended has it: what is left of others is no more than their counts.
pub(super) fn vcpu(session: &DebugSession<'_>, thread: Tid) -> Option<usize> {
    let vcpu = thread.get() - 1;
    (vcpu < session.vcpus() && is_there(session, vcpu)).then_some(vcpu)
}

/// The vCPUs that are threads.
pub(super) fn all<'s>(session: &'s DebugSession<'_>) -> impl Iterator<Item = usize> + 's {
    (0..session.vcpus()).filter(|&vcpu| is_there(session, vcpu))
}

/// Whether the guest of a vCPU has not ended.
pub(super) fn is_there(session: &DebugSession<'_>, vcpu: usize) -> bool {
    !session.has_ended(session.guest_of(vcpu))
}

/// What VMs are called; nothing, if there is one alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct VmNames<'r>(pub(super) &'r [String]);

impl VmNames<'_> {
    /// A vCPU by its VM and its number there.
    pub(super) fn of(self, session: &DebugSession<'_>, vcpu: usize) -> String {
        let hart = session.hart_of(vcpu);
        match self.0.get(session.guest_of(vcpu)) {
            Some(name) => format!("vm {name}, hart {hart}"),
            None => format!("hart {hart}"),
        }
    }
}
