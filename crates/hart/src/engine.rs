//! The engines that execute micro-ops, and what they share.
//!
//! Protocol: [`Hart::run`](crate::Hart::run) enters an engine at a block's first micro-op with an accumulator. The engine runs from block to
//! block through links and the jump cache until it leaves: [`Hart::leave`](crate::hart::Hart) says why, and `at` or `pc` where. On a leave
//! with `at`, the instructions of the block before `at` are not yet accounted for; on one with `pc`, all are.

mod access_group;
pub(crate) mod baseline;
pub(crate) mod code_memory;
pub(crate) mod compiled;
pub(crate) mod environment;
mod exchange;
pub(crate) mod matching;
pub(crate) mod operands;
mod reporting;
pub(crate) mod sentry;
pub(crate) mod threaded;

/// Which engine executes micro-ops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// Each handler jumps to the next one's. Needs an optimised build, in which such calls become jumps; a build with debug
    /// assertions uses the other engine instead.
    #[default]
    Threaded,
    /// A `match` over the same micro-ops: slower, and the oracle of the others.
    Matching,
    /// The threaded engine, for which hot blocks are compiled to code of the host. Where the host is no x86-64 or the bus has no
    /// [layout](crate::Bus::ENTRY) for it, nothing is compiled.
    Compiled(Hotness),
}

/// When a block is compiled: once about this many instructions were sampled where it begins, and at its unit's blocks as many as compiling costs. 0 compiles
/// every block when it is found. At 1, every block gets baseline code when it is found; above, after as many executions, and 4 at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hotness(pub u32);

impl Hotness {
    /// Three samples; a large unit waits for more, as it costs more.
    pub const USUAL: Self = Self(100_000);
    /// Every block has baseline code, and is compiled as soon as a budget has ended at it.
    pub const BASELINE: Self = Self(1);
    /// Every block is compiled.
    pub const ALL: Self = Self(0);
}
