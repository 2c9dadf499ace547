//! Hard faults of the host's memory: which frames, when, and what happens to their owners.

use config::Config;
use config::clock::Clock;
use memory::HOST_BASE;
use std::collections::BTreeSet;
use types::{Cycles, Hpa, PageSize, SplitMix64};

/// Frames that fail at some time of the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Faults {
    frames: Vec<Hpa>,
    at: Cycles,
}

impl Faults {
    /// As the configuration says, in a host with so many bytes of memory. Addresses that are not in it are passed over.
    pub(crate) fn new(config: &Config, host_bytes: u64, clock: &Clock) -> Self {
        let keys = &config.faulty;
        if !keys.any() || config.scheme.facts().is_native {
            return Self::default();
        }
        let frames = host_bytes / PageSize::Size4K.bytes();
        let mut chosen: BTreeSet<Hpa> = keys.addresses.iter().map(|&at| Hpa(at).page(PageSize::Size4K)).collect();
        let most = chosen.len() as u64 + u64::from(keys.count).min(frames / 2);
        let mut random = SplitMix64::new(config.seed);
        while (chosen.len() as u64) < most {
            chosen.insert(HOST_BASE.wrapping_add(random.draw() % frames * PageSize::Size4K.bytes()));
        }
        Self { frames: chosen.into_iter().collect(), at: clock.seconds(keys.at) }
    }

    /// Takes the frames that are faulty from the start.
    pub(crate) fn take_first(&mut self) -> Vec<Hpa> {
        if self.at == Cycles(0) { std::mem::take(&mut self.frames) } else { Vec::new() }
    }

    /// Takes those whose time has come, if that is no later than `next`, the time of whatever else happens.
    pub(crate) fn take_due(&mut self, next: Option<Cycles>) -> Vec<Hpa> {
        if next.is_none_or(|next| self.at > next) { Vec::new() } else { std::mem::take(&mut self.frames) }
    }
}
