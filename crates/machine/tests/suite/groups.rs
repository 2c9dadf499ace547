//! Accesses in a row off the same base register, which host code compares at once, across pages that have frames apart.

use super::common::instructions::{add, addi, bne, end_if_equal, ld, program, sd};
use super::common::{Transcript, config, image};
use machine::{Machine, Outcome};

const CODE: u64 = 0x8020_0000;
const DATA: u64 = 0x8080_0000;
const PAGES: u64 = 600;

/// A guest without tables of its own. At each page's end it stores four words, of which two are in the next page, and changes the third by the second. Then it goes
/// over them once more and adds them up. It ends with status 0 if the sum is right, and 1 if not. `x5` is the base, `x6` counts pages, `x7` and `x8` have what is
/// stored, `x15` is the sum.
fn guest() -> Vec<u8> {
    let begin = [add(5, 20, 0), add(6, 21, 0)];
    let next = [add(5, 5, 22), addi(6, 6, -1)];
    let store = [
        sd(7, 5, 0),
        addi(8, 7, 1),
        sd(8, 5, 8),
        addi(8, 8, 1),
        sd(8, 5, 16),
        addi(8, 8, 1),
        sd(8, 5, 24),
        addi(7, 7, 7),
    ];
    let change = [ld(9, 5, 8), ld(10, 5, 16), add(10, 10, 9), sd(10, 5, 16)];
    let sum = [
        ld(9, 5, 24),
        ld(10, 5, 16),
        ld(11, 5, 8),
        ld(12, 5, 0),
        add(15, 15, 9),
        add(15, 15, 10),
        add(15, 15, 11),
        add(15, 15, 12),
    ];
    let again = |body: usize| bne(6, 0, -4 * body as i32);
    let mut words = begin.to_vec();
    words.extend(store.into_iter().chain(change).chain(next));
    words.push(again(store.len() + change.len() + next.len()));
    words.extend(begin);
    words.extend(sum.into_iter().chain(next));
    words.push(again(sum.len() + next.len()));
    words.extend(end_if_equal(15, 23));
    let expected = (0..PAGES).map(|page| {
        let first = 7 * page;
        first + (first + 1) + (first + 2 + first + 1) + (first + 3)
    });
    program(CODE, &words, &[DATA + 4096 - 16, PAGES, 4096, expected.sum()])
}

#[test]
fn groups_across_pages_reach_the_frames_of_both() {
    for engine in ["match", "threaded", "compiled", "compiled-all", "baseline-all"] {
        let settings = [
            ("scheme", "nested:4K+4K"),
            ("memory", "64M"),
            ("frame_placement", "random:1"),
            ("engine", engine),
            ("timeout", "100"),
        ];
        let mut machine = Machine::assemble(&config(&settings), &image(guest(), "")).unwrap();
        assert_eq!(machine.run(&mut Transcript::default()), Outcome::Finished(0), "{engine}");
    }
}
