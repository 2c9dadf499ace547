//! Streams: lines that are read one after the other, by loads that do not wait for each other.
//!
//! A prefetcher that stops at the end of a page of 4K begins again in each, whatever page comes next. One that crosses into the next page does so only
//! where the pages come in order.

use crate::findings::Streams;
use crate::pages::{BASE, HUGE};
use crate::random::Random;
use crate::raw::Mapping;
use crate::timing::{Effort, step};
use crate::visits::{Lines, Order};
use std::hint::black_box;

/// Measures both orders. They differ within huge pages alone, so that the TLB of huge pages sees the same.
pub(crate) fn measure(effort: Effort, buffer: &mut Mapping, lines: Lines) -> Streams {
    let mut time = |order| {
        let mut reader = Reader::new(buffer, lines, order);
        step(effort, 0, |steps| reader.read(steps))
    };
    Streams { ascending: time(Order::Ascending), random: time(Order::Random) }
}

/// Reads memory line by line, from where it was before.
struct Reader<'m> {
    words: &'m [u64],
    /// The pages of 4K, in their order.
    pages: Vec<usize>,
    words_of_line: usize,
    lines_of_page: usize,
    /// Lines that have been read in this round.
    at: usize,
}

impl<'m> Reader<'m> {
    fn new(buffer: &'m mut Mapping, lines: Lines, order: Order) -> Self {
        let mut random = Random::new(lines.size);
        let of_huge = HUGE / BASE;
        let pages = (0..lines.size as usize / HUGE).flat_map(|huge| {
            let within: Vec<usize> = match order {
                Order::Ascending => (0..of_huge).collect(),
                Order::Random => random.order(of_huge).into_iter().map(|page| page as usize).collect(),
            };
            within.into_iter().map(move |page| huge * of_huge + page)
        });
        Self {
            pages: pages.collect(),
            words: buffer.words(),
            words_of_line: lines.line / size_of::<u64>(),
            lines_of_page: BASE / lines.line,
            at: 0,
        }
    }

    /// Reads a word of each of so many lines.
    fn read(&mut self, lines: u64) {
        let mut left = lines as usize;
        let mut sum = 0_u64;
        while left > 0 {
            let (page, line) = (self.pages[self.at / self.lines_of_page], self.at % self.lines_of_page);
            let count = left.min(self.lines_of_page - line);
            let first = (page * self.lines_of_page + line) * self.words_of_line;
            let words = &self.words[first..first + count * self.words_of_line];
            sum = words.iter().step_by(self.words_of_line).fold(sum, |sum, word| sum.wrapping_add(*word));
            left -= count;
            self.at = (self.at + count) % (self.pages.len() * self.lines_of_page);
        }
        black_box(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Pages, memory};

    #[test]
    fn each_line_is_read_once_in_a_round_whatever_the_order() {
        let mut buffer = memory(2 * HUGE, Pages::Base).unwrap();
        let lines = Lines { size: 2 * HUGE as u64, line: 64 };
        for order in [Order::Ascending, Order::Random] {
            let mut reader = Reader::new(&mut buffer, lines, order);
            assert_eq!(reader.pages == (0..1024).collect::<Vec<_>>(), order == Order::Ascending);
            assert!(reader.pages[..512].iter().all(|&page| page < 512), "huge pages come in order");
            let mut sorted = reader.pages.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..1024));
            for (lines, at) in [(100, 100), (1024 * 64 - 101, 1024 * 64 - 1), (2, 1)] {
                reader.read(lines);
                assert_eq!(reader.at, at);
            }
        }
    }

    #[test]
    fn a_stream_takes_some_time() {
        let mut buffer = memory(8 * HUGE, Pages::Base).unwrap();
        let effort = Effort { repeats: 3, ..Effort::QUICK };
        let Streams { ascending, random } = measure(effort, &mut buffer, Lines { size: 8 * HUGE as u64, line: 64 });
        assert!(ascending.median > 0.0 && random.median > 0.0, "{ascending:?} {random:?}");
    }
}
