//! Host physical memory and its frames.
