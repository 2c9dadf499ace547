//! What a watch of pages sees of a machine's misses.

use crate::pages::SpacePage;
use crate::profile::{Mark, Space};
use crate::state::{MachineState, profile};
use types::{Access, Gva, TranslationContext};

/// The access to `address` has been made since `mark`: if it has missed the L1, that is kept.
pub(crate) fn missed(state: &mut MachineState, mark: Mark, address: u64, access: Access) {
    let count = profile::misses(state, access) - mark.misses;
    let current = state.current;
    if count == 0 || !state.pages.as_ref().is_some_and(|pages| pages.needs_misses()) {
        return;
    }
    let at = state.clock_of(current.processor, state.processors[current.processor].stands);
    if let Some(pages) = &mut state.pages {
        let page = SpacePage::of(pages.space(current.processor), Gva(address));
        pages.missed(current.guest, page, at, count);
    }
}

/// The current hart translates in `context` from now on.
#[inline]
pub(crate) fn enter(state: &mut MachineState, context: &TranslationContext) {
    let pcpu = state.current.processor;
    if let Some(pages) = &mut state.pages {
        pages.enter(pcpu, Space::of(context));
    }
}
