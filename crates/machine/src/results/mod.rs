//! What comes of a run: how guests ended, what was measured of them, and how far they are.

pub(crate) mod events;
pub(crate) mod figures;
pub(crate) mod footprint;
pub(crate) mod gauge;
pub(crate) mod intervals;
pub(crate) mod outcome;
pub(crate) mod region;
pub(crate) mod statistics;
pub(crate) mod trace;
pub(crate) mod walks;
