//! A guest that boots once for many runs: the program that marks that it is ready, and the disk that it reads its task from then.

pub(super) mod ready;
pub(super) mod task;

pub use task::{TASK_BYTES, task_archive};
