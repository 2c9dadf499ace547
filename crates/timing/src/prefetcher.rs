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
    page: u64,
    /// The line asked for last, and the last one prefetched, by their numbers in the page.
    last: i64,
    ahead: i64,
    /// Between the latest two lines asked for; 0 before there were two.
    stride: i64,
    used: u64,
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
        let lines_of_page = streams.lines_of_page;
        let mut bring = |line, into| {
            let found = misses.prefetch(line, into, time, caches)?;
            prefetched.push(Prefetched { line, into, found });
            Some(found)
        };
        streams.request(line, |next| bring(next, Level::L2).map(|_| ()));
        for next in next_lines(model, line, lines_of_page) {
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

/// The prefetcher of the L2.
#[derive(Debug)]
struct Streams {
    model: StreamModel,
    lines_of_page: u64,
    list: Vec<Stream>,
    /// Requests so far: the time for the order of use.
    requests: u64,
}

impl Streams {
    fn new(model: &StreamModel, lines_of_page: u64) -> Self {
        Self { model: *model, lines_of_page, list: Vec::with_capacity(model.entries as usize), requests: 0 }
    }

    /// The L2 is asked for a line. Where the stride from the line before is that of the time before, `prefetch` is called for the lines to
    /// bring, until it returns `None`: there is no room.
    fn request(&mut self, line: Line, mut prefetch: impl FnMut(Line) -> Option<()>) {
        if self.model.entries == 0 {
            return;
        }
        self.requests += 1;
        let (page, at) = (line.0 / self.lines_of_page, (line.0 % self.lines_of_page) as i64);
        let requests = self.requests;
        let Some(stream) = self.list.iter_mut().find(|stream| stream.page == page) else {
            return self.begin(Stream { page, last: at, ahead: at, stride: 0, used: requests });
        };
        stream.used = requests;
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
        for _ in 0..self.model.degree {
            let next = stream.ahead + stride;
            let in_page = (0..self.lines_of_page as i64).contains(&next);
            if !in_page || (next - at) / stride > self.model.distance as i64 {
                return;
            }
            if prefetch(Line(page * self.lines_of_page + next as u64)).is_none() {
                return;
            }
            stream.ahead = next;
        }
    }

    /// A page comes in, in the place of the one used longest ago.
    fn begin(&mut self, stream: Stream) {
        if self.list.len() < self.model.entries as usize {
            self.list.push(stream);
        } else if let Some(oldest) = self.list.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = stream;
        }
    }
}

/// The lines behind one that missed in the L1D, in its page.
fn next_lines(model: &PrefetchModel, line: Line, lines_of_page: u64) -> impl Iterator<Item = Line> + use<> {
    let end = (line.0 / lines_of_page + 1) * lines_of_page;
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
    fn next_lines_end_with_the_page() {
        let model = PrefetchModel { next_line: 2, stream: MODEL };
        let lines = |line| next_lines(&model, Line(line), 64).map(|line| line.0).collect::<Vec<_>>();
        assert_eq!([lines(0), lines(62), lines(63)], [vec![1, 2], vec![63], vec![]]);
    }
}
