//! What the maintenance of shadow tables takes: execution steps, from the ratios that Umeno et al. (1985) give.
//!
//! A step is an instruction of the hypervisor, or of the microcode where an assist does the work. The paper gives ratios and no counts. One
//! count is assumed here, [`SELECTIVE`]; the others follow from it:
//!
//! | work | steps | from |
//! |---|---|---|
//! | an invalidation with a virtual page address | [`SELECTIVE`] | assumed: dispatch, decoding, look-ups, and the invalidation itself |
//! | a full invalidation of N tables of 4096 entries | (7 N + 4) × [`SELECTIVE`] | table 3, row 2 |
//! | a validation | 1/90 of what one table adds to a full invalidation | table 2, row 4 |
//! | each further page of one invalidation | 0.8 validations | table 2, row 4 |
//! | a switch among n tables | 1 + 0.06 n validations | table 2, row 4 |
//!
//! 4096 entries are 8 last-level tables of RISC-V.

/// Of an invalidation whose operand is a virtual page address.
pub const SELECTIVE: u64 = 512;

/// Of a full invalidation, beside what the tables take.
pub const FULL: u64 = 4 * SELECTIVE;

/// Entries that a full invalidation clears in 7 × [`SELECTIVE`] steps.
const ENTRIES: u64 = 4096;

/// Of making one entry.
pub const VALIDATION: u64 = 7 * SELECTIVE / 90;

/// Of a full invalidation that looks at `entries`.
#[must_use]
pub const fn full(entries: u64) -> u64 {
    FULL + entries * 7 * SELECTIVE / ENTRIES
}

/// Of an invalidation of `pages` pages by their addresses, in one go.
#[must_use]
pub const fn selective(pages: u64) -> u64 {
    SELECTIVE + pages.saturating_sub(1) * VALIDATION * 8 / 10
}

/// Of a switch by the hypervisor, which looks among `tables`.
#[must_use]
pub const fn switch(tables: u64) -> u64 {
    VALIDATION + search(tables)
}

/// Of the search alone: that is all of a switch in hardware mode, which loads the register itself.
#[must_use]
pub const fn search(tables: u64) -> u64 {
    tables * VALIDATION * 6 / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_invalidation_takes_seven_n_plus_four_times_the_steps_of_a_selective_one() {
        for tables in 1..=10 {
            assert_eq!(full(tables * ENTRIES), (7 * tables + 4) * selective(1));
        }
    }

    #[test]
    fn the_ratios_of_table_2_hold() {
        let one_table = full(ENTRIES) - FULL;
        assert!((89..=92).contains(&(one_table / VALIDATION)), "90 : 1");
        assert_eq!(switch(100), VALIDATION + 6 * VALIDATION, "1 + 0.06 n");
    }
}
