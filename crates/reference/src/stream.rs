//! A prefetcher that follows strides within pages: all pages that it knows, the one used longest ago first.

/// The shape of such a prefetcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamShape {
    /// Pages known at a time.
    pub pages: usize,
    /// Most lines for one request.
    pub degree: usize,
    /// Most strides ahead.
    pub distance: i64,
    /// Lines of a page.
    pub lines_of_page: u64,
}

struct Page {
    number: u64,
    /// All lines asked for.
    asked: Vec<i64>,
    /// The furthest line brought since the stride changed last.
    brought: Option<i64>,
}

/// The prefetcher.
pub(crate) struct Streams {
    shape: StreamShape,
    pages: Vec<Page>,
}

impl Streams {
    pub(crate) fn new(shape: StreamShape) -> Self {
        Self { shape, pages: Vec::new() }
    }

    /// A line is asked for: those to bring, in their order.
    pub(crate) fn request(&mut self, line: u64) -> Vec<u64> {
        if self.shape.pages == 0 {
            return Vec::new();
        }
        let of_page = self.shape.lines_of_page;
        let (number, at) = (line / of_page, (line % of_page) as i64);
        let mut page = match self.pages.iter().position(|page| page.number == number) {
            Some(place) => self.pages.remove(place),
            None => Page { number, asked: Vec::new(), brought: None },
        };
        let wanted = if page.asked.last() == Some(&at) {
            Vec::new()
        } else {
            page.asked.push(at);
            self.wanted(&mut page)
        };
        self.pages.push(page);
        if self.pages.len() > self.shape.pages {
            self.pages.remove(0);
        }
        wanted.into_iter().map(|next| number * of_page + next as u64).collect()
    }

    fn wanted(&self, page: &mut Page) -> Vec<i64> {
        let [.., first, second, third] = page.asked[..] else { return Vec::new() };
        let stride = third - second;
        if second - first != stride {
            page.brought = None;
            return Vec::new();
        }
        let from = match page.brought {
            Some(brought) if (brought - third) * stride > 0 => brought,
            Some(_) | None => third,
        };
        page.brought = Some(from);
        (1..=self.shape.degree as i64)
            .map(|n| from + n * stride)
            .take_while(|next| (0..self.shape.lines_of_page as i64).contains(next))
            .take_while(|next| (next - third) / stride <= self.shape.distance)
            .collect()
    }

    /// A line that was to be brought has been.
    pub(crate) fn brought(&mut self, line: u64) {
        let of_page = self.shape.lines_of_page;
        let page = self.pages.iter_mut().find(|page| page.number == line / of_page);
        if let Some(page) = page {
            page.brought = Some((line % of_page) as i64);
        }
    }
}
