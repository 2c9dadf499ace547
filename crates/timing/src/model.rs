//! `[core]` of a host model: the out-of-order core of its processors, for the fidelity `core`.

use crate::{predictor::PredictorModel, prefetcher::PrefetchModel, store_buffer::StoreModel, wrong_path::WrongPath};
use keys::{key, model};

model! {
    /// An out-of-order core.
    #[derive(Copy)]
    pub struct CoreModel {
        pub width: u64 => key("instructions that are dispatched in a cycle").number(1, 16).unit("instructions"),
        pub window: u64 => key("instructions between the oldest one that has not retired and the youngest one that is dispatched: entries of the reorder buffer")
            .number(1, 4096).unit("instructions"),
        pub l1d_misses: u32 => key("lines that the L1D waits for at a time: miss registers, or line fill buffers")
            .number(1, 256).unit("lines"),
        pub l2_misses: u32 => key("lines that the L2 of a core waits for at a time").number(1, 256).unit("lines"),
        pub walkers: u32 => key("page walks that a core makes at a time").number(1, 64).unit("walkers"),
        pub mispredict: u64 => key("cycles from the resolution of a mispredicted branch to the dispatch of the next instruction")
            .number(0, 1000).unit("cycles"),
        #[serde(default)]
        pub wrong_path: WrongPath => key("what a core does until a mispredicted branch is resolved: nothing (`off`), or the loads behind it that the right path makes as well (`converges`)"),
        /// Stores.
        pub stores: StoreModel,
        /// The branch predictor.
        pub predictor: PredictorModel,
        /// The prefetchers.
        pub prefetch: PrefetchModel,
    }
}
