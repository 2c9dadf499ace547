//! Agile paging: the walk of a gVA that begins in a shadow table and may change to the guest's own tables.
//!
//! A walk is at a table of one of three kinds. What a shadow table leads to is host physical. Its pointers with 2 in bits 9 and 8 lead to a table of the
//! guest, which is read there as it is; all that follows is guest physical, and the nested tables say where that is.

pub(crate) mod found;

use crate::pte::{Demand, Leaf, Step, global, interpret, marked, missing, permit};
use crate::second_stage::Second;
use crate::walk::{Mapping, Tables, Tree};
use crate::{Fault, Memory};
use found::Found;
use types::Hpa;

/// Where a walk begins by the register `sptr`, and how that was found.
pub(crate) fn root(sptr: u64, guest_root: u64) -> (u64, Found) {
    let table = (sptr >> 10) % (1 << 44) * 4096;
    match (sptr % 2, sptr / 256 % 4) {
        (0, _) => (guest_root, Found::FullyNested),
        (_, 2) => (table, Found::BySwitch),
        (_, _) => (table, Found::ByShadow),
    }
}

/// A pointer that was followed.
pub(crate) struct Followed {
    pub(crate) level: u32,
    pub(crate) table: u64,
    pub(crate) found: Found,
    pub(crate) global: bool,
}

/// A walk under way.
pub(crate) struct AgileWalk<'w, 's, M> {
    pub(crate) tree: Tree,
    pub(crate) second: &'w mut Second<'s, M>,
    pub(crate) gva: u64,
    pub(crate) demand: Demand,
    pub(crate) followed: Vec<Followed>,
}

impl<M: Memory> AgileWalk<'_, '_, M> {
    /// From a table of `level` to the leaf, and how its page was found.
    pub(crate) fn descend(
        &mut self,
        level: u32,
        (table, found): (u64, Found),
        global_above: bool,
    ) -> Result<(Mapping, Found), Fault> {
        let at = table + self.gva / 4096 / 512u64.pow(level) % 512 * 8;
        let refuse = if found == Found::ByShadow { Fault::Shadow } else { Fault::Page };
        let pte = if found.in_host() { self.second.read_in_host(at)? } else { self.second.read(at)? };
        let step = interpret(pte, level, self.tree.groups).map_err(refuse)?;
        let global = global_above || global(pte);
        match step {
            Step::Descend(next) => {
                let next_found = found.next(pte, true);
                self.followed.push(Followed { level, table: next, found: next_found, global });
                self.descend(level - 1, (next, next_found), global)
            }
            Step::Stop(leaf) => {
                permit(pte, self.demand).map_err(refuse)?;
                let pte = match missing(pte, self.demand.access) {
                    None => pte,
                    Some(cause) if !self.tree.svadu => return Err(refuse(cause)),
                    Some(_) => {
                        let new = marked(pte, self.demand.access);
                        let updated = if found.in_host() {
                            self.second.update_in_host(at, pte, new)?
                        } else {
                            self.second.update(at, pte, new)?
                        };
                        if !updated {
                            return self.descend(level, (table, found), global_above);
                        }
                        new
                    }
                };
                Ok((Mapping { leaf: Leaf { pte, ..leaf }, at, global }, found.next(pte, false)))
            }
        }
    }
}

impl<M: Memory> Second<'_, M> {
    /// An entry of a first stage's table whose host physical address is known.
    fn read_in_host(&mut self, at: u64) -> Result<u64, Fault> {
        let pte = self.memory.read(Hpa(at)).ok_or(Fault::FirstStageTable)?;
        self.counts.guest_refs += 1;
        self.counts.steps += 1;
        self.counts.refill_instructions += self.config.refill.map_or(0, |routine| routine.guest_level);
        Ok(pte)
    }

    /// Sets A and D there.
    fn update_in_host(&mut self, at: u64, old: u64, new: u64) -> Result<bool, Fault> {
        let found = self.memory.compare_exchange(Hpa(at), old, new).ok_or(Fault::FirstStageTable)?;
        if found == old {
            self.counts.guest_updates += 1;
            self.counts.refill_instructions += self.config.refill.map_or(0, |routine| routine.update);
        }
        Ok(found == old)
    }
}
