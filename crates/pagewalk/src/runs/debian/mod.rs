//! The Debian guest: its image made by a Linux guest, and what a run boots.

pub(crate) mod build;
pub(crate) mod guest;
