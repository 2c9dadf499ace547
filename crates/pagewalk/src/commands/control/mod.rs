//! The commands that talk to a run with `--control`.

pub(super) mod ctl;
pub(super) mod top;
