//! Real processors, their clock and run loop, configuration and guest loading.

pub mod loader;
