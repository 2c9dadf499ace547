//! Stores that host code makes without a look at what code was translated, to pages of which code is translated between them.

use super::common::instructions::{addi, bne, end_if_equal, jalr, program, sd};
use super::common::{Transcript, config, image};
use machine::{Machine, Outcome};

const CODE: u64 = 0x8020_0000;
const DATA: u64 = 0x8080_0000;
const PAGES: u64 = 300;
const FENCE_I: u32 = 0x0000_100f;

/// A guest that, in each of its pages, stores a function, calls it, stores another one over it and calls that. The functions add 1 and 2 to `x15`. Each store of a function is
/// in a row with another store to the page. `x20` is the page, `x21` counts pages, `x22` and `x23` have the functions, `x24` the expected sum and `x25` a page's size.
fn guest() -> Vec<u8> {
    let function = |add: i32| u64::from(addi(15, 15, add)) | u64::from(jalr(0, 1)) << 32;
    let body = [
        sd(22, 20, 0),
        sd(0, 20, 64),
        FENCE_I,
        jalr(1, 20),
        sd(23, 20, 0),
        sd(0, 20, 128),
        FENCE_I,
        jalr(1, 20),
        addi(21, 21, -1),
        // add x20, x20, x25
        0x019a_0a33,
    ];
    let again = bne(21, 0, -4 * body.len() as i32);
    let words: Vec<u32> = body.into_iter().chain([again]).chain(end_if_equal(15, 24)).collect();
    program(CODE, &words, &[DATA, PAGES, function(1), function(2), 3 * PAGES, 4096])
}

#[test]
fn a_store_over_code_is_noticed_on_a_page_that_had_none_before() {
    for engine in ["match", "threaded", "compiled", "compiled-all", "baseline-all"] {
        for fidelity in ["counts", "core"] {
            let settings = [
                ("scheme", "nested:4K+4K"),
                ("memory", "64M"),
                ("fidelity", fidelity),
                ("engine", engine),
                // One entry: each access begins with the right one.
                ("mmu.l1d", "[{ sizes = ['4K'], sets = 1, ways = 1 }]"),
                ("timeout", "100"),
            ];
            let mut machine = Machine::assemble(&config(&settings), &image(guest(), "")).unwrap();
            assert_eq!(machine.run(&mut Transcript::default()), Outcome::Finished(0), "{engine} {fidelity}");
        }
    }
}
