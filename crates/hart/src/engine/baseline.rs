//! Baseline code: host code for single blocks, from one template for each micro-op.
//!
//! A block that is executed a few times gets it at once: there is nothing to optimise, and no other thread is needed. It runs in the middle of the
//! threaded engine. The handler of the block's first micro-op is replaced by the address of its code, which does what the handlers of the following
//! micro-ops do, one after the other, and ends as they do: with a jump to the handler of the micro-op that is next.
//!
//! * A template does the usual case: arithmetic, a load or store that hits, a link. For everything else it jumps to the usual handler of the micro-op,
//!   before it has changed anything. So each rare case has one source.
//! * A handler goes on with the next micro-op. Where code should be continued behind it, that micro-op's handler leads back into the code.
//! * The hart's memory has every guest register. A few are held in host registers as well, from one micro-op to the next.
//!
//! Results do not depend on which blocks have such code.

mod accesses;
mod batch;
mod calls;
mod guest;
mod host;
mod integer;
mod jumps;
mod memory;
mod routines;
mod scope;
mod templates;

pub(crate) use batch::Batch;
pub(crate) use routines::Routines;
pub(crate) use templates::BusLayout;
