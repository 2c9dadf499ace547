//! The flat table as a scheme in a crate of its own would have it: what is walked by it is held to the same model as the MMU's own flat table.

use mmu::{Cause, Entries, FoundEntry, LookupError, RefillRoutine, RefillSteps, Registers, TableFormat};
use types::{Gpa, Hpa, PageSize};

/// Registers: where the table is, the page that its first entry maps, and how many entries it has.
#[derive(Clone, Copy, Debug)]
pub struct FlatByFormat;

impl FlatByFormat {
    pub const fn registers(table: Hpa, first: Gpa, entries: u64) -> Registers {
        Registers([table.0, first.0, entries])
    }
}

impl TableFormat for FlatByFormat {
    fn levels(&self, _: &Registers) -> u32 {
        1
    }

    fn check(&self, registers: &Registers, gpa: Gpa) -> Result<(), Cause> {
        let Registers([_, first, entries]) = *registers;
        let inside = gpa.0 >= first && (gpa.0 - first) / 4096 < entries;
        if inside { Ok(()) } else { Err(Cause::OutOfBounds) }
    }

    fn find(&mut self, registers: &Registers, tables: &mut dyn Entries, gpa: Gpa) -> Result<FoundEntry, LookupError> {
        let Registers([table, first, _]) = *registers;
        let at = Hpa(table + (gpa.0 - first) / 4096 * 8);
        let entry = tables.read(at)?;
        let size = match (entry >> 63, entry >> 10 & 0x1ff) {
            (0, _) => PageSize::Size4K,
            (_, 0x100) => PageSize::Size2M,
            // Whatever else is wrong with it comes first.
            (..) if is_leaf(entry) => return Err(Cause::Reserved.into()),
            (..) => PageSize::Size4K,
        };
        Ok(FoundEntry { at, entry, size })
    }

    fn refill_steps(&self, routine: &RefillRoutine) -> RefillSteps {
        RefillSteps { lookup: routine.flat_lookup, level: 0 }
    }
}

/// V, R or X, no W without R, and no reserved bit.
const fn is_leaf(entry: u64) -> bool {
    let [valid, read, write, execute] = [entry & 1 != 0, entry & 2 != 0, entry & 4 != 0, entry & 8 != 0];
    valid && (read || execute) && (read || !write) && entry >> 54 & 0x1ff == 0
}
