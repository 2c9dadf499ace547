//! What compiled code knows of modelled caches and of a modelled branch predictor.
//!
//! Most uses of a line change nothing in a cache, and most branches are predicted. Compiled code sees that by itself: the layout of the models is fixed when the code is made ([`ModelLayout`]), and where their state lies is in what the hit path keeps of them
//! ([`CacheLines::STATE`](crate::CacheLines::STATE)).

/// A cache whose sets are rows of line numbers, from the line used last on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowLayout {
    /// log2 of the bytes of a line.
    pub line_shift: u32,
    /// The number of sets, a power of two, minus one.
    pub set_mask: u32,
    /// Line numbers of a row, of 32 bits each.
    pub ways: u32,
}

/// A branch predictor of three tables of two-bit counters, of one byte each: by address, by history, and a chooser by address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BranchLayout {
    /// Half the address of a branch and this is its index in the tables by address.
    pub address_mask: u64,
    /// Half the address, with the history by exclusive or, and this is its index in the table by history. The history has these bits. A branch shifts it left by
    /// one and puts its way, 1 if taken, in bit 0.
    pub history_mask: u64,
    /// What becomes of the counters. The index has the counter by address in bits 0 and 1, that by history in bits 2 and 3, the chooser in bits 4 and 5, and
    /// the way in bit 6. A step has the new counters in the same bits, and in bit 6 whether the branch was mispredicted.
    pub steps: &'static [u8; 128],
}

/// Lines that a core waits for, in two tables of counts of 16 bits: an access to a line whose count is zero in both waits for none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnderWayLayout {
    /// log2 of the bytes of a line.
    pub line_shift: u32,
    /// The number of a line, counted from the start of memory, and this is its index.
    pub mask: u64,
}

/// A core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoreLayout {
    /// Its branch predictor.
    pub branches: BranchLayout,
    /// The lines that it waits for.
    pub under_way: UnderWayLayout,
}

/// The models of a machine, as its code is made for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelLayout {
    /// The process's address of the first byte of memory, from which lines are numbered.
    pub base: usize,
    /// The L1D.
    pub data: RowLayout,
    /// The L1I.
    pub code: RowLayout,
    /// The core; `None` where instructions are not reported.
    pub core: Option<CoreLayout>,
}

/// Where, in what the hit path keeps of the models, the addresses of their state lie, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateOffsets {
    /// The rows of the L1D.
    pub data_rows: usize,
    /// The rows of the L1I.
    pub code_rows: usize,
    /// The predictor's table by address.
    pub by_address: usize,
    /// Its table by history.
    pub by_history: usize,
    /// Its choosers.
    pub choosers: usize,
    /// Its history, of 64 bits.
    pub history: usize,
    /// The two tables of lines that the core waits for.
    pub under_way: [usize; 2],
}
