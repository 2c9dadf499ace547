//! The Debian guest: its image made by a Linux guest, what a run boots, and the states that it goes on from.

pub(crate) mod build;
pub(crate) mod guest;
pub(crate) mod states;
