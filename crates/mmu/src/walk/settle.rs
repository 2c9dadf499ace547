//! The end of a walk: whether the leaf allows the access, and its A and D bits (steps 6 to 9).

use super::tables::Tables;
use super::tree::Leaf;
use crate::config::AdPolicy;
use crate::fault::Fault;
use crate::rights::Required;

/// The result of a function that is rarely called, so that where it is not called the result stays in registers.
#[inline(always)]
#[allow(clippy::needless_question_mark, reason = "taken to pieces and put together again")]
pub(crate) fn apart<T, E>(result: Result<T, E>) -> Result<T, E> {
    Ok(result?)
}

impl AdPolicy {
    /// Whether the leaf allows the access, with A and D set as the policy says. `None` where the entry has changed since it was read.
    #[inline(always)]
    pub(crate) fn settle<T: Tables>(
        self,
        tables: &mut T,
        leaf: Leaf<T::Address>,
        required: &Required,
    ) -> Result<Option<Leaf<T::Address>>, Fault> {
        if required.is_settled(leaf.pte.0) {
            return Ok(Some(leaf));
        }
        apart(self.settle_unsettled(tables, leaf, required))
    }

    /// What [`Self::settle`] gives, where a bit is to be set or the access refused.
    #[cold]
    #[inline(never)]
    fn settle_unsettled<T: Tables>(
        self,
        tables: &mut T,
        leaf: Leaf<T::Address>,
        required: &Required,
    ) -> Result<Option<Leaf<T::Address>>, Fault> {
        leaf.pte.allow(*required).map_err(|cause| tables.refused_at(leaf.at, cause))?;
        let touched = leaf.pte.touched(required.access);
        if touched == leaf.pte {
            return Ok(Some(leaf));
        }
        match self {
            Self::Fault => Err(tables.refused_at(leaf.at, leaf.pte.untouched())),
            Self::Update => {
                let exchanged = tables.exchange(leaf.at, leaf.pte, touched)?;
                Ok(exchanged.then_some(Leaf { pte: touched, ..leaf }))
            }
        }
    }
}
