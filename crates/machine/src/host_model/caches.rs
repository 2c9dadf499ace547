//! `[caches]` of a host model: the caches of its processors, for the fidelity `cycles`.

use crate::caches::Contents;
use crate::units::ByteSize;
use serde::{Deserialize, Serialize};

/// The caches of a host.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CachesModel {
    /// First level, data.
    pub l1d: CacheModel,
    /// First level, instructions.
    pub l1i: CacheModel,
    /// Second level of each processor, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2: Option<CacheModel>,
    /// Last level, which all processors share, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llc: Option<CacheModel>,
    /// Cycles to get a line from memory.
    pub memory: u64,
    /// Where a walker, or a refill routine, looks for a table entry first.
    pub walker: WalkerName,
}

/// `caches.walker`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WalkerName {
    /// In the L1D, as loads do.
    L1d,
    /// In the L2.
    L2,
}

/// One cache.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheModel {
    /// How much it holds.
    pub size: ByteSize,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
    /// Cycles from the use of a line that is there to its data.
    pub latency: u64,
    /// What it holds beside the levels above it.
    #[serde(default, skip_serializing_if = "is_any")]
    pub contents: Contents,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_any(contents: &Contents) -> bool {
    *contents == Contents::Any
}

impl CacheModel {
    /// Sets of lines.
    #[must_use]
    pub const fn sets(&self) -> u32 {
        (self.size.0 / (self.ways as u64 * self.line as u64)) as u32
    }

    fn problem(&self) -> Option<&'static str> {
        if !self.line.is_power_of_two() || !(16..=4096).contains(&self.line) {
            Some("line: a power of two from 16 to 4096")
        } else if !(1..=64).contains(&self.ways) {
            Some("ways: 1 to 64")
        } else if !(1..=1 << 32).contains(&self.size.0)
            || !self.size.0.is_multiple_of(u64::from(self.ways) * u64::from(self.line))
        {
            Some("size: a multiple of a line for each way, at most 4G")
        } else if self.latency > 1_000_000 {
            Some("latency: at most 1000000 cycles")
        } else {
            None
        }
    }
}

impl CachesModel {
    /// What is wrong with it, with the key; `None` if it can be built.
    pub(crate) fn problem(&self) -> Option<String> {
        let levels =
            [("l1d", Some(&self.l1d)), ("l1i", Some(&self.l1i)), ("l2", self.l2.as_ref()), ("llc", self.llc.as_ref())];
        let levels = || levels.iter().filter_map(|&(name, cache)| Some((name, cache?)));
        if let Some((name, problem)) = levels().find_map(|(name, cache)| Some((name, cache.problem()?))) {
            return Some(format!("caches.{name}.{problem}"));
        }
        let l1 = [("l1d", &self.l1d), ("l1i", &self.l1i)];
        if let Some((name, _)) = l1.iter().find(|(_, cache)| !cache.sets().is_power_of_two()) {
            return Some(format!("caches.{name}: its sets are no power of two"));
        }
        if let Some((name, _)) = l1.iter().find(|(_, cache)| cache.contents != Contents::Any) {
            return Some(format!("caches.{name}.contents: nothing is above it"));
        }
        let outer = [&self.l2, &self.llc].into_iter().flatten();
        let mut least = self.l1d.line.max(self.l1i.line);
        for cache in outer {
            if cache.line < least {
                return Some("caches: a level's line is shorter than one above it".to_owned());
            }
            least = cache.line;
        }
        match (&self.l2, &self.llc) {
            (Some(l2), _) if l2.contents == Contents::Victims => {
                Some("caches.l2.contents: victims are those of an L2, in the last level".to_owned())
            }
            (l2, Some(llc)) if llc.contents == Contents::Victims && l2.is_none_or(|l2| l2.line != llc.line) => {
                Some("caches.llc.contents: victims are those of an L2 with lines of the same length".to_owned())
            }
            (None, _) if self.walker == WalkerName::L2 => Some("caches.walker: there is no L2".to_owned()),
            _ if self.memory > 1_000_000 => Some("caches.memory: at most 1000000 cycles".to_owned()),
            _ => None,
        }
    }

    /// Bytes of memory that can be told apart by lines.
    pub(crate) fn most_memory(&self) -> u64 {
        u64::from(self.l1d.line.min(self.l1i.line)) * u64::from(u32::MAX)
    }
}
