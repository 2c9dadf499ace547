//! The flat table: an array in memory, and what one of its entries says.

use crate::config::Counts;
use crate::pte::{Cause, Leaf, Step, interpret};
use crate::walk::Mapping;
use crate::{Fault, Memory};
use types::{Gpa, Hpa, PageSize};

/// What an entry of a flat table maps: a 4K page, or 2M if bit 63 and of the page number's low nine bits only the highest are set.
pub(crate) fn interpret_flat(pte: u64) -> Result<Leaf, Cause> {
    let marked = pte >> 63 == 1;
    let leaf = match interpret(pte % (1 << 63), 0, &[])? {
        Step::Stop(leaf) => leaf,
        Step::Descend(_) => unreachable!("nothing is below the last level"),
    };
    if !marked {
        return Ok(Leaf { pte, ..leaf });
    }
    let number = leaf.page / 4096;
    if number % 512 != 256 {
        return Err(Cause::Reserved);
    }
    Ok(Leaf { page: (number - 256) * 4096, size: PageSize::Size2M, pte })
}

/// The leaf for an address, and where its entry is.
pub(crate) fn look_up(
    memory: &mut impl Memory,
    counts: &mut Counts,
    (table, first, entries): (Hpa, Gpa, u64),
    gpa: Gpa,
    refuse: &dyn Fn(Cause) -> Fault,
) -> Result<Mapping, Fault> {
    let frame = gpa.0 / 4096;
    let first_frame = first.0 / 4096;
    if frame < first_frame || frame - first_frame >= entries {
        return Err(refuse(Cause::OutOfBounds));
    }
    let at = table.0 + (frame - first_frame) * 8;
    let pte = memory.read(Hpa(at)).ok_or(Fault::SecondStageTable)?;
    counts.host_refs += 1;
    counts.steps += 1;
    Ok(Mapping { leaf: interpret_flat(pte).map_err(refuse)?, at, global: false })
}
