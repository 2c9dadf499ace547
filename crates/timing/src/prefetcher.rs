//! The prefetchers: which lines are brought before they are asked for.

use crate::{
    event::{Level, Line},
    misses::{Misses, PrefetchLines, Prefetched},
    ticks::Ticks,
};
use keys::{key, model};

model! {
    /// The prefetchers of a core. Numbers of zero switch them off.
    #[derive(Copy)]
    pub struct PrefetchModel {
        pub next_line: u64 => key("lines behind one that missed in the L1D which are brought there as well, within a page of 4K; 0 for none")
            .number(0, 64).unit("lines"),
        /// The prefetcher of the L2.
        pub stream: StreamModel,
    }
}

model! {
    /// The prefetcher of the L2: pages of 4K with a constant stride between the lines that the L2 is asked for.
    #[derive(Copy)]
    pub struct StreamModel {
        pub entries: u32 => key("pages of 4K whose strides are known at a time; 0 for no such prefetcher").number(0, 1024).unit("pages"),
        pub degree: u32 => key("most lines that one request to the L2 makes it prefetch").number(1, 64).unit("lines"),
        pub distance: u64 => key("strides that the prefetcher runs ahead, at most").number(1, 64).unit("strides"),
    }
}

/// What is known of a page.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The line asked for last, and the last one prefetched, by their numbers in the page.
    last: i64,
    ahead: i64,
    /// Between the latest two lines asked for; 0 before there were two.
    stride: i64,
}

/// The lines of a page of 4K, of which there are a power of two.
#[derive(Clone, Copy, Debug)]
struct PageLines {
    /// log2 of their number.
    shift: u32,
}

impl PageLines {
    fn new(lines: u64) -> Self {
        debug_assert!(lines.is_power_of_two(), "a page has {lines} lines");
        Self { shift: lines.trailing_zeros() }
    }

    const fn number(self) -> u64 {
        1 << self.shift
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

/// The prefetchers of a core.
#[derive(Debug)]
pub(crate) struct Prefetchers {
    model: PrefetchModel,
    streams: Streams,
}

impl Prefetchers {
    pub(crate) fn new(model: &PrefetchModel, lines_of_page: u64) -> Self {
        Self { model: *model, streams: Streams::new(&model.stream, lines_of_page) }
    }

    /// A load or store has missed a line in the L1D and requests it at a time. Lines that the prefetchers bring into the L1D are requests to the L2 as well.
    /// What they bring is added to `prefetched`.
    pub(crate) fn miss(
        &mut self,
        line: Line,
        time: Ticks,
        misses: &mut Misses,
        prefetched: &mut Vec<Prefetched>,
        caches: &mut impl PrefetchLines,
    ) {
        let Self { model, streams } = self;
        let page = streams.lines;
        let mut bring = |line, into| {
            let found = misses.prefetch(line, into, time, caches)?;
            prefetched.push(Prefetched { line, into, found });
            Some(found)
        };
        streams.request(line, |next| bring(next, Level::L2).map(|_| ()));
        for next in next_lines(model, line, page) {
            match bring(next, Level::L1) {
                None => return,
                Some(Level::L1) => {}
                Some(Level::L2 | Level::Llc | Level::Memory) => {
                    streams.request(next, |next| bring(next, Level::L2).map(|_| ()));
                }
            }
        }
    }
}

/// The prefetcher of the L2. Each page has the same place in the three lists. A search looks at pages alone, several at once.
#[derive(Debug)]
struct Streams {
    model: StreamModel,
    lines: PageLines,
    pages: Vec<u64>,
    /// The request that used each page last. They have a sign, as vectors of them are compared faster.
    used: Vec<i64>,
    streams: Vec<Stream>,
    /// Requests so far: the time for the order of use.
    requests: i64,
}

impl Streams {
    fn new(model: &StreamModel, lines_of_page: u64) -> Self {
        let entries = model.entries as usize;
        Self {
            model: *model,
            lines: PageLines::new(lines_of_page),
            pages: Vec::with_capacity(entries),
            used: Vec::with_capacity(entries),
            streams: Vec::with_capacity(entries),
            requests: 0,
        }
    }

    /// The L2 is asked for a line. Where the stride from the line before is that of the time before, `prefetch` is called for the lines to
    /// bring, until it returns `None`: there is no room.
    fn request(&mut self, line: Line, mut prefetch: impl FnMut(Line) -> Option<()>) {
        if self.model.entries == 0 {
            return;
        }
        self.requests += 1;
        let (page, at) = (self.lines.page(line), self.lines.in_page(line));
        let Some(place) = position(&self.pages, page) else {
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
            return;
        }
        // It may have been overtaken.
        if (stream.ahead - at) * stride.signum() < 0 {
            stream.ahead = at;
        }
        // `ahead` is a number of strides from `at`.
        let farthest = self.model.distance as i64 * stride.abs();
        for _ in 0..self.model.degree {
            let next = stream.ahead + stride;
            let in_page = (0..self.lines.number() as i64).contains(&next);
            if !in_page || (next - at) * stride.signum() > farthest {
                return;
            }
            if prefetch(Line(page << self.lines.shift | next as u64)).is_none() {
                return;
            }
            stream.ahead = next;
        }
    }

    /// A page comes in, in the place of the one used longest ago.
    fn begin(&mut self, page: u64, stream: Stream) {
        if self.pages.len() < self.model.entries as usize {
            self.pages.push(page);
            self.used.push(self.requests);
            self.streams.push(stream);
            return;
        }
        let earliest = self.used.iter().copied().fold(i64::MAX, i64::min);
        if let Some(oldest) = position(&self.used, earliest) {
            (self.pages[oldest], self.used[oldest], self.streams[oldest]) = (page, self.requests, stream);
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

/// The lines behind one that missed in the L1D, in its page.
fn next_lines(model: &PrefetchModel, line: Line, lines: PageLines) -> impl Iterator<Item = Line> + use<> {
    let end = (lines.page(line) + 1) << lines.shift;
    (line.0 + 1..end.min(line.0 + 1 + model.next_line)).map(Line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: StreamModel = StreamModel { entries: 2, degree: 2, distance: 4 };

    fn prefetched(streams: &mut Streams, lines: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut all = Vec::new();
        for line in lines {
            streams.request(Line(line), |line| {
                all.push(line.0);
                Some(())
            });
        }
        all
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

    #[test]
    fn next_lines_end_with_the_page() {
        let model = PrefetchModel { next_line: 2, stream: MODEL };
        let lines = |line| next_lines(&model, Line(line), PageLines::new(64)).map(|line| line.0).collect::<Vec<_>>();
        assert_eq!([lines(0), lines(62), lines(63)], [vec![1, 2], vec![63], vec![]]);
    }
}
