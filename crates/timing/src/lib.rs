//! An interval model of an out-of-order core, driven by the stream of retired instructions of one processor.
//!
//! Interval models (Karkhanis and Smith, ISCA 2004; Eyerman et al., TOCS 2009; Sniper's, Carlson et al., SC 2011) take a core's time as dispatch at full width, which
//! *miss events* interrupt. `docs/core.md` has the rules in full, with closed forms and what is left out.
//!
//! # The interface
//!
//! The caller executes instructions in order and knows, of each, its [`Index`] in the stream. The unit of time is the dispatch of one instruction
//! ([`Ticks`]). So the time of dispatch is the index plus a delay, and a run of instructions that nothing delays costs the caller and the model nothing
//! at all: there is no call for it. What has to be reported:
//!
//! * always: conditional branches ([`Core::branch`]); loads and stores that the L1D or the first level of TLBs does not answer; fetches of that kind;
//!   what [`Core::serialize`] is for;
//! * while [`Core::is_busy`] says that something is outstanding: also each other load and store, and each instruction ([`Core::operation`]) that reads or
//!   writes a register that [waits](Core::waiting) for a result.
//!
//! Where nothing is outstanding, no register waits and an access that the first levels answer has no effect on time, so that no report is missed.
//!
//! Caches and TLBs are elsewhere. Each access says where its line was found and which table entries its walk read, and the model asks
//! for one thing only: [`PrefetchLines`].
#![forbid(unsafe_code)]

mod arrivals;
mod core;
mod dispatched;
mod engine;
mod event;
mod misses;
mod model;
mod predictor;
mod prefetcher;
mod scoreboard;
mod slots;
mod store_buffer;
mod stream;
mod surroundings;
mod ticks;
mod time;
mod walkers;
mod window;
mod wrong_path;

pub use crate::core::{Core, CoreState};
pub use event::{
    Access, Branch, Hit, Level, Line, Load, Operation, Register, Registers, Serialize, Store, TableReference,
    Translation, Walk, Way,
};
pub use misses::PrefetchLines;
pub use model::CoreModel;
pub use predictor::{Outcome, PredictorModel, PredictorState};
pub use prefetcher::{NextLineLevel, PrefetchModel};
pub use store_buffer::{Drain, StoreModel};
pub use stream::{PageEnd, StreamModel};
pub use surroundings::{Surroundings, WalkerPort};
pub use ticks::{Index, Ticks};
pub use time::{Stalls, Time};
pub use wrong_path::WrongPath;
