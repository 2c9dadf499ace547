//! The prefetchers: which lines are brought before they are requested. One brings the next line, into the L1D or the L2; the other one is that of
//! [streams](crate::stream), in the L2.

use crate::{
    event::{Level, Line},
    misses::{Misses, PrefetchLines, Prefetched},
    stream::{PageLines, Side, StreamModel, StreamPort, Streams},
    ticks::Ticks,
};
use keys::{key, model};
use serde::{Deserialize, Serialize};
use types::{Gva, PageSize};

model! {
    /// The prefetchers of a core. Numbers of zero switch them off.
    #[derive(Copy)]
    pub struct PrefetchModel {
        pub next_line: u64 => key("lines behind one that missed in the L1D which are brought as well, within a page of 4K; 0 for none")
            .number(0, 64).unit("lines"),
        #[serde(default)]
        pub next_line_into: NextLineLevel => key("the level into which these lines are brought: `l1d` or `l2`"),
        #[serde(default = "any_number_of_misses")]
        pub next_line_misses: u32 => key("misses that the L1D waits for, the new one among them, up to which these lines are brought; 256 for any number")
            .number(1, 256).unit("misses"),
        /// The prefetcher of the L2.
        pub stream: StreamModel,
    }
}

/// The level of the prefetcher of the next line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NextLineLevel {
    /// It is part of the L1D: what it brings takes miss registers of the L1D, and is a request to the L2.
    #[default]
    L1d,
    /// It is part of the L2.
    L2,
}

/// As many as an L1D can have.
const fn any_number_of_misses() -> u32 {
    256
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

    /// A load or store of an address has missed a line in the L1D and has requested it, at a time. Lines that the prefetchers bring into the L1D are
    /// requests to the L2 as well. What they bring is added to `prefetched`.
    pub(crate) fn miss(
        &mut self,
        (address, line): (Gva, Line),
        time: Ticks,
        misses: &mut Misses,
        prefetched: &mut Vec<Prefetched>,
        caches: &mut impl PrefetchLines,
    ) {
        let Self { model, streams } = self;
        let page = streams.lines;
        let few_misses = misses.l1d_waits_for_at_most(model.next_line_misses, time);
        let mut port = Port { address, time, misses, prefetched, caches };
        streams.request(line, &mut port);
        if !few_misses {
            return;
        }
        for next in next_lines(model, line, page) {
            let into = match model.next_line_into {
                NextLineLevel::L1d => Level::L1,
                NextLineLevel::L2 => Level::L2,
            };
            let Some(found) = port.bring(next, into) else { return };
            if into == Level::L1 && found > Level::L1 {
                streams.request(next, &mut port);
            }
        }
    }
}

/// What the prefetchers have around them at a miss.
struct Port<'p, C> {
    address: Gva,
    time: Ticks,
    misses: &'p mut Misses,
    prefetched: &'p mut Vec<Prefetched>,
    caches: &'p mut C,
}

impl<C: PrefetchLines> Port<'_, C> {
    fn bring(&mut self, line: Line, into: Level) -> Option<Level> {
        let found = self.misses.prefetch(line, into, self.time, self.caches)?;
        self.prefetched.push(Prefetched { line, into, found });
        Some(found)
    }
}

impl<C: PrefetchLines> StreamPort for Port<'_, C> {
    fn bring_to_l2(&mut self, line: Line) -> Option<()> {
        self.bring(line, Level::L2).map(|_| ())
    }

    fn neighbour(&mut self, side: Side) -> Option<Line> {
        let (page, bytes) = (self.address.page(PageSize::Size4K), PageSize::Size4K.bytes());
        self.caches.page(match side {
            Side::Behind => page.wrapping_add(bytes),
            Side::Before => page.wrapping_add(bytes.wrapping_neg()),
        })
    }
}

/// The lines behind one that missed in the L1D, in its page.
fn next_lines(model: &PrefetchModel, line: Line, lines: PageLines) -> impl Iterator<Item = Line> + use<> {
    let end = lines.end_of_page(line);
    (line.0 + 1..end.min(line.0 + 1 + model.next_line)).map(Line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::PageEnd;

    #[test]
    fn next_lines_end_with_the_page() {
        let stream = StreamModel { entries: 2, degree: 2, distance: 4, page_end: PageEnd::Stop };
        let model = PrefetchModel { next_line: 2, next_line_into: NextLineLevel::L1d, next_line_misses: 256, stream };
        let lines = |line| next_lines(&model, Line(line), PageLines::new(64)).map(|line| line.0).collect::<Vec<_>>();
        assert_eq!([lines(0), lines(62), lines(63)], [vec![1, 2], vec![63], vec![]]);
    }
}
