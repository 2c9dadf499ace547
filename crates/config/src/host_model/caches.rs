//! `[caches]` of a host model: the caches of its processors, for the fidelity `cycles`.

use super::contents::Contents;
use crate::units::{ByteSize, ReplacementName};
use keys::{Declared, key, model, out_of_range};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

model! {
    /// The caches of a host.
    #[derive(Copy)]
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
        pub memory: u64 => key("cycles to get a line from memory").number(0, 1_000_000).unit("cycles"),
        pub walker: WalkerName => key("where a walker, or a refill routine, looks for a table entry first: `l1d` or `l2`"),
    }
}

model! {
    /// One cache.
    #[derive(Copy)]
    pub struct CacheModel {
        pub size: ByteSize => key("size of a cache"),
        pub ways: u32 => key("ways of a cache").number(1, 64).unit("ways"),
        pub line: u32 => key("bytes of a cache's line, a power of two from 16 to 4096").unit("bytes"),
        pub latency: u64 => key("cycles from the use of a line that is there to its data")
            .number(0, 1_000_000).unit("cycles"),
        #[serde(default, skip_serializing_if = "ReplacementName::is_default")]
        pub replacement: ReplacementName => key(
            "which line of a full set makes room, by a policy of `mmu.replacement` ([caches.md](caches.md#replacement)); an L1 has `lru`"
        ),
        #[serde(default, skip_serializing_if = "is_any")]
        pub contents: Contents => key(
            "what a cache holds beside the levels above it: `any`, `inclusive`, or what the L2 gives up: `victims` or `exclusive` ([caches.md](caches.md))"
        ),
    }
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
        } else if !(1..=1 << 32).contains(&self.size.0)
            || !self.size.0.is_multiple_of(u64::from(self.ways) * u64::from(self.line))
        {
            Some("size: a multiple of a line for each way, at most 4G")
        } else {
            None
        }
    }
}

impl CachesModel {
    /// What is wrong with it, with the key; `None` if it can be built.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let table = Value::try_from(self).expect("caches are a table");
        let table = Table::from_iter([("caches".to_owned(), table)]);
        if let Some(wrong) = out_of_range(&keys::keys("caches", Self::KEYS), &table) {
            return Some(format!("{}: {}", wrong.key, wrong.problem));
        }
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
        if let Some((name, _)) = l1.iter().find(|(_, cache)| !cache.replacement.is_default()) {
            return Some(format!("caches.{name}.replacement: `lru`, since the hit path sees only the line used last"));
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
            (Some(l2), _) if l2.contents.are_given_up_above() => {
                Some("caches.l2.contents: victims are those of an L2, in the last level".to_owned())
            }
            (l2, Some(llc)) if llc.contents.are_given_up_above() && l2.is_none_or(|l2| l2.line != llc.line) => {
                Some("caches.llc.contents: victims are those of an L2 with lines of the same length".to_owned())
            }
            (None, _) if self.walker == WalkerName::L2 => Some("caches.walker: there is no L2".to_owned()),
            _ => None,
        }
    }

    /// Bytes of memory that can be told apart by lines.
    #[must_use]
    pub fn most_memory(&self) -> u64 {
        u64::from(self.l1d.line.min(self.l1i.line)) * u64::from(u32::MAX)
    }
}
