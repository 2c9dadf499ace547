//! The prefetcher of the L2: it follows constant strides, page by page.

use crate::event::Line;
use keys::{key, model};
use serde::{Deserialize, Serialize};

model! {
    /// The prefetcher of the L2: pages of 4K with a constant stride between the lines that are requested from the L2.
    #[derive(Copy)]
    pub struct StreamModel {
        pub entries: u32 => key("pages of 4K whose strides are known at a time; 0 for no such prefetcher").number(0, 1024).unit("pages"),
        pub degree: u32 => key("most lines that one request to the L2 makes it prefetch").number(1, 64).unit("lines"),
        pub distance: u64 => key("strides that the prefetcher runs ahead, at most").number(1, 64).unit("strides"),
        #[serde(default)]
        pub page_end: PageEnd => key("where a stream reaches the end of its page of 4K, it has to `stop`, or can `cross` into the next page of virtual addresses"),
    }
}

/// What the prefetcher of the L2 does at the end of a page of 4K.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageEnd {
    /// It brings no line of another page.
    #[default]
    Stop,
    /// It goes on in the page that is next by virtual addresses, and has its translation at once.
    Cross,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The line requested last, and the last one prefetched, by their numbers in the page. One that was prefetched in the next page is beyond this one.
    last: i64,
    ahead: i64,
    /// Between the latest two lines that were requested; 0 before there were two.
    stride: i64,
}

/// The lines of a page of 4K, of which there are a power of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLines {
    /// log2 of their number.
    shift: u32,
}

impl PageLines {
    pub(crate) fn new(lines: u64) -> Self {
        debug_assert!(lines.is_power_of_two(), "a page has {lines} lines");
        Self { shift: lines.trailing_zeros() }
    }

    const fn number(self) -> u64 {
        1 << self.shift
    }

    /// The line behind the page of a line.
    pub(crate) const fn end_of_page(self, line: Line) -> u64 {
        (self.page(line) + 1) << self.shift
    }

    /// The page of a line.
    const fn page(self, line: Line) -> u64 {
        line.0 >> self.shift
    }

    /// The number of a line in its page.
    const fn in_page(self, line: Line) -> i64 {
        (line.0 & (self.number() - 1)) as i64
    }
}

/// What the prefetcher of the L2 asks for.
pub(crate) trait StreamPort {
    /// Brings a line into the L2; `None` if there is no room.
    fn bring_to_l2(&mut self, line: Line) -> Option<()>;

    /// The first line of the page that is mapped behind the one of the access, or before it.
    fn neighbour(&mut self, side: Side) -> Option<Line>;
}

/// A neighbour of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Before,
    Behind,
}

/// No page.
const NONE: u64 = u64::MAX;

/// The prefetcher of the L2. Each page has the same place in the four lists. A search looks at pages alone, several at once.
#[derive(Debug)]
pub(crate) struct Streams {
    model: StreamModel,
    pub(crate) lines: PageLines,
    pages: Vec<u64>,
    /// The page that each stream goes on in, once it has crossed the end of its own; else [`NONE`]. No two have the same.
    next_pages: Vec<u64>,
    /// The request that used each page last. They have a sign, as vectors of them are compared faster.
    used: Vec<i64>,
    streams: Vec<Stream>,
    /// Requests so far: the time for the order of use.
    requests: i64,
}

impl Streams {
    pub(crate) fn new(model: &StreamModel, lines_of_page: u64) -> Self {
        let entries = model.entries as usize;
        Self {
            model: *model,
            lines: PageLines::new(lines_of_page),
            pages: Vec::with_capacity(entries),
            next_pages: Vec::with_capacity(entries),
            used: Vec::with_capacity(entries),
            streams: Vec::with_capacity(entries),
            requests: 0,
        }
    }

