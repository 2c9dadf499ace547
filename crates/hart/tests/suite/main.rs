//! The tests of a hart on a bus of their own. They are one executable, since each would compile all engines again for that bus.

mod common;

mod execution;
mod groups;
mod interrupts;
mod lines;
mod observed;
