//! A guest's write to `satp`: Load Control (CR1) of the paper, which selects the table of another address space.

use super::statistics::{Activity, Way, Work};
use super::steps::{self, Entered};
use super::tables::{BARE, Come, Key};
use super::{Assist, Event, Shadow, Tables, Tlbs};
use crate::exits::ExitReason;
use memory::{Host, OutOfFrames};
use mmu::Fence;
use types::TranslationContext;

impl Shadow {
    /// Whether hart `hart` translates in `context` with the table that it has: then it does from now on.
    #[inline]
    pub(super) fn stays(&mut self, hart: usize, context: &TranslationContext) -> bool {
        let known = &mut self.harts[hart].context;
        let stays = Key::of(known) == Key::of(context);
        if stays {
            *known = *context;
        }
        stays
    }

    /// Hart `hart` translates in `context` from now on. `None` where its table stays the same.
    ///
    /// # Errors
    /// [`OutOfFrames`]: no room for a table; the hart keeps the one it had.
    pub(super) fn switch(
        &mut self,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        hart: usize,
        context: &TranslationContext,
    ) -> Result<Option<Event>, OutOfFrames> {
        if self.stays(hart, context) {
            return Ok(None);
        }
        let (old, new) = (Key::of(&self.harts[hart].context), Key::of(context));
        let (table, come) = self.table_for(host, tlbs, hart, new)?;
        self.harts[hart].context = *context;
        self.harts[hart].table = table;
        let by_hardware = self.enter_space(hart, table, new, come);
        self.show_roots();
        if old.is_bare() != new.is_bare() {
            // Entries of the one would be taken for the other's: the hardware translates in both.
            tlbs.fence_here(&self.everything());
        } else if self.tables.shares_asid(table) {
            // A guest that gives an ASID to another address space and does not fence may see what was; but the walk caches must not lead to
            // the other's shadow table, where no entry is ever made for this one.
            tlbs.fence_here(&Fence::Vvma { vmid: self.vmid, gva: None, asid: Some(new.asid) });
        }
        let examined = match self.config.tables {
            Tables::Multiple(_) if !new.is_bare() => self.tables.count() as u64,
            Tables::Multiple(_) | Tables::Single => 0,
        };
        let cleared = core::mem::take(&mut self.cleared);
        let assisted = self.config.assist == Assist::MultiShadow && come == Come::Found && cleared == 0;
        let (way, steps) = if by_hardware {
            (Way::Within, 0)
        } else if assisted {
            (Way::Assist, steps::switch(examined))
        } else {
            (Way::Exit, steps::exit(Entered::Instruction) + steps::switch(examined))
        };
        let count = match come {
            Come::Found => &mut self.statistics.switches_found,
            Come::Created => &mut self.statistics.switches_created,
            Come::Stolen => &mut self.statistics.switches_stolen,
        };
        *count += 1;
        self.statistics.assisted_switches += u64::from(assisted);
        let clearing = if cleared > 0 { steps::full(1, cleared, self.config.clear) } else { 0 };
        let work = Work::new(Activity::LoadControl, way, steps + clearing, 0);
        Ok(Some(self.event(ExitReason::Satp, work)))
    }

    /// The table that hart `hart` is to use for `key`, with nothing in it that is not of `key`. Entries that were looked at for that are added
    /// to `cleared`.
    fn table_for(
        &mut self,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        hart: usize,
        key: Key,
    ) -> Result<(usize, Come), OutOfFrames> {
        if key.is_bare() {
            return Ok((BARE, Come::Found));
        }
        let (table, come) = match self.config.tables {
            Tables::Single => (1 + hart, Come::Created),
            Tables::Multiple(_) => {
                let harts = &self.harts;
                let others =
                    |table| harts.iter().enumerate().any(|(other, state)| other != hart && state.table == table);
                self.tables.find(host, key, others)?
            }
        };
        match (come, self.config.tables) {
            (Come::Found, _) => {}
            (Come::Created, Tables::Multiple(_)) => self.tables.list[table].key = Some(key),
            (Come::Created, Tables::Single) => {
                if self.tables.list[table].shape.mode() == key.mode {
                    self.cleared += self.clear_table(host, table);
                } else {
                    self.rebuild(host, tlbs, table, key)?;
                }
                self.tables.list[table].key = Some(key);
                // The paper purges the TLB with the table; here its walk caches would also lead to tables of another address space.
                tlbs.fence_here(&self.everything());
            }
            (Come::Stolen, _) => self.rebuild(host, tlbs, table, key)?,
        }
        self.tables.select(table);
        Ok((table, come))
    }

    /// Takes a table from its address space, thoroughly invalidated, and gives it to `key`.
    fn rebuild(&mut self, host: &mut Host, tlbs: &mut impl Tlbs, table: usize, key: Key) -> Result<(), OutOfFrames> {
        let looked_at = self.clear_table(host, table);
        self.cleared += looked_at;
        let frames = if self.tables.list[table].shape.mode() == key.mode {
            self.tables.list[table].shape.release(&host.memory)
        } else {
            let fresh = self.tables.format.table(&host.memory, &mut host.frames, key.mode)?;
            core::mem::replace(&mut self.tables.list[table].shape, fresh).dissolve(&host.memory)
        };
        self.tables.list[table].key = Some(key);
        tlbs.fence_everywhere(&self.everything());
        super::free(host, &frames);
        Ok(())
    }
}