    /// A line is requested from the L2. Where the stride from the line before is that of the time before, the lines ahead are prefetched, until there
    /// is no room.
    pub(crate) fn request(&mut self, line: Line, port: &mut impl StreamPort) {
        if self.model.entries == 0 {
            return;
        }
        self.requests += 1;
        let (page, at) = (self.lines.page(line), self.lines.in_page(line));
        let Some(place) = position(&self.pages, page).or_else(|| self.arrive(page)) else {
            return self.begin(page, Stream { last: at, ahead: at, stride: 0 });
        };
        self.used[place] = self.requests;
        let stream = &mut self.streams[place];
        let stride = at - std::mem::replace(&mut stream.last, at);
        if stride == 0 {
            return;
        }
        if std::mem::replace(&mut stream.stride, stride) != stride {
            stream.ahead = at;
            self.next_pages[place] = NONE;
            return;
        }
        // It may have been overtaken.
        if (stream.ahead - at) * stride.signum() < 0 {
            stream.ahead = at;
        }
        // `ahead` is a number of strides from `at`.
        let farthest = self.model.distance as i64 * stride.abs();
        for _ in 0..self.model.degree {
            let next = self.streams[place].ahead + stride;
            if (next - at) * stride.signum() > farthest {
                return;
            }
            let Some(page) = self.page_of(place, next, port) else { return };
            let in_page = next as u64 & (self.lines.number() - 1);
            if port.bring_to_l2(Line(page << self.lines.shift | in_page)).is_none() {
                return;
            }
            self.streams[place].ahead = next;
        }
    }

    /// The page that has a line of a stream, if the stream may go there.
    fn page_of(&mut self, place: usize, line: i64, port: &mut impl StreamPort) -> Option<u64> {
        let lines = self.lines.number() as i64;
        let side = match line {
            line if (0..lines).contains(&line) => return Some(self.pages[place]),
            line if (-lines..0).contains(&line) => Side::Before,
            line if (lines..2 * lines).contains(&line) => Side::Behind,
            _ => return None,
        };
        if self.model.page_end == PageEnd::Stop {
            return None;
        }
        if self.next_pages[place] == NONE {
            let next = self.lines.page(port.neighbour(side)?);
            if next == self.pages[place] {
                return None;
            }
            if let Some(other) = position(&self.next_pages, next) {
                self.next_pages[other] = NONE;
            }
            self.next_pages[place] = next;
        }
        Some(self.next_pages[place])
    }

    /// The page has its first request. A stream that has crossed into it moves there.
    fn arrive(&mut self, page: u64) -> Option<usize> {
        if self.model.page_end == PageEnd::Stop {
            return None;
        }
        let place = position(&self.next_pages, page)?;
        let stream = &mut self.streams[place];
        let lines = self.lines.number() as i64 * stream.stride.signum();
        stream.last -= lines;
        stream.ahead -= lines;
        self.pages[place] = page;
        self.next_pages[place] = NONE;
        Some(place)
    }

    /// A page comes in, in the place of the one used longest ago.
    fn begin(&mut self, page: u64, stream: Stream) {
        if self.pages.len() < self.model.entries as usize {
            self.pages.push(page);
            self.next_pages.push(NONE);
            self.used.push(self.requests);
            self.streams.push(stream);
            return;
        }
        let earliest = self.used.iter().copied().fold(i64::MAX, i64::min);
        if let Some(oldest) = position(&self.used, earliest) {
            (self.pages[oldest], self.used[oldest], self.streams[oldest]) = (page, self.requests, stream);
            self.next_pages[oldest] = NONE;
        }
    }
}

