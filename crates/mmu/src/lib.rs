//! TLBs, page-walk caches, the nested TLB and the walkers.
