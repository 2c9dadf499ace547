//! A third-level TLB: arrays like those of the L2, behind it.

use super::{OuterEntry, OuterTlb, References};
use crate::config::{ConfigError, Level, MmuConfig, TlbArray, check_level};
use crate::tlb::L2;
use crate::tlb::set_associative::SetAssociative;
use crate::tlb::tag_array::Miss;
use types::Gva;

/// An [outer level](OuterTlb) of the processor's own: it makes no references.
#[derive(Debug)]
pub struct L3(L2);

impl L3 {
    /// Empty arrays.
    ///
    /// # Errors
    /// The first thing that cannot be built.
    pub fn new(arrays: &[TlbArray]) -> Result<Self, ConfigError> {
        check_level(Level::L3, arrays, MmuConfig::LIMIT)?;
        Ok(Self(SetAssociative::new(arrays)))
    }
}

impl OuterTlb for L3 {
    fn look_up(
        &mut self,
        gva: Gva,
        answers: &dyn Fn(&OuterEntry) -> bool,
        _: &mut References<'_>,
    ) -> Option<OuterEntry> {
        let found = self.0.find(gva.0, |translation| answers(&OuterEntry::new(gva, translation)));
        let (way, entry) = found.map(|(way, translation)| (way, OuterEntry::new(gva, translation))).ok()?;
        self.0.used(way);
        Some(entry)
    }

    fn fill(&mut self, gva: Gva, entry: &OuterEntry) {
        let _evicted = self.0.keep(gva, Miss::REFUSED, entry.translation());
    }

    fn remove(&mut self, gva: Option<Gva>, drops: &dyn Fn(&OuterEntry) -> bool) {
        // Which page it is does not matter to a fence: the address is looked up, or all pages are.
        let drops = |gva: Gva| move |translation: &_| drops(&OuterEntry::new(gva, translation));
        match gva {
            Some(gva) => self.0.remove_page(gva.0, drops(gva)),
            None => self.0.remove(drops(Gva(0))),
        }
    }
}
