//! The PLIC's registers as plain values, for a snapshot.

use super::{Context, PRIORITY_MASK, Plic, SOURCES, Sources};
use serde::{Deserialize, Serialize};

/// The state of a PLIC in a snapshot. Levels are the devices' wires: they are driven again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct PlicState {
    priority: Vec<u32>,
    level: u64,
    pending: u64,
    in_service: u64,
    contexts: Vec<ContextState>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct ContextState {
    enabled: u64,
    threshold: u32,
}

impl Plic {
    /// The registers.
    pub(crate) fn state(&self) -> PlicState {
        let context = |context: &Context| ContextState { enabled: context.enabled.0, threshold: context.threshold };
        PlicState {
            priority: self.priority.into(),
            level: self.level.0,
            pending: self.pending.0,
            in_service: self.in_service.0,
            contexts: self.contexts.iter().map(context).collect(),
        }
    }

    /// Sets all registers; false, and nothing has changed, if they are those of another number of sources or contexts.
    pub(crate) fn set_state(&mut self, state: &PlicState) -> bool {
        if state.priority.len() != SOURCES as usize || state.contexts.len() != self.contexts.len() {
            return false;
        }
        for (to, from) in self.priority.iter_mut().zip(&state.priority) {
            *to = from & PRIORITY_MASK;
        }
        // There is no source 0.
        let sources = |bits: u64| Sources(bits & !1);
        self.level = sources(state.level);
        self.pending = sources(state.pending);
        self.in_service = sources(state.in_service);
        for (to, from) in self.contexts.iter_mut().zip(&state.contexts) {
            to.enabled = sources(from.enabled);
            to.threshold = from.threshold & PRIORITY_MASK;
        }
        self.update_lines();
        true
    }
}
