//! What holds of the source and its history, whatever it does.

pub(crate) mod commits;
pub(crate) mod cycles;
pub(crate) mod directories;
pub(crate) mod impls;
pub(crate) mod words;