/// Where a number is that is in a list at most once. It looks at all of them, which the compiler makes a few vector operations of.
#[inline]
fn position<T: Copy + PartialEq>(numbers: &[T], wanted: T) -> Option<usize> {
    let mut place = usize::MAX;
    for (at, &number) in numbers.iter().enumerate() {
        place = if number == wanted { at } else { place };
    }
    (place != usize::MAX).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: StreamModel = StreamModel { entries: 2, degree: 2, distance: 4, page_end: PageEnd::Stop };
    const CROSSING: StreamModel = StreamModel { page_end: PageEnd::Cross, ..MODEL };

    /// Room for all that is prefetched. Virtual page 1 is physical page 7, page 0 is mapped to page 0, and page 9 and its neighbours to page 9.
    #[derive(Default)]
    struct Room {
        page: u64,
        brought: Vec<u64>,
    }

    impl StreamPort for Room {
        fn bring_to_l2(&mut self, line: Line) -> Option<()> {
            self.brought.push(line.0);
            Some(())
        }

        fn neighbour(&mut self, side: Side) -> Option<Line> {
            if self.page == 9 {
                return Some(Line(64 * 9));
            }
            let page = if side == Side::Behind { self.page + 1 } else { self.page.checked_sub(1)? };
            (page < 2).then_some(Line(64 * if page == 1 { 7 } else { page }))
        }
    }

    fn prefetched(streams: &mut Streams, lines: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut room = Room::default();
        for line in lines {
            room.page = if line / 64 == 7 { 1 } else { line / 64 };
            streams.request(Line(line), &mut room);
        }
        room.brought
    }

    #[test]
    fn a_stride_seen_twice_is_followed_within_the_page() {
        let mut streams = Streams::new(&MODEL, 64);
        assert_eq!(prefetched(&mut streams, [0, 3]), []);
        assert_eq!(prefetched(&mut streams, [6]), [9, 12]);
        assert_eq!(prefetched(&mut streams, [9]), [15, 18]);
        assert_eq!(prefetched(&mut streams, [12]), [21, 24], "four strides ahead");
        assert_eq!(prefetched(&mut streams, [15]), [27]);
        assert_eq!(prefetched(&mut streams, [64 + 63, 64 + 62, 64 + 61]), [64 + 60, 64 + 59], "downwards");
        assert_eq!(prefetched(&mut Streams::new(&MODEL, 64), [61, 62, 63]), []);
    }

    #[test]
    fn a_stream_crosses_into_the_page_that_is_next_by_virtual_addresses() {
        let mut streams = Streams::new(&CROSSING, 64);
        assert_eq!(prefetched(&mut streams, [60, 61, 62]), [63, 7 * 64], "upwards");
        assert_eq!(prefetched(&mut streams, [63]), [7 * 64 + 1, 7 * 64 + 2]);
        assert_eq!(prefetched(&mut streams, [7 * 64]), [7 * 64 + 3, 7 * 64 + 4], "it arrives, and goes on at once");
        assert_eq!(streams.pages, [7], "with the entry that it had");
        assert_eq!(prefetched(&mut streams, [7 * 64 + 61, 7 * 64 + 62, 7 * 64 + 63]), [], "no page is behind it");
        let mut streams = Streams::new(&CROSSING, 64);
        assert_eq!(prefetched(&mut streams, [7 * 64 + 2, 7 * 64 + 1, 7 * 64]), [63, 62], "downwards");
        assert_eq!(prefetched(&mut streams, [63]), [61, 60]);
        assert_eq!(prefetched(&mut Streams::new(&CROSSING, 64), [2, 1, 0]), [], "no page is before it");
    }

    #[test]
    fn a_stream_does_not_cross_into_the_page_that_it_is_in() {
        let mut streams = Streams::new(&CROSSING, 64);
        assert_eq!(prefetched(&mut streams, [9 * 64 + 61, 9 * 64 + 62, 9 * 64 + 63]), []);
        assert_eq!(streams.next_pages, [NONE]);
    }

    #[test]
    fn a_page_is_next_to_one_stream_at_most() {
        let mut streams = Streams::new(&CROSSING, 64);
        // Page 0 upwards, and page 2, whose page before is the same.
        prefetched(&mut streams, [61, 62, 63]);
        assert_eq!(streams.next_pages, [7]);
        prefetched(&mut streams, [2 * 64 + 2, 2 * 64 + 1, 2 * 64]);
        assert_eq!(streams.next_pages, [NONE, 7]);
        assert_eq!(prefetched(&mut streams, [7 * 64 + 63]), [7 * 64 + 61, 7 * 64 + 60], "the latest arrives");
    }

    #[test]
    fn random_lines_bring_none() {
        let mut streams = Streams::new(&MODEL, 64);
        assert_eq!(prefetched(&mut streams, [0, 7, 3, 64, 40, 128, 9]), []);
    }

    #[test]
    fn the_page_used_longest_ago_makes_room() {
        let mut streams = Streams::new(&MODEL, 64);
        let (one, two, three) = (0, 64, 128);
        assert_eq!(prefetched(&mut streams, [one, two, one + 1, three]), []);
        assert_eq!(streams.pages, [0, 2]);
        assert_eq!(prefetched(&mut streams, [one + 2]), [3, 4], "its stride is still known");
    }
}
