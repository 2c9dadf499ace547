//! Where the walks of each address space begin, as the hardware is told.

use super::root_cache::Root;
use crate::shadow::tables::{BARE, Come, Key};
use crate::shadow::{Shadow, Start};
use mmu::{SecondStage, ShadowRoot};
use types::Hpa;

impl Shadow {
    /// A hart has changed to the address space of `key`, with the table come by so; whether hardware did it alone.
    pub(in crate::shadow) fn enter_space(&mut self, hart: usize, table: usize, key: Key, come: Come) -> bool {
        let Some(agile) = &mut self.agile else { return false };
        if agile.roots.len() <= table {
            agile.roots.resize(table + 1, Root::Shadow);
        }
        match come {
            Come::Found => {}
            Come::Created | Come::Stolen => {
                agile.roots[table] = match agile.config.start {
                    Start::Nested => Root::Nested { since: agile.interval },
                    Start::Shadow => Root::Shadow,
                };
            }
        }
        // An address space whose table was taken away is not in the cache any more.
        let cached = !key.is_bare() && agile.caches[hart].look_up(key) && come == Come::Found;
        self.statistics.agile.root_cache_hits += u64::from(cached);
        cached
    }

    /// Tells the hardware again where walks begin. It asks at each walk.
    pub(in crate::shadow) fn show_roots(&mut self) {
        let Self { agile, harts, tables, .. } = self;
        for hart in harts {
            let shape = &tables.list[hart.table].shape;
            hart.second = match agile {
                None => shape.second_stage(),
                Some(agile) => {
                    let (mode, root) = agile.nested_table;
                    let shadow = match agile.roots.get(hart.table) {
                        _ if hart.table == BARE => ShadowRoot::NONE,
                        Some(Root::Nested { .. }) => ShadowRoot::NONE,
                        Some(Root::Switched(table)) => ShadowRoot::guest_table(*table),
                        Some(Root::Shadow) | None => ShadowRoot::shadow_table(Hpa(shape.context(&hart.context).root.0)),
                    };
                    SecondStage::Agile { mode, root, shadow }
                }
            };
        }
    }
}
